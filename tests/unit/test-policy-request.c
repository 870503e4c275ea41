/* Policies of VMAs and threads, and totals, from numa_maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/requests.h"
#include "attribute/tally.h"
#include "attribute/thread_mask.h"
#include "fake_host.h"
#include "fixture.h"
#include "space_rig.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define NUMA_MAPS "proc/4711/numa_maps"
#define BASE (16 * M)
#define MAPS                                                                                       \
    "1000000-1200000 rw-p 0 0:0 0 \n1200000-1400000 rw-p 0 0:0 0 \n"                               \
    "1400000-1600000 rw-p 0 0:0 0 \n"

static const struct work_ops ops = {
    .name = "test", .run = policy_request_run, .free = policy_request_free};

struct rig {
    struct fake_host fake;
    struct space *space;
};

static void rig_init(struct rig *rig, const char *maps, const char *numa_maps)
{
    fake_host_init(&rig->fake);
    rig->space = space_rig_new(maps);
    if (numa_maps)
        fake_host_set_file(&rig->fake, NUMA_MAPS, numa_maps);
}

static void rig_deinit(struct rig *rig)
{
    space_free(rig->space);
    fake_host_deinit(&rig->fake);
}

static struct policy_request *rig_ask(struct rig *rig, bool with_process)
{
    struct policy_request *policy = NULL;

    assert_int_equal(
        policy_request_new(&policy, rig->space, &rig->fake.host, with_process, &ops, NULL), 0);
    return policy;
}

/* Asks and applies. Return: of policy_request_apply. */
static bool rig_read(struct rig *rig, bool with_process)
{
    struct policy_request *policy = rig_ask(rig, with_process);
    bool all;

    policy_request_run(&policy->request.work);
    all = policy_request_apply(policy, rig->space);
    policy_request_free(&policy->request.work);
    return all;
}

static enum reason policy_at(const struct rig *rig, uint64_t addr)
{
    const struct vma *vma = space_find_vma(rig->space, addr);

    assert_non_null(vma);
    return vma->policy;
}

static const struct {
    const char *word;
    enum reason reason;
} policies[] = {
    {"default", REASON_NONE},
    {"local", REASON_NONE},
    {"bind:0", REASON_BIND},
    {"bind=static:0-1", REASON_BIND},
    {"bind=balancing:0-1,3", REASON_BIND},
    {"prefer:1", REASON_PREFER},
    {"prefer (many):0-1", REASON_PREFER},
    {"interleave:0-3", REASON_INTERLEAVE},
    {"interleave=0-7", REASON_INTERLEAVE},
    {"weighted interleave:0-1", REASON_INTERLEAVE},
    {"novel:0", REASON_OTHER_POLICY},
};

static void test_a_policy_in_the_middle(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(policies); i++) {
        char text[256];
        struct rig rig;

        print_message("  %s\n", policies[i].word);
        snprintf(text, sizeof text, "01000000 default N0=1\n01200000 %s N0=1\n01400000 default\n",
                 policies[i].word);
        rig_init(&rig, MAPS, text);
        assert_true(rig_read(&rig, true));
        assert_int_equal(policy_at(&rig, BASE), REASON_NONE);
        assert_int_equal(policy_at(&rig, BASE + 2 * M), policies[i].reason);
        assert_int_equal(policy_at(&rig, BASE + 4 * M), REASON_NONE);
        rig_deinit(&rig);
    }
}

static void test_the_leaders_policy_is_all_vmas_policy(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS, "01000000 bind:0 N0=1\n01200000 prefer:1\n01400000 bind:0\n");
    assert_true(rig_read(&rig, true));
    assert_int_equal(policy_at(&rig, BASE), REASON_BIND);
    assert_int_equal(policy_at(&rig, BASE + 2 * M), REASON_PREFER);
    assert_int_equal(policy_at(&rig, BASE + 4 * M), REASON_BIND);
    rig_deinit(&rig);
}

