/*
 * The store on the real /proc of a child, two threads of which map and unmap without pause, so that
 * maps change while the kernel prints them. Between them lies memory that stays: all of what was
 * learned of it must stay too, and nothing of the rest may pass to another mapping.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attribute/ranges.h"
#include "attribute/tally.h"
#include "mutate.h"
#include "numabd/host.h"
#include "space_rig.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define PAGE ((size_t)4096)
#define ARENA_PAGES 64 /* of 64 KiB each: two ranges */
#define ARENA_PAGE (16 * PAGE)
#define ARENA_BYTES (ARENA_PAGES * ARENA_PAGE)
#define AREA_BYTES (16 * M)
#define STABLE_AT (6 * M) /* behind the first arena and a gap, before the second one */
#define SECOND_AT (10 * M)
#define READS_ENOUGH 300
#define REPLACED_ENOUGH 30
#define READING_NSEC (3 * NSEC_PER_SEC / 2)
#define PATIENCE_NSEC (120 * NSEC_PER_SEC) /* a hang, not a deadline */

struct live {
    char *area; /* at the same place in the child */
    int files[2];
    pid_t child;
    struct host host;
    int maps_fd;
    struct space *space;
    struct mutate *mutate;
    unsigned n_stable, n_reads, n_kept, n_dropped;
};

struct churn {
    char *arena;
    const int *files;
    struct mutate mutate;
};

/* Memory of one of the files, or anonymous; or none; or another protection. */
static void churn_once(struct churn *churn)
{
    size_t first = mutate_below(&churn->mutate, ARENA_PAGES);
    size_t n = 1 + mutate_below(&churn->mutate, ARENA_PAGES - first);
    size_t what = mutate_below(&churn->mutate, 5), bytes = n * ARENA_PAGE;
    char *at = churn->arena + first * ARENA_PAGE;

    if (what < 2)
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, churn->files[what], 0);
    else if (what == 2)
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
    else if (what == 3)
        munmap(at, bytes);
    else
        mprotect(at, bytes, mutate_below(&churn->mutate, 2) ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void *churn_for_ever(void *userdata)
{
    for (;;)
        churn_once(userdata);
    return NULL;
}

static void child_run(const struct live *live)
{
    struct churn first = {live->area, live->files, {1}};
    struct churn second = {live->area + SECOND_AT, live->files, {2}};
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mprotect(live->area + STABLE_AT, 2 * M, PROT_READ | PROT_WRITE) < 0 ||
        pthread_create(&thread, NULL, churn_for_ever, &first) != 0)
        _exit(1);
    churn_for_ever(&second);
}

