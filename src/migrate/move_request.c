#include "migrate/move_request.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <poll.h>

#include "attribute/pagemap.h"
#include "attribute/tally.h"
#include "migrate/pages.h"
#include "util/array.h"
#include "util/nsec.h"

/* 4,096 pages take some 0.1 s on hardware and 2 s on an emulated machine. */
#define MOVE_TIMEOUT (30 * NSEC_PER_SEC)

static int fd_copy(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int move_request_new(struct move_request **requestp, const struct host *host,
                     const struct target *target, const struct space *space, int node, bool shared)
{
    struct move_request *request = calloc(1, sizeof *request);

    if (!request)
        return -ENOMEM;
    request->host = *host;
    request->work.pid = space->pid;
    request->work.timeout_nsec = MOVE_TIMEOUT;
    request->outcome.pid = space->pid;
    request->outcome.start_ticks = space->start_ticks;
    request->outcome.generation = space->generation;
    request->outcome.node = node;
    request->outcome.shared = shared;
    request->look = !space->no_pagemap;
    request->pidfd = fd_copy(target->ref.fd);
    request->maps_fd = fd_copy(space->maps_fd);
    if ((request->pidfd < 0 && target->ref.fd >= 0) ||
        (request->maps_fd < 0 && space->maps_fd >= 0)) {
        move_request_free(&request->work);
        return -EMFILE;
    }
    *requestp = request;
    return 0;
}

int move_request_add(struct move_request *request, const struct move *move)
{
    struct outcome *outcome = &request->outcome;

    if (ARRAY_RESERVE(outcome->ranges, request->cap, outcome->n_ranges + 1) < 0)
        return -ENOMEM;
    outcome->ranges[outcome->n_ranges++] = (struct moved_range){
        .start = move->start,
        .end = move->end,
        .rank = move->rank,
        .object = move->object,
        .offset = move->offset,
    };
    return 0;
}

/* Is it still the process, and the program in it, that the plan was made for? */
static bool is_same(const void *userdata)
{
    const struct move_request *request = userdata;
    struct pollfd ended = {.fd = request->pidfd, .events = POLLIN};
    char byte;

    if (request->pidfd >= 0 && poll(&ended, 1, 0) != 0)
        return false;
    return request->maps_fd < 0 || pread(request->maps_fd, &byte, 1, 0) == 1;
}

static int count_page(struct moved_range *range, size_t n_pages, int before, int at, int node)
{
    if (before >= 0 && tally_add(&range->before, before, (double)n_pages, 0) < 0)
        return -ENOMEM;
    if (at >= 0 && tally_add(&range->after, at, (double)n_pages, 0) < 0)
        return -ENOMEM;
    if (at >= 0 && at != node)
        range->n_failed += n_pages;
    return 0;
}

/* The pages that a request is about, range by range, and where they lay and lie. */
struct page_list {
    struct page_to_move *items;
    int *before, *at;
    size_t n;
};

static void page_list_deinit(struct page_list *list)
{
    free(list->items);
    free(list->before);
    free(list->at);
}

/* Room for n pages. */
static int page_list_init(struct page_list *list, size_t n)
{
    list->items = calloc(n + 1, sizeof *list->items);
    list->before = calloc(n + 1, sizeof *list->before);
    list->at = calloc(n + 1, sizeof *list->at);
    return list->items && list->before && list->at ? 0 : -ENOMEM;
}

static int count_ranges(struct outcome *outcome, const struct page_list *list)
{
    size_t i = 0;

    for (size_t r = 0; r < outcome->n_ranges; r++) {
        struct moved_range *range = &outcome->ranges[r];

        for (; i < list->n; i++) {
            uint64_t addr = (uintptr_t)list->items[i].addr;

            if (addr < range->start || addr >= range->end)
                break;
            if (count_page(range, list->items[i].n_pages, list->before[i], list->at[i],
                           outcome->node) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static size_t count_base_pages(const struct move_request *request)
{
    const struct outcome *outcome = &request->outcome;
    uint64_t bytes = 0;

    for (size_t i = 0; i < outcome->n_ranges; i++)
        bytes += outcome->ranges[i].end - outcome->ranges[i].start;
    return bytes / request->host.page_bytes;
}

static void list_range(struct page_list *list, const struct moved_range *range,
                       const struct page_runs *runs, size_t page_bytes)
{
    struct page_unit unit;
    uint64_t pos = 0;

    while (page_runs_next(runs, range->start, range->end, page_bytes, &pos, &unit))
        list->items[list->n++] =
            (struct page_to_move){.addr = (void *)(uintptr_t)unit.addr, .n_pages = unit.n_pages};
}

/* Ranges from i on that lie one behind the other. Return: the first one that does not. */
static size_t end_of_stretch(const struct outcome *outcome, size_t i)
{
    size_t end = i + 1;

    while (end < outcome->n_ranges && outcome->ranges[end].start == outcome->ranges[end - 1].end)
        end++;
    return end;
}

/* Without a look, or where it fails, every base page is taken for present. */
static void list_stretch(const struct move_request *request, struct pagemap *pagemap, size_t i,
                         size_t end, struct page_list *list)
{
    const struct moved_range *ranges = request->outcome.ranges;
    const struct page_run all = {
        .start = ranges[i].start, .end = ranges[end - 1].end, .kinds = PAGE_PRESENT};
    struct page_runs runs = {.items = &all, .n_items = 1};

    if (request->look && !pagemap_read(pagemap, all.start, all.end))
        runs = pagemap_cut(pagemap, all.start, all.end);
    for (; i < end; i++)
        list_range(list, &ranges[i], &runs, request->host.page_bytes);
}

static void list_pages(const struct move_request *request, struct page_list *list)
{
    CLEANUP(pagemap_deinit) struct pagemap pagemap;
    size_t end;

    pagemap_init(&pagemap, &request->host, request->outcome.pid);
    for (size_t i = 0; i < request->outcome.n_ranges; i = end) {
        end = end_of_stretch(&request->outcome, i);
        list_stretch(request, &pagemap, i, end, list);
    }
}

static int move_ranges(struct move_request *request)
{
    CLEANUP(page_list_deinit) struct page_list list = {.n = 0};
    const struct pages_owner owner = {
        .host = &request->host,
        .pid = request->outcome.pid,
        .flags = request->outcome.shared ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE,
        .is_same = is_same,
        .userdata = request,
    };
    struct outcome *outcome = &request->outcome;
    int error;

    if (page_list_init(&list, count_base_pages(request)) < 0)
        return ENOMEM;
    list_pages(request, &list);
    if (!list.n)
        return 0; /* all of it has gone */
    error = pages_move(&owner, list.items, list.n, outcome->node, list.before, list.at,
                       &outcome->ledger);
    return count_ranges(outcome, &list) < 0 ? ENOMEM : error;
}

void move_request_run(struct work *work)
{
    struct move_request *request = (struct move_request *)work;
    struct outcome *outcome = &request->outcome;
    uint64_t cpu = host_cpu_nsec(&request->host), wall = nsec_now();

    if (is_same(request))
        outcome->call_error = move_ranges(request);
    else
        outcome->gone = true;
    if (outcome->call_error == ESRCH)
        outcome->gone = true;
    outcome->cpu_nsec = host_cpu_nsec(&request->host) - cpu;
    outcome->wall_nsec = nsec_now() - wall;
}

void move_request_free(struct work *work)
{
    struct move_request *request = (struct move_request *)work;

    for (size_t i = 0; i < request->outcome.n_ranges; i++) {
        tally_deinit(&request->outcome.ranges[i].before);
        tally_deinit(&request->outcome.ranges[i].after);
    }
    free(request->outcome.ranges);
    fd_close(request->pidfd);
    fd_close(request->maps_fd);
    free(request);
}