static const struct {
    const char *shows, *numa_maps;
    enum reason policies[3];
    bool all;
} mismatches[] = {
    {"all match",
     "1000000 default\n1200000 default\n1400000 default\n",
     {REASON_NONE, REASON_NONE, REASON_NONE},
     true},
    {"one is missing",
     "1000000 default\n1400000 default\n",
     {REASON_NONE, REASON_POLICY_UNKNOWN, REASON_NONE},
     false},
    {"one was split since: its half may be bound",
     "1000000 default\n1100000 bind:0\n1200000 default\n1400000 default\n",
     {REASON_POLICY_UNKNOWN, REASON_NONE, REASON_NONE},
     false},
    {"two were merged since",
     "1000000 default\n1400000 bind:1\n",
     {REASON_NONE, REASON_POLICY_UNKNOWN, REASON_BIND},
     false},
    {"one begins elsewhere",
     "1000000 default\n1201000 default\n1400000 default\n",
     {REASON_NONE, REASON_POLICY_UNKNOWN, REASON_NONE},
     false},
    {"the last was split",
     "1000000 default\n1200000 default\n1400000 default\n1500000 bind:0\n",
     {REASON_NONE, REASON_NONE, REASON_POLICY_UNKNOWN},
     false},
    {"more lies around them",
     "400000 bind:3\n1000000 default\n1200000 default\n1400000 default\n1600000 bind:0\n",
     {REASON_NONE, REASON_NONE, REASON_NONE},
     true},
    {"a malformed line",
     "1000000 default\n1200000 default N0=x\n1400000 default\n",
     {REASON_NONE, REASON_POLICY_UNKNOWN, REASON_NONE},
     false},
    {"the end is cut",
     "1000000 default\n1200000 default\n1400000 def",
     {REASON_NONE, REASON_NONE, REASON_POLICY_UNKNOWN},
     false},
    {"nothing", "", {REASON_POLICY_UNKNOWN, REASON_POLICY_UNKNOWN, REASON_POLICY_UNKNOWN}, false},
};

static void test_what_does_not_match_stays_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(mismatches); i++) {
        struct rig rig;

        print_message("  %s\n", mismatches[i].shows);
        rig_init(&rig, MAPS, mismatches[i].numa_maps);
        for (size_t v = 0; v < 3; v++) /* what was known before counts no more */
            rig.space->vmas.items[v].policy = REASON_NONE;
        assert_int_equal(rig_read(&rig, true), mismatches[i].all);
        for (size_t v = 0; v < 3; v++)
            assert_int_equal(policy_at(&rig, BASE + 2 * v * M), mismatches[i].policies[v]);
        rig_deinit(&rig);
    }
}

static void test_vmas_that_never_move_need_no_line(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig,
             "1000000-1200000 rw-p 0 0:0 0 \n"
             "ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]\n",
             "1000000 default\n");
    assert_true(rig_read(&rig, true));
    assert_int_equal(policy_at(&rig, BASE), REASON_NONE);
    rig_deinit(&rig);
}

static const int failures[] = {PROCFS_GONE, PROCFS_DENIED, -EIO};

static void test_a_failed_read_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(failures); i++) {
        struct rig rig;

        rig_init(&rig, MAPS, "1000000 default\n1200000 bind:1\n1400000 default\n");
        assert_true(rig_read(&rig, true));
        space_rig_set(rig.space, "1000000-1200000 rw-p 0 0:0 0 \n1200000-1400000 rw-p 0 0:0 0 \n");
        fake_host_set_result(&rig.fake, NUMA_MAPS, failures[i]);
        assert_true(rig_read(&rig, true));
        assert_int_equal(policy_at(&rig, BASE), REASON_NONE);
        assert_int_equal(policy_at(&rig, BASE + 2 * M), REASON_BIND);
        space_rig_set(rig.space, MAPS);
        assert_true(rig_read(&rig, true));
        assert_int_equal(policy_at(&rig, BASE + 4 * M), REASON_POLICY_UNKNOWN);
        rig_deinit(&rig);
    }
}

static void test_hugetlb(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS,
             "1000000 default file=/anon_hugepage\\040(deleted) huge anon=1 N0=1 "
             "kernelpagesize_kB=2048\n"
             "1200000 bind:1 huge anon=1 N1=1 kernelpagesize_kB=2048\n"
             "1400000 default anon=512 N1=512 kernelpagesize_kB=4\n");
    assert_true(rig_read(&rig, true));
    assert_int_equal(policy_at(&rig, BASE), REASON_HUGETLB);
    assert_int_equal(policy_at(&rig, BASE + 2 * M), REASON_BIND);
    assert_int_equal(policy_at(&rig, BASE + 4 * M), REASON_NONE);
    rig_deinit(&rig);
}

