#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/numa_maps.h"
#include "fixture.h"
#include "mutate.h"
#include "numabd/topology.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define N_MUTATIONS 40000
#define PAGE UINT64_C(4096)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* What on_node was told. */
struct pages {
    uint64_t node[TOPOLOGY_NODE_MAX];
    int n_calls;
    const struct numa_maps_entry *entry;
    uint64_t page_bytes; /* of the entry, at the first call */
};

static void count_pages(void *userdata, int node, uint64_t n)
{
    struct pages *pages = userdata;

    assert_in_range(node, 0, TOPOLOGY_NODE_MAX - 1);
    if (pages->n_calls++ == 0 && pages->entry)
        pages->page_bytes = pages->entry->page_bytes;
    pages->node[node] += n;
}

/* Parses one line from a buffer of exactly its size. */
static int parse_exactly(const char *line, struct numa_maps_entry *entry, struct pages *pages)
{
    size_t size = strlen(line);
    CLEANUP(freep) char *buf = malloc(size > 0 ? size : 1);
    const char *text = buf;
    int r;

    assert_non_null(buf);
    memcpy(buf, line, size);
    memset(pages, 0, sizeof *pages);
    pages->entry = entry;
    r = numa_maps_parse_line(&text, buf + size, PAGE, entry, count_pages, pages);
    assert_ptr_equal(text, buf + size);
    return r;
}

