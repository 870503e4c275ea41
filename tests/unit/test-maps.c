#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "mutate.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/maps.h"
#include "util/procfs.h"

#define N_MUTATIONS 40000

/* Parses one line from a buffer of exactly its size; *entryp is only for a result of 0. */
static int parse_exactly(const char *line, struct maps_entry *entry, char *name, size_t name_size)
{
    size_t size = strlen(line);
    CLEANUP(freep) char *buf = malloc(size > 0 ? size : 1);
    const char *text = buf;
    int r;

    assert_non_null(buf);
    memcpy(buf, line, size);
    r = maps_parse_line(&text, buf + size, entry);
    if (size > 0)
        assert_ptr_equal(text, buf + size);
    if (r == 0)
        snprintf(name, name_size, "%.*s", (int)entry->name_size, entry->name);
    return r;
}

static const struct {
    const char *shows, *line;
    struct maps_entry entry;
    const char *name;
} good[] = {
    {"a file",
     "55680ae1e000-55680ae20000 r-xp 0000a000 fd:01 47316994                   /bin/cat\n",
     {0x55680ae1e000, 0x55680ae20000, MAPS_READ | MAPS_EXEC, 0xa000, 0xfd, 1, 47316994, NULL, 0},
     "/bin/cat"},
    {"anonymous memory with the kernel's last blank",
     "0808c000-08146000 rwxp 00000000 00:00 0 \n",
     {0x808c000, 0x8146000, MAPS_READ | MAPS_WRITE | MAPS_EXEC, 0, 0, 0, 0, NULL, 0},
     ""},
    {"anonymous memory without it",
     "0808c000-08146000 ---p 00000000 00:00 0\n",
     {0x808c000, 0x8146000, 0, 0, 0, 0, 0, NULL, 0},
     ""},
    {"a name with blanks, and one at its end",
     "1000-2000 rw-s 00000000 00:01 5  /a b (deleted) \n",
     {0x1000, 0x2000, MAPS_READ | MAPS_WRITE | MAPS_SHARED, 0, 0, 1, 5, NULL, 0},
     "/a b (deleted) "},
    {"a newline in a name stays escaped",
     "1000-2000 r--p 0 0:1 5 /a\\012b\n",
     {0x1000, 0x2000, MAPS_READ, 0, 0, 1, 5, NULL, 0},
     "/a\\012b"},
    {"carriage return and tab in a name",
     "1000-2000 r--p 0 0:1 5 /a\r\tb\n",
     {0x1000, 0x2000, MAPS_READ, 0, 0, 1, 5, NULL, 0},
     "/a\r\tb"},
    {"a name that looks like a line",
     "1000-2000 r--p 0 0:1 5 1000-2000 r--p 0 0:1 5\n",
     {0x1000, 0x2000, MAPS_READ, 0, 0, 1, 5, NULL, 0},
     "1000-2000 r--p 0 0:1 5"},
    {"vsyscall at the top, execute only",
     "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n",
     {0xffffffffff600000, 0xffffffffff601000, MAPS_EXEC, 0, 0, 0, 0, NULL, 0},
     "[vsyscall]"},
    {"the largest numbers",
     "0-ffffffffffffffff rw-p ffffffffffffffff ffffffff:ffffffff 18446744073709551615\n",
     {0, UINT64_MAX, MAPS_READ | MAPS_WRITE, UINT64_MAX, 0xffffffff, 0xffffffff, UINT64_MAX, NULL,
      0},
     ""},
    {"an inode above 32 bits",
     "1000-2000 r--p 0 00:2d 9223372036854775807 /nfs\n",
     {0x1000, 0x2000, MAPS_READ, 0, 0, 0x2d, 9223372036854775807, NULL, 0},
     "/nfs"},
};

static void test_good_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        struct maps_entry entry, want = good[i].entry;
        char name[128];

        print_message("  %s\n", good[i].shows);
        assert_int_equal(parse_exactly(good[i].line, &entry, name, sizeof name), 0);
        assert_string_equal(name, good[i].name);
        entry.name = NULL;
        entry.name_size = 0;
        assert_true(entry.start == want.start && entry.end == want.end);
        assert_int_equal(entry.perms, want.perms);
        assert_true(entry.offset == want.offset && entry.inode == want.inode);
        assert_int_equal(entry.dev_major, want.dev_major);
        assert_int_equal(entry.dev_minor, want.dev_minor);
    }
}

