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
#define PLACED 1.05
#define PLACED_LIMIT 60
#define SHARED_ROUNDS 60
#define SHARED_MOVED_MOST 0.01

struct sizes_row {
    uint64_t pages_each;
    int n_threads;
    unsigned decided, placed; /* rounds */
    double share, wrong, moved, ratio;
};

static void row_print(const struct sizes_row *row)
{
    char placed[32];

    snprintf(placed, sizeof placed, "%u", row->placed);
    printf("# %6.1f GiB x %3d threads = %6.0f GiB: decided in %2u rounds (%.1f %%, wrong %.2f %%), "
           "placed in %s, ratio %.2f, %.0f GiB moved\n",
           (double)row->pages_each / (double)SIM_GIB_PAGES, row->n_threads,
           (double)row->pages_each / (double)SIM_GIB_PAGES * row->n_threads, row->decided,
           100 * row->share, 100 * row->wrong, row->placed > PLACED_LIMIT ? "more" : placed,
           row->ratio, row->moved / (double)SIM_GIB_PAGES);
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
    row->placed = row->decided + sim_run_until(&run, PLACED, PLACED_LIMIT - row->decided);
    row->ratio = sim_run_ratio(&run);
    row->moved = (double)sim_run_n_moved(&run);
    row_print(row);
}

static void sizes_check(struct sim_play *play, int n_nodes, uint64_t memory_mib)
{
    const struct sim_shape shape = sim_shape_ring(n_nodes, 4, memory_mib);

    for (uint64_t pages = SIM_GIB_PAGES / 2; pages <= 8 * SIM_GIB_PAGES; pages *= 2) {
        struct sizes_row row = {.pages_each = pages, .n_threads = n_nodes * 4};

        row_run(&row, &shape, play->seed);
        SIM_CHECK(play, row.share >= DECIDED, "%.3f after %u rounds", row.share, row.decided);
        SIM_CHECK(play, row.wrong <= 0.01, "%.3f", row.wrong);
        sim_note(play, "%.1f GiB in %u", (double)pages / (double)SIM_GIB_PAGES, row.decided);
    }
}

static void sixteen_threads(struct sim_play *play)
{
    sizes_check(play, 4, 65536);
}

static void sixty_four_threads(struct sim_play *play)
{
    sizes_check(play, 16, 65536);
}

static void two_hundred_fifty_six_threads(struct sim_play *play)
{
    sizes_check(play, 64, 65536);
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
        {"shared_memory_stays", shared_memory_stays, false},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
