/*
 * As many VMAs as the kernel allows a process (vm.max_map_count = 65530), with the names that files
 * may have: nothing of one VMA is taken for another's, however many there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "attribute/scans.h"
#include "attribute/tally.h"
#include "mutate.h"
#include "space_rig.h"
#include "util/array.h"

#define N_VMAS 65530
#define BASE ((uint64_t)1 << 32)
#define VMA_BYTES ((uint64_t)16 << 10)
#define N_TOUCHED 2000
#define LINE_SIZE 128

/* Each file by its name has an inode of its own; no inode: anonymous. */
static const char *const names[] = {
    "",
    "/srv/a b/c  d ",
    "/srv/a\\012b",
    "/srv/1000-2000 rw-p 00000000 00:00 0",
    "/srv/gone (deleted)",
    "/srv/(deleted) (deleted)",
    "/srv/[vdso]",
};

static uint64_t start_of(size_t i)
{
    return BASE + i * VMA_BYTES;
}

/* Neighbours never merge; the VMA `other` shows another file. To be freed. */
static char *print_maps(size_t other)
{
    char *text = malloc(N_VMAS * LINE_SIZE);
    size_t used = 0;

    assert_non_null(text);
    for (size_t i = 0; i < N_VMAS; i++) {
        size_t name = i == other ? 1 : i % ARRAY_LENGTH(names);

        used += (size_t)snprintf(
            text + used, LINE_SIZE, "%llx-%llx rw-p 00000000 fd:01 %zu                  %s\n",
            (unsigned long long)start_of(i), (unsigned long long)start_of(i + 1),
            i == other ? 777
            : name     ? 1000 + i
                       : 0,
            names[name]);
    }
    return text;
}

static struct space *new_large(void)
{
    char *text = print_maps(N_VMAS);
    struct space *space = space_rig_new(text);

    free(text);
    assert_int_equal(space->vmas.n_items, N_VMAS);
    return space;
}

static void each_of_65530_vmas_is_found(void **state)
{
    struct space *space = new_large();

    (void)state;
    for (size_t i = 0; i < N_VMAS; i++) {
        assert_ptr_equal(space_find_vma(space, start_of(i)), &space->vmas.items[i]);
        assert_ptr_equal(space_find_vma(space, start_of(i + 1) - 1), &space->vmas.items[i]);
    }
    assert_null(space_find_vma(space, BASE - 1));
    assert_null(space_find_vma(space, start_of(N_VMAS)));
    assert_int_equal(space->scans->n_items, N_VMAS);
    space_free(space);
}

/* Return: VMAs with samples, each as many as its number says. */
static size_t touch_some(struct space *space, struct mutate *mutate, unsigned *n_samples)
{
    size_t n_touched = 0;

    for (int n = 0; n < N_TOUCHED; n++) {
        size_t i = mutate_below(mutate, N_VMAS);

        assert_int_equal(
            space_rig_add(space, 1, 0, start_of(i) + mutate_below(mutate, VMA_BYTES), 1), 0);
        n_touched += n_samples[i]++ == 0;
    }
    return n_touched;
}

static void one_of_65530_changes_and_only_its_state_goes(void **state)
{
    unsigned *n_samples = calloc(N_VMAS, sizeof *n_samples);
    struct space *space = new_large();
    size_t other = 0, n_touched;
    char *text;

    assert_non_null(n_samples);
    n_touched = touch_some(space, *state, n_samples);
    while (!n_samples[other])
        other++;
    text = print_maps(other);
    assert_int_equal(space_rig_set(space, text), 1);
    assert_int_equal(HASH_COUNT(space->ranges), n_touched - 1);
    for (size_t i = 0; i < N_VMAS; i++) {
        const struct range *range = space_find_range(space, start_of(i));

        assert_int_equal(range != NULL, n_samples[i] && i != other);
        assert_true(!range || tally_n(&range->window, 0) == n_samples[i]);
        assert_int_equal(space->scans->items[i].state.recent.words != NULL, range != NULL);
    }
    free(text);
    free(n_samples);
    space_free(space);
}

/* A process that unmaps nearly all of them at once. */
static void all_but_the_last_go_at_once(void **state)
{
    unsigned *n_samples = calloc(N_VMAS, sizeof *n_samples);
    struct space *space = new_large();
    char line[LINE_SIZE];
    size_t n_touched;

    assert_non_null(n_samples);
    n_touched = touch_some(space, *state, n_samples);
    n_touched += n_samples[N_VMAS - 1]++ == 0;
    space_rig_add(space, 1, 0, start_of(N_VMAS - 1), 1);
    snprintf(line, sizeof line, "%llx-%llx rw-p 00000000 fd:01 %d %s\n",
             (unsigned long long)start_of(N_VMAS - 1), (unsigned long long)start_of(N_VMAS),
             1000 + N_VMAS - 1, names[(N_VMAS - 1) % ARRAY_LENGTH(names)]);
    assert_int_equal(space_rig_set(space, line), n_touched - 1);
    assert_int_equal(space->vmas.n_items, 1);
    assert_int_equal(HASH_COUNT(space->ranges), 1);
    assert_int_equal(space->scans->n_items, 1);
    free(n_samples);
    space_free(space);
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_65530_vmas_is_found),
        cmocka_unit_test_prestate(one_of_65530_changes_and_only_its_state_goes, &mutate),
        cmocka_unit_test_prestate(all_but_the_last_go_at_once, &mutate),
    };

    return cmocka_run_group_tests_name("space-large", tests, NULL, NULL);
}
