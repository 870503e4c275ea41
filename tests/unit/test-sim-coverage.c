/*
 * What the simulator says of a filter's coverage can be reckoned by hand; rfc4 serves as one that
 * never looks at a VMA again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/scan_filter.h"
#include "pipeline_state.h"
#include "sim/coverage.h"

#define LARGE (256 * SIM_MIB_PAGES)
#define SMALL (64 * SIM_MIB_PAGES)
#define MIB UINT64_C(1048576)
#define NEVER_SAMPLED 1e-12

/* One thread, and a large mapping that it works on, and a small one. */
struct rig {
    struct sim_run run;
    struct sim_process *process;
    struct sim_coverage coverage;
};

static void rig_init(struct rig *rig, enum scan_filter_kind filter)
{
    const struct sim_shape shape = sim_shape_flat(2, 2, 1024);
    struct sim_thread *thread;

    sim_run_init(&rig->run, &shape, 1);
    sim_run_set_filter(&rig->run, filter);
    rig->process = sim_machine_add_process(&rig->run.machine, "x");
    sim_machine_map(&rig->run.machine, rig->process, LARGE, 0);
    sim_machine_map(&rig->run.machine, rig->process, SMALL, 0);
    thread = sim_process_add_thread(rig->process);
    sim_thread_use(thread, 0, 0, LARGE, 1);
    sim_machine_run_on(&rig->run.machine, thread, 0);
    sim_coverage_init(&rig->coverage, &rig->run, rig->process);
}

static void rig_deinit(struct rig *rig)
{
    sim_coverage_deinit(&rig->coverage);
    sim_run_deinit(&rig->run);
}

static void touch_small(struct rig *rig, double weight)
{
    sim_thread_use(rig->process->threads[0], 1, 0, SMALL, weight);
}

static void passes(struct rig *rig, int64_t n)
{
    int64_t end = rig->coverage.n_passes + n;

    for (int round = 0; round < 100 && rig->coverage.n_passes < end; round++) {
        sim_run_rounds(&rig->run, 1);
        sim_coverage_note(&rig->coverage);
    }
    assert_int_equal(rig->coverage.n_passes, end);
}

static struct sim_coverage_sums sums(const struct rig *rig)
{
    struct sim_coverage_sums sums = {0};

    sim_coverage_add(&rig->coverage, &sums);
    return sums;
}

static void without_a_filter_all_is_scanned(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_NONE);
    touch_small(&rig, NEVER_SAMPLED);
    passes(&rig, 12);
    assert_int_equal(sums(&rig).all_bytes, 10 * 320 * MIB); /* two passes do not count */
    assert_int_equal(sums(&rig).scanned_bytes, 10 * 320 * MIB);
    assert_int_equal(sums(&rig).touched_bytes, 10 * 320 * MIB);
    assert_int_equal(sums(&rig).missed_bytes, 0);
    assert_int_equal(sums(&rig).longest_wait, 1);
    assert_int_equal(sums(&rig).n_touched, 2);
    assert_int_equal(sums(&rig).n_never, 0);
    rig_deinit(&rig);
}

static void what_is_touched_and_not_scanned_is_missed(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4);
    touch_small(&rig, NEVER_SAMPLED);
    passes(&rig, 12);
    assert_int_equal(sums(&rig).scanned_bytes, 10 * 256 * MIB);
    assert_int_equal(sums(&rig).touched_bytes, 10 * 320 * MIB);
    assert_int_equal(sums(&rig).missed_bytes, 10 * 64 * MIB);
    assert_int_equal(sums(&rig).n_never, 1);
    assert_int_equal(sums(&rig).longest_wait, 1); /* the free passes have seen it */
    rig_deinit(&rig);
}

static void what_nobody_touches_is_not_missed(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4);
    passes(&rig, 12);
    assert_int_equal(sums(&rig).all_bytes, 10 * 320 * MIB);
    assert_int_equal(sums(&rig).touched_bytes, 10 * 256 * MIB);
    assert_int_equal(sums(&rig).missed_bytes, 0);
    assert_int_equal(sums(&rig).n_never, 0);
    rig_deinit(&rig);
}

