/*
 * The scan filter, a rule at a time, each named after what made Linux need it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "attribute/scan_filter.h"

#define SEC NSEC_PER_SEC
#define N_WORDS 4 /* 256 bits */

/* One VMA, and a pass that any of `bits` make. */
struct scene {
    struct scan_filter filter;
    struct scan_pass pass;
    struct scan_state state;
    uint64_t bits[N_WORDS];
    unsigned n_threads;
    uint64_t now;
};

/* An old VMA that had its free passes; the last pass was its last scan. */
static void scene_init(struct scene *scene, enum scan_filter_kind kind)
{
    *scene = (struct scene){
        .filter = {.kind = kind}, .pass = {.number = 100}, .n_threads = 8, .now = 1000 * SEC};
    scan_state_init(&scene->state, REASON_NONE, scan_filter_words(&scene->filter, N_WORDS), 90,
                    900 * SEC);
    scene->state.complete_pass = 99;
    scene->state.n_complete = 9;
}

static enum scan_verdict judge(const struct scene *scene)
{
    const struct scan_who who = {.bits = scene->bits, .n_threads = scene->n_threads};

    return scan_filter_judge(&scene->filter, &scene->pass, &scene->state, &who, scene->now);
}

static void set_active(struct scene *scene, unsigned bit)
{
    scene->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static void use(struct scene *scene, unsigned bit)
{
    assert_int_equal(recent_note(&scene->state.recent, bit), 0);
}

static void verdicts_have_the_kernels_names(void **state)
{
    (void)state;
    assert_string_equal(scan_verdict_name(SCAN_UNSUITABLE), "unsuitable");
    assert_string_equal(scan_verdict_name(SCAN_SHARED_RO), "shared_ro");
    assert_string_equal(scan_verdict_name(SCAN_INACCESSIBLE), "inaccessible");
    assert_string_equal(scan_verdict_name(SCAN_DELAY), "scan_delay");
    assert_string_equal(scan_verdict_name(SCAN_INACTIVE), "pid_inactive");
    assert_string_equal(scan_verdict_name(SCAN_UNFINISHED), "ignore_pid_inactive");
    assert_string_equal(scan_verdict_name(SCAN_COMPLETED), "seq_completed");
    assert_string_equal(scan_verdict_name(SCAN_VERDICT_COUNT), "unknown");
    assert_string_equal(scan_verdict_text(SCAN_VERDICT_COUNT), "unknown");
    for (int verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++) {
        assert_true(strlen(scan_verdict_name(verdict)) > 0);
        assert_true(strlen(scan_verdict_text(verdict)) > 0);
    }
}

static void what_is_never_moved_is_never_scanned(void **state)
{
    (void)state;
    for (int kind = SCAN_FILTER_NUMABD; kind <= SCAN_FILTER_KERNEL; kind++) {
        struct scene scene;

        scene_init(&scene, kind);
        scene.pass.number = 0;
        scene.state.kind = REASON_SHARED_RO;
        assert_int_equal(judge(&scene), SCAN_SHARED_RO);
        scene.state.kind = REASON_INACCESSIBLE;
        assert_int_equal(judge(&scene), SCAN_INACCESSIBLE);
        scene.state.kind = REASON_SPECIAL;
        assert_int_equal(judge(&scene), SCAN_UNSUITABLE);
        scene.state.kind = REASON_HUGETLB;
        assert_int_equal(judge(&scene), SCAN_UNSUITABLE);
    }
}

/* Whenever it came: the first RFC gave free passes to the process, none to a VMA that came later.
 */
static void the_first_two_scans_are_free(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    scan_state_init(&scene.state, REASON_NONE, N_WORDS, 100, 900 * SEC);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(judge(&scene), SCAN_FIRST_PASSES);
        scan_state_begin(&scene.state);
        scan_state_finish(&scene.state, &scene.pass);
        scan_pass_end(&scene.pass);
    }
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
}

/* With rounds of 100 ms ten passes go by in the delay. */
static void the_delay_does_not_use_up_the_free_passes(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    scan_state_init(&scene.state, REASON_NONE, N_WORDS, 100, scene.now);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(judge(&scene), SCAN_DELAY);
        scan_pass_end(&scene.pass);
        scene.now += SEC / 10;
    }
    assert_int_equal(judge(&scene), SCAN_FIRST_PASSES);
    scene.filter.kind = SCAN_FILTER_KERNEL;
    assert_int_equal(judge(&scene), SCAN_STARVED);
}

static void a_new_vma_waits_a_second(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    use(&scene, 5);
    set_active(&scene, 5);
    scene.state.born_nsec = scene.now - SEC + 1;
    assert_int_equal(judge(&scene), SCAN_DELAY);
    scene.state.born_nsec--;
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    scan_state_deinit(&scene.state);
}

static void in_pass_0_nothing_waits(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    scene.pass.number = 0;
    scan_state_init(&scene.state, REASON_NONE, N_WORDS, 0, scene.now);
    assert_int_equal(judge(&scene), SCAN_FIRST_PASSES);
}

