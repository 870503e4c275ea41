/*
 * Random lives of processes against a plain model (learned.h): mmap, munmap, mprotect, mremap,
 * madvise, shared memory at several places, threads, exec, fork, exit and pids that are used again,
 * between accesses, rounds, answers that come late and maps that change while they are read. After
 * each of them the store must know of each range, of each group and of each VMA's users what the
 * model knows, and nothing else.
 *
 * What the store cannot know, and the model does not hold against it: an anonymous mapping that was
 * unmapped and mapped again between two reads of maps looks the same; so does a file that came back
 * at the same offset, and memory that mremap put where other anonymous memory lay. What is in
 * between two reads counts for the mapping that was read last. Threads that share a slot are not
 * told apart.
 *
 * `-n N -s SEED`: N sequences, and their seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "attribute/groups.h"
#include "attribute/objects.h"
#include "attribute/scans.h"
#include "attribute/space.h"
#include "learned.h"
#include "lives.h"
#include "util/nsec.h"

#define N_THREADS_MAX 900 /* of one life */
#define N_SEQUENCES 300
#define N_STEPS 300

/* Did the store just ask for maps? */
static void note_asked(struct world *world)
{
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *life = &world->lives[i];
        const struct space *space = attribute_find(world->attribute, life->pid);

        assert_int_equal(space != NULL, life->tracked);
        life->asked = space && space->maps_pending;
    }
}

static void push(struct world *world, struct life *life, size_t cell, unsigned thread,
                 unsigned node, enum access_kind kind)
{
    uint64_t bytes = vm_address(cell + 1) - vm_address(cell);
    const struct target target = life_target(life);
    const struct access access = {.when_nsec = ++world->now,
                                  .pid = life->pid,
                                  .tid = life->pid + (pid_t)thread,
                                  .cpu = (int)node,
                                  .addr = vm_address(cell) + world_below(world, bytes),
                                  .weight_sec = 0.004,
                                  .kind = kind};

    life_track(life);
    assert_int_equal(attribute_push(world->attribute, &target, &access, 1), 0);
}

static unsigned choose_thread(struct world *world, struct life *life)
{
    unsigned n_alive = life->n_threads - life->first_thread;

    if (world->fleeting && world_below(world, 8) && life->n_threads < N_THREADS_MAX)
        return life->n_threads++;
    return life->first_thread + (unsigned)world_below(world, n_alive);
}

/* Evenly; or nearly all from one node; or the upper half of it from another one, or evenly. */
static unsigned choose_node(struct world *world, size_t cell)
{
    bool odd = world_below(world, 50) == 0;

    switch (world->use) {
    case USE_ONE_NODE:
        return odd;
    case USE_HALVES:
        return odd ^ (cell >= VM_CELLS / 2);
    case USE_PARTLY:
        return cell >= VM_CELLS / 2 ? world_below(world, LEARNED_NODES) : odd;
    default:
        return (unsigned)world_below(world, LEARNED_NODES);
    }
}

/* The process does something with its memory; what the store makes of it depends on what it saw. */
static void step_access(struct world *world, struct life *life)
{
    unsigned thread = choose_thread(world, life);
    size_t cell = world_below(world, VM_CELLS);
    unsigned node = choose_node(world, cell);

    if (!vm_is_fine(cell))
        return;
    life->vm.cells[cell].present = life->vm.cells[cell].content != VM_NOTHING;
    push(world, life, cell, thread, node, ACCESS_READ);
    if (vm_is_movable(&life->learned.seen.cells[cell]))
        learned_add(&life->learned, cell, thread, node, &world->counts);
    else if (life->learned.seen.cells[cell].content == VM_SHARED)
        learned_note_user(&life->learned, cell, thread);
}

/* Where claims come to pass, memory keeps still for longer. */
static bool is_calm(struct world *world)
{
    return world->use != USE_EVEN && world_below(world, 6);
}

static void step_touch(struct world *world, struct life *life)
{
    size_t cell = world_below(world, VM_CELLS);

    if (!vm_is_fine(cell))
        return;
    push(world, life, cell, 0, 0, ACCESS_TOUCH);
    learned_touch(&life->learned, cell);
}