static uint64_t page_bytes_at(const struct rig *rig, uint64_t addr)
{
    const struct vma *vma = space_find_vma(rig->space, addr);

    assert_non_null(vma);
    return vma->page_bytes;
}

/* A page of any size is asked for once; what lies at the addresses next may have another size. */
static void test_page_sizes_go_with_their_mapping(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS,
             "1000000 default huge anon=1 N0=1 kernelpagesize_kB=2048\n"
             "1200000 default anon=512 N1=512 kernelpagesize_kB=4\n"
             "1400000 default huge anon=1 N0=1 kernelpagesize_kB=2048\n");
    assert_int_equal(page_bytes_at(&rig, BASE), 0); /* not read yet */
    assert_true(rig_read(&rig, true));
    assert_int_equal(page_bytes_at(&rig, BASE), 2 * M);
    assert_int_equal(page_bytes_at(&rig, BASE + 2 * M), 4096);
    space_rig_set(rig.space, "1000000-1200000 rw-p 0 0:0 0 \n1400000-1500000 rw-p 0 0:0 0 \n");
    assert_int_equal(page_bytes_at(&rig, BASE), 2 * M);
    assert_int_equal(page_bytes_at(&rig, BASE + 4 * M), 0);
    rig_deinit(&rig);
}

static void test_totals_with_mixed_page_sizes(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS,
             "400000 default file=/bin/x mapped=7 N0=3 N252=4 kernelpagesize_kB=4\n"
             "1000000 default anon=3 N8=2 N0=1 kernelpagesize_kB=2048\n"
             "1200000 default huge N252=1 kernelpagesize_kB=1048576\n"
             "1300000 default N0=5 N8=x\n" /* counts nothing of a bad line */
             "1400000 default N0=10\n"     /* no size: base pages */
             "1500000 default anon=4 N8=4 kernelpagesize_kB=64\n");
    (void)rig_read(&rig, true);
    assert_true(rig.space->totals_known);
    assert_true(tally_n(&rig.space->totals, 0) == 3 + 512 + 10);
    assert_true(tally_n(&rig.space->totals, 8) == 2 * 512 + 4 * 16);
    assert_true(tally_n(&rig.space->totals, 252) == 4 + 262144);
    assert_true(rig_read(&rig, false));
    assert_true(tally_total_n(&rig.space->totals) > 0); /* only threads were read */
    rig_deinit(&rig);
}

static enum thread_policy policy_of_thread(const struct rig *rig, pid_t tid)
{
    struct thread *thread;

    HASH_FIND(hh, rig->space->threads, &tid, sizeof tid, thread);
    assert_non_null(thread);
    return thread->policy;
}

static const struct {
    const char *shows, *head; /* NULL: no such file */
    int r;
    enum thread_policy policy;
} heads[] = {
    {"default", "1000000 default anon=1\n1200000 bind:0\n", 0, THREAD_POLICY_DEFAULT},
    {"local", "1000000 local\n", 0, THREAD_POLICY_DEFAULT},
    {"bind", "1000000 bind:0 anon=1\n", 0, THREAD_POLICY_OWN},
    {"prefer", "1000000 prefer:1\n", 0, THREAD_POLICY_OWN},
    {"interleave", "1000000 interleave:0-1 N0=1\n", 0, THREAD_POLICY_OWN},
    {"unknown to numabd", "1000000 novel\n", 0, THREAD_POLICY_OWN},
    {"cut behind the policy", "1000000 default file=/lib", 0, THREAD_POLICY_DEFAULT},
    {"cut behind a policy of its own", "1000000 bind:0 fi", 0, THREAD_POLICY_OWN},
    {"cut in a policy of two words", "1000000 prefer (man", 0, THREAD_POLICY_OWN},
    {"cut in the policy", "1000000 defa", 0, THREAD_POLICY_UNKNOWN},
    {"cut in the nodes", "1000000 bind:0-", 0, THREAD_POLICY_UNKNOWN},
    {"cut in the address", "10000", 0, THREAD_POLICY_UNKNOWN},
    {"garbage", "hello world\n", 0, THREAD_POLICY_UNKNOWN},
    {"it has ended", NULL, PROCFS_GONE, THREAD_POLICY_DEFAULT},
    {"it is ending: no memory left", "", 0, THREAD_POLICY_DEFAULT},
    {"denied", "", PROCFS_DENIED, THREAD_POLICY_UNKNOWN},
    {"failed", "", -EIO, THREAD_POLICY_UNKNOWN},
};