static const struct {
    const char *shows, *line;
} bad[] = {
    {"an empty line", "\n"},
    {"no newline: the text was cut", "1000-2000 r--p 00000000 00:01 5 /a"},
    {"cut in the inode, which would read as another", "1000-2000 r--p 00000000 00:01 5"},
    {"start is end", "1000-1000 r--p 0 0:1 5\n"},
    {"start above end", "2000-1000 r--p 0 0:1 5\n"},
    {"three permissions", "1000-2000 r-p 0 0:1 5\n"},
    {"five permissions", "1000-2000 r--xp 0 0:1 5\n"},
    {"permissions in another order", "1000-2000 wr-p 0 0:1 5\n"},
    {"neither shared nor private", "1000-2000 r--- 0 0:1 5\n"},
    {"two blanks before permissions", "1000-2000  r--p 0 0:1 5\n"},
    {"a leading blank", " 1000-2000 r--p 0 0:1 5\n"},
    {"a sign", "-1000-2000 r--p 0 0:1 5\n"},
    {"0x", "0x1000-0x2000 r--p 0 0:1 5\n"},
    {"no end", "1000 r--p 0 0:1 5\n"},
    {"an end of 65 bits", "1000-10000000000000000 r--p 0 0:1 5\n"},
    {"an offset of 65 bits", "1000-2000 r--p 10000000000000000 0:1 5\n"},
    {"an inode of 65 bits", "1000-2000 r--p 0 0:1 18446744073709551616\n"},
    {"a device of 33 bits", "1000-2000 r--p 0 0:100000000 5\n"},
    {"a device without minor", "1000-2000 r--p 0 01 5\n"},
    {"an inode in hexadecimal", "1000-2000 r--p 0 0:1 5a\n"},
    {"no inode", "1000-2000 r--p 0 0:1\n"},
    {"a name that sticks to the inode", "1000-2000 r--p 0 0:1 5/a\n"},
    {"a line of numa_maps", "55c0f6864000 default heap anon=35 dirty=35 N0=35\n"},
    {"a line of smaps", "Rss:                   4 kB\n"},
};

static void test_malformed_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct maps_entry entry = {.start = 1, .end = 2, .inode = 3};
        char name[8];

        print_message("  %s\n", bad[i].shows);
        assert_int_equal(parse_exactly(bad[i].line, &entry, name, sizeof name), -EINVAL);
        assert_true(entry.start == 1 && entry.end == 2 && entry.inode == 3); /* untouched */
    }
}

static void test_end_of_text(void **state)
{
    struct maps_entry entry;
    const char *text = "", *end = text;

    (void)state;
    assert_int_equal(maps_parse_line(&text, end, &entry), MAPS_END);
    assert_ptr_equal(text, end);
}

static void test_goes_on_behind_malformed_lines(void **state)
{
    static const char lines[] = "garbage\n"
                                "1000-2000 r--p 00000000 00:00 0 \n"
                                "\n"
                                "3000-2000 r--p 00000000 00:00 0 \n"
                                "5000-6000 rw-p 00000000 00:00 0 [heap]\n"
                                "7000-8000 rw-p 000";
    static const int want[] = {-EINVAL, 0, -EINVAL, -EINVAL, 0, -EINVAL, MAPS_END, MAPS_END};
    const char *text = lines;
    struct maps_entry entry;

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(want); i++)
        assert_int_equal(maps_parse_line(&text, lines + sizeof lines - 1, &entry), want[i]);
    assert_true(entry.start == 0x5000);
}

