/* One request: is it still the process and the program that it was planned for? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attribute/tally.h"
#include "migrate/move_request.h"
#include "model_machine.h"
#include "util/array.h"

#define PID 100

static const struct model_shape two_nodes = {
    .n_nodes = 2, .cpus = {1, 1}, .memory_mib = {64, 64}, .distances = {{10, 20}, {20, 10}}};

struct bed {
    struct model model;
    struct model_vma *vma;
    struct host host;
    struct target target;
    struct space space;
    int alive; /* write end of the pipe that stands for a pidfd: hung up at the end */
};

static void bed_init(struct bed *bed)
{
    int ended[2];

    *bed = (struct bed){0};
    model_init(&bed->model, &two_nodes, 1);
    bed->vma = model_add_vma(&bed->model, model_add_process(&bed->model, PID, "target"), 1024, 0);
    bed->host = model_host(&bed->model);
    assert_int_equal(pipe(ended), 0);
    bed->alive = ended[1];
    bed->target = (struct target){.pid = PID, .ref = {.pid = PID, .fd = ended[0]}};
    bed->space = (struct space){.pid = PID, .start_ticks = 77, .maps_fd = memfd_create("maps", 0)};
    assert_int_equal(write(bed->space.maps_fd, "7f00 some text", 14), 14);
}

static void bed_deinit(struct bed *bed)
{
    fd_close(bed->alive);
    fd_close(bed->target.ref.fd);
    fd_close(bed->space.maps_fd);
    model_deinit(&bed->model);
}

/* Pages [first, end) of the mapping. */
static void add_pages(struct move_request *request, const struct bed *bed, uint64_t first,
                      uint64_t end)
{
    const struct move move = {.start = bed->vma->start + first * 4096,
                              .end = bed->vma->start + end * 4096};

    assert_int_equal(move_request_add(request, &move), 0);
}

static struct move_request *new_request(struct bed *bed)
{
    struct move_request *request;

    assert_int_equal(move_request_new(&request, &bed->host, &bed->target, &bed->space, 1, false),
                     0);
    add_pages(request, bed, 0, 512);
    add_pages(request, bed, 600, 700);
    return request;
}

static void live(struct bed *bed)
{
    (void)bed;
}

static void end(struct bed *bed)
{
    bed->alive = fd_close(bed->alive);
}

static void exec(struct bed *bed)
{
    assert_int_equal(ftruncate(bed->space.maps_fd, 0), 0);
}

/* The owner's fds are its own: the request has copies. */
static void close_owner(struct bed *bed)
{
    bed->target.ref.fd = fd_close(bed->target.ref.fd);
    bed->space.maps_fd = fd_close(bed->space.maps_fd);
}

static void close_owner_of_ended(struct bed *bed)
{
    end(bed);
    close_owner(bed);
}

