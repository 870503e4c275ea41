/*
 * Memory comes to its threads: the four workloads of the autonuma benchmark on 2 to 64 nodes.
 */
#include "numabd/config.h"
#include "sim/load.h"
#include "sim/run.h"
#include "sim/scenario.h"

#define SEPARABLE 1.05 /* of the cost of the best placement */
#define MOVED_MOST 1.2 /* of what is misplaced */
#define QUIET_ROUNDS 30
#define LIMIT 60
/*
 * For the last few pages. A range of 2 MiB beside memory of another node has only its own samples
 * to go by, and once the rest is done and the process counts as stable, few of them: 14 for each of
 * two passes, at 0.2 a second.
 */
#define LAST_LIMIT 300

/* Rounds until the last page is where it should be, LAST_LIMIT + 1 when some never are. */
static unsigned run_until_placed(struct sim_run *run)
{
    unsigned n = 0;

    while (n <= LAST_LIMIT && sim_bill_make(&run->machine).n_misplaced) {
        sim_run_rounds(run, 1);
        n++;
    }
    return n;
}

/* Converges, moves little more than is misplaced, and then nothing more. */
static void check_converges(struct sim_play *play, struct sim_run *run, const char *what)
{
    struct sim_bill bill = sim_bill_make(&run->machine);
    uint64_t n_moved;
    unsigned n, n_last;

    n = sim_run_until(run, SEPARABLE, LIMIT);
    SIM_CHECK(play, n <= LIMIT, "%s: ratio %.3f", what, sim_run_ratio(run));
    n_last = run_until_placed(run);
    SIM_CHECK(play, n_last <= LAST_LIMIT, "%s: %llu pages stay misplaced", what,
              (unsigned long long)sim_bill_make(&run->machine).n_misplaced);
    n_moved = sim_run_n_moved(run);
    sim_run_rounds(run, QUIET_ROUNDS);
    SIM_CHECK(play, sim_run_n_moved(run) == n_moved, "%s: %llu pages more", what,
              (unsigned long long)(sim_run_n_moved(run) - n_moved));
    SIM_CHECK(play, (double)n_moved <= MOVED_MOST * (double)bill.n_misplaced,
              "%s: %llu of %llu misplaced", what, (unsigned long long)n_moved,
              (unsigned long long)bill.n_misplaced);
    SIM_CHECK(play, !sim_run_is_broken(run), "%s: rate %u room %u refused %u forbidden %u", what,
              run->breach.n_rate, run->breach.n_room, run->breach.n_refused,
              run->breach.n_forbidden);
    sim_note(play, "%s %.2f>%.3f in %u+%u", what, sim_bill_ratio(&bill), sim_run_ratio(run), n,
             n_last);
}

static void play_load(struct sim_play *play, const struct sim_shape *shape, uint64_t pages)
{
    for (enum sim_load_kind kind = 0; kind < SIM_LOAD_COUNT; kind++) {
        CLEANUP(sim_run_deinit) struct sim_run run;

        sim_run_init(&run, shape, play->seed);
        sim_load_add(&run.machine, kind, pages);
        check_converges(play, &run, sim_load_names[kind]);
    }
}

static void two_nodes(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 4096);

    play_load(play, &shape, 512 * SIM_MIB_PAGES);
}

static void four_node_ring(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(4, 4, 4096);

    play_load(play, &shape, 512 * SIM_MIB_PAGES);
}

static void four_node_mesh(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(4, 4, 4096);

    play_load(play, &shape, 512 * SIM_MIB_PAGES);
}

static void eight_node_ring(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(8, 4, 4096);

    play_load(play, &shape, 512 * SIM_MIB_PAGES);
}

static void eight_node_mesh(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(8, 4, 4096);

    play_load(play, &shape, 512 * SIM_MIB_PAGES);
}

static void sixty_four_node_ring(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_ring(64, 2, 4096);

    play_load(play, &shape, 128 * SIM_MIB_PAGES);
}

static void sixty_four_node_mesh(struct sim_play *play)
{
    const struct sim_shape shape = sim_shape_mesh(64, 2, 4096);

    play_load(play, &shape, 128 * SIM_MIB_PAGES);
}

int main(int argc, char **argv)
{
    static const struct sim_scenario scenarios[] = {
        {"two_nodes", two_nodes, false},
        {"four_node_ring", four_node_ring, false},
        {"four_node_mesh", four_node_mesh, false},
        {"eight_node_ring", eight_node_ring, false},
        {"eight_node_mesh", eight_node_mesh, false},
        {"sixty_four_node_ring", sixty_four_node_ring, false},
        {"sixty_four_node_mesh", sixty_four_node_mesh, false},
    };

    return sim_main(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
