/*
 * VMAs that rest are not looked at in a pass. Whatever happens, their verdict is the one that
 * looking would give, each VMA is counted once a pass, and no mask is left behind in one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "attribute/scans.h"
#include "attribute/vmas.h"
#include "mutate.h"
#include "util/nsec.h"

#define SEC NSEC_PER_SEC
#define N_WORDS 2
#define N_BITS (64 * N_WORDS)
#define N_STEPS 4000

struct rig {
    struct mutate *random;
    struct scans *scans;
    struct vma_list vmas;
    uint64_t bits[N_WORDS];
    unsigned n_threads;
    uint64_t now;
    size_t n_rested;
};

/* n VMAs of a page, each fourth of them a library's text, each fifth missing if `holes`. */
static struct vma_list new_vmas(size_t n, bool holes)
{
    struct vma_list list = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        if (!holes || i % 5)
            fprintf(out, "%zx-%zx %s\n", 0x10000 + 0x2000 * i, 0x11000 + 0x2000 * i,
                    i % 4 ? "rw-p 0 0:0 0 " : "r--p 0 8:1 7 /usr/lib/x");
    fclose(out);
    assert_int_equal(vma_list_parse(&list, text, size), 0);
    free(text);
    return list;
}

static void rig_set(struct rig *rig, size_t n, bool holes)
{
    struct vma_list vmas = new_vmas(n, holes);

    scans_follow(rig->scans, &rig->vmas, &vmas, rig->now);
    vma_list_deinit(&rig->vmas);
    rig->vmas = vmas;
}

static void rig_init(struct rig *rig, struct mutate *random, enum scan_filter_kind kind, size_t n)
{
    *rig = (struct rig){.random = random, .n_threads = 30, .now = 100 * SEC};
    assert_int_equal(scans_new(&rig->scans, kind, N_WORDS), 0);
    rig_set(rig, n, false);
}

static void rig_deinit(struct rig *rig)
{
    scans_free(rig->scans);
    vma_list_deinit(&rig->vmas);
}

static struct scan_who rig_who(const struct rig *rig)
{
    return (struct scan_who){.bits = rig->bits, .n_threads = rig->n_threads};
}

static uint64_t count_verdicts(const struct scans *scans)
{
    uint64_t n = 0;

    for (int verdict = 0; verdict < SCAN_VERDICT_COUNT; verdict++)
        n += scans->counts.n[verdict];
    return n;
}

static void check_resting(struct rig *rig)
{
    const struct scan_who who = rig_who(rig);
    const struct scans *scans = rig->scans;
    size_t n_resting = 0;

    for (size_t i = 0; i < scans->n_items; i++) {
        const struct vma_scan *item = &scans->items[i];

        if (item->watched)
            continue;
        assert_int_equal(
            scan_filter_judge(&scans->filter, &scans->pass, &item->state, &who, rig->now),
            item->verdict);
        assert_null(item->state.recent.words);
        assert_false(item->left_over);
        n_resting++;
    }
    assert_int_equal(n_resting + scans->n_watched, scans->n_items);
    rig->n_rested += n_resting;
}

static void rig_pass(struct rig *rig)
{
    const struct scan_who who = rig_who(rig);
    uint64_t before = count_verdicts(rig->scans);

    rig->now += SEC;
    scans_begin_pass(rig->scans, &rig->vmas, &who, rig->now);
    assert_int_equal(count_verdicts(rig->scans), before + rig->scans->n_items);
    check_resting(rig);
    for (unsigned i = 0; i < 3; i++) {
        size_t index = mutate_below(rig->random, rig->vmas.n_items);

        if (scans_lets(rig->scans, index))
            scans_leave_over(rig->scans, index);
    }
    if (mutate_below(rig->random, 8))
        scans_end_pass(rig->scans, &rig->vmas);
}

static void rig_note(struct rig *rig)
{
    unsigned slot = (unsigned)mutate_below(rig->random, N_BITS);
    size_t index = mutate_below(rig->random, rig->vmas.n_items);

    assert_int_equal(scans_note(rig->scans, index, (pid_t)(4711 + slot), slot, false), 0);
    rig->bits[slot / 64] |= UINT64_C(1) << slot % 64;
}

static void rig_step(struct rig *rig)
{
    switch (mutate_below(rig->random, 64)) {
    case 0:
        rig_set(rig, 40 + mutate_below(rig->random, 40), mutate_below(rig->random, 2));
        break;
    case 1:
        rig->n_threads = (unsigned)mutate_below(rig->random, 60);
        break;
    case 2:
        scans_rotate(rig->scans);
        rig->bits[0] = rig->bits[1] = 0;
        break;
    case 3:
        scans_reset(rig->scans);
        rig_set(rig, 60, false);
        break;
    default:
        if (mutate_below(rig->random, 16) == 0)
            rig_note(rig);
        else
            rig_pass(rig);
    }
}

static void verdicts_are_those_of_looking_at_each(void **state)
{
    for (int kind = SCAN_FILTER_NUMABD; kind <= SCAN_FILTER_KERNEL; kind++) {
        struct rig rig;

        rig_init(&rig, *state, kind, 60);
        for (int i = 0; i < N_STEPS; i++)
            rig_step(&rig);
        print_message("  filter %d: %zu verdicts without a look\n", kind, rig.n_rested);
        assert_true(rig.n_rested > N_STEPS);
        rig_deinit(&rig);
    }
}

/* Once a pass over 65,530 VMAs cost the same whether one was used or all. */
static void a_pass_looks_at_those_that_are_used(void **state)
{
    struct rig rig;

    rig_init(&rig, *state, SCAN_FILTER_NUMABD, 65530);
    rig.n_threads = 1024;
    for (int i = 0; i < 2 + 1; i++) {
        const struct scan_who who = rig_who(&rig);

        rig.now += SEC;
        scans_begin_pass(rig.scans, &rig.vmas, &who, rig.now);
        scans_end_pass(rig.scans, &rig.vmas);
        rig.bits[0] = 1;
        assert_int_equal(scans_note(rig.scans, 4711, 1, 0, false), 0);
    }
    assert_int_equal(rig.scans->n_watched, 1);
    assert_int_equal(rig.scans->watched[0], 4711);
    assert_int_equal(rig.scans->items[4711].verdict, SCAN_ACTIVE);
    rig_deinit(&rig);
}

int main(int argc, char **argv)
{
    struct mutate random = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(verdicts_are_those_of_looking_at_each, &random),
        cmocka_unit_test_prestate(a_pass_looks_at_those_that_are_used, &random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