static void done_in_this_pass_is_not_done_again(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    use(&scene, 5);
    set_active(&scene, 5);
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    scan_state_begin(&scene.state);
    scan_state_finish(&scene.state, &scene.pass);
    assert_int_equal(judge(&scene), SCAN_COMPLETED);
    scan_pass_end(&scene.pass);
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    scan_state_deinit(&scene.state);
}

static void a_thread_at_work_counts_where_it_was_lately(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    set_active(&scene, 200);
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    use(&scene, 199);
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    use(&scene, 200);
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    recent_rotate(&scene.state.recent);
    assert_int_equal(judge(&scene), SCAN_ACTIVE); /* in the window before */
    scene.bits[3] = 0;                            /* but it sleeps now */
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    scan_state_deinit(&scene.state);
}

static void asleep_over_two_windows_then_awake_is_judged_again(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    use(&scene, 7);
    recent_rotate(&scene.state.recent);
    recent_rotate(&scene.state.recent);
    assert_null(scene.state.recent.words); /* nobody: takes no memory */
    set_active(&scene, 7);
    assert_int_equal(judge(&scene), SCAN_INACTIVE); /* at work, but not here */
    use(&scene, 7);
    assert_int_equal(judge(&scene), SCAN_ACTIVE); /* its first sample is enough */
    scan_state_deinit(&scene.state);
}

/* "Complete scanning of partial VMAs regardless of PID activity" */
static void a_partial_vma_is_finished_by_another_thread(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    use(&scene, 1);
    set_active(&scene, 1);
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    scan_state_begin(&scene.state);
    scan_pass_end(&scene.pass);
    scene.bits[0] = 0;
    set_active(&scene, 2);
    assert_int_equal(judge(&scene), SCAN_UNFINISHED);
    scan_state_finish(&scene.state, &scene.pass);
    scan_pass_end(&scene.pass);
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    scan_state_deinit(&scene.state);
}

/* "Fix the vma scan starving issue" */
static void a_starved_vma_is_scanned_when_every_thread_had_its_pass(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    scene.pass.number = 99 + 8;
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    scene.pass.number++;
    assert_int_equal(judge(&scene), SCAN_STARVED);
    scene.n_threads = 9;
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    scene.n_threads = 0; /* not known: at least one */
    scene.pass.number = 100;
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
}

/* "Complete scanning of inactive VMAs when there is no alternative" */
static void only_without_an_alternative_one_is_forced(void **state)
{
    const struct scan_filter numabd = {SCAN_FILTER_NUMABD}, rfc4 = {SCAN_FILTER_RFC4};
    struct scan_pass pass = {0};

    (void)state;
    assert_false(scan_filter_wants_one(&numabd, &pass));
    scan_pass_count(&pass, SCAN_COMPLETED);
    scan_pass_count(&pass, SCAN_DELAY);
    scan_pass_count(&pass, SCAN_UNSUITABLE);
    assert_false(scan_filter_wants_one(&numabd, &pass)); /* none was skipped for inactivity */
    scan_pass_count(&pass, SCAN_INACTIVE);
    assert_true(scan_filter_wants_one(&numabd, &pass));
    assert_false(scan_filter_wants_one(&rfc4, &pass));
    scan_pass_count(&pass, SCAN_UNFINISHED);
    assert_false(scan_filter_wants_one(&numabd, &pass));
}

static void without_a_filter_all_is_scanned_once_a_pass(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NONE);
    scene.state.born_nsec = scene.now;
    assert_int_equal(judge(&scene), SCAN_UNFILTERED);
    scan_state_finish(&scene.state, &scene.pass);
    assert_int_equal(judge(&scene), SCAN_COMPLETED);
}

/* What the first RFC did, its faults included. */
static void rfc4_remembers_four_threads_for_good(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_RFC4);
    set_active(&scene, 9);
    scene.pass.number = 1000;
    assert_int_equal(judge(&scene), SCAN_INACTIVE); /* for ever: why numa01 became slower */
    scene.pass.number = 1;
    assert_int_equal(judge(&scene), SCAN_FIRST_PASSES);
    scene.pass.number = 2;
    for (unsigned bit = 0; bit < 4; bit++) {
        assert_true(scan_filter_remembers(&scene.filter, &scene.state.recent));
        assert_int_equal(judge(&scene), SCAN_INACTIVE);
        use(&scene, bit);
    }
    assert_false(scan_filter_remembers(&scene.filter, &scene.state.recent));
    assert_false(scan_filter_forgets(&scene.filter));
    assert_int_equal(judge(&scene), SCAN_ACTIVE); /* more than four: anyone */
    scan_state_deinit(&scene.state);
}

static void kernel_hashes_to_64_bits(void **state)
{
    const struct scan_filter kernel = {SCAN_FILTER_KERNEL}, numabd = {SCAN_FILTER_NUMABD};

    (void)state;
    assert_int_equal(scan_filter_words(&kernel, 4), 1);
    assert_int_equal(scan_filter_words(&numabd, 4), 4);
    assert_int_equal(scan_filter_bit(&numabd, 4711, 17), 17);
    /* hash_32(pid, 6): 1 * 0x61C88647 >> 26, and so on */
    assert_int_equal(scan_filter_bit(&kernel, 0, 17), 0);
    assert_int_equal(scan_filter_bit(&kernel, 1, 17), 24);
    assert_int_equal(scan_filter_bit(&kernel, 2, 17), 48);
    assert_int_equal(scan_filter_bit(&kernel, 3, 17), 9);
    for (pid_t tid = 1; tid < 100000; tid += 7)
        assert_in_range(scan_filter_bit(&kernel, tid, 0), 0, 63);
}

