/*
 * Limits against what is needed
 *
 * Files: each source opens its events on every CPU once for each cgroup that holds a target. On 64
 * CPUs with 4 events that is 256 files a cgroup; for CGROUPS_USUAL of them 8,192.
 *
 * Locked memory: the kernel gives every user kernel.perf_event_mlock_kb for each CPU for perf rings
 * (512 KiB and a page by default); only what exceeds that counts against RLIMIT_MEMLOCK, and not
 * even that with CAP_IPC_LOCK (perf_mmap in kernel/events/core.c). A source's ring on a CPU takes
 * at most a quarter of it, and at least two pages: three sources fit unless it is very small.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>

#include "report/doctor_facts.h"
#include "report/text.h"

#define FILES_OWN 256    /* the daemon's, and a pidfd and a maps file for each balanced process */
#define CGROUPS_USUAL 32 /* services of a server that are above min_rss, generously */
#define RING_LEAST_KIB 8 /* a page of data and the head, of 4 KiB */
#define RING_SHARE 4     /* of the sysctl, of which it takes at most one */
#define MLOCK_KIB_USUAL 516 /* the kernel's default */

static uint64_t files_for(const struct doctor_facts *facts, uint64_t n_cgroups)
{
    return FILES_OWN + n_cgroups * facts->n_events * facts->n_cpus;
}

uint64_t doctor_files_wanted(const struct doctor_facts *facts)
{
    return files_for(facts, CGROUPS_USUAL);
}

static const char *limit_text(char text[static TEXT_SIZE], uint64_t limit)
{
    if (limit == DOCTOR_UNLIMITED)
        snprintf(text, TEXT_SIZE, "unlimited");
    else
        snprintf(text, TEXT_SIZE, "%" PRIu64, limit);
    return text;
}

static void judge_files(struct doctor_check *check, const struct doctor_facts *facts)
{
    uint64_t least = files_for(facts, 1), wanted = doctor_files_wanted(facts);
    char text[TEXT_SIZE];

    snprintf(check->detail, sizeof check->detail,
             "%s: %" PRIu64
             " files are needed for one cgroup (perf events on %u CPUs: %u on each, and "
             "%d files of its own), %" PRIu64 " for %d cgroups",
             limit_text(text, facts->files.hard), least, facts->n_cpus, facts->n_events, FILES_OWN,
             wanted, CGROUPS_USUAL);
    if (facts->files.hard >= wanted)
        return;
    check->state = facts->files.hard < least ? "missing" : "limited";
    snprintf(check->fix, sizeof check->fix,
             "raise it (LimitNOFILE= in the unit, ulimit -n) to %" PRIu64, wanted);
}

static uint64_t ring_kib(uint64_t mlock_kib)
{
    uint64_t share = mlock_kib / RING_SHARE;

    return share > RING_LEAST_KIB ? share : RING_LEAST_KIB;
}

static void judge_locked(struct doctor_check *check, const struct doctor_facts *facts)
{
    uint64_t mlock_kib = facts->mlock_kb.value > 0 ? (uint64_t)facts->mlock_kb.value : 0;
    uint64_t free_kib = mlock_kib * facts->n_cpus;
    uint64_t need_kib = facts->n_ring_sources * ring_kib(mlock_kib) * facts->n_cpus;
    uint64_t beyond_kib = need_kib > free_kib ? need_kib - free_kib : 0;
    char limit[TEXT_SIZE], need[TEXT_SIZE], free[TEXT_SIZE];

    snprintf(check->detail, sizeof check->detail,
             "%s: perf rings take up to %s, kernel.perf_event_mlock_kb gives %s beside it%s",
             facts->locked_bytes.soft == DOCTOR_UNLIMITED
                 ? "unlimited"
                 : text_bytes(limit, facts->locked_bytes.soft),
             text_bytes(need, need_kib << 10), text_bytes(free, free_kib << 10),
             doctor_has(facts, CAP_IPC_LOCK) ? "; CAP_IPC_LOCK lifts both" : "");
    if (beyond_kib << 10 <= facts->locked_bytes.soft || doctor_has(facts, CAP_IPC_LOCK))
        return;
    check->state = "missing";
    snprintf(check->fix, sizeof check->fix,
             "sysctl kernel.perf_event_mlock_kb=%d, or raise it (LimitMEMLOCK= in the unit, ulimit "
             "-l) to %" PRIu64 " KiB, or give CAP_IPC_LOCK",
             MLOCK_KIB_USUAL, beyond_kib);
}

static int add_limit(struct doctor_report *report, const struct doctor_facts *facts,
                     const char *name, const struct doctor_limit *limit,
                     void (*judge)(struct doctor_check *, const struct doctor_facts *))
{
    struct doctor_check *check = doctor_add(report, "limit", name);

    if (!check)
        return -ENOMEM;
    if (limit->known) {
        judge(check, facts);
    } else {
        check->state = "limited";
        snprintf(check->detail, sizeof check->detail, "not known");
        snprintf(check->fix, sizeof check->fix, "mount /proc so that /proc/self/limits is read");
    }
    return 0;
}

int doctor_add_limits(struct doctor_report *report, const struct doctor_facts *facts)
{
    /* The daemon raises its soft limit of files to the hard one by itself; not that of memory. */
    int r = add_limit(report, facts, "RLIMIT_NOFILE", &facts->files, judge_files);

    return r < 0 ? r
                 : add_limit(report, facts, "RLIMIT_MEMLOCK", &facts->locked_bytes, judge_locked);
}
