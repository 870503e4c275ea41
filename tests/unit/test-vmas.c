/* Kinds of mappings, and what a re-read of maps leaves known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "space_rig.h"
#include "util/array.h"

static const struct {
    const char *perms, *inode, *name;
    enum reason kind;
} kinds[] = {
    {"rw-p", "0", "", REASON_NONE},
    {"rwxp", "0", "", REASON_NONE},
    {"r--p", "0", "", REASON_NONE}, /* read-only anonymous memory has pages of its own */
    {"--xp", "0", "", REASON_NONE},
    {"rw-p", "0", "[heap]", REASON_NONE},
    {"rw-p", "0", "[stack]", REASON_NONE},
    {"rw-p", "0", "[stack:1234]", REASON_NONE},
    {"rw-p", "0", "[anon:glibc: malloc arena]", REASON_NONE},
    {"rw-p", "77", "/usr/lib/libc.so.6", REASON_NONE}, /* its written pages are its own */
    {"rw-p", "77", "/a b/c (deleted)", REASON_NONE},
    {"rw-p", "77", "/dev/zero", REASON_NONE},
    {"rw-p", "77", "/memfd:x (deleted)", REASON_NONE},
    {"rw-p", "77", "/home/u/[vdso]", REASON_NONE},
    {"rw-p", "77", "/devices/nvidia0", REASON_NONE},
    {"rw-p", "77", "/home/dev/x", REASON_NONE},
    {"rw-p", "0", "anon_inode", REASON_NONE}, /* its colon is missing */
    {"r--p", "77", "/usr/lib/libc.so.6", REASON_SHARED_RO},
    {"r-xp", "77", "/usr/lib/libc.so.6", REASON_SHARED_RO},
    {"r-xp", "77", "/opt/my app/bin (deleted)", REASON_SHARED_RO},
    {"--xp", "77", "/bin/execute-only", REASON_SHARED_RO},
    {"---p", "0", "", REASON_INACCESSIBLE},
    {"---p", "77", "/usr/lib/libc.so.6", REASON_INACCESSIBLE},
    {"---s", "77", "/dev/shm/x", REASON_INACCESSIBLE},
    {"rw-s", "77", "/srv/data", REASON_SHARED_MAPPING},
    {"r--s", "77", "/srv/data", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/dev/zero (deleted)", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/dev/shm/x", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/dev/shm/PostgreSQL.1 (deleted)", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/memfd:x (deleted)", REASON_SHARED_MAPPING},
    {"rw-s", "0", "/SYSV00000000 (deleted)", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/SYSV00000000 (deleted)", REASON_SHARED_MAPPING},
    {"rw-s", "77", "/[aio] (deleted)", REASON_SHARED_MAPPING},
    {"r--p", "0", "[vvar]", REASON_SPECIAL},
    {"r--p", "0", "[vvar_vclock]", REASON_SPECIAL},
    {"r-xp", "0", "[vdso]", REASON_SPECIAL},
    {"--xp", "0", "[vsyscall]", REASON_SPECIAL},
    {"r-xp", "0", "[vectors]", REASON_SPECIAL},
    {"r-xp", "0", "[sigpage]", REASON_SPECIAL},
    {"--xp", "0", "[uprobes]", REASON_SPECIAL},
    {"rw-s", "77", "/dev/nvidia0", REASON_SPECIAL},
    {"rw-p", "77", "/dev/mem", REASON_SPECIAL},
    {"rw-s", "77", "/dev/dri/renderD128", REASON_SPECIAL},
    {"rw-s", "77", "/dev/shmx", REASON_SPECIAL}, /* not below /dev/shm */
    {"rw-s", "77", "anon_inode:kvm-vcpu:0", REASON_SPECIAL},
    {"rw-s", "77", "anon_inode:[perf_event]", REASON_SPECIAL},
    {"rw-s", "77", "/secretmem (deleted)", REASON_SPECIAL},
    {"rw-p", "77", "/anon_hugepage (deleted)", REASON_HUGETLB},
    {"rw-s", "77", "/anon_hugepage (deleted)", REASON_HUGETLB},
    {"---p", "77", "/anon_hugepage (deleted)", REASON_HUGETLB},
    {"rw-s", "77", "/dev/hugepages/qemu/ram", REASON_HUGETLB},
    {"rw-s", "77", "/dev/hugepages1G/libvirt/qemu/ram (deleted)", REASON_HUGETLB},
    {"rw-s", "77", "/dev/huge", REASON_SPECIAL},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        struct vma_list list;
        char line[256];

        snprintf(line, sizeof line, "1000-2000 %s 00000000 fd:01 %s   %s\n", kinds[i].perms,
                 kinds[i].inode, kinds[i].name);
        print_message("  %s %s: %s\n", kinds[i].perms, kinds[i].name, reason_name(kinds[i].kind));
        list = vmas_of(line);
        assert_int_equal(list.n_items, 1);
        assert_string_equal(reason_name(list.items[0].kind), reason_name(kinds[i].kind));
        assert_int_equal(list.items[0].policy, REASON_POLICY_UNKNOWN);
        vma_list_deinit(&list);
    }
}