static void identity_is_checked_right_before_the_act(void **state)
{
    static const struct {
        const char *name;
        void (*happens)(struct bed *bed); /* between plan and act */
        bool gone;
    } cases[] = {
        {"nothing", live, false},
        {"the process ends", end, true},
        {"it executes another program", exec, true},
        {"its owner forgets it", close_owner, false},
        {"its owner forgets it when it has ended", close_owner_of_ended, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct move_request *request;
        struct bed bed;

        print_message("%s\n", cases[i].name);
        bed_init(&bed);
        request = new_request(&bed);
        cases[i].happens(&bed);
        move_request_run(&request->work);
        assert_int_equal(request->outcome.gone, cases[i].gone);
        assert_int_equal(request->outcome.ledger.n_moved, cases[i].gone ? 0 : 612);
        assert_int_equal(bed.model.n_calls > 0, !cases[i].gone);
        assert_int_equal(request->outcome.start_ticks, 77);
        move_request_free(&request->work);
        bed_deinit(&bed);
    }
}

/* While the first call is under way. */
static void exec_at_move(struct model *model, struct model_process *process, bool moves)
{
    struct bed *bed = (struct bed *)((char *)model - offsetof(struct bed, model));

    (void)process;
    if (moves)
        exec(bed);
}

static void identity_is_checked_before_each_call_of_a_request(void **state)
{
    struct move_request *request;
    const struct ledger *ledger;
    struct bed bed;

    (void)state;
    bed_init(&bed);
    bed.vma->pages[100].flags = bed.vma->pages[101].flags = MODEL_PAGE_HELD; /* two calls */
    bed.model.before_call = exec_at_move;
    request = new_request(&bed);
    move_request_run(&request->work);
    assert_true(request->outcome.gone);
    assert_int_equal(model_n_calls(&bed.model, MODEL_CALL_MOVE, PID), 1);
    ledger = &request->outcome.ledger;
    assert_true(ledger->n_failed > 0);
    assert_int_equal(ledger->n_tried, ledger->n_moved + ledger->n_failed + ledger->n_absent);
    move_request_free(&request->work);
    bed_deinit(&bed);
}

struct blocker {
    int started[2], gate[2];
};

/* Waits for the gate to close; every page is on node 0, and moves. */
static long blocked_move_pages(void *self, pid_t pid, size_t n, void *const *pages,
                               const int *nodes, int *status, int flags)
{
    struct blocker *blocker = self;
    char byte;

    (void)pid, (void)pages, (void)flags;
    (void)!write(blocker->started[1], "s", 1);
    (void)!read(blocker->gate[0], &byte, 1);
    for (size_t i = 0; i < n; i++)
        status[i] = nodes ? nodes[i] : 0;
    return 0;
}

/* As at the end of the daemon, whose struct holds the host; under AddressSanitizer. */
static void blocked_request_returns_when_its_host_has_been_freed(void **state)
{
    static const struct host_ops host_ops = {.move_pages = blocked_move_pages};
    static const struct work_ops ops = {
        .name = "move_pages", .run = move_request_run, .free = move_request_free};
    struct worker_pool *pool = NULL;
    struct host *host = malloc(sizeof *host);
    struct blocker blocker;
    struct move_request *request;
    struct pollfd freed;
    struct bed bed;
    char byte;

    (void)state;
    bed_init(&bed);
    assert_int_equal(pipe(blocker.started), 0);
    assert_int_equal(pipe(blocker.gate), 0);
    assert_non_null(host);
    *host = (struct host){.ops = &host_ops, .self = &blocker, .page_bytes = 4096};
    assert_int_equal(move_request_new(&request, host, &bed.target, &bed.space, 1, false), 0);
    add_pages(request, &bed, 0, 1);
    request->work.ops = &ops;
    assert_int_equal(worker_pool_new(&pool, 1), 0);
    worker_pool_submit(pool, 0, &request->work);
    assert_int_equal(read(blocker.started[0], &byte, 1), 1);
    worker_pool_free(pool);
    free(host);
    close_owner(&bed);
    blocker.gate[1] = fd_close(blocker.gate[1]);
    /* The request had the last read end of the pipe that stands for a pidfd. */
    freed = (struct pollfd){.fd = bed.alive};
    assert_int_equal(poll(&freed, 1, 30000), 1);
    fd_close(blocker.gate[0]);
    fd_close(blocker.started[0]);
    fd_close(blocker.started[1]);
    bed_deinit(&bed);
}

static void ranges_tell_where_their_pages_were_and_are(void **state)
{
    struct move_request *request;
    const struct moved_range *ranges;
    struct bed bed;

    (void)state;
    bed_init(&bed);
    for (size_t page = 0; page < 100; page++)
        bed.vma->pages[page].at = 1;
    bed.vma->pages[100].at = -ENOENT;
    bed.vma->pages[610].flags = MODEL_PAGE_HELD;
    request = new_request(&bed);
    move_request_run(&request->work);
    ranges = request->outcome.ranges;
    assert_int_equal(tally_n(&ranges[0].before, 0), 411);
    assert_int_equal(tally_n(&ranges[0].before, 1), 100);
    assert_int_equal(tally_n(&ranges[0].after, 0), 0);
    assert_int_equal(tally_n(&ranges[0].after, 1), 511);
    assert_int_equal(ranges[0].n_failed, 0);
    assert_int_equal(tally_n(&ranges[1].after, 0), 1);
    assert_int_equal(tally_n(&ranges[1].after, 1), 99);
    assert_int_equal(ranges[1].n_failed, 1);
    move_request_free(&request->work);
    bed_deinit(&bed);
}

/* The first 512 pages are one huge page; of the others only every tenth is there. */
static void make_sparse(struct bed *bed)
{
    for (size_t i = 0; i < 1024; i++) {
        if (i < MODEL_HUGE_PAGES)
            bed->vma->pages[i].flags = MODEL_PAGE_HUGE;
        else if (i % 10)
            bed->vma->pages[i].at = -ENOENT;
    }
}

static size_t pages_of_calls(const struct model *model, enum model_call_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < model->n_calls; i++)
        if (model->calls[i].kind == kind)
            n += model->calls[i].n;
    return n;
}

static void assert_moved_sparse(const struct outcome *outcome)
{
    assert_int_equal(outcome->ledger.n_tried, 512 + 10);
    assert_int_equal(outcome->ledger.n_moved, 512 + 10);
    assert_true(tally_n(&outcome->ranges[0].before, 0) == 512);
    assert_true(tally_n(&outcome->ranges[0].after, 1) == 512);
    assert_true(tally_n(&outcome->ranges[1].after, 1) == 10);
    assert_true(tally_total_n(&outcome->ranges[1].after) == 10);
}