static void step_round(struct world *world)
{
    static const unsigned tenths[] = {1, 10, 10, 10, 10, 10, 50, 150};

    world->now += tenths[world_below(world, 8)] * (NSEC_PER_SEC / 10);
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *life = &world->lives[i];

        if (life->tracked)
            learned_look(&life->learned, attribute_find(world->attribute, life->pid),
                         world->cpu_node);
    }
    assert_int_equal(attribute_round(world->attribute, world->config, world->now), 0);
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *life = &world->lives[i];

        if (life->tracked)
            learned_round(&life->learned, attribute_find(world->attribute, life->pid),
                          world->cpu_node, &world->counts);
    }
}

static void check_nothing_is_left(const struct space *space)
{
    assert_null(space->ranges);
    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        assert_null(space->groups[level]);
    assert_null(space->threads);
    assert_int_equal(space->vmas.n_items, 0);
    assert_int_equal(space->scans->n_items, 0);
}

/* What the answer to a read of maps tells: the program has gone, or what its VMAs are now. */
static void life_answer(struct life *life, const struct space *space, struct learned_counts *counts)
{
    bool gone = !life->alive || (life->tracked_program && life->tracked_program != life->program);

    life->tracked_program = gone ? 0 : life->program;
    if (!gone) {
        learned_follow(&life->learned, &life->vm_read, counts);
        return;
    }
    learned_reset(&life->learned);
    check_nothing_is_left(space);
}

/* Some answers arrive, in order: those about a process that was forgotten since are void. */
static void step_dispatch(struct world *world)
{
    worker_pool_dispatch(world->pool, world_below(world, 4));
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *life = &world->lives[i];
        const struct space *space = attribute_find(world->attribute, life->pid);

        if (life->asked && !space->maps_pending)
            life_answer(life, space, &world->counts);
    }
}

static void step_threads(struct world *world, struct life *life)
{
    if (world_below(world, 2) && life->n_threads < N_THREADS_MAX)
        life->n_threads++;
    else if (life->first_thread + 1 < life->n_threads)
        life->first_thread++;
}

/* Into a process that is not alive; it has the same memory, and the store knows nothing of it. */
static void step_fork(struct world *world, const struct life *parent)
{
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *child = &world->lives[i];

        if (child->alive)
            continue;
        child->vm = parent->vm;
        life_begin(world, child);
        return;
    }
}

/* numabd may notice at once; or when the pid is another's already, or by the maps. */
static void step_exit(struct world *world, struct life *life)
{
    life->alive = false;
    if (world_below(world, 2))
        return;
    attribute_drop(world->attribute, life->pid);
    life_forget(life);
}

static void step_life(struct world *world, struct life *life)
{
    switch (world_below(world, 3)) {
    case 0:
        life->program = ++world->n_programs;
        vm_exec(&life->vm, world->mutate);
        life->vm_before = life->vm;
        break;
    case 1:
        step_fork(world, life);
        break;
    default:
        step_exit(world, life);
    }
}

static void step(struct world *world)
{
    struct life *life = &world->lives[world_below(world, N_LIVES)];
    size_t what = world_below(world, 40);

    if (what < 8) {
        step_round(world);
    } else if (what < 16) {
        step_dispatch(world);
    } else if (!life->alive) {
        step_fork(world, &world->lives[world_below(world, N_LIVES)]);
    } else if (what < 26) {
        for (size_t n = 1 + world_below(world, world->use ? 80 : 20); n > 0; n--)
            step_access(world, life);
    } else if (what < 28) {
        step_touch(world, life);
    } else if (what < 30) {
        step_threads(world, life);
    } else if (is_calm(world)) {
        step_round(world);
    } else if (what < 39) {
        life->vm_before = life->vm;
        for (size_t n = 1 + world_below(world, 2); n > 0; n--)
            vm_change(&life->vm, world->mutate);
    } else {
        step_life(world, life);
    }
    note_asked(world);
}

static size_t count_groups(const struct space *space)
{
    size_t n = 0;

    for (unsigned level = 0; level < GROUP_LEVELS; level++)
        n += HASH_COUNT(space->groups[level]);
    return n;
}

