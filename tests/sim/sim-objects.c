/*
 * Shared memory: one segment that up to 500 processes map, decided once and moved once for all of
 * them.
 */
#include <stdio.h>

#include "attribute/objects.h"
#include "pipeline_state.h"
#include "sim/load.h"
#include "sim/run.h"
#include "sim/scenario.h"

#define LIMIT 60
#define BACKENDS 500
#define SEGMENT (128 * SIM_MIB_PAGES)
#define SHARED_MOVED_MOST 0.01

static uint64_t reason_of(const struct sim_run *run, enum reason reason)
{
    return pipeline_plan(run->pipeline)->reasons.n[reason];
}

static double moved_share(const struct sim_run *run)
{
    return (double)sim_run_n_moved(run) / (double)SEGMENT;
}

static void check_unbroken(struct sim_play *play, const struct sim_run *run)
{
    SIM_CHECK(play, !sim_run_is_broken(run), "rate %u room %u refused %u forbidden %u",
              run->breach.n_rate, run->breach.n_room, run->breach.n_refused,
              run->breach.n_forbidden);
}

static struct sim_object *add_segment(struct sim_run *run, int node)
{
    struct sim_object *segment = sim_machine_add_object(&run->machine, SEGMENT, true);

    sim_object_place(segment, run->machine.nodes, 0, SEGMENT, node);
    return segment;
}

/* A process with one thread that uses the whole segment. */
static struct sim_process *add_backend(struct sim_run *run, const char *comm,
                                       struct sim_object *segment, int node)
{
    struct sim_process *process = sim_machine_add_process(&run->machine, comm);

    sim_process_map(process, segment);
    sim_load_add_threads(&run->machine, process, 0, node, 1);
    return process;
}

/* All of it is on the node, and no page went there twice. */
static void check_moved_once(struct sim_play *play, struct sim_run *run,
                             const struct sim_object *segment, int node)
{
    unsigned n = 0;

    while (n <= LIMIT && segment->n_on[node] < SEGMENT) {
        sim_run_rounds(run, 1);
        n++;
    }
    SIM_CHECK(play, n <= LIMIT, "%llu of %llu pages", (unsigned long long)segment->n_on[node],
              (unsigned long long)SEGMENT);
    sim_run_rounds(run, 20);
    SIM_CHECK(play, sim_run_n_moved(run) == SEGMENT, "%llu pages moved",
              (unsigned long long)sim_run_n_moved(run));
    check_unbroken(play, run);
    sim_note(play, "whole and once in %u rounds", n);
}

static void check_never_moved(struct sim_play *play, struct sim_run *run, enum reason reason)
{
    uint64_t n_moved = sim_run_n_moved(run), n_said = 0;

    for (unsigned i = 0; i < LIMIT; i++) {
        sim_run_rounds(run, 1);
        n_said += reason_of(run, reason);
    }
    SIM_CHECK(play, sim_run_n_moved(run) == n_moved, "%llu pages",
              (unsigned long long)(sim_run_n_moved(run) - n_moved));
    SIM_CHECK(play, n_said > 0, "%s was never said", reason_name(reason));
    check_unbroken(play, run);
}

static void segment_used_evenly(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 16, 8192);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    for (int i = 0; i < BACKENDS; i++)
        add_backend(&run, "backend", segment, i % 4);
    sim_run_rounds(&run, LIMIT);
    SIM_CHECK(play, moved_share(&run) < SHARED_MOVED_MOST, "%.4f", moved_share(&run));
    SIM_CHECK(play, reason_of(&run, REASON_SHARED) > 0, "not said");
    check_unbroken(play, &run);
    sim_note(play, "%d processes, %.2f %% moved, %llu ranges are shared, cost %.1f %% of a CPU",
             BACKENDS, 100 * moved_share(&run), (unsigned long long)reason_of(&run, REASON_SHARED),
             100 * sim_run_cost_sec(&run) / LIMIT);
}

static void segment_used_from_one_node(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 16, 8192);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    for (int i = 0; i < BACKENDS; i++)
        add_backend(&run, "backend", segment, 1);
    check_moved_once(play, &run, segment, 1);
}

/* Each part is in the page table of its own process only: no single mapper can move it all. */
static void segment_in_parts(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 16, 8192);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;
    const int n_parts = 16;
    uint64_t part = 64 * SIM_MIB_PAGES, n_pages = (uint64_t)n_parts * part;
    unsigned n = 0;

    sim_run_init(&run, &shape, play->seed);
    segment = sim_machine_add_object(&run.machine, n_pages, true);
    sim_object_place(segment, run.machine.nodes, 0, n_pages, 0);
    for (int i = 0; i < n_parts; i++) {
        struct sim_process *process = add_backend(&run, "worker", segment, i % 4);

        sim_thread_drop_uses(process->threads[0]);
        sim_thread_use(process->threads[0], 0, (uint64_t)i * part, part, 1);
        sim_process_touch(process, 0, (uint64_t)i * part, part);
    }
    for (; n <= LIMIT && sim_bill_make(&run.machine).n_misplaced; n++)
        sim_run_rounds(&run, 1);
    SIM_CHECK(play, n <= LIMIT, "ratio %.3f", sim_run_ratio(&run));
    sim_run_rounds(&run, 20);
    SIM_CHECK(play, sim_run_n_moved(&run) == n_pages / 4 * 3, "%llu pages",
              (unsigned long long)sim_run_n_moved(&run));
    check_unbroken(play, &run);
    sim_note(play, "%d parts placed in %u rounds", n_parts, n);
}

