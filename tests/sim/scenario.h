#pragma once
/*
 * Scenarios: the tests of the simulated machine. Each prints one line that tests/run counts:
 * "ok - sim NAME: numbers" or, with what is wrong before it, "not ok - sim NAME: numbers".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One that runs now. */
struct sim_play {
    uint64_t seed;
    bool failed;
    char note[256];
};

struct sim_scenario {
    const char *name;
    void (*play)(struct sim_play *play);
    bool is_long; /* left out of `make check` */
};

/*
 * main() of a program of scenarios: [-s SEED] [-l] [-n] [NAME...] plays those named; without
 * names all but the long ones, with -l only those. -n prints their names instead. Return: the exit
 * status: 0, 1 when one failed, 2 for wrong usage.
 */
int sim_main(int argc, char **argv, const struct sim_scenario *scenarios, size_t n);

/* Adds numbers to the line. */
void __attribute__((format(printf, 2, 3))) sim_note(struct sim_play *play, const char *format, ...);
void __attribute__((format(printf, 4, 5)))
sim_fail(struct sim_play *play, const char *file, int line, const char *format, ...);

/* SIM_CHECK(play, a < b, "%u of %u", a, b): else the scenario fails, and goes on. */
#define SIM_CHECK(play, condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            sim_fail(play, __FILE__, __LINE__, #condition ": " __VA_ARGS__);                       \
    } while (0)
