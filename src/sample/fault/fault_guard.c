/*
 * Soft-dirty bits exist once per page, without an owner: who clears them takes them from everybody
 * else. A process that tracks its own writes (garbage collectors do) keeps a pagemap open; one that
 * is being dumped by CRIU is traced meanwhile. Between two pre-dumps CRIU leaves no trace, which is
 * why a rule has to allow write_fault at all.
 */
#include "sample/fault/fault_guard.h"

#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Is what lies before `end` the name of a folder of digits, "/4711" in "/proc/4711"? */
static bool is_in_numbered_folder(const char *text, const char *end)
{
    const char *at = end;

    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < end && at > text && at[-1] == '/';
}

/*
 * A proc that is mounted elsewhere, or in a container, has other paths and numbers; the end is the
 * same: "N/pagemap". " (deleted)" can follow while the process lives.
 */
static bool is_tracker(const char *target)
{
    static const char *const names[] = {"/pagemap", "/clear_refs"};
    const char *slash = strrchr(target, '/');

    for (size_t i = 0; slash && i < sizeof names / sizeof names[0]; i++) {
        const char *rest = slash + strlen(names[i]);

        if (has_prefix(slash, names[i]) && (!*rest || strcmp(rest, " (deleted)") == 0))
            return is_in_numbered_folder(target, slash);
    }
    return false;
}

enum fault_link fault_guard_link(const char *target)
{
    if (is_tracker(target))
        return FAULT_LINK_TRACKER;
    if (strcmp(target, "/dev/kvm") == 0 || has_prefix(target, "anon_inode:kvm-"))
        return FAULT_LINK_KVM;
    return FAULT_LINK_OTHER;
}

enum fault_verdict fault_guard_judge(const struct fault_facts *facts)
{
    if (facts->gone || facts->start_ticks != facts->wanted_ticks)
        return FAULT_GONE;
    if (!facts->links_known || !facts->tracer_known)
        return FAULT_UNREADABLE;
    if (facts->has_tracker)
        return FAULT_TRACKER;
    if (facts->has_kvm)
        return FAULT_KVM;
    if (facts->tracer)
        return FAULT_TRACED;
    if ((double)facts->rss_pages * facts->sec_per_page > FAULT_CLEAR_LIMIT_SEC)
        return FAULT_TOO_LARGE;
    return FAULT_CLEAR;
}

const char *fault_verdict_text(enum fault_verdict verdict)
{
    static const char *const texts[FAULT_VERDICT_COUNT] = {
        [FAULT_CLEAR] = "may be cleared",
        [FAULT_GONE] = "gone",
        [FAULT_UNREADABLE] = "its open files or tracer cannot be read",
        [FAULT_TRACKER] = "has a pagemap or clear_refs open",
        [FAULT_KVM] = "has /dev/kvm open",
        [FAULT_TRACED] = "is traced",
        [FAULT_TOO_LARGE] = "clearing would stop it for over 20 ms",
        [FAULT_LATE] = "clearing did not end in time",
        [FAULT_REFUSED] = "the kernel refused the clear (CAP_DAC_OVERRIDE missing?)",
    };

    return texts[verdict];
}
