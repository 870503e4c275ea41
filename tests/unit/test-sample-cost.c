/* What a sample costs its thread, from the steps of a clock that was read without pause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/sample_cost.h"
#include "util/array.h"

#define N_READINGS 1000

struct step {
    size_t at;
    uint64_t nsec;
};

/* Readings 30 ns apart, but for the steps. */
static void fill(uint64_t *times, const struct step *steps, size_t n_steps)
{
    times[0] = 1000;
    for (size_t i = 1; i < N_READINGS; i++) {
        times[i] = times[i - 1] + 30;
        for (size_t j = 0; j < n_steps; j++)
            if (steps[j].at == i)
                times[i] = times[i - 1] + steps[j].nsec;
    }
}

static const struct {
    const char *shows;
    size_t n, n_samples;
    struct step steps[8];
    uint64_t cost_nsec;
} cases[] = {
    {"the median of the largest steps, less a usual one",
     N_READINGS,
     3,
     {{100, 2030}, {200, 3030}, {300, 4030}},
     3000},
    {"one interrupt that is no sample does not count",
     N_READINGS,
     3,
     {{100, 2030}, {200, 3030}, {300, 4030}, {400, 900030}},
     4000},
    {"samples in the first and the last step", N_READINGS, 2, {{1, 530}, {999, 530}}, 500},
    {"a sample that cannot be told from the rest costs nothing", N_READINGS, 3, {{0, 0}}, 0},
    {"no samples", N_READINGS, 0, {{100, 2030}}, 0},
    {"as many samples as half of the readings: no usual step is left",
     N_READINGS,
     500,
     {{100, 2030}},
     0},
    {"one reading has no step", 1, 1, {{0, 0}}, 0},
    {"no reading", 0, 1, {{0, 0}}, 0},
};

static void test_cost(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint64_t times[N_READINGS], scratch[N_READINGS];

        print_message("  %s\n", cases[i].shows);
        fill(times, cases[i].steps, ARRAY_LENGTH(cases[i].steps));
        assert_int_equal(sample_cost_of(times, cases[i].n, cases[i].n_samples, scratch),
                         cases[i].cost_nsec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