static void test_bad_lines_are_left_out(void **state)
{
    struct vma_list list = vmas_of("10000-20000 rw-p 0 0:0 0 \n"
                                   "garbage\n"
                                   "1f000-30000 rw-p 0 0:0 0 \n" /* overlaps */
                                   "20000-30000 r--p 0 0:0 0 \n" /* touches */
                                   "1000-2000 rw-p 0 0:0 0 \n"   /* descends */
                                   "20000-30000 rw-p 0 0:0 0 \n" /* twice */
                                   "50000-40000 rw-p 0 0:0 0 \n" /* backwards */
                                   "ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]\n"
                                   "ffffffffffff0000-ffffffffffffffff rw-p 0 0:0 0"); /* cut */

    (void)state;
    assert_int_equal(list.n_items, 3);
    assert_true(list.items[0].start == 0x10000 && list.items[0].end == 0x20000);
    assert_true(list.items[1].start == 0x20000 && list.items[1].perms == MAPS_READ);
    assert_true(list.items[2].start == 0xffffffffff600000);
    vma_list_deinit(&list);
    list = vmas_of("");
    assert_int_equal(list.n_items, 0);
    assert_null(vma_list_find(&list, 0));
    vma_list_deinit(&list);
}

static void test_find(void **state)
{
    struct vma_list list = vmas_of("1000-2000 rw-p 0 0:0 0 \n"
                                   "2000-3000 rw-p 0 0:0 0 \n"
                                   "5000-9000 rw-p 0 0:0 0 \n"
                                   "ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]\n");
    static const struct {
        uint64_t addr;
        int index; /* -1 = none */
    } cases[] = {
        {0, -1},
        {0xfff, -1},
        {0x1000, 0},
        {0x1fff, 0},
        {0x2000, 1},
        {0x2fff, 1},
        {0x3000, -1},
        {0x4fff, -1},
        {0x5000, 2},
        {0x8fff, 2},
        {0x9000, -1},
        {0xffffffffff5fffff, -1},
        {0xffffffffff600000, 3},
        {0xffffffffff601000, -1},
        {UINT64_MAX, -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_ptr_equal(vma_list_find(&list, cases[i].addr),
                         cases[i].index < 0 ? NULL : &list.items[cases[i].index]);
    vma_list_deinit(&list);
}

static const struct {
    const char *shows, *before, *after;
    bool same;
} mappings[] = {
    {"anonymous memory", "1000-9000 rw-p 0 0:0 0 \n", "1000-9000 rw-p 0 0:0 0 \n", true},
    {"it grew", "1000-9000 rw-p 0 0:0 0 \n", "1000-f000 rw-p 0 0:0 0 \n", true},
    {"the heap got its name", "1000-9000 rw-p 0 0:0 0 \n", "1000-9000 rw-p 0 0:0 0 [heap]\n", true},
    {"it became executable", "1000-9000 rw-p 0 0:0 0 \n", "1000-9000 rwxp 0 0:0 0 \n", true},
    {"it became inaccessible", "1000-9000 rw-p 0 0:0 0 \n", "1000-9000 ---p 0 0:0 0 \n", false},
    {"a file came over it", "1000-9000 rw-p 0 0:0 0 \n", "1000-9000 rw-p 0 fd:1 5 /a\n", false},
    {"the file went", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 0 0:0 0 \n", false},
    {"the same file", "1000-9000 rw-p 3000 fd:1 5 /a\n", "1000-9000 rw-p 3000 fd:1 5 /a\n", true},
    {"it was deleted", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 0 fd:1 5 /a (deleted)\n",
     true},
    {"another inode", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 0 fd:1 6 /a\n", false},
    {"another device", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 0 fe:1 5 /a\n", false},
    {"another minor", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 0 fd:2 5 /a\n", false},
    {"another offset", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-p 1000 fd:1 5 /a\n", false},
    {"its upper part is left", "1000-9000 rw-p 0 fd:1 5 /a\n", "3000-9000 rw-p 2000 fd:1 5 /a\n",
     true},
    {"the same offset at another place", "1000-9000 rw-p 0 fd:1 5 /a\n",
     "3000-9000 rw-p 0 fd:1 5 /a\n", false},
    {"an offset above its address", "1000-9000 rw-p fffff000 fd:1 5 /a\n",
     "2000-9000 rw-p 100000000 fd:1 5 /a\n", true},
    {"the SysV segment with id 0", "1000-9000 rw-s 0 0:1 0 /SYSV0000002a (deleted)\n",
     "1000-9000 rw-s 0 0:1 0 /SYSV0000002a (deleted)\n", true},
    {"its upper part at the same place", "1000-9000 rw-s 0 0:1 0 /SYSV0000002a (deleted)\n",
     "1000-9000 rw-s 8000 0:1 0 /SYSV0000002a (deleted)\n", false},
    {"private became shared", "1000-9000 rw-p 0 fd:1 5 /a\n", "1000-9000 rw-s 0 fd:1 5 /a\n",
     false},
};

static void test_same_mapping(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(mappings); i++) {
        struct vma_list before = vmas_of(mappings[i].before), after = vmas_of(mappings[i].after);

        print_message("  %s\n", mappings[i].shows);
        assert_int_equal(vma_is_same_mapping(before.items, after.items), mappings[i].same);
        vma_list_deinit(&before);
        vma_list_deinit(&after);
    }
}

static const struct {
    const char *shows, *after;
    bool known; /* is the policy of the VMA at 0x10000 still known? */
} inherits[] = {
    {"nothing changed", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 0 fd:1 5 /a\n", true},
    {"something else changed", "10000-20000 rw-p 0 0:0 0 \n30000-38000 rw-p 0 fd:1 5 /a\n", true},
    {"it grew", "10000-21000 rw-p 0 0:0 0 \n", false},
    {"it grew downwards", "f000-20000 rw-p 0 0:0 0 \n", false},
    {"it shrank: mbind splits VMAs", "10000-1f000 rw-p 0 0:0 0 \n", false},
    {"it was split", "10000-18000 rw-p 0 0:0 0 \n18000-20000 rw-p 0 0:0 0 \n", false},
    {"it was protected", "10000-20000 r--p 0 0:0 0 \n", false},
    {"a file came", "10000-20000 rw-p 0 fd:1 9 /b\n", false},
};

static void test_policy_is_inherited_by_unchanged_vmas(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(inherits); i++) {
        struct vma_list before = vmas_of(inherits[0].after), after = vmas_of(inherits[i].after);

        print_message("  %s\n", inherits[i].shows);
        before.items[0].policy = REASON_BIND;
        before.items[1].policy = REASON_NONE;
        vma_list_inherit(&after, &before);
        assert_int_equal(vma_list_find(&after, 0x10000)->policy,
                         inherits[i].known ? REASON_BIND : REASON_POLICY_UNKNOWN);
        vma_list_deinit(&before);
        vma_list_deinit(&after);
    }
}

/* n VMAs of a page with a hole of a page behind each; to be freed by the caller. */
static struct vma_list vmas_with_holes(size_t n)
{
    struct vma_list list = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%zx-%zx rw-p 0 0:0 0 \n", 0x10000 + 0x2000 * i, 0x11000 + 0x2000 * i);
    fclose(out);
    assert_int_equal(vma_list_parse(&list, text, size), 0);
    assert_int_equal(list.n_items, n);
    free(text);
    return list;
}

/* The last step may be full, empty, or have one VMA only. */
static void test_find_at_the_borders_of_steps(void **state)
{
    static const size_t sizes[] = {
        0, 1, VMA_MARK_STEP - 1, VMA_MARK_STEP, VMA_MARK_STEP + 1, 3 * VMA_MARK_STEP,
    };

    (void)state;
    for (size_t s = 0; s < ARRAY_LENGTH(sizes); s++) {
        struct vma_list list = vmas_with_holes(sizes[s]);

        assert_null(vma_list_find(&list, 0xffff));
        for (size_t i = 0; i < sizes[s]; i++) {
            assert_ptr_equal(vma_list_find(&list, 0x10000 + 0x2000 * i), &list.items[i]);
            assert_ptr_equal(vma_list_find(&list, 0x10fff + 0x2000 * i), &list.items[i]);
            assert_null(vma_list_find(&list, 0x11000 + 0x2000 * i));
            assert_null(vma_list_find(&list, 0x11fff + 0x2000 * i));
        }
        vma_list_deinit(&list);
    }
}

static const struct {
    const char *shows, *after;
    bool same;
} again[] = {
    {"nothing changed", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a\n", true},
    {"named", "10000-20000 rw-p 0 0:0 0 [heap]\n30000-40000 rw-p 8 fd:1 5 /a\n", false},
    {"another name", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /b\n", false},
    {"the file was removed", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a (deleted)\n",
     false},
    {"it grew", "10000-21000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a\n", false},
    {"it grew downwards", "f000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a\n", false},
    {"protected", "10000-20000 r--p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a\n", false},
    {"another offset", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 9 fd:1 5 /a\n", false},
    {"another inode", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 6 /a\n", false},
    {"another device", "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:2 5 /a\n", false},
    {"special memory", "10000-20000 rw-p 0 0:0 0 [vvar]\n30000-40000 rw-p 8 fd:1 5 /a\n", false},
    {"one went", "10000-20000 rw-p 0 0:0 0 \n", false},
    {"one came",
     "10000-20000 rw-p 0 0:0 0 \n30000-40000 rw-p 8 fd:1 5 /a\n50000-60000 rw-p 0 0:0 0 \n", false},
};

/* Whatever a comparison overlooks would stay as it was for as long as the process lives. */
static void test_only_the_same_lines_count_as_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(again); i++) {
        struct vma_list before = vmas_of(again[0].after), after = vmas_of(again[i].after);

        print_message("  %s\n", again[i].shows);
        before.items[0].policy = REASON_BIND;
        assert_int_equal(vma_list_is_same(&before, &after), again[i].same);
        assert_int_equal(vma_list_is_same(&after, &before), again[i].same);
        vma_list_deinit(&before);
        vma_list_deinit(&after);
    }
}

static const struct {
    const char *fixture;
    size_t n_none, n_shared_ro, n_shared, n_special, n_hugetlb;
} captures[] = {
    {"maps-32bit-tcsh.txt", 2, 2, 0, 0, 0},
    {"maps-cat-vsyscall-execonly.txt", 2, 3, 1, 3, 0},
    {"maps-names-with-spaces-and-deleted.txt", 0, 1, 1, 0, 0},
    {"maps-tidb-text-remapped-huge.txt", 2, 0, 0, 0, 1},
};

static void count_kinds(const char *fixture, size_t n[REASON_COUNT])
{
    struct vma_list list = {0};
    size_t size = 0;
    char *text = fixture_read(fixture, &size);

    assert_non_null(text);
    assert_int_equal(vma_list_parse(&list, text, size), 0);
    for (size_t i = 0; i < list.n_items; i++) {
        n[list.items[i].kind]++;
        assert_ptr_equal(vma_list_find(&list, list.items[i].end - 1), &list.items[i]);
    }
    vma_list_deinit(&list);
    free(text);
}

static void test_kinds_in_captures(void **state)
{
    (void)state;
    if (!fixture_available())
        skip();
    for (size_t i = 0; i < ARRAY_LENGTH(captures); i++) {
        size_t n[REASON_COUNT] = {0};

        print_message("  %s\n", captures[i].fixture);
        count_kinds(captures[i].fixture, n);
        assert_int_equal(n[REASON_NONE], captures[i].n_none);
        assert_int_equal(n[REASON_SHARED_RO], captures[i].n_shared_ro);
        assert_int_equal(n[REASON_SHARED_MAPPING], captures[i].n_shared);
        assert_int_equal(n[REASON_SPECIAL], captures[i].n_special);
        assert_int_equal(n[REASON_HUGETLB], captures[i].n_hugetlb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_bad_lines_are_left_out),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_at_the_borders_of_steps),
        cmocka_unit_test(test_only_the_same_lines_count_as_the_same),
        cmocka_unit_test(test_same_mapping),
        cmocka_unit_test(test_policy_is_inherited_by_unchanged_vmas),
        cmocka_unit_test(test_kinds_in_captures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
