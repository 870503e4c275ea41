#include "migrate/move_request.h"

#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <poll.h>

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
        .start = move->start, .end = move->end, .object = move->object, .offset = move->offset};
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

static int count_range(struct moved_range *range, const int *before, const int *at, size_t n,
                       int node)
{
    for (size_t i = 0; i < n; i++) {
        if (before[i] >= 0 && tally_add(&range->before, before[i], 1, 0) < 0)
            return -ENOMEM;
        if (at[i] >= 0 && tally_add(&range->after, at[i], 1, 0) < 0)
            return -ENOMEM;
        range->n_failed += at[i] >= 0 && at[i] != node;
    }
    return 0;
}

static int count_ranges(struct move_request *request, const int *before, const int *at)
{
    struct outcome *outcome = &request->outcome;
    size_t page_bytes = request->host.page_bytes, first = 0;

    for (size_t i = 0; i < outcome->n_ranges; i++) {
        struct moved_range *range = &outcome->ranges[i];
        size_t n = (range->end - range->start) / page_bytes;

        if (count_range(range, &before[first], &at[first], n, outcome->node) < 0)
            return -ENOMEM;
        first += n;
    }
    return 0;
}

static size_t list_pages(const struct move_request *request, void **pages)
{
    const struct outcome *outcome = &request->outcome;
    size_t n = 0;

    for (size_t i = 0; i < outcome->n_ranges; i++)
        for (uint64_t addr = outcome->ranges[i].start; addr < outcome->ranges[i].end;
             addr += request->host.page_bytes) {
            if (pages)
                pages[n] = (void *)(uintptr_t)addr;
            n++;
        }
    return n;
}

static int move_ranges(struct move_request *request)
{
    CLEANUP(freep) void **pages = NULL;
    CLEANUP(freep) int *before = NULL;
    CLEANUP(freep) int *at = NULL;
    const struct pages_owner owner = {
        .host = &request->host,
        .pid = request->outcome.pid,
        .flags = request->outcome.shared ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE,
        .is_same = is_same,
        .userdata = request,
    };
    struct outcome *outcome = &request->outcome;
    size_t n = list_pages(request, NULL);
    int error;

    pages = calloc(n, sizeof *pages);
    before = calloc(n, sizeof *before);
    at = calloc(n, sizeof *at);
    if (!pages || !before || !at)
        return ENOMEM;
    list_pages(request, pages);
    error = pages_move(&owner, pages, n, outcome->node, before, at, &outcome->ledger);
    return count_ranges(request, before, at) < 0 ? ENOMEM : error;
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
