#include "attribute/object_residency.h"

#include <errno.h>

#include "attribute/ranges.h"
#include "attribute/space_scan.h"
#include "attribute/tally.h"
#include "util/nsec.h"

#define RESIDENCY_TIMEOUT (10 * NSEC_PER_SEC)
#define TOP_MAPPERS 2

/* Adds a mapper of some of the range that may be asked, once. */
static void range_ask(struct object_range *asked, size_t *np, const struct object *object,
                      const struct range *range, pid_t pid)
{
    const struct window *window = object_find_window(object, pid, range->start, range->end);
    struct object_asked *next = &asked->asked[*np];

    for (size_t i = 0; i < *np; i++)
        if (asked->asked[i].pid == pid)
            return;
    if (!window || window->space->stuck)
        return;
    next->pid = pid;
    next->shift = window->vma->start - window->vma->offset;
    window_clip(window, range, &next->start, &next->end);
    ++*np;
}

static uint64_t mapped_by(const struct object *object, size_t first, size_t end)
{
    uint64_t n = 0;

    for (size_t i = first; i < end; i++)
        n += object->windows[i].vma->n_mapped;
    return n;
}

/* The mappers with the most pages of the object, best first. */
static void find_top(const struct object *object, pid_t tops[TOP_MAPPERS])
{
    uint64_t most[TOP_MAPPERS] = {0};

    for (size_t i = 0, end; i < object->n_windows; i = end) {
        uint64_t n;

        end = object_end_of_mapper(object, i);
        n = mapped_by(object, i, end) + 1; /* one that was not read yet is better than none */
        for (size_t top = 0; top < TOP_MAPPERS && !object->windows[i].space->stuck; top++) {
            if (n <= most[top])
                continue;
            for (size_t below = TOP_MAPPERS - 1; below > top; below--) {
                most[below] = most[below - 1];
                tops[below] = tops[below - 1];
            }
            most[top] = n;
            tops[top] = object->windows[i].pid;
            break;
        }
    }
}

/* Evenly spread, and others in each turn. */
static void range_choose_pages(struct object_range *asked, const struct range *range,
                               uint64_t page_bytes, unsigned turn)
{
    uint64_t n_pages = (range->end - range->start) / page_bytes;

    for (size_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++) {
        uint64_t page = (n_pages * i / RESIDENCY_PAGES_PER_RANGE + turn) % n_pages;

        asked->offsets[i] = range->start + page * page_bytes;
        asked->status[i] = -ENOENT;
    }
}

/* Unknown ones first, then the oldest. */
static int by_age(const struct range *a, const struct range *b)
{
    return a->residency_nsec < b->residency_nsec ? -1 : a->residency_nsec > b->residency_nsec;
}

/* Who used the range last or, if no sample fell into it, the smallest group around it. */
static pid_t last_user(const struct space *memory, const struct range *range)
{
    pid_t pid = range->user_pid;

    for (unsigned level = 0; level < GROUP_LEVELS && !pid; level++) {
        const struct range *group;
        uint64_t start, end;

        group_bounds(&memory->vmas.items[0], range->start, level, &start, &end);
        HASH_FIND(hh, memory->groups[level], &start, sizeof start, group);
        pid = group ? group->user_pid : 0;
    }
    return pid;
}

static void residency_add(struct object_residency *residency, const struct object *object,
                          const struct range *range, const pid_t tops[TOP_MAPPERS], unsigned turn)
{
    struct object_range *asked = &residency->ranges[residency->n_ranges++];
    size_t n = 0;

    *asked = (struct object_range){.start = range->start};
    range_choose_pages(asked, range, residency->request.host.page_bytes, turn);
    range_ask(asked, &n, object, range, tops[0]);
    range_ask(asked, &n, object, range, range->through_pid);
    range_ask(asked, &n, object, range, last_user(object->memory, range));
    range_ask(asked, &n, object, range, tops[1]);
}

static void residency_fill(struct object_residency *residency, const struct object *object,
                           uint64_t now)
{
    struct space *memory = object->memory;
    size_t n_ranges = HASH_COUNT(memory->ranges);
    unsigned turn = (unsigned)(now / NSEC_PER_SEC) * 2654435761U >> 16; /* as for private memory */
    pid_t tops[TOP_MAPPERS] = {0};
    struct range *range, *next;

    find_top(object, tops);
    if (n_ranges > OBJECT_RANGES_MAX)
        HASH_SORT(memory->ranges, by_age);
    HASH_ITER (hh, memory->ranges, range, next) {
        if (!residency_is_due(range, n_ranges, 0, now) || !space_lets(memory, range->start))
            continue;
        if (residency->n_ranges == OBJECT_RANGES_MAX)
            space_leave_over(memory, range->start);
        else
            residency_add(residency, object, range, tops, turn);
    }
}

int object_residency_new(struct object_residency **requestp, struct object *object,
                         const struct host *host, uint64_t now, const struct work_ops *ops,
                         void *owner)
{
    struct object_residency *residency = malloc(sizeof *residency);

    if (!residency)
        return -ENOMEM;
    residency->request = (struct request){
        .work = {.ops = ops, .owner = owner, .timeout_nsec = RESIDENCY_TIMEOUT},
        .host = *host,
        .generation = object->id,
    };
    residency->n_ranges = residency->n_asked = residency->n_found = 0;
    residency->asked_nsec = now;
    residency_fill(residency, object, now);
    if (!residency->n_ranges) {
        free(residency);
        return RESIDENCY_NOTHING_DUE;
    }
    *requestp = residency;
    return 0;
}