static void test_heads_of_threads(void **state)
{
    const char *path = "proc/4711/task/4712/numa_maps";

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(heads); i++) {
        struct rig rig;

        print_message("  %s\n", heads[i].shows);
        rig_init(&rig, MAPS, NULL);
        space_rig_add(rig.space, 4712, 0, BASE, 1);
        if (heads[i].head)
            fake_host_set_file(&rig.fake, path, heads[i].head);
        if (heads[i].r)
            fake_host_set_result(&rig.fake, path, heads[i].r);
        assert_true(rig_read(&rig, false));
        assert_int_equal(policy_of_thread(&rig, 4712), heads[i].policy);
        assert_in_range(rig.fake.last_limit, 100, 4096); /* never the whole file */
        rig_deinit(&rig);
    }
}

static void test_a_long_first_line_is_cut_by_the_limit(void **state)
{
    char text[8192] = "1000000 bind:0 file=";
    struct rig rig;

    (void)state;
    memset(text + strlen(text), 'x', sizeof text - strlen(text) - 2);
    text[sizeof text - 2] = '\n';
    rig_init(&rig, MAPS, NULL);
    space_rig_add(rig.space, 4712, 0, BASE, 1);
    fake_host_set_file(&rig.fake, "proc/4711/task/4712/numa_maps", text);
    rig_read(&rig, false);
    assert_int_equal(policy_of_thread(&rig, 4712), THREAD_POLICY_OWN);
    rig_deinit(&rig);
}

static bool used_by(const struct rig *rig, uint64_t start, const struct thread_mask *mask)
{
    return thread_mask_overlaps(&space_find_range(rig->space, start)->threads, mask);
}

static void test_a_thread_of_its_own_blocks_its_ranges(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS, "1000000 default\n1200000 default\n1400000 default\n");
    fake_host_set_file(&rig.fake, "proc/4711/task/4711/numa_maps", "1000000 default\n");
    fake_host_set_file(&rig.fake, "proc/4711/task/4712/numa_maps", "1000000 bind:0\n");
    space_rig_add(rig.space, 4711, 0, BASE, 1);
    space_rig_add(rig.space, 4712, 0, BASE + 2 * M, 1);
    assert_true(used_by(&rig, BASE, &rig.space->unknown_policy));
    assert_true(rig_read(&rig, true));
    assert_false(used_by(&rig, BASE, &rig.space->unknown_policy));
    assert_false(used_by(&rig, BASE, &rig.space->own_policy));
    assert_true(used_by(&rig, BASE + 2 * M, &rig.space->own_policy));
    space_rig_add(rig.space, 4713, 0, BASE, 1); /* a new thread: unknown until it is read */
    assert_true(used_by(&rig, BASE, &rig.space->unknown_policy));
    fake_host_clear_log(&rig.fake);
    assert_true(rig_read(&rig, false));
    assert_string_equal(rig.fake.log, "task"); /* the known ones were not read again */
    assert_false(used_by(&rig, BASE, &rig.space->unknown_policy));
    fake_host_clear_log(&rig.fake);
    assert_true(rig_read(&rig, true));
    assert_string_equal(rig.fake.log, "numa_maps task task task"); /* now they were */
    rig_deinit(&rig);
}