static const struct {
    const char *line;
    struct numa_maps_entry entry;
    int n_nodes;
    uint64_t pages[4]; /* on nodes 0 to 3 */
} good[] = {
    {"7ffc4c796000 default\n", {0x7ffc4c796000, POLICY_DEFAULT, false, false, PAGE, 0, 0}, 0, {0}},
    {"55c0f6864000 default heap anon=35 dirty=35 N0=35 kernelpagesize_kB=4\n",
     {0x55c0f6864000, POLICY_DEFAULT, false, false, PAGE, 35, 0},
     1,
     {35}},
    {"38a9200000 default file=/lib64/libc-2.4.so mapped=53 mapmax=52 N1=51 N2=2\n",
     {0x38a9200000, POLICY_DEFAULT, false, true, PAGE, 0, 52},
     2,
     {0, 51, 2}},
    {"2aaaaad3e000 default anon=13226274 dirty=13210834 swapcache=3440575 active=13226272 "
     "N0=7849384 N1=5376890\n",
     {0x2aaaaad3e000, POLICY_DEFAULT, false, false, PAGE, 13226274, 0},
     2,
     {7849384, 5376890}},
    {"2aaac0000000 default file=/dev/hugepages1G/pc.ram.2wVJuq\\040(deleted) huge anon=4 dirty=4 "
     "N0=4 kernelpagesize_kB=1048576\n",
     {0x2aaac0000000, POLICY_DEFAULT, true, true, GIB, 4, 0},
     1,
     {4}},
    {"7f0ca4600000 default file=/SYSV00000000\\040(deleted) huge dirty=5 N1=5 "
     "kernelpagesize_kB=2048\n",
     {0x7f0ca4600000, POLICY_DEFAULT, true, true, 2 * MIB, 0, 0},
     1,
     {0, 5}},
    {"20000000 interleave=0-7 file=/libhugetlbfs/x huge dirty=4 N0=1 N1=1 N2=1 N3=1\n",
     {0x20000000, POLICY_INTERLEAVE, true, true, PAGE, 0, 0},
     4,
     {1, 1, 1, 1}},
    {"1000 local stack writeback=1 N0=1\n",
     {0x1000, POLICY_DEFAULT, false, false, PAGE, 0, 0},
     1,
     {1}},
    {"1000 bind:0-1\n", {0x1000, POLICY_BIND, false, false, PAGE, 0, 0}, 0, {0}},
    {"1000 bind=static:0\n", {0x1000, POLICY_BIND, false, false, PAGE, 0, 0}, 0, {0}},
    {"1000 bind=static|balancing:0 N0=2\n",
     {0x1000, POLICY_BIND, false, false, PAGE, 0, 0},
     1,
     {2}},
    {"555559580000 bind=balancing:0-1,3 file=/usr/bin/cat mapped=3 active=0 N0=3 "
     "kernelpagesize_kB=16\n",
     {0x555559580000, POLICY_BIND, false, true, 4 * PAGE, 0, 0},
     1,
     {3}},
    {"1000 prefer:1 anon=1 N1=1\n", {0x1000, POLICY_PREFER, false, false, PAGE, 1, 0}, 1, {0, 1}},
    {"1000 prefer (many):0-1 N0=1\n", {0x1000, POLICY_PREFER, false, false, PAGE, 0, 0}, 1, {1}},
    {"1000 prefer (many)=static:0 N0=1\n",
     {0x1000, POLICY_PREFER, false, false, PAGE, 0, 0},
     1,
     {1}},
    {"1000 interleave:0-3 N3=7\n",
     {0x1000, POLICY_INTERLEAVE, false, false, PAGE, 0, 0},
     1,
     {0, 0, 0, 7}},
    {"1000 interleave=static:0-1\n", {0x1000, POLICY_INTERLEAVE, false, false, PAGE, 0, 0}, 0, {0}},
    {"1000 weighted interleave:0-1 N1=7\n",
     {0x1000, POLICY_INTERLEAVE, false, false, PAGE, 0, 0},
     1,
     {0, 7}},
    {"1000 weighted interleave=relative:0\n",
     {0x1000, POLICY_INTERLEAVE, false, false, PAGE, 0, 0},
     0,
     {0}},
    /* words that are not known, and known ones as their beginning */
    {"1000 bindings:0 N0=1\n", {0x1000, POLICY_OTHER, false, false, PAGE, 0, 0}, 1, {1}},
    {"1000 unknown N0=1\n", {0x1000, POLICY_OTHER, false, false, PAGE, 0, 0}, 1, {1}},
    {"1000 weighted something:0-1 N0=1\n",
     {0x1000, POLICY_OTHER, false, false, PAGE, 0, 0},
     1,
     {1}},
    /* tokens that are not known, or only look like known ones */
    {"1000 default hugely=1 huge_=2 anonymous=3 Nodes=4 N=5 nodes N0=6 future=x=y\n",
     {0x1000, POLICY_DEFAULT, false, false, PAGE, 0, 0},
     1,
     {6}},
    {"1000 default file=/huge\\040anon\\0759 N0=1\n",
     {0x1000, POLICY_DEFAULT, false, true, PAGE, 0, 0},
     1,
     {1}},
    {"1000 default file=/a\\b\r N0=1\n", {0x1000, POLICY_DEFAULT, false, true, PAGE, 0, 0}, 1, {1}},
    {"1000 default  N0=1  N1=2 \n", {0x1000, POLICY_DEFAULT, false, false, PAGE, 0, 0}, 2, {1, 2}},
    {"1000 default N1023=1\n", {0x1000, POLICY_DEFAULT, false, false, PAGE, 0, 0}, 1, {0}},
    {"ffffffffffffffff default N0=4503599627370495\n", /* x 4096 just fits */
     {UINT64_MAX, POLICY_DEFAULT, false, false, PAGE, 0, 0},
     1,
     {4503599627370495}},
};

static void test_good_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        const struct numa_maps_entry *want = &good[i].entry;
        struct numa_maps_entry entry;
        struct pages pages;

        print_message("  %s", good[i].line);
        assert_int_equal(parse_exactly(good[i].line, &entry, &pages), 0);
        assert_true(entry.start == want->start);
        assert_int_equal(entry.policy, want->policy);
        assert_int_equal(entry.huge, want->huge);
        assert_int_equal(entry.is_file, want->is_file);
        assert_true(entry.page_bytes == want->page_bytes);
        assert_true(entry.anon_pages == want->anon_pages);
        assert_true(entry.mapmax == want->mapmax);
        assert_int_equal(pages.n_calls, good[i].n_nodes);
        assert_true(pages.n_calls == 0 || pages.page_bytes == want->page_bytes);
        for (size_t node = 0; node < ARRAY_LENGTH(good[i].pages); node++)
            assert_true(pages.node[node] == good[i].pages[node]);
    }
}

