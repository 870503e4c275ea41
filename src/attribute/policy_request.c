/*
 * Policies are seen only in numa_maps. The process's file shows each VMA's policy or, where it has
 * none, the leader's; a thread's own is the policy word of the first line of its own file. Reading
 * the whole file costs about 70 ns for each resident page, the head of a thread's file nothing.
 */
#include <stdio.h>
#include <string.h>

#include "attribute/requests.h"
#include "attribute/space.h"
#include "attribute/tally.h"
#include "attribute/threads.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define POLICY_TIMEOUT_BASE (5 * NSEC_PER_SEC)
/* Seen: 70 ns a page on a quiet host; ten times that is late. */
#define POLICY_TIMEOUT_PER_PAGE 700
/* Seen: 2.3 us a VMA, of 65,530 with two pages each; ten times that. */
#define POLICY_TIMEOUT_PER_VMA 23000
/* The longest policy word, node list and address fit many times over. */
#define THREAD_HEAD_BYTES 1024

static int policy_request_take_threads(struct policy_request *policy, struct space *space)
{
    struct thread *thread, *next;
    size_t n_threads = HASH_COUNT(space->threads);

    policy->tids = calloc(n_threads + 1, sizeof *policy->tids);
    policy->thread_policies = calloc(n_threads + 1, sizeof *policy->thread_policies);
    if (!policy->tids || !policy->thread_policies)
        return -ENOMEM;
    HASH_ITER (hh, space->threads, thread, next) {
        if (policy->with_process || thread->policy == THREAD_POLICY_UNKNOWN)
            policy->tids[policy->n_tids++] = thread->tid;
    }
    return 0;
}

/* What the whole file may take at most. */
static uint64_t policy_timeout(const struct space *space, uint64_t page_bytes)
{
    return POLICY_TIMEOUT_BASE + space->rss_bytes / page_bytes * POLICY_TIMEOUT_PER_PAGE +
           space->vmas.n_items * POLICY_TIMEOUT_PER_VMA;
}

int policy_request_new(struct policy_request **requestp, struct space *space,
                       const struct host *host, bool with_process, const struct work_ops *ops,
                       void *owner)
{
    struct policy_request *policy = calloc(1, sizeof *policy);

    if (!policy)
        return -ENOMEM;
    policy->request = (struct request){
        .work = {.ops = ops,
                 .pid = space->pid,
                 .owner = owner,
                 .timeout_nsec = policy_timeout(space, host->page_bytes)},
        .host = *host,
        .pid = space->pid,
        .generation = space->generation,
    };
    policy->with_process = with_process;
    if (policy_request_take_threads(policy, space) < 0) {
        policy_request_free(&policy->request.work);
        return -ENOMEM;
    }
    *requestp = policy;
    return 0;
}

enum reason policy_reason(const struct numa_maps_entry *entry)
{
    static const enum reason reasons[] = {
        [POLICY_DEFAULT] = REASON_NONE,       [POLICY_BIND] = REASON_BIND,
        [POLICY_PREFER] = REASON_PREFER,      [POLICY_INTERLEAVE] = REASON_INTERLEAVE,
        [POLICY_OTHER] = REASON_OTHER_POLICY,
    };

    if (entry->policy == POLICY_DEFAULT && entry->huge)
        return REASON_HUGETLB;
    return reasons[entry->policy];
}

/* Node counts of the line that is being parsed, in that line's own page size. */
static void on_node(void *userdata, int node, uint64_t pages)
{
    (void)tally_add(userdata, node, (double)pages, 0);
}

static int policy_take_line(struct policy_request *policy, const struct numa_maps_entry *entry,
                            struct tally *line)
{
    double base_pages = (double)(entry->page_bytes / policy->request.host.page_bytes);

    if (ARRAY_RESERVE(policy->entries, policy->cap, policy->n_entries + 1) < 0)
        return -ENOMEM;
    policy->entries[policy->n_entries++] =
        (struct policy_entry){.start = entry->start,
                              .reason = policy_reason(entry),
                              .page_bytes = entry->page_bytes,
                              .n_mapped = (uint64_t)(tally_total_n(line) * base_pages)};
    for (size_t i = 0; i < line->n_entries; i++)
        if (tally_add(&policy->totals, line->entries[i].node, line->entries[i].n * base_pages, 0))
            return -ENOMEM;
    return vma_pages_add(&policy->pages, entry->start, entry->page_bytes, base_pages, line);
}

