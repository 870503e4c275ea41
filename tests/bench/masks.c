/*
 * Is a mask of 64 bits too small? How often two threads share a bit, and how often a VMA looks used
 * by a thread that never used it, by width and way of numbering. Monte Carlo; `-s SEED` repeats.
 *
 * Thread ids are those of a process that starts its threads one after the other ("in a row"), or of
 * one whose threads come and go on a busy machine ("scattered"). Dense slots do not depend on them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribute/scan_filter.h"
#include "attribute/slots.h"
#include "util/array.h"

#define N_TRIALS 1000
#define N_USERS 4 /* of a VMA */
#define THREADS_MAX 4096
#define PIDS (1 << 22) /* kernel.pid_max on 64 bits */

enum numbering {
    HASHED,
    DENSE,
};

struct column {
    const char *name;
    enum numbering numbering;
    unsigned n_bits;
};

static const struct column columns[] = {
    {"64 hashed", HASHED, 64},   {"128 hashed", HASHED, 128}, {"256 hashed", HASHED, 256},
    {"64 slots", DENSE, 64},     {"256 slots", DENSE, 256},   {"1024 slots", DENSE, 1024},
    {"4096 slots", DENSE, 4096},
};

struct trial {
    unsigned n_threads;
    unsigned bits[THREADS_MAX];
};

/* xorshift64 */
static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static unsigned below(uint64_t *seed, unsigned n)
{
    return (unsigned)((draw(seed) >> 32) * n >> 32);
}

/* Linux' hash_32 (since 4.7, and 6.1.192 has it so) to any power of two. */
static unsigned hash(uint32_t tid, unsigned n_bits)
{
    return tid * UINT32_C(0x61C88647) >> (32 - (unsigned)__builtin_ctz(n_bits));
}

/* What is modelled is what the filter does. */
static void check_hash(void)
{
    const struct scan_filter kernel = {.kind = SCAN_FILTER_KERNEL};

    for (pid_t tid = 1; tid < PIDS; tid++) {
        if (hash((uint32_t)tid, 1 << SCAN_KERNEL_BITS_LOG2) == scan_filter_bit(&kernel, tid, 0))
            continue;
        fprintf(stderr, "thread %d has another bit in the filter\n", tid);
        exit(1);
    }
}

static void number_hashed(struct trial *trial, unsigned n_bits, bool scattered, uint64_t *seed)
{
    uint32_t first = below(seed, PIDS);

    for (unsigned i = 0; i < trial->n_threads; i++)
        trial->bits[i] = hash(scattered ? below(seed, PIDS) : first + i, n_bits);
}

/* Half of the threads have taken the place of others that ended two windows ago. */
static void number_dense(struct trial *trial, unsigned n_bits, uint64_t *seed)
{
    CLEANUP(slots_freep) struct slots *slots = NULL;

    if (slots_new(&slots, n_bits) < 0)
        abort();
    for (unsigned i = 0; i < trial->n_threads; i++)
        trial->bits[i] = slots_take(slots);
    for (unsigned i = 0; i < trial->n_threads / 2; i++) {
        unsigned gone = below(seed, trial->n_threads);

        slots_release(slots, trial->bits[gone], slots->window);
        slots_rotate(slots);
        slots_rotate(slots);
        trial->bits[gone] = slots_take(slots);
    }
}

static void number(struct trial *trial, const struct column *column, bool scattered, uint64_t *seed)
{
    if (column->numbering == DENSE)
        number_dense(trial, column->n_bits, seed);
    else
        number_hashed(trial, column->n_bits, scattered, seed);
}

/* Part of the threads whose bit is another one's too. */
static double sharing(const struct trial *trial)
{
    unsigned users[SLOTS_MAX] = {0}, n = 0;

    for (unsigned i = 0; i < trial->n_threads; i++)
        users[trial->bits[i]]++;
    for (unsigned i = 0; i < trial->n_threads; i++)
        n += users[trial->bits[i]] > 1;
    return (double)n / trial->n_threads;
}

/*
 * A VMA that N_USERS threads used, which all sleep, and others that are at work: how many of them
 * seem to have used it? In a shuffled trial any are as good as the first.
 */
static unsigned count_false(const struct trial *trial, unsigned n_active)
{
    bool used[SLOTS_MAX] = {false};
    unsigned n = 0;

    for (unsigned i = 0; i < N_USERS; i++)
        used[trial->bits[i]] = true;
    for (unsigned i = N_USERS; i < N_USERS + n_active; i++)
        n += used[trial->bits[i]];
    return n;
}

static void shuffle(struct trial *trial, uint64_t *seed)
{
    for (unsigned i = trial->n_threads - 1; i > 0; i--) {
        unsigned j = below(seed, i + 1), bit = trial->bits[i];

        trial->bits[i] = trial->bits[j];
        trial->bits[j] = bit;
    }
}

static void print_head(const char *what)
{
    printf("\n%s\n%8s", what, "threads");
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++)
        printf(" %11s", columns[i].name);
    printf("\n");
}

enum measure {
    SHARING,
    ONE_SEEMS,
    ANY_SEEMS,
};

static double measure_once(const struct trial *trial, enum measure measure)
{
    unsigned n_others = trial->n_threads - N_USERS;

    switch (measure) {
    case SHARING:
        return sharing(trial);
    case ONE_SEEMS:
        return (double)count_false(trial, n_others) / n_others;
    default:
        return count_false(trial, trial->n_threads / 2) > 0;
    }
}

static double measure_cell(unsigned n_threads, const struct column *column, bool scattered,
                           enum measure measure, uint64_t *seed)
{
    /* A large process is many threads in each trial. */
    unsigned n_trials = n_threads > 256 ? N_TRIALS / 8 : N_TRIALS;
    struct trial trial = {.n_threads = n_threads};
    double sum = 0;

    for (unsigned i = 0; i < n_trials; i++) {
        number(&trial, column, scattered, seed);
        shuffle(&trial, seed);
        sum += measure_once(&trial, measure);
    }
    return 100 * sum / n_trials;
}

static void print_table(const char *what, bool scattered, enum measure measure, uint64_t *seed)
{
    print_head(what);
    for (unsigned n_threads = 16; n_threads <= THREADS_MAX; n_threads *= 2) {
        printf("%8u", n_threads);
        for (size_t i = 0; i < ARRAY_LENGTH(columns); i++)
            printf(" %9.1f %%", measure_cell(n_threads, &columns[i], scattered, measure, seed));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 88172645463325252ULL;
    int option;

    while ((option = getopt(argc, argv, "s:")) != -1) {
        if (option != 's')
            return 2;
        seed = strtoull(optarg, NULL, 10) | 1;
    }
    check_hash();
    printf("seed %llu\n", (unsigned long long)seed);
    print_table("Threads that share their bit, ids in a row", false, SHARING, &seed);
    print_table("Threads that share their bit, ids scattered", true, SHARING, &seed);
    print_table("A VMA of 4 threads that sleep seems used by another thread, ids in a row", false,
                ONE_SEEMS, &seed);
    print_table("The same, ids scattered", true, ONE_SEEMS, &seed);
    print_table("The same, by any of half of the threads, ids in a row", false, ANY_SEEMS, &seed);
    print_table("The same, ids scattered", true, ANY_SEEMS, &seed);
    return 0;
}