static const struct {
    const char *shows, *line;
} bad[] = {
    {"an empty line", "\n"},
    {"a separator", "--\n"},
    {"no newline: the text was cut", "1000 default anon=35 N0=35"},
    {"no address", "default anon=1009 dirty=1009 active=0 N6=1009 kernelpagesize_kB=64\n"},
    {"a range as numa_vamaps had", "00400000-00401000 N0=1 kernelpagesize_kB=4 mapped=1\n"},
    {"a continued line", "   file=/usr/lib64/libc-2.17.so\n"},
    {"an address of 65 bits", "10000000000000000 default\n"},
    {"no policy", "1000\n"},
    {"no policy but a blank", "1000 \n"},
    {"a node for the policy", "1000 N0=1\n"},
    {"node -1", "1000 default N-1=5 N0=1\n"},
    {"node 1024", "1000 default N0=1 N1024=5\n"},
    {"node 2^31 - 1", "1000 default N2147483647=5\n"},
    {"node 2^64", "1000 default N18446744073709551616=5\n"},
    {"a node without pages", "1000 default N0=\n"},
    {"a node without =", "1000 default N0\n"},
    {"negative pages", "1000 default N0=-1\n"},
    {"pages of 65 bits", "1000 default N0=18446744073709551616\n"},
    {"pages that overflow in bytes", "1000 default N0=4503599627370496\n"},
    {"pages that overflow with the page size behind them",
     "1000 default N0=17592186044416 kernelpagesize_kB=1048576\n"},
    {"pages and more", "1000 default N0=1x\n"},
    {"page size 0", "1000 default N0=1 kernelpagesize_kB=0\n"},
    {"a page size that overflows in bytes", "1000 default kernelpagesize_kB=18014398509481984\n"},
    {"no page size", "1000 default kernelpagesize_kB=\n"},
    {"anon without a number", "1000 default anon= N0=1\n"},
    {"mapmax of 65 bits", "1000 default mapmax=99999999999999999999 N0=1\n"},
    {"a line of maps", "55680ae1e000-55680ae20000 r-xp 0000a000 fd:01 47316994 /bin/cat\n"},
};

static void test_malformed_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct numa_maps_entry entry = {.start = 77};
        struct pages pages;

        print_message("  %s\n", bad[i].shows);
        assert_int_equal(parse_exactly(bad[i].line, &entry, &pages), -EINVAL);
        assert_true(entry.start == 77);
        assert_int_equal(pages.n_calls, 0);
    }
}

static void test_goes_on_behind_malformed_lines(void **state)
{
    static const char lines[] = "garbage\n"
                                "1000 default N0=1\n"
                                "1000 default N0=1 N5000=1\n"
                                "2000 bind:0 N0=10\n"
                                "3000 default N0=100";
    static const int want[] = {-EINVAL, 0, -EINVAL, 0, -EINVAL, NUMA_MAPS_END, NUMA_MAPS_END};
    const char *text = lines, *end = lines + sizeof lines - 1;
    struct numa_maps_entry entry;
    struct pages pages = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(want); i++)
        assert_int_equal(numa_maps_parse_line(&text, end, PAGE, &entry, count_pages, &pages),
                         want[i]);
    assert_int_equal(pages.node[0], 11);
}

static void test_a_line_of_any_length(void **state)
{
    enum {
        N_TOKENS = 50000
    };
    static const char head[] = "1000 default", token[] = " N3=2";
    size_t size = sizeof head - 1 + N_TOKENS * (sizeof token - 1) + 1;
    CLEANUP(freep) char *buf = malloc(size);
    const char *text = buf;
    struct numa_maps_entry entry;
    struct pages pages = {0};

    (void)state;
    assert_non_null(buf);
    memcpy(buf, head, sizeof head - 1);
    for (size_t i = 0; i < N_TOKENS; i++)
        memcpy(buf + sizeof head - 1 + i * (sizeof token - 1), token, sizeof token - 1);
    buf[size - 1] = '\n';
    assert_int_equal(numa_maps_parse_line(&text, buf + size, PAGE, &entry, count_pages, &pages), 0);
    assert_int_equal(pages.node[3], 2 * N_TOKENS);
}

/* Sums of a whole text. */
struct sums {
    int n_good, n_bad, n_huge, n_files;
    uint64_t bytes[10]; /* by node */
    uint64_t anon_pages, mapmax;
    int n_policy[POLICY_OTHER + 1];
};