static void test_a_name_of_any_length(void **state)
{
    enum {
        NAME_SIZE = 300000
    };
    static const char head[] = "1000-2000 r--p 0 0:1 5 ";
    size_t size = sizeof head - 1 + NAME_SIZE + 1;
    CLEANUP(freep) char *buf = malloc(size);
    const char *text = buf;
    struct maps_entry entry;

    (void)state;
    assert_non_null(buf);
    memcpy(buf, head, sizeof head - 1);
    memset(buf + sizeof head - 1, '/', NAME_SIZE);
    buf[size - 1] = '\n';
    assert_int_equal(maps_parse_line(&text, buf + size, &entry), 0);
    assert_int_equal(entry.name_size, NAME_SIZE);
}

/* The kernel of the machine that runs the test. */
static void test_own_maps(void **state)
{
    CLEANUP(freep) char *buf = NULL;
    struct maps_entry entry;
    uint64_t here = (uintptr_t)&entry, before = 0;
    bool found = false;
    const char *text;
    size_t size;
    int r;

    (void)state;
    assert_int_equal(procfs_read("/", "proc/self/maps", &buf, &size), 0);
    for (text = buf; (r = maps_parse_line(&text, buf + size, &entry)) != MAPS_END;) {
        assert_int_equal(r, 0);
        assert_true(entry.start >= before);
        before = entry.end;
        found = found || (here >= entry.start && here < entry.end && entry.perms & MAPS_WRITE);
    }
    assert_true(found);
}

static void count_lines(const char *name, int *n_goodp, int *n_badp)
{
    size_t size;
    CLEANUP(freep) char *buf = fixture_read(name, &size);
    const char *text = buf;
    struct maps_entry entry;
    int r;

    assert_non_null(buf);
    while ((r = maps_parse_line(&text, buf + size, &entry)) != MAPS_END)
        ++*(r == 0 ? n_goodp : n_badp);
}

static void test_fixtures(void **state)
{
    static const struct {
        const char *name;
        int n_good, n_bad;
    } fixtures[] = {
        {"maps-32bit-tcsh.txt", 4, 0},
        {"maps-cat-vsyscall-execonly.txt", 9, 0},
        {"maps-names-with-spaces-and-deleted.txt", 2, 0},
        {"maps-tidb-text-remapped-huge.txt", 3, 0},
        {"numa_maps-alpine-busybox.txt", 0, 15},
    };

    (void)state;
    if (!fixture_available())
        skip();
    for (size_t i = 0; i < ARRAY_LENGTH(fixtures); i++) {
        int n_good = 0, n_bad = 0;

        print_message("  %s\n", fixtures[i].name);
        count_lines(fixtures[i].name, &n_good, &n_bad);
        assert_int_equal(n_good, fixtures[i].n_good);
        assert_int_equal(n_bad, fixtures[i].n_bad);
    }
}

static void check_entry(const struct maps_entry *entry, const char *from, const char *to)
{
    assert_true(entry->start < entry->end);
    assert_true(entry->perms < 16);
    assert_true(entry->name > from && entry->name + entry->name_size == to - 1);
    assert_null(memchr(entry->name, '\n', entry->name_size));
}

static void test_mutations(void **state)
{
    struct mutate *mutate = *state;
    int n_good = 0, n_bad = 0;

    for (int i = 0; i < N_MUTATIONS; i++) {
        size_t size;
        CLEANUP(freep)
        char *buf = mutate_copy(mutate, good[mutate_below(mutate, ARRAY_LENGTH(good))].line, &size);
        const char *text = buf, *from = buf;
        struct maps_entry entry;
        int r;

        while ((r = maps_parse_line(&text, buf + size, &entry)) != MAPS_END) {
            assert_true(text > from && text <= buf + size);
            assert_true(r == 0 || r == -EINVAL);
            if (r == 0)
                check_entry(&entry, from, text);
            ++*(r == 0 ? &n_good : &n_bad);
            from = text;
        }
    }
    assert_true(n_good > N_MUTATIONS / 20); /* both ways were taken */
    assert_true(n_bad > N_MUTATIONS / 20);
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lines),
        cmocka_unit_test(test_malformed_lines),
        cmocka_unit_test(test_end_of_text),
        cmocka_unit_test(test_goes_on_behind_malformed_lines),
        cmocka_unit_test(test_a_name_of_any_length),
        cmocka_unit_test(test_own_maps),
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test_prestate(test_mutations, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
