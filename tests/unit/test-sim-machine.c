/*
 * The simulated machine: what its bills say of placements that can be reckoned by hand, whose turn
 * it is, what move_pages answers, and that a seed repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <numaif.h>

#include "sim/load.h"
#include "sim/run.h"
#include "sim/view.h"

static void bills_weigh_distance_by_use(void **state)
{
    const struct sim_shape shape = sim_shape_flat(2, 2, 64);
    struct sim_machine machine;
    struct sim_process *process;
    struct sim_bill bill;
    size_t vma;

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    vma = sim_machine_map(&machine, process, 1024, 0);
    sim_load_add_threads(&machine, process, vma, 1, 1); /* a CPU's worth at distance 2 */
    bill = sim_bill_make(&machine);
    assert_true(fabs(bill.now - 2) < 1e-9 && fabs(bill.best - 1) < 1e-9);
    assert_int_equal(bill.n_misplaced, 1024);
    sim_load_add_threads(&machine, process, vma, 0, 2); /* two at distance 1 */
    bill = sim_bill_make(&machine);
    assert_true(fabs(bill.now - 4) < 1e-9 && fabs(bill.best - 4) < 1e-9);
    assert_int_equal(bill.n_misplaced, 0);
    sim_machine_deinit(&machine);
}

static void bills_cut_uses_that_overlap(void **state)
{
    const struct sim_shape shape = sim_shape_flat(2, 2, 64);
    struct sim_machine machine;
    struct sim_process *process;
    struct sim_bill bill;

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    sim_machine_map(&machine, process, 2048, 0);
    for (int i = 0; i < 2; i++) {
        struct sim_thread *thread = sim_process_add_thread(process);

        sim_machine_run_on(&machine, thread, 2 * i); /* nodes 0 and 1 */
        sim_thread_use(thread, 0, 1024 * (uint64_t)i, 1024, 1);
        sim_thread_use(thread, 0, 512, 1024, 1);
    }
    bill = sim_bill_make(&machine);
    /* By 512 pages, from node 0 and 1: 1/4, 0; 1/2, 1/4; 1/4, 1/2; 0, 1/4. */
    assert_true(fabs(bill.now - 3) < 1e-9);
    assert_true(fabs(bill.best - 2.5) < 1e-9);
    assert_int_equal(bill.n_misplaced, 1024);
    sim_machine_deinit(&machine);
}

static void threads_of_a_cpu_share_it(void **state)
{
    const struct sim_shape shape = sim_shape_flat(1, 1, 64);
    struct sim_machine machine;
    struct sim_process *process;

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    for (int i = 0; i < 3; i++)
        sim_machine_run_on(&machine, sim_process_add_thread(process), 0);
    sim_machine_run_on(&machine, process->threads[0], -1);
    assert_int_equal(machine.cpus[0].n_threads, 2);
    assert_true(sim_machine_thread_share(&machine, process->threads[2]) == 0.5);
    assert_true(sim_machine_thread_share(&machine, process->threads[0]) == 0);
    sim_machine_end_process(&machine, process);
    assert_int_equal(machine.cpus[0].n_threads, 0);
    assert_null(sim_machine_find(&machine, process->pid));
    sim_machine_deinit(&machine);
}

static void the_scheduler_keeps_cpus_even_and_pinned_threads_in_place(void **state)
{
    const struct sim_shape shape = sim_shape_flat(2, 4, 64);
    const struct sim_scheduler scheduler = {.moves_per_sec = 5, .across_nodes = true};
    struct sim_machine machine;
    struct sim_process *process;
    unsigned n_elsewhere = 0;

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    for (int i = 0; i < 16; i++) {
        struct sim_thread *thread = sim_process_add_thread(process);

        thread->pinned = i == 0;
        sim_machine_run_on(&machine, thread, i / 2);
    }
    for (int i = 0; i < 100; i++)
        sim_scheduler_run(&scheduler, &machine, 0.1);
    for (int cpu = 0; cpu < 8; cpu++)
        assert_in_range(machine.cpus[cpu].n_threads, 1, 3);
    assert_int_equal(process->threads[0]->cpu, 0);
    for (int i = 1; i < 16; i++)
        n_elsewhere += process->threads[i]->cpu != i / 2;
    assert_true(n_elsewhere > 8);
    sim_machine_deinit(&machine);
}

static void *page_of(const struct sim_process *process, uint64_t page)
{
    return (void *)(uintptr_t)(process->vmas[0].start + page * SIM_PAGE_BYTES);
}

