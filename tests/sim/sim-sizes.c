/*
 * Does the time to decide stay the same however much memory there is? 0.5 to 8 GiB of evenly used
 * memory for each of 16 to 256 threads, half of it and more misplaced; and memory that all threads
 * use alike, which must stay where it is.
 */
#include "sim/decided.h"
#include "sim/load.h"
#include "sim/scenario.h"

#include <stdio.h>

#define DECIDED 0.95 /* of the memory */
#define DECIDED_LIMIT 20
#define WRONG_MOST 0.01
#define PLACED 1.05 /* of the cost of the best placement */
#define SHARED_ROUNDS 60
#define SHARED_MOVED_MOST 0.01

struct sizes_row {
    uint64_t pages_each;
    int n_threads;
    unsigned placed_limit;    /* rounds; 0: what follows the decision is of no interest */
    unsigned decided, placed; /* rounds */
    double share, wrong, moved, ratio;
};

static double gib(double pages)
{
    return pages / (double)SIM_GIB_PAGES;
}

static void row_print(const struct sizes_row *row)
{
    double each = gib((double)row->pages_each);

    printf("# %4.1f GiB x %3d threads = %4.0f GiB: %5.1f %% decided in %2u rounds, wrong %.2f %%",
           each, row->n_threads, each * row->n_threads, 100 * row->share, row->decided,
           100 * row->wrong);
    if (row->placed_limit)
        printf("; cost %.2f of the best and %.0f GiB moved after %u", row->ratio, gib(row->moved),
               row->placed);
    printf("\n");
}

static void row_run(struct sizes_row *row, const struct sim_shape *shape, uint64_t seed)
{
    CLEANUP(sim_run_deinit) struct sim_run run;

    sim_run_init(&run, shape, seed);
    sim_load_add_parts(&run.machine, row->n_threads, row->pages_each, SIM_CHUNK_PAGES);
    while (row->decided < DECIDED_LIMIT && row->share < DECIDED) {
        sim_run_rounds(&run, 1);
        row->decided++;
        row->share = sim_decided_share(&run, &row->wrong);
    }
    row->placed = row->decided;
    if (row->placed_limit)
        row->placed += sim_run_until(&run, PLACED, row->placed_limit - row->decided);
    row->ratio = sim_run_ratio(&run);
    row->moved = (double)sim_run_n_moved(&run);
    row_print(row);
}

/* Four threads for each node. */
static void sizes_check(struct sim_play *play, int n_nodes, uint64_t most, unsigned placed_limit)
{
    const struct sim_shape shape = sim_shape_ring(n_nodes, 4, 65536);

    for (uint64_t pages = SIM_GIB_PAGES / 2; pages <= most; pages *= 2) {
        struct sizes_row row = {
            .pages_each = pages, .n_threads = n_nodes * 4, .placed_limit = placed_limit};

        row_run(&row, &shape, play->seed);
        SIM_CHECK(play, row.share >= DECIDED, "%.3f after %u rounds", row.share, row.decided);
        SIM_CHECK(play, row.wrong <= WRONG_MOST, "%.3f", row.wrong);
        if (placed_limit)
            SIM_CHECK(play, row.ratio <= PLACED, "%.3f after %u rounds", row.ratio, row.placed);
        sim_note(play, "%.1f GiB in %u", gib((double)pages), row.decided);
    }
}

static void sixteen_threads(struct sim_play *play)
{
    sizes_check(play, 4, 8 * SIM_GIB_PAGES, 0);
}

static void sixty_four_threads(struct sim_play *play)
{
    sizes_check(play, 16, 8 * SIM_GIB_PAGES, 0);
}

static void two_hundred_fifty_six_threads(struct sim_play *play)
{
    sizes_check(play, 64, 8 * SIM_GIB_PAGES, 0);
}

/* At most 1 GiB a second comes to a node: 24 GiB misplaced of 32, so 6 s where all is known. */
static void sixteen_threads_placed(struct sim_play *play)
{
    sizes_check(play, 4, 4 * SIM_GIB_PAGES, 60);
}

static void two_hundred_fifty_six_threads_placed(struct sim_play *play)
{
    sizes_check(play, 64, 8 * SIM_GIB_PAGES, 600);
}

static void shared_check(struct sim_play *play, uint64_t pages)
{
    const struct sim_shape shape = sim_shape_ring(4, 4, 65536);
    CLEANUP(sim_run_deinit) struct sim_run run;
    double moved;

    sim_run_init(&run, &shape, play->seed);
    sim_load_add_shared(&run.machine, 16, pages, SIM_CHUNK_PAGES);
    sim_run_rounds(&run, SHARED_ROUNDS);
    moved = (double)sim_run_n_moved(&run) / (double)pages;
    SIM_CHECK(play, moved < SHARED_MOVED_MOST, "%.4f of %llu pages", moved,
              (unsigned long long)pages);
    SIM_CHECK(play, !sim_run_is_broken(&run), " ");
    sim_note(play, "%llu MiB %.2f %%", (unsigned long long)(pages / SIM_MIB_PAGES), 100 * moved);
}

static void shared_memory_stays(struct sim_play *play)
{
    for (uint64_t mib = 128; mib <= 64 * 1024; mib *= 2)
        shared_check(play, mib * SIM_MIB_PAGES);
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"sixteen_threads", sixteen_threads, false},
        {"sixty_four_threads", sixty_four_threads, false},
        {"two_hundred_fifty_six_threads", two_hundred_fifty_six_threads, false},
        {"sixteen_threads_placed", sixteen_threads_placed, false},
        {"two_hundred_fifty_six_threads_placed", two_hundred_fifty_six_threads_placed, true},
        {"shared_memory_stays", shared_memory_stays, false},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