static void test_threads_that_came_and_went_meanwhile(void **state)
{
    struct policy_request *policy;
    struct rig rig;
    size_t n_dropped;

    (void)state;
    rig_init(&rig, MAPS, NULL);
    space_rig_add(rig.space, 4712, 0, BASE, 1);
    policy = rig_ask(&rig, false);
    policy_request_run(&policy->request.work);
    space_close_round(rig.space, 0.6, 1, 100 * NSEC_PER_SEC, &n_dropped); /* it slept too long */
    space_rig_add(rig.space, 4713, 0, BASE, 1);
    assert_true(policy_request_apply(policy, rig.space));
    assert_int_equal(HASH_COUNT(rig.space->threads), 1);
    assert_int_equal(policy_of_thread(&rig, 4713), THREAD_POLICY_UNKNOWN);
    assert_true(used_by(&rig, BASE, &rig.space->unknown_policy));
    policy_request_free(&policy->request.work);
    rig_deinit(&rig);
}

static void test_the_time_allowed_grows_with_memory(void **state)
{
    struct policy_request *policy;
    struct rig rig;

    (void)state;
    rig_init(&rig, MAPS, NULL);
    rig.space->rss_bytes = 256 * 1024 * M; /* 67 million pages at 70 ns: 4.7 s */
    policy = rig_ask(&rig, true);
    assert_true(policy->request.work.timeout_nsec >= 30 * NSEC_PER_SEC);
    policy_request_free(&policy->request.work);
    rig_deinit(&rig);
}

/* 65,530 of them take 0.15 s with hardly any memory. */
static void test_the_time_allowed_grows_with_vmas(void **state)
{
    struct policy_request *policy;
    uint64_t few_nsec;
    struct rig rig;
    size_t n_vmas;

    (void)state;
    rig_init(&rig, MAPS, NULL);
    policy = rig_ask(&rig, true);
    few_nsec = policy->request.work.timeout_nsec;
    policy_request_free(&policy->request.work);
    n_vmas = rig.space->vmas.n_items;
    rig.space->vmas.n_items = 65530; /* only their number counts here */
    policy = rig_ask(&rig, true);
    rig.space->vmas.n_items = n_vmas;
    assert_true(policy->request.work.timeout_nsec >= few_nsec + 1500 * NSEC_PER_MSEC);
    policy_request_free(&policy->request.work);
    rig_deinit(&rig);
}

/* A whole small process: maps are made of its starts. */
static void test_a_captured_process(void **state)
{
    CLEANUP(freep) char *text = NULL;
    struct rig rig;
    size_t size;

    (void)state;
    if (!fixture_available())
        skip();
    text = fixture_read("numa_maps-alpine-busybox.txt", &size);
    assert_non_null(text);
    rig_init(&rig,
             "55c0f609e000-55c0f60a2000 rw-p 0 0:0 0 \n55c0f6864000-55c0f6887000 rw-p 0 0:0 0 \n"
             "7ffc4c796000-7ffc4c799000 r--p 0 0:0 0 [vvar]\n",
             text);
    assert_true(rig_read(&rig, true));
    assert_int_equal(policy_at(&rig, 0x55c0f609e000), REASON_NONE);
    assert_true(tally_n(&rig.space->totals, 0) ==
                12 + 90 + 33 + 4 + 1 + 35 + 20 + 60 + 32 + 1 + 1 + 3 + 17);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_policy_in_the_middle),
        cmocka_unit_test(test_the_leaders_policy_is_all_vmas_policy),
        cmocka_unit_test(test_what_does_not_match_stays_unknown),
        cmocka_unit_test(test_vmas_that_never_move_need_no_line),
        cmocka_unit_test(test_a_failed_read_changes_nothing),
        cmocka_unit_test(test_hugetlb),
        cmocka_unit_test(test_page_sizes_go_with_their_mapping),
        cmocka_unit_test(test_totals_with_mixed_page_sizes),
        cmocka_unit_test(test_heads_of_threads),
        cmocka_unit_test(test_a_long_first_line_is_cut_by_the_limit),
        cmocka_unit_test(test_a_thread_of_its_own_blocks_its_ranges),
        cmocka_unit_test(test_threads_that_came_and_went_meanwhile),
        cmocka_unit_test(test_the_time_allowed_grows_with_memory),
        cmocka_unit_test(test_the_time_allowed_grows_with_vmas),
        cmocka_unit_test(test_a_captured_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