/* Share of 64 threads that have a bit with others, whose ids are first, first + step, ... */
static double share_of_64(const struct scan_filter *filter, uint32_t first, uint32_t step)
{
    unsigned n_on[64] = {0}, n = 0;

    for (uint32_t i = 0; i < 64; i++)
        n_on[scan_filter_bit(filter, (pid_t)((first + i * step) % (1 << 22)), i)]++;
    for (uint32_t i = 0; i < 64; i++)
        n += n_on[i] > 1 ? n_on[i] : 0;
    return n / 64.0;
}

/*
 * Multiplied by the golden ratio, ids in a row lie evenly: 28 % of 64 threads share. Others do as
 * if their bits were drawn: 1 - (63/64)^63 = 63 %.
 */
static void kernel_hashes_ids_in_a_row_better_than_others(void **state)
{
    const struct scan_filter kernel = {SCAN_FILTER_KERNEL}, numabd = {SCAN_FILTER_NUMABD};
    double in_a_row = 0, scattered = 0;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        in_a_row += share_of_64(&kernel, i * 7919, 1) / 1000;
        scattered += share_of_64(&kernel, i * 7919, (1103515245 * i + 12345) >> 8 | 1) / 1000;
    }
    assert_true(in_a_row > 0.26 && in_a_row < 0.31);
    assert_true(scattered > 0.55 && scattered < 0.70);
    assert_true(share_of_64(&numabd, 7919, 1) <= 0);
}

static void kernel_judges_as_linux_does(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, SCAN_FILTER_KERNEL);
    assert_int_equal(judge(&scene), SCAN_INACTIVE);
    scene.state.first_pass = 99;
    assert_int_equal(judge(&scene), SCAN_FIRST_PASSES);
    scene.state.first_pass = 98;
    use(&scene, 24);
    set_active(&scene, 24);
    assert_int_equal(judge(&scene), SCAN_ACTIVE);
    scene.state.born_nsec = scene.now;
    assert_int_equal(judge(&scene), SCAN_DELAY);
    scan_state_deinit(&scene.state);
}

/* Two VMAs become one: neither part may be taken for better known than it is. */
static void a_merged_vma_is_as_little_scanned_as_its_parts(void **state)
{
    struct scene scene, other;

    (void)state;
    scene_init(&scene, SCAN_FILTER_NUMABD);
    scene_init(&other, SCAN_FILTER_NUMABD);
    use(&scene, 1);
    use(&other, 2);
    other.state.n_complete = 1;
    other.state.complete_pass = 95;
    other.state.first_pass = 94;
    other.state.born_nsec = 990 * SEC;
    scan_state_merge(&scene.state, &other.state);
    assert_int_equal(scene.state.n_complete, 1);
    assert_int_equal(scene.state.complete_pass, 95);
    assert_int_equal(scene.state.first_pass, 90);
    assert_true(scene.state.born_nsec == 900 * SEC);
    assert_true(recent_has(&scene.state.recent, 1) && recent_has(&scene.state.recent, 2));
    assert_false(scene.state.begun);
    scan_state_begin(&other.state);
    scan_state_merge(&scene.state, &other.state);
    assert_true(scene.state.begun);
    scan_state_deinit(&scene.state);
    scan_state_deinit(&other.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_have_the_kernels_names),
        cmocka_unit_test(what_is_never_moved_is_never_scanned),
        cmocka_unit_test(the_first_two_scans_are_free),
        cmocka_unit_test(the_delay_does_not_use_up_the_free_passes),
        cmocka_unit_test(a_new_vma_waits_a_second),
        cmocka_unit_test(in_pass_0_nothing_waits),
        cmocka_unit_test(done_in_this_pass_is_not_done_again),
        cmocka_unit_test(a_thread_at_work_counts_where_it_was_lately),
        cmocka_unit_test(asleep_over_two_windows_then_awake_is_judged_again),
        cmocka_unit_test(a_partial_vma_is_finished_by_another_thread),
        cmocka_unit_test(a_starved_vma_is_scanned_when_every_thread_had_its_pass),
        cmocka_unit_test(only_without_an_alternative_one_is_forced),
        cmocka_unit_test(without_a_filter_all_is_scanned_once_a_pass),
        cmocka_unit_test(rfc4_remembers_four_threads_for_good),
        cmocka_unit_test(kernel_hashes_to_64_bits),
        cmocka_unit_test(kernel_hashes_ids_in_a_row_better_than_others),
        cmocka_unit_test(kernel_judges_as_linux_does),
        cmocka_unit_test(a_merged_vma_is_as_little_scanned_as_its_parts),
    };

    return cmocka_run_group_tests_name("scan-filter", tests, NULL, NULL);
}