/* One of the mappers is excluded: it would lose its pages too. */
static void mapper_that_is_excluded(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    sim_run_exclude(&run, "spared");
    segment = add_segment(&run, 0);
    for (int i = 0; i < 8; i++)
        add_backend(&run, i % 2 ? "backend" : "spared", segment, 1)->spared = i % 2 == 0;
    check_never_moved(play, &run, REASON_SHARED_OUT_OF_SCOPE);
    sim_note(play, "4 of 8 excluded");
}

/*
 * Known as a mapper, so that the search before the first move left it out; it must not be forgotten
 * with its space while that search counts.
 */
static void mapper_excluded_later(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *spared;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    for (int i = 0; i < 4; i++)
        add_backend(&run, "backend", segment, 1);
    spared = add_backend(&run, "spared", segment, 1);
    for (unsigned n = 0; n < LIMIT && segment->n_on[1] < SEGMENT; n++)
        sim_run_rounds(&run, 1);
    SIM_CHECK(play, segment->n_on[1] == SEGMENT, "%llu pages",
              (unsigned long long)segment->n_on[1]);
    sim_run_exclude(&run, "spared");
    spared->spared = true;
    for (size_t i = 0; i < run.machine.n_processes; i++)
        sim_machine_run_on(&run.machine, run.machine.processes[i]->threads[0], (int)i % 4);
    check_never_moved(play, &run, REASON_SHARED_OUT_OF_SCOPE);
}

/* Its cpuset keeps it on node 0, where the segment is. */
static void mapper_kept_on_a_node(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *kept;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    kept = sim_machine_add_process(&run.machine, "kept");
    sim_process_map(kept, segment);
    kept->mems_allowed = "0";
    kept->spared = true;
    for (int i = 0; i < 4; i++)
        add_backend(&run, "backend", segment, 1);
    check_never_moved(play, &run, REASON_SHARED_OUT_OF_SCOPE);
}

/* Discover says of small processes that they are too small, whatever the rules say. */
static void small_mapper_that_is_excluded(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *small;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    sim_run_exclude(&run, "spared");
    segment = add_segment(&run, 0);
    for (int i = 0; i < 4; i++)
        add_backend(&run, "backend", segment, 1);
    small = add_backend(&run, "spared", segment, 1);
    sim_process_touch(small, 0, 0, 1);
    small->spared = true;
    check_never_moved(play, &run, REASON_SHARED_OUT_OF_SCOPE);
}

/* Nothing stands against them but that they are small. */
static void small_mappers_are_in_scope(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    add_backend(&run, "backend", segment, 1);
    for (int i = 0; i < 4; i++)
        sim_process_touch(add_backend(&run, "backend", segment, 1), 0, 0, 1);
    check_moved_once(play, &run, segment, 1);
}

static void mappers_that_come_and_go(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    for (int i = 0; i < 8; i++)
        add_backend(&run, "backend", segment, 1);
    for (int i = 0; i < 7; i++) {
        sim_run_rounds(&run, 1);
        sim_machine_end_process(&run.machine, run.machine.processes[i]);
        add_backend(&run, "backend", segment, 1);
    }
    check_moved_once(play, &run, segment, 1);
}

static void segment_mapped_elsewhere(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    struct sim_object *segment;
    uint64_t id;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    process = add_backend(&run, "backend", segment, 1);
    sim_run_rounds(&run, 2);
    SIM_CHECK(play, attribute_objects(run.pipeline->attribute) != NULL, " ");
    id = attribute_objects(run.pipeline->attribute)->id;
    sim_process_remap(process);
    check_moved_once(play, &run, segment, 1);
    SIM_CHECK(play, attribute_find_object(run.pipeline->attribute, id) != NULL,
              "what was learned had gone");
}

/* The next segment with this inode is used from the node where it lies. */
static void inode_used_again(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_process *process;
    struct sim_object *segment, *next;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    process = add_backend(&run, "backend", segment, 1);
    check_moved_once(play, &run, segment, 1);
    sim_machine_end_process(&run.machine, process);
    sim_run_rounds(&run, 1);
    next = add_segment(&run, 0);
    next->inode = segment->inode;
    add_backend(&run, "backend", next, 0);
    sim_run_rounds(&run, LIMIT);
    SIM_CHECK(play, sim_run_n_moved(&run) == SEGMENT, "%llu pages",
              (unsigned long long)sim_run_n_moved(&run));
    check_unbroken(play, &run);
}

/* Bound through one of its mappers, and the others show nothing of it. */
static void segment_that_is_bound(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);
    CLEANUP(sim_run_deinit) struct sim_run run;
    struct sim_object *segment;

    sim_run_init(&run, &shape, play->seed);
    segment = add_segment(&run, 0);
    for (int i = 0; i < 4; i++)
        add_backend(&run, "backend", segment, 1);
    run.machine.processes[3]->vmas[0].policy = "bind:0";
    check_never_moved(play, &run, REASON_BIND);
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"segment_used_evenly", segment_used_evenly, false},
        {"segment_used_from_one_node", segment_used_from_one_node, false},
        {"segment_in_parts", segment_in_parts, false},
        {"mapper_that_is_excluded", mapper_that_is_excluded, false},
        {"mapper_excluded_later", mapper_excluded_later, false},
        {"mapper_kept_on_a_node", mapper_kept_on_a_node, false},
        {"small_mapper_that_is_excluded", small_mapper_that_is_excluded, false},
        {"small_mappers_are_in_scope", small_mappers_are_in_scope, false},
        {"mappers_that_come_and_go", mappers_that_come_and_go, false},
        {"segment_mapped_elsewhere", segment_mapped_elsewhere, false},
        {"inode_used_again", inode_used_again, false},
        {"segment_that_is_bound", segment_that_is_bound, false},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