static void move_pages_answers_page_by_page(void **state)
{
    const struct sim_shape shape = sim_shape_flat(2, 1, 64);
    struct sim_machine machine;
    struct sim_process *process;
    void *pages[4];
    int nodes[4] = {1, 1, 1, 1}, status[4];

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    sim_process_map(process, sim_machine_add_object(&machine, 1024, false));
    sim_object_place(process->vmas[0].object, machine.nodes, 0, 512, 0);
    for (uint64_t i = 0; i < 4; i++)
        pages[i] = page_of(process, 510 + i); /* the last two are absent */
    assert_int_equal(sim_move_pages(&machine, process->pid, 4, pages, nodes, status, 2), 0);
    assert_true(status[0] == 1 && status[1] == 1);
    assert_true(status[2] == -ENOENT && status[3] == -ENOENT);
    pages[0] = page_of(process, 5000);
    assert_int_equal(sim_move_pages(&machine, process->pid, 2, pages, NULL, status, 0), 0);
    assert_true(status[0] == -EFAULT && status[1] == 1);
    nodes[0] = 7;
    pages[0] = page_of(process, 0);
    assert_int_equal(sim_move_pages(&machine, process->pid, 1, pages, nodes, status, 2), -ENODEV);
    assert_int_equal(sim_move_pages(&machine, 1, 1, pages, NULL, status, 0), -ESRCH);
    assert_int_equal(sim_machine_arrived(&machine, 1), 2);
    sim_machine_deinit(&machine);
}

static void what_must_not_move_is_counted(void **state)
{
    const struct sim_shape shape = sim_shape_flat(2, 1, 64);
    struct sim_machine machine;
    struct sim_process *process;
    void *page;
    int node = 1, status = 0;

    (void)state;
    sim_machine_init(&machine, &shape, 1);
    process = sim_machine_add_process(&machine, "x");
    sim_machine_map(&machine, process, 512, 0);
    page = page_of(process, 0);
    process->vmas[0].object->n_mappers = 2;
    assert_int_equal(sim_move_pages(&machine, process->pid, 1, &page, &node, &status, MPOL_MF_MOVE),
                     0);
    assert_int_equal(status, -EACCES);
    assert_int_equal(machine.tally.n_forbidden, 1);
    process->vmas[0].object->n_mappers = 1;
    process->vmas[0].policy = "bind:0";
    sim_move_pages(&machine, process->pid, 1, &page, &node, &status, MPOL_MF_MOVE);
    assert_int_equal(machine.tally.n_forbidden, 2);
    sim_machine_deinit(&machine);
}

/* What happened in ten rounds, as one number. */
static uint64_t digest_of_run(uint64_t seed)
{
    const struct sim_shape shape = sim_shape_ring(4, 2, 1024);
    CLEANUP(sim_run_deinit) struct sim_run run;

    sim_run_init(&run, &shape, seed);
    sim_load_add(&run.machine, SIM_LOAD_NUMA02, 64 * SIM_MIB_PAGES);
    sim_run_rounds(&run, 10);
    assert_false(sim_run_is_broken(&run));
    assert_true(sim_run_n_moved(&run) > 0);
    return sim_random_bits(&run.machine.random) ^ sim_run_n_moved(&run);
}

static void a_seed_repeats_a_run(void **state)
{
    (void)state;
    assert_true(digest_of_run(3) == digest_of_run(3));
    assert_true(digest_of_run(3) != digest_of_run(4));
}

static void shapes_have_the_distances_of_their_hops(void **state)
{
    const struct sim_shape ring = sim_shape_ring(64, 1, 1), mesh = sim_shape_mesh(8, 1, 1);

    (void)state;
    assert_int_equal(ring.distances[0][0], 10);
    assert_int_equal(ring.distances[0][63], 16);
    assert_int_equal(ring.distances[0][32], 202);
    assert_int_equal(mesh.distances[0][1], 16); /* 2 high, 4 wide */
    assert_int_equal(mesh.distances[0][7], 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bills_weigh_distance_by_use),
        cmocka_unit_test(bills_cut_uses_that_overlap),
        cmocka_unit_test(threads_of_a_cpu_share_it),
        cmocka_unit_test(the_scheduler_keeps_cpus_even_and_pinned_threads_in_place),
        cmocka_unit_test(move_pages_answers_page_by_page),
        cmocka_unit_test(what_must_not_move_is_counted),
        cmocka_unit_test(a_seed_repeats_a_run),
        cmocka_unit_test(shapes_have_the_distances_of_their_hops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