static void it_waits_from_the_first_touch_on(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4);
    passes(&rig, 5);
    touch_small(&rig, NEVER_SAMPLED);
    passes(&rig, 7);
    assert_int_equal(sums(&rig).n_waiting, 1);
    assert_int_equal(sums(&rig).longest_wait, 7);
    assert_int_equal(sums(&rig).n_missed, 0);
    sim_thread_drop_uses(rig.process->threads[0]);
    sim_thread_use(rig.process->threads[0], 0, 0, LARGE, 1);
    passes(&rig, 3);
    assert_int_equal(sums(&rig).n_waiting, 0);
    assert_int_equal(sums(&rig).n_missed, 1);
    assert_int_equal(sums(&rig).longest_wait, 7);
    rig_deinit(&rig);
}

static void what_is_sampled_does_not_wait(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4);
    passes(&rig, 5);
    touch_small(&rig, 1);
    passes(&rig, 7);
    assert_int_equal(sums(&rig).n_waiting, 0);
    assert_int_equal(sums(&rig).longest_wait, 1);
    assert_int_equal(sums(&rig).missed_bytes, 0);
    rig_deinit(&rig);
}

/* Of threads asleep nothing is touched. */
static void sleepers_touch_nothing(void **state)
{
    struct rig rig;
    struct sim_thread *thread;

    (void)state;
    rig_init(&rig, SCAN_FILTER_RFC4);
    thread = sim_process_add_thread(rig.process);
    sim_thread_use(thread, 1, 0, SMALL, 1);
    passes(&rig, 12);
    assert_int_equal(sums(&rig).touched_bytes, 10 * 256 * MIB);
    rig_deinit(&rig);
}

static bool sees_large(void *userdata, pid_t pid, uint64_t addr)
{
    const struct rig *rig = userdata;

    return pid != rig->process->pid || addr < rig->process->vmas[1].start;
}

static bool lies_in(const struct sim_vma *vma, const struct range *range)
{
    return range->start >= vma->start &&
           range->start < vma->start + vma->object->n_pages * SIM_PAGE_BYTES;
}

/* Ranges and groups of any size. */
static size_t count_known(const struct rig *rig, size_t vma)
{
    const struct space *space = attribute_find(rig->run.pipeline->attribute, rig->process->pid);
    size_t n = 0;

    for (unsigned rank = 0; rank <= GROUP_LEVELS; rank++) {
        const struct range *range = rank ? space->groups[rank - 1] : space->ranges;

        for (; range; range = range->hh.next)
            n += lies_in(&rig->process->vmas[vma], range);
    }
    return n;
}

static void what_a_source_does_not_see_leaves_nothing(void **state)
{
    for (int blind = 0; blind < 2; blind++) {
        struct rig rig;

        (void)state;
        rig_init(&rig, SCAN_FILTER_NONE);
        touch_small(&rig, 1);
        if (blind) {
            rig.run.source.sees = sees_large;
            rig.run.source.sees_userdata = &rig;
        }
        passes(&rig, 5);
        assert_true(count_known(&rig, 0) > 0);
        assert_int_equal(count_known(&rig, 1) == 0, blind);
        rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_filter_all_is_scanned),
        cmocka_unit_test(what_is_touched_and_not_scanned_is_missed),
        cmocka_unit_test(what_nobody_touches_is_not_missed),
        cmocka_unit_test(it_waits_from_the_first_touch_on),
        cmocka_unit_test(what_is_sampled_does_not_wait),
        cmocka_unit_test(sleepers_touch_nothing),
        cmocka_unit_test(what_a_source_does_not_see_leaves_nothing),
    };

    return cmocka_run_group_tests_name("sim-coverage", tests, NULL, NULL);
}