static int policy_parse(struct policy_request *policy, const char *text, size_t size)
{
    const char *end = text + size;
    struct numa_maps_entry entry;
    struct tally line = {0};
    int r = 0, parsed;

    while (!r) {
        tally_clear(&line);
        parsed = numa_maps_parse_line(&text, end, policy->request.host.page_bytes, &entry, on_node,
                                      &line);
        if (parsed == NUMA_MAPS_END)
            break;
        if (!parsed)
            r = policy_take_line(policy, &entry, &line);
    }
    tally_deinit(&line);
    return r;
}

static int policy_read_process(struct policy_request *policy)
{
    const struct host *host = &policy->request.host;
    CLEANUP(freep) char *text = NULL;
    char path[64];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/numa_maps", policy->request.pid);
    r = host->ops->read_file(host->self, path, SIZE_MAX / 4, &text, &size);
    return r ? r : policy_parse(policy, text, size);
}

static void ignore_node(void *userdata, int node, uint64_t pages)
{
    (void)userdata, (void)node, (void)pages;
}

static enum thread_policy policy_of_head(char *text, size_t size, uint64_t page_bytes)
{
    const char *line = text;
    struct numa_maps_entry entry;

    /* The head may end inside the line: cut at the last blank, the policy word comes early. */
    if (!memchr(text, '\n', size)) {
        while (size && text[size - 1] != ' ')
            size--;
        if (!size)
            return THREAD_POLICY_UNKNOWN;
        text[size - 1] = '\n';
    }
    if (numa_maps_parse_line(&line, text + size, page_bytes, &entry, ignore_node, NULL))
        return THREAD_POLICY_UNKNOWN;
    return entry.policy == POLICY_DEFAULT ? THREAD_POLICY_DEFAULT : THREAD_POLICY_OWN;
}

static enum thread_policy policy_read_thread(struct policy_request *policy, pid_t tid)
{
    const struct host *host = &policy->request.host;
    CLEANUP(freep) char *text = NULL;
    char path[64];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/task/%d/numa_maps", policy->request.pid, tid);
    r = host->ops->read_file(host->self, path, THREAD_HEAD_BYTES, &text, &size);
    /* A thread that has ended has no policy any more. */
    if (r == PROCFS_GONE || (!r && !size))
        return THREAD_POLICY_DEFAULT;
    return r ? THREAD_POLICY_UNKNOWN : policy_of_head(text, size, host->page_bytes);
}

void policy_request_run(struct work *work)
{
    struct policy_request *policy = (struct policy_request *)work;
    uint64_t cpu = host_cpu_nsec(&policy->request.host);

    if (policy->with_process)
        policy->request.r = policy_read_process(policy);
    for (size_t i = 0; i < policy->n_tids; i++)
        policy->thread_policies[i] = policy_read_thread(policy, policy->tids[i]);
    policy->request.cpu_nsec = host_cpu_nsec(&policy->request.host) - cpu;
}

void policy_request_free(struct work *work)
{
    struct policy_request *policy = (struct policy_request *)work;

    free(policy->entries);
    free(policy->tids);
    free(policy->thread_policies);
    tally_deinit(&policy->totals);
    vma_pages_deinit(&policy->pages);
    free(policy);
}

static void policy_apply_threads(const struct policy_request *policy, struct space *space)
{
    for (size_t i = 0; i < policy->n_tids; i++) {
        struct thread *thread;

        HASH_FIND(hh, space->threads, &policy->tids[i], sizeof policy->tids[i], thread);
        if (thread)
            thread->policy = policy->thread_policies[i];
    }
    threads_mark_policies(space);
}

/* numa_maps shows no ends: an entry is the VMA's own if the next one starts at or after its end. */
static bool policy_apply_vma(const struct policy_request *policy, size_t *ip, struct vma *vma)
{
    size_t i = *ip;

    while (i < policy->n_entries && policy->entries[i].start < vma->start)
        i++;
    *ip = i;
    if (i == policy->n_entries || policy->entries[i].start != vma->start)
        return false;
    if (i + 1 < policy->n_entries && policy->entries[i + 1].start < vma->end)
        return false;
    vma->policy = policy->entries[i].reason;
    vma->n_mapped = policy->entries[i].n_mapped;
    vma->page_bytes = policy->entries[i].page_bytes;
    return true;
}

bool policy_request_apply(const struct policy_request *policy, struct space *space)
{
    bool all = true;
    size_t i = 0;

    policy_apply_threads(policy, space);
    if (!policy->with_process || policy->request.r)
        return true;
    for (size_t v = 0; v < space->vmas.n_items; v++) {
        struct vma *vma = &space->vmas.items[v];

        vma->policy = REASON_POLICY_UNKNOWN;
        /* [vsyscall] and its like have no line. */
        if (!policy_apply_vma(policy, &i, vma) && vma->kind == REASON_NONE)
            all = false;
    }
    space->totals_known = !tally_copy(&space->totals, &policy->totals);
    return all;
}