static void sums_add_line(struct sums *sums, const struct numa_maps_entry *entry,
                          const struct pages *pages)
{
    sums->n_good++;
    sums->n_huge += entry->huge;
    sums->n_files += entry->is_file;
    sums->n_policy[entry->policy]++;
    sums->anon_pages += entry->anon_pages;
    if (entry->mapmax > sums->mapmax)
        sums->mapmax = entry->mapmax;
    for (size_t node = 0; node < ARRAY_LENGTH(sums->bytes); node++)
        sums->bytes[node] += pages->node[node] * entry->page_bytes;
}

static void sums_add_text(struct sums *sums, const char *text, size_t size)
{
    const char *end = text + size;
    struct numa_maps_entry entry;
    int r;

    do {
        struct pages pages = {0};

        r = numa_maps_parse_line(&text, end, PAGE, &entry, count_pages, &pages);
        if (r == 0)
            sums_add_line(sums, &entry, &pages);
        sums->n_bad += r < 0;
    } while (r != NUMA_MAPS_END);
}

/* The kernel of the machine that runs the test; it may have no NUMA and then no such file. */
static void test_own_numa_maps(void **state)
{
    CLEANUP(freep) char *buf = NULL;
    struct sums sums = {0};
    size_t size;

    (void)state;
    if (procfs_read("/", "proc/self/numa_maps", &buf, &size)) {
        print_message("no /proc/self/numa_maps here: skipped\n");
        skip();
    }
    sums_add_text(&sums, buf, size);
    assert_int_equal(sums.n_bad, 0);
    assert_true(sums.n_good > 5);
    assert_true(sums.anon_pages > 0);
}

/* Counted by hand. */
static const struct {
    const char *name;
    struct sums sums;
} fixtures[] = {
    {"numa_maps-1G-hugetlb-bind-vs-placement.txt",
     {.n_good = 6,
      .n_bad = 2,
      .n_huge = 6,
      .n_files = 6,
      .bytes = {3 * GIB, 3 * GIB},
      .anon_pages = 6,
      .n_policy = {[POLICY_BIND] = 6}}},
    {"numa_maps-balancing-flag-16k-pages.txt",
     {.n_good = 1, .n_files = 1, .bytes = {3 * 16384}, .n_policy = {[POLICY_BIND] = 1}}},
    {"numa_maps-demoted-to-node6-64k-pages.txt", {.n_bad = 2}},
    {"numa_maps-libhugetlbfs-interleave-equals-2006.txt",
     {.n_good = 11,
      .n_huge = 11,
      .n_files = 11,
      .bytes = {4 * PAGE, 3 * PAGE, 3 * PAGE, 3 * PAGE, PAGE, PAGE, PAGE, PAGE},
      .n_policy = {[POLICY_INTERLEAVE] = 11}}},
    {"numa_maps-libvirt-1G-hugepages.txt",
     {.n_good = 1,
      .n_huge = 1,
      .n_files = 1,
      .bytes = {4 * GIB},
      .anon_pages = 4,
      .n_policy = {1}}},
    {"numa_maps-mysql-swapcache-2.6.txt",
     {.n_good = 1,
      .bytes = {7849384 * PAGE, 5376890 * PAGE},
      .anon_pages = 13226274,
      .n_policy = {1}}},
    {"numa_maps-shm-prefer-and-unfaulted-bind.txt",
     {.n_good = 7,
      .n_files = 3,
      .bytes = {513 * PAGE, 257 * PAGE},
      .anon_pages = 2,
      .n_policy = {1, 2, 4}}},
    {"numa_maps-sysv-shm-huge.txt",
     {.n_good = 5,
      .n_huge = 2,
      .n_files = 3,
      .bytes = {(1 + 471 + 257944) * PAGE, 266345 * PAGE + 12 * MIB},
      .anon_pages = 1 + 471 + 524289,
      .n_policy = {5}}},
    {"numa_maps-thermostat-swapcache.txt",
     {.n_good = 4,
      .n_huge = 1,
      .bytes = {(1861 + 1776 + 456) * PAGE, 45680 * PAGE},
      .anon_pages = 1861 + 1776 + 45680 + 456,
      .n_policy = {4}}},
    {"numa_maps-tidb-text-remapped-huge.txt",
     {.n_good = 5,
      .n_bad = 1,
      .n_huge = 1,
      .n_files = 4,
      .bytes = {(21402 + 1 + 410 + 1) * PAGE + 82 * MIB},
      .anon_pages = 1 + 41 + 410 + 1,
      .n_policy = {5}}},
    {"numa_vamaps-other-format-reject.txt", {.n_bad = 6}},
};

