#include "measure.h"

#include <math.h>
#include <numaif.h>
#include <stdlib.h>
#include <unistd.h>

#include "fail.h"

/* 256 pages tell a share to within 6 % at two standard deviations, for each slice. */
#define SAMPLE_PAGES 256

void measure_new(struct measure *measure, const struct team *team)
{
    *measure = (struct measure){.random = 88172645463325252UL};
    measure->last_chunks =
        calloc((size_t)team->n_members * MACHINE_MAX_NODES, sizeof(*measure->last_chunks));
    if (measure->last_chunks == NULL)
        fail("out of memory");
}

void measure_free(struct measure *measure)
{
    free(measure->last_chunks);
}

/* xorshift64 */
static unsigned long next_random(struct measure *measure)
{
    measure->random ^= measure->random << 13;
    measure->random ^= measure->random >> 7;
    measure->random ^= measure->random << 17;
    return measure->random;
}

/* Share of MEMBER's pages on each node. Returns false where no page of the sample is present. */
static bool sample_pages(struct measure *measure, const struct team *team,
                         const struct member *member, double *share)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), n_present = 0;
    size_t n_pages = (member->end - member->start) / page_bytes;
    void *pages[SAMPLE_PAGES];
    int status[SAMPLE_PAGES];

    for (size_t i = 0; i < SAMPLE_PAGES; i++)
        pages[i] =
            (void *)(member->base + member->start + next_random(measure) % n_pages * page_bytes);
    /* The process may be gone already; then nothing is present. */
    if (move_pages(team->shared->pids[member->process], SAMPLE_PAGES, pages, NULL, status, 0) < 0)
        return false;
    for (size_t i = 0; i < SAMPLE_PAGES; i++) {
        size_t node =
            status[i] < 0 ? team->machine->n_nodes : machine_find(team->machine, status[i]);

        if (node == team->machine->n_nodes)
            continue;
        share[node]++;
        n_present++;
    }
    for (size_t node = 0; node < team->machine->n_nodes && n_present > 0; node++)
        share[node] /= (double)n_present;
    return n_present > 0;
}

struct sum {
    double weight, distance, remote;
};

static void add_member(struct sum *sum, const struct machine *machine, const double *accesses,
                       const double *share)
{
    for (size_t from = 0; from < machine->n_nodes; from++) {
        sum->weight += accesses[from];
        for (size_t to = 0; to < machine->n_nodes; to++) {
            sum->distance += accesses[from] * share[to] * machine->distance[from][to];
            sum->remote += from == to ? 0 : accesses[from] * share[to];
        }
    }
}

/* Chunks of member I since the last time, by node. Returns their number. */
static unsigned long take_accesses(struct measure *measure, const struct team *team, size_t i,
                                   double *accesses)
{
    unsigned long *last = &measure->last_chunks[i * MACHINE_MAX_NODES], sum = 0;

    for (size_t node = 0; node < team->machine->n_nodes; node++) {
        unsigned long chunks =
            atomic_load_explicit(&team->shared->counters[i].chunks[node], memory_order_relaxed);

        accesses[node] = (double)(chunks - last[node]);
        sum += chunks - last[node];
        last[node] = chunks;
    }
    return sum;
}

static void measure_distance(struct measure *measure, const struct team *team,
                             struct measurement *result)
{
    struct sum worked = {0}, resting = {0}, *sum;

    for (unsigned int i = 0; i < team->n_members; i++) {
        double accesses[MACHINE_MAX_NODES] = {0}, place[MACHINE_MAX_NODES] = {0};
        double share[MACHINE_MAX_NODES] = {0};

        take_accesses(measure, team, i, accesses);
        place[atomic_load(&team->shared->counters[i].node)] = 1;
        if (!sample_pages(measure, team, &team->members[i], share))
            continue;
        add_member(&worked, team->machine, accesses, share);
        add_member(&resting, team->machine, place, share);
    }
    sum = worked.weight > 0 ? &worked : &resting;
    result->distance = sum->weight > 0 ? sum->distance / sum->weight : NAN;
    result->remote_percent = sum->weight > 0 ? 100 * sum->remote / sum->weight : NAN;
}

void measure_count(const struct team *team, struct measurement *result)
{
    unsigned long chunks = 0, per_pass = 0;

    result->errors = 0;
    for (unsigned int i = 0; i < team->n_members; i++) {
        const struct counters *counters = &team->shared->counters[i];

        chunks += atomic_load_explicit(&counters->n_chunks, memory_order_relaxed);
        per_pass += (team->members[i].end - team->members[i].start) / TEAM_CHUNK_BYTES;
        result->errors += atomic_load_explicit(&counters->errors, memory_order_relaxed);
    }
    result->passes = chunks / per_pass;
    result->mib = (double)chunks * TEAM_CHUNK_BYTES / (1 << 20);
}

void measure_take(struct measure *measure, const struct team *team, struct measurement *result)
{
    measure_distance(measure, team, result);
    measure_count(team, result);
}