/* 11 addresses instead of 612, to ask and to move; what is counted is the same. */
static void huge_pages_are_one_address_and_absent_ones_none(void **state)
{
    static const struct {
        bool no_scans, no_pagemap;
        size_t n_asked;
    } cases[] = {{false, false, 11}, {true, false, 612}, {false, true, 612}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct move_request *request;
        struct bed bed;

        bed_init(&bed);
        make_sparse(&bed);
        bed.model.no_scans = cases[i].no_scans;
        bed.space.no_pagemap = cases[i].no_pagemap;
        request = new_request(&bed);
        move_request_run(&request->work);
        assert_moved_sparse(&request->outcome);
        print_message("asked %zu, handed over %zu\n", pages_of_calls(&bed.model, MODEL_CALL_QUERY),
                      pages_of_calls(&bed.model, MODEL_CALL_MOVE));
        if (cases[i].n_asked == 11)
            assert_int_equal(pages_of_calls(&bed.model, MODEL_CALL_QUERY), 11);
        else
            assert_true(pages_of_calls(&bed.model, MODEL_CALL_QUERY) >= 612);
        move_request_free(&request->work);
        bed_deinit(&bed);
    }
}

/* All of a huge page stays, and counts as its base pages. */
static void a_held_huge_page_fails_as_512_pages(void **state)
{
    struct move_request *request;
    struct bed bed;

    (void)state;
    bed_init(&bed);
    make_sparse(&bed);
    bed.vma->pages[0].flags |= MODEL_PAGE_HELD;
    request = new_request(&bed);
    move_request_run(&request->work);
    assert_int_equal(request->outcome.ledger.n_tried, 522);
    assert_int_equal(request->outcome.ledger.n_moved, 10);
    assert_int_equal(request->outcome.ledger.n_failed, 512);
    assert_int_equal(request->outcome.ranges[0].n_failed, 512);
    assert_true(tally_n(&request->outcome.ranges[0].after, 0) == 512);
    assert_int_equal(request->outcome.ranges[1].n_failed, 0);
    move_request_free(&request->work);
    bed_deinit(&bed);
}

static void memory_that_has_gone_is_not_asked_for(void **state)
{
    struct move_request *request;
    struct bed bed;

    (void)state;
    bed_init(&bed);
    for (size_t i = 0; i < 1024; i++)
        bed.vma->pages[i].at = -ENOENT;
    request = new_request(&bed);
    move_request_run(&request->work);
    assert_int_equal(request->outcome.call_error, 0);
    assert_int_equal(request->outcome.ledger.n_tried, 0);
    assert_int_equal(bed.model.n_calls, 0);
    move_request_free(&request->work);
    bed_deinit(&bed);
}

/* Without fds (a model, or files below a root) there is nothing to check. */
static void request_without_fds_is_carried_out(void **state)
{
    struct move_request *request;
    struct bed bed;

    (void)state;
    bed_init(&bed);
    close_owner(&bed);
    request = new_request(&bed);
    move_request_run(&request->work);
    assert_int_equal(request->outcome.ledger.n_moved, 612);
    move_request_free(&request->work);
    bed_deinit(&bed);
}

/* MPOL_MF_MOVE_ALL for private memory would take pages that a fork or KSM shares. */
static void only_shared_memory_moves_for_all_who_map_it(void **state)
{
    (void)state;
    for (int shared = 0; shared <= 1; shared++) {
        struct move_request *request;
        struct bed bed;

        bed_init(&bed);
        bed.vma->pages[3].flags = MODEL_PAGE_SHARED;
        assert_int_equal(move_request_new(&request, &bed.host, &bed.target, &bed.space, 1, shared),
                         0);
        add_pages(request, &bed, 0, 8);
        move_request_run(&request->work);
        assert_int_equal(request->outcome.shared, shared);
        assert_int_equal(request->outcome.ledger.n_moved, shared ? 8 : 7);
        assert_int_equal(bed.vma->pages[3].at, shared);
        move_request_free(&request->work);
        bed_deinit(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_checked_right_before_the_act),
        cmocka_unit_test(only_shared_memory_moves_for_all_who_map_it),
        cmocka_unit_test(identity_is_checked_before_each_call_of_a_request),
        cmocka_unit_test(blocked_request_returns_when_its_host_has_been_freed),
        cmocka_unit_test(ranges_tell_where_their_pages_were_and_are),
        cmocka_unit_test(request_without_fds_is_carried_out),
        cmocka_unit_test(huge_pages_are_one_address_and_absent_ones_none),
        cmocka_unit_test(a_held_huge_page_fails_as_512_pages),
        cmocka_unit_test(memory_that_has_gone_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