static void test_fixtures(void **state)
{
    (void)state;
    if (!fixture_available())
        skip();
    for (size_t i = 0; i < ARRAY_LENGTH(fixtures); i++) {
        const struct sums *want = &fixtures[i].sums;
        size_t size;
        CLEANUP(freep) char *text = fixture_read(fixtures[i].name, &size);
        struct sums sums = {0};

        print_message("  %s\n", fixtures[i].name);
        assert_non_null(text);
        sums_add_text(&sums, text, size);
        assert_int_equal(sums.n_good, want->n_good);
        assert_int_equal(sums.n_bad, want->n_bad);
        assert_int_equal(sums.n_huge, want->n_huge);
        assert_int_equal(sums.n_files, want->n_files);
        assert_true(sums.anon_pages == want->anon_pages);
        assert_memory_equal(sums.n_policy, want->n_policy, sizeof sums.n_policy);
        for (size_t node = 0; node < ARRAY_LENGTH(sums.bytes); node++)
            assert_true(sums.bytes[node] == want->bytes[node]);
    }
}

/* Every VMA under prefer:1 holds 102400 pages, over both nodes. */
static void test_fixture_thp(void **state)
{
    struct sums sums = {0};
    char *text;
    size_t size;

    (void)state;
    if (!fixture_available())
        skip();
    text = fixture_read("numa_maps-thp-prefer1-400M.txt", &size);
    assert_non_null(text);
    sums_add_text(&sums, text, size);
    free(text);
    assert_int_equal(sums.n_policy[POLICY_PREFER], 7);
    assert_true(sums.bytes[0] + sums.bytes[1] == 7 * 102400 * PAGE);
    assert_true(sums.bytes[0] == (41963 + 40079 + 44455 + 50688 + 53760 + 8704 + 3072) * PAGE);
}

static void check_fixture(const char *name)
{
    size_t size;
    CLEANUP(freep) char *text = fixture_read(name, &size);
    int n_lines = 0;
    struct sums sums = {0};

    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        n_lines += text[i] == '\n';
    sums_add_text(&sums, text, size);
    print_message("  %s: %d good, %d malformed\n", name, sums.n_good, sums.n_bad);
    assert_int_equal(sums.n_good + sums.n_bad, n_lines);
    assert_int_equal(sums.n_policy[POLICY_OTHER], 0);
}

static void test_all_fixtures(void **state)
{
    (void)state;
    if (!fixture_available())
        skip();
    assert_true(fixture_each("numa_maps-*.txt", check_fixture) > 0);
}

static void test_mutations(void **state)
{
    struct mutate *mutate = *state;
    struct sums all = {0};

    for (int i = 0; i < N_MUTATIONS; i++) {
        size_t size;
        CLEANUP(freep)
        char *buf = mutate_copy(mutate, good[mutate_below(mutate, ARRAY_LENGTH(good))].line, &size);
        const char *text = buf, *from = buf;
        struct numa_maps_entry entry;
        struct pages pages = {.entry = &entry};
        int r, n_calls = 0;

        while ((r = numa_maps_parse_line(&text, buf + size, PAGE, &entry, count_pages, &pages)) !=
               NUMA_MAPS_END) {
            assert_true(text > from && text <= buf + size);
            assert_true(r == 0 || r == -EINVAL);
            assert_true(r == 0 || pages.n_calls == n_calls);
            assert_true(r != 0 || (entry.page_bytes > 0 && entry.policy <= POLICY_OTHER));
            ++*(r == 0 ? &all.n_good : &all.n_bad);
            n_calls = pages.n_calls;
            from = text;
        }
    }
    assert_true(all.n_good > N_MUTATIONS / 20); /* both ways were taken */
    assert_true(all.n_bad > N_MUTATIONS / 20);
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_lines),
        cmocka_unit_test(test_malformed_lines),
        cmocka_unit_test(test_goes_on_behind_malformed_lines),
        cmocka_unit_test(test_a_line_of_any_length),
        cmocka_unit_test(test_own_numa_maps),
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_fixture_thp),
        cmocka_unit_test(test_all_fixtures),
        cmocka_unit_test_prestate(test_mutations, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