/* Addresses that no mapping has, on a border of ranges. */
static char *reserve(void)
{
    char *at = mmap(NULL, AREA_BYTES + 2 * M, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(at, MAP_FAILED);
    return at + (-(uintptr_t)at & (2 * M - 1));
}

static void live_init(struct live *live, struct mutate *mutate)
{
    *live = (struct live){.area = reserve(), .host = host_live(), .maps_fd = -1, .mutate = mutate};
    live->space = space_rig_new(NULL);
    for (int i = 0; i < 2; i++) {
        live->files[i] = memfd_create("a b\nc", MFD_CLOEXEC);
        assert_true(live->files[i] >= 0);
        assert_int_equal(ftruncate(live->files[i], (off_t)ARENA_BYTES), 0);
    }
    live->child = fork();
    assert_true(live->child >= 0);
    if (live->child == 0) {
        child_run(live);
        _exit(1);
    }
}

static void live_deinit(struct live *live)
{
    kill(live->child, SIGKILL);
    waitpid(live->child, NULL, 0);
    fd_close(live->files[0]);
    fd_close(live->files[1]);
    fd_close(live->maps_fd);
    space_free(live->space);
}

static void touch(struct live *live)
{
    static const uint64_t starts[] = {0, SECOND_AT};
    uint64_t area = (uintptr_t)live->area;

    for (int i = 0; i < 40; i++)
        space_rig_add(live->space, 1, 0,
                      area + starts[i % 2] + mutate_below(live->mutate, ARENA_BYTES), 1);
    if (space_rig_add(live->space, 1, 0, area + STABLE_AT + mutate_below(live->mutate, 2 * M), 1))
        return;
    live->n_stable++;
}

/* Does the same byte of the same file, or of none, lie there; may what lies there be moved? */
static bool same_place(const struct vma *a, const struct vma *b, uint64_t addr)
{
    if (a->kind != REASON_NONE || b->kind != REASON_NONE || a->inode != b->inode)
        return false;
    return !a->inode || addr - a->start + a->offset == addr - b->start + b->offset;
}

/* What each range was before the read, in order of the table. */
struct before {
    uint64_t start, end;
    double n;
    struct vma vma;
};

static size_t list_before(const struct space *space, struct before **listp)
{
    struct range *range, *next;
    size_t n = 0;

    *listp = calloc(HASH_COUNT(space->ranges) + 1, sizeof **listp);
    assert_non_null(*listp);
    HASH_ITER (hh, space->ranges, range, next)
        (*listp)[n++] = (struct before){range->start, range->end, tally_total_n(&range->window),
                                        *space_find_vma(space, range->start)};
    return n;
}

/* What is left is what it was, all of it in one mapping that shows to be the same. */
static void check_kept(struct live *live, const struct before *before)
{
    const struct range *range = space_find_range(live->space, before->start);
    const struct vma *vma = space_find_vma(live->space, before->start);

    live->n_dropped += !range;
    if (!range)
        return;
    live->n_kept++;
    assert_non_null(vma);
    assert_true(range->end >= before->end);
    assert_true(tally_total_n(&range->window) == before->n);
    assert_true(same_place(&before->vma, vma, before->start));
    assert_true(same_place(&before->vma, vma, before->end - 1));
}

static void check_ranges(const struct space *space)
{
    struct range *range, *next;
    uint64_t start, end;

    for (size_t i = 1; i < space->vmas.n_items; i++)
        assert_true(space->vmas.items[i - 1].end <= space->vmas.items[i].start);
    HASH_ITER (hh, space->ranges, range, next) {
        const struct vma *vma = space_find_vma(space, range->start);

        assert_non_null(vma);
        range_bounds(vma, range->start, &start, &end);
        assert_true(range->start == start && range->end == end);
        assert_ptr_equal(space_find_vma(space, range->end - 1), vma);
    }
}

/* Return: as read_maps. */
static int read_once(struct live *live)
{
    CLEANUP(freep) struct before *before = NULL;
    size_t n = list_before(live->space, &before), size = 0, n_dropped = 0;
    CLEANUP(freep) char *text = NULL;
    struct vma_list vmas = {0};
    int r = live->host.ops->read_maps(live->host.self, live->child, &live->maps_fd, &text, &size);

    if (r)
        return r;
    assert_int_equal(vma_list_parse(&vmas, text, size), 0);
    space_set_vmas(live->space, &vmas, &n_dropped);
    for (size_t i = 0; i < n; i++)
        check_kept(live, &before[i]);
    check_ranges(live->space);
    live->n_reads++;
    return 0;
}

static bool goes_on(const struct live *live, uint64_t begun)
{
    uint64_t elapsed = nsec_now() - begun;

    if (live->n_dropped < REPLACED_ENOUGH)
        return elapsed < PATIENCE_NSEC;
    return live->n_reads < READS_ENOUGH && elapsed < READING_NSEC;
}

static void what_stays_is_known_while_all_around_it_changes(void **state)
{
    uint64_t begun = nsec_now();
    const struct range *stable;
    struct live live;
    int r = 0;

    live_init(&live, *state);
    while (!r && goes_on(&live, begun)) {
        r = read_once(&live);
        touch(&live);
    }
    if (r == PROCFS_DENIED) {
        live_deinit(&live);
        print_message("  /proc/PID/maps of a child may not be read\n");
        skip();
    }
    print_message("  %u reads of %zu VMAs: ranges kept %u, dropped %u\n", live.n_reads,
                  live.space->vmas.n_items, live.n_kept, live.n_dropped);
    assert_int_equal(r, 0);
    assert_true(live.n_dropped >= REPLACED_ENOUGH);
    stable = space_find_range(live.space, (uintptr_t)live.area + STABLE_AT);
    assert_non_null(stable);
    assert_true(live.n_stable > 0 && tally_total_n(&stable->window) == live.n_stable);
    live_deinit(&live);
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(what_stays_is_known_while_all_around_it_changes, &mutate),
    };

    return cmocka_run_group_tests_name("space-live", tests, NULL, NULL);
}
