/*
 * Who may be cleared: links that betray a tracker or a virtual machine, and the order of reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/fault/fault_guard.h"
#include "util/array.h"

static void test_links(void **state)
{
    static const struct {
        const char *target;
        enum fault_link link;
    } cases[] = {
        {"/proc/4711/pagemap", FAULT_LINK_TRACKER},
        {"/proc/4711/clear_refs", FAULT_LINK_TRACKER},
        {"/proc/4711/task/4712/pagemap", FAULT_LINK_TRACKER},
        {"/proc/1/pagemap (deleted)", FAULT_LINK_TRACKER},
        {"/run/host/proc/12/clear_refs", FAULT_LINK_TRACKER},
        {"/12/pagemap", FAULT_LINK_TRACKER}, /* its proc is mounted out of our sight */
        {"/dev/kvm", FAULT_LINK_KVM},
        {"anon_inode:kvm-vm", FAULT_LINK_KVM},
        {"anon_inode:kvm-vcpu:0", FAULT_LINK_KVM},
        {"", FAULT_LINK_OTHER},
        {"pagemap", FAULT_LINK_OTHER},
        {"/pagemap", FAULT_LINK_OTHER},
        {"4711/pagemap", FAULT_LINK_OTHER},
        {"/proc/4711/maps", FAULT_LINK_OTHER},
        {"/proc/4711/pagemap2", FAULT_LINK_OTHER},
        {"/proc/4711/pagemap (deleted).c", FAULT_LINK_OTHER},
        {"/proc/4711/pagemap/0", FAULT_LINK_OTHER},
        {"/proc/x4711/pagemap", FAULT_LINK_OTHER},
        {"/home/me/pagemap", FAULT_LINK_OTHER},
        {"/dev/kvmfr0", FAULT_LINK_OTHER},
        {"/dev/kvm2", FAULT_LINK_OTHER},
        {"anon_inode:[userfaultfd]", FAULT_LINK_OTHER},
        {"socket:[4711]", FAULT_LINK_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (fault_guard_link(cases[i].target) != cases[i].link)
            fail_msg("%s", cases[i].target);
}

/* 199,999 pages at 100 ns are just within 20 ms. */
static struct fault_facts good_facts(void)
{
    return (struct fault_facts){
        .start_ticks = 5,
        .wanted_ticks = 5,
        .links_known = true,
        .tracer_known = true,
        .rss_pages = 199999,
        .sec_per_page = 100e-9,
    };
}

#define CASE(expected, change)                                                                     \
    do {                                                                                           \
        struct fault_facts facts = good_facts();                                                   \
                                                                                                   \
        change;                                                                                    \
        if (fault_guard_judge(&facts) != (expected))                                               \
            fail_msg("%s: %s", #change, fault_verdict_text(fault_guard_judge(&facts)));            \
    } while (0)

static void test_verdicts(void **state)
{
    (void)state;
    CASE(FAULT_CLEAR, (void)0);
    CASE(FAULT_CLEAR, facts.rss_pages = 0);
    CASE(FAULT_TOO_LARGE, facts.rss_pages = 200002);
    CASE(FAULT_TOO_LARGE, facts.sec_per_page = 101e-9);
    CASE(FAULT_TOO_LARGE, facts.rss_pages = UINT64_MAX);
    CASE(FAULT_TRACED, facts.tracer = 1);
    CASE(FAULT_UNREADABLE, facts.tracer_known = false);
    CASE(FAULT_UNREADABLE, facts.links_known = false);
    CASE(FAULT_KVM, facts.has_kvm = true);
    CASE(FAULT_TRACKER, facts.has_tracker = true);
    CASE(FAULT_TRACKER, facts.has_tracker = facts.has_kvm = true);
    CASE(FAULT_GONE, facts.start_ticks = 4);
    CASE(FAULT_GONE, facts.start_ticks = 6);
    CASE(FAULT_GONE, facts.gone = facts.has_kvm = true);
}

static void test_each_verdict_has_words(void **state)
{
    (void)state;
    for (int verdict = 0; verdict < FAULT_VERDICT_COUNT; verdict++)
        assert_non_null(fault_verdict_text((enum fault_verdict)verdict));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_each_verdict_has_words),
    };

    return cmocka_run_group_tests_name("fault guard", tests, NULL, NULL);
}