/* Shared memory, by what maps of those who are tracked show: it goes with the last of them. */
static void check_objects(struct world *world, size_t *n_rangesp, size_t *n_groupsp)
{
    struct object *object, *next;

    HASH_ITER (learned, attribute_objects(world->attribute), object, next) {
        *n_rangesp += HASH_COUNT(object->memory->ranges);
        *n_groupsp += count_groups(object->memory);
        assert_true(object->n_windows > 0);
        for (size_t i = 0; i < object->n_windows; i++) {
            const struct window *window = &object->windows[i];

            assert_ptr_equal(attribute_find(world->attribute, window->pid), window->space);
            assert_ptr_equal(space_find_vma(window->space, window->vma->start), window->vma);
        }
    }
}

static void check(struct world *world)
{
    size_t n_ranges = 0, n_groups = 0;

    check_objects(world, &n_ranges, &n_groups);
    for (size_t i = 0; i < N_LIVES; i++) {
        struct life *life = &world->lives[i];
        struct space *space = attribute_find(world->attribute, life->pid);

        if (!space)
            continue;
        learned_check(&life->learned, space, world->cpu_node, life->pid, &world->counts);
        n_ranges += HASH_COUNT(space->ranges);
        for (unsigned level = 0; level < GROUP_LEVELS; level++)
            n_groups += HASH_COUNT(space->groups[level]);
    }
    assert_int_equal(attribute_n_ranges(world->attribute), n_ranges);
    assert_int_equal(attribute_n_groups(world->attribute), n_groups);
}

static void add_counts(struct learned_counts *counts, const struct learned_counts *more)
{
    counts->n_kept += more->n_kept;
    counts->n_dropped += more->n_dropped;
    counts->n_fooled += more->n_fooled;
    counts->n_compared += more->n_compared;
    counts->n_bits += more->n_bits;
    counts->n_bound += more->n_bound;
    counts->n_gaps += more->n_gaps;
    counts->n_slabs += more->n_slabs;
    counts->n_told += more->n_told;
    counts->n_left_to_larger += more->n_left_to_larger;
}

struct run {
    struct mutate mutate;
    unsigned long n_sequences;
};

static void the_store_knows_what_the_model_knows(void **state)
{
    struct run *run = *state;
    struct learned_counts counts = {0};

    for (unsigned long i = 0; i < run->n_sequences; i++) {
        struct world world;

        world_init(&world, &run->mutate);
        for (int n = 0; n < N_STEPS; n++) {
            step(&world);
            check(&world);
        }
        world_deinit(&world);
        add_counts(&counts, &world.counts);
    }
    print_message(
        "  pieces kept %lu, dropped %lu, compared %lu, bound %lu; cells that only look the "
        "same %lu; bits %lu, gaps %lu, slabs made %lu; accesses told %lu; pieces left %lu\n",
        counts.n_kept, counts.n_dropped, counts.n_compared, counts.n_bound, counts.n_fooled,
        counts.n_bits, counts.n_gaps, counts.n_slabs, counts.n_told, counts.n_left_to_larger);
    if (run->n_sequences < N_SEQUENCES)
        return;
    /* Every kind of thing was met. */
    assert_true(counts.n_kept > 10000 && counts.n_dropped > 1000 && counts.n_compared > 100000);
    assert_true(counts.n_fooled > 100 && counts.n_bits > 10000 && counts.n_gaps > 100);
    assert_true(counts.n_bound > 1000 && counts.n_slabs > 100);
    assert_true(counts.n_told > 1000 && counts.n_left_to_larger > 100);
}

static unsigned long take_sequences(int *argcp, char **argv)
{
    unsigned long n = N_SEQUENCES;

    if (*argcp < 3 || strcmp(argv[1], "-n") != 0)
        return n;
    n = strtoul(argv[2], NULL, 0);
    for (int i = 3; i <= *argcp; i++)
        argv[i - 2] = argv[i];
    *argcp -= 2;
    return n;
}

int main(int argc, char **argv)
{
    struct run run = {.n_sequences = take_sequences(&argc, argv)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_store_knows_what_the_model_knows, &run),
    };

    run.mutate = mutate_init(argc, argv);
    return cmocka_run_group_tests_name("space-property", tests, NULL, NULL);
}
