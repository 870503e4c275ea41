#pragma once
/*
 * Random numbers that a seed repeats: xorshift64* (Vigna 2016).
 */
#include <stdint.h>

struct sim_random {
    uint64_t state; /* never 0 */
};

static inline struct sim_random sim_random_init(uint64_t seed)
{
    return (struct sim_random){.state = seed * 2 + 1};
}

static inline uint64_t sim_random_bits(struct sim_random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * UINT64_C(2685821657736338717);
}

/* Evenly in [0, 1). */
static inline double sim_random_unit(struct sim_random *random)
{
    return (double)(sim_random_bits(random) >> 11) * 0x1p-53;
}

/* Evenly in [0, limit). */
static inline uint64_t sim_random_below(struct sim_random *random, uint64_t limit)
{
    return (uint64_t)(sim_random_unit(random) * (double)limit);
}

/* A whole number that is `expected` on average: 2.3 gives 2 or 3. */
static inline uint64_t sim_random_round(struct sim_random *random, double expected)
{
    return (uint64_t)(expected + sim_random_unit(random));
}
