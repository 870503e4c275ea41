#include "decide/gain.h"

#include <math.h>

#include "attribute/ranges.h"
#include "util/nsec.h"

/* An unreachable node must never win, however little it is used. */
static double relative(const struct topology *topology, int from, int to)
{
    if (topology_distance(topology, from, to) >= TOPOLOGY_UNREACHABLE)
        return INFINITY;
    return topology_relative(topology, from, to);
}

double gain_cost_on(const struct topology *topology, const struct range *range, int node)
{
    double cost = 0;

    if (range->rate_sec <= 0)
        return 0;
    for (size_t i = 0; i < range->rate.n_entries; i++) {
        const struct tally_entry *entry = &range->rate.entries[i];

        if (entry->sec > 0)
            cost += entry->sec / range->rate_sec * relative(topology, entry->node, node);
    }
    return cost;
}

double gain_cost_now(const struct topology *topology, const struct range *range)
{
    double cost = 0;

    for (size_t i = 0; i < range->residency.n_entries; i++) {
        int node = range->residency.entries[i].node;
        double share = range_resident_share(range, node);

        if (share > 0)
            cost += share * gain_cost_on(topology, range, node);
    }
    return cost;
}

int gain_best_node(const struct topology *topology, const struct range *range, const bool *allowed)
{
    double least = INFINITY;
    int best = -1;

    for (int node = 0; node < topology->n_node_ids; node++) {
        double cost;

        if (!topology_has_memory(topology, node) || (allowed && !allowed[node]))
            continue;
        cost = gain_cost_on(topology, range, node);
        if (cost < least) {
            least = cost;
            best = node;
        }
    }
    return best;
}

double gain_horizon(const struct claim *claim, uint64_t now)
{
    double held = now > claim->since_nsec ? nsec_to_sec(now - claim->since_nsec) : 0;

    return fmin(fmax(held, DECIDE_HORIZON_MIN_SEC), DECIDE_HORIZON_MAX_SEC);
}