/* A call for pages of one process, and where their answers belong. */
struct call {
    void *pages[RESIDENCY_CALL_PAGES];
    int status[RESIDENCY_CALL_PAGES];
    struct {
        struct object_range *range;
        size_t page;
    } place[RESIDENCY_CALL_PAGES];
    size_t n;
    pid_t pid;
    unsigned turn;           /* index into asked[] */
    size_t n_asked, n_found; /* so far */
};

static void call_make(struct call *call, const struct host *host)
{
    for (size_t i = 0; i < call->n; i++)
        call->status[i] = -ENOENT;
    call->n_asked += call->n;
    /* A refused call, or one to a process that has gone, leaves its pages to the next mapper. */
    if (call->n && host->ops->move_pages(host->self, call->pid, call->n, call->pages, NULL,
                                         call->status, 0) < 0)
        call->n = 0;
    for (size_t i = 0; i < call->n; i++) {
        if (call->status[i] < 0)
            continue;
        call->n_found++;
        call->place[i].range->status[call->place[i].page] = call->status[i];
        call->place[i].range->seen_by[call->place[i].page] = (uint8_t)call->turn;
    }
    call->n = 0;
}

static void call_add_range(struct call *call, const struct host *host, struct object_range *range)
{
    const struct object_asked *asked = &range->asked[call->turn];

    for (size_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++) {
        uint64_t addr = range->offsets[i] + asked->shift;

        if (range->status[i] >= 0 || addr < asked->start || addr >= asked->end)
            continue;
        if (call->n == RESIDENCY_CALL_PAGES)
            call_make(call, host);
        call->pages[call->n] = (void *)(uintptr_t)addr;
        call->place[call->n].range = range;
        call->place[call->n].page = i;
        call->n++;
    }
}

struct order {
    pid_t pid;
    struct object_range *range;
};

static int by_pid(const void *left, const void *right)
{
    const struct order *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

/* Asks the turn-th mapper of each range, those with the same one together. */
static void ask_turn(struct object_residency *residency, struct order *order, struct call *call,
                     unsigned turn)
{
    const struct host *host = &residency->request.host;
    size_t n = 0;

    call->turn = turn;
    for (size_t i = 0; i < residency->n_ranges; i++)
        if (residency->ranges[i].asked[turn].pid)
            order[n++] = (struct order){.pid = residency->ranges[i].asked[turn].pid,
                                        .range = &residency->ranges[i]};
    qsort(order, n, sizeof *order, by_pid);
    for (size_t i = 0; i < n; i++) {
        if (call->pid != order[i].pid)
            call_make(call, host);
        call->pid = order[i].pid;
        call_add_range(call, host, order[i].range);
    }
    call_make(call, host);
}

void object_residency_run(struct work *work)
{
    struct object_residency *residency = (struct object_residency *)work;
    CLEANUP(freep) struct order *order = calloc(residency->n_ranges, sizeof *order);
    CLEANUP(freep) struct call *call = calloc(1, sizeof *call);

    if (!order || !call)
        residency->request.r = -ENOMEM;
    for (unsigned turn = 0; turn < OBJECT_ASKED_MAX && !residency->request.r; turn++)
        ask_turn(residency, order, call, turn);
    if (call) {
        residency->n_asked = call->n_asked;
        residency->n_found = call->n_found;
    }
}

void object_residency_free(struct work *work)
{
    free(work);
}

/* The mapper that sees most of the pages that lie elsewhere than on `node` (-1: of all). */
static pid_t choose_through(const struct object_range *seen, int node)
{
    unsigned n_seen[OBJECT_ASKED_MAX] = {0};
    size_t best = 0;

    for (size_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++)
        if (seen->status[i] >= 0 && seen->status[i] != node)
            n_seen[seen->seen_by[i]]++;
    for (size_t i = 1; i < OBJECT_ASKED_MAX; i++)
        if (n_seen[i] > n_seen[best])
            best = i;
    return seen->asked[best].pid;
}

static int apply_range(struct range *range, const struct object_range *seen, int node,
                       uint64_t asked)
{
    tally_clear(&range->residency);
    range->residency_nsec = asked;
    range->through_pid = choose_through(seen, node);
    for (size_t i = 0; i < RESIDENCY_PAGES_PER_RANGE; i++)
        if (seen->status[i] >= 0 && tally_add(&range->residency, seen->status[i], 1, 0) < 0)
            return -ENOMEM;
    return 0;
}

int object_residency_apply(const struct object_residency *residency, struct object *object,
                           double min_share)
{
    uint64_t asked = residency->asked_nsec;

    for (size_t i = 0; i < residency->n_ranges; i++) {
        const struct object_range *seen = &residency->ranges[i];
        struct range *range = space_find_range(object->memory, seen->start);

        /* A move that ended since the query was asked knows better. */
        if (!range || range->moving || range->residency_nsec >= asked)
            continue;
        if (apply_range(range, seen,
                        space_find_evidence(object->memory, range, min_share)->claim.node, asked))
            return -ENOMEM;
    }
    return 0;
}
