#include "attribute/tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tally_deinit(struct tally *tally)
{
    free(tally->entries);
    *tally = (struct tally){0};
}

static struct tally_entry *tally_find(const struct tally *tally, int node)
{
    for (size_t i = 0; i < tally->n_entries; i++)
        if (tally->entries[i].node == node)
            return &tally->entries[i];
    return NULL;
}

/* Each range has four tallies, and most are used from one node: room for one entry first. */
static int tally_reserve(struct tally *tally, uint32_t need)
{
    struct tally_entry *entries;
    uint32_t cap = tally->cap ? tally->cap : 1;

    if (need <= tally->cap)
        return 0;
    while (cap < need)
        cap *= 2;
    entries = realloc(tally->entries, cap * sizeof *entries);
    if (!entries)
        return -ENOMEM;
    tally->entries = entries;
    tally->cap = cap;
    return 0;
}

int tally_add(struct tally *tally, int node, double n, double sec)
{
    struct tally_entry *entry = tally_find(tally, node);

    if (!entry) {
        int r = tally_reserve(tally, tally->n_entries + 1);

        if (r < 0)
            return r;
        entry = &tally->entries[tally->n_entries++];
        *entry = (struct tally_entry){.node = node};
    }
    entry->n += n;
    entry->sec += (float)sec;
    return 0;
}

void tally_clear(struct tally *tally)
{
    tally->n_entries = 0;
}

void tally_scale(struct tally *tally, double factor)
{
    for (size_t i = 0; i < tally->n_entries; i++) {
        tally->entries[i].n *= factor;
        tally->entries[i].sec *= (float)factor;
    }
}

double tally_n(const struct tally *tally, int node)
{
    const struct tally_entry *entry = tally_find(tally, node);

    return entry ? entry->n : 0;
}

double tally_sec(const struct tally *tally, int node)
{
    const struct tally_entry *entry = tally_find(tally, node);

    return entry ? entry->sec : 0;
}

double tally_total_n(const struct tally *tally)
{
    double sum = 0;

    for (size_t i = 0; i < tally->n_entries; i++)
        sum += tally->entries[i].n;
    return sum;
}

int tally_best(const struct tally *tally)
{
    const struct tally_entry *best = NULL;

    for (size_t i = 0; i < tally->n_entries; i++) {
        const struct tally_entry *entry = &tally->entries[i];

        if (!best || entry->n > best->n || (entry->n == best->n && entry->node < best->node))
            best = entry;
    }
    return best ? best->node : -1;
}

int tally_copy(struct tally *to, const struct tally *from)
{
    int r = tally_reserve(to, from->n_entries);

    if (r < 0)
        return r;
    if (from->n_entries)
        memcpy(to->entries, from->entries, from->n_entries * sizeof *to->entries);
    to->n_entries = from->n_entries;
    return 0;
}

static double wilson(double hits, double n, double z, double sign)
{
    double p = hits / n, z2 = z * z;
    double spread = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n));

    return (p + z2 / (2 * n) + sign * spread) / (1 + z2 / n);
}

double wilson_lower(double hits, double n, double z)
{
    return n > 0 ? wilson(hits, n, z, -1) : 0;
}

double wilson_upper(double hits, double n, double z)
{
    return n > 0 ? wilson(hits, n, z, 1) : 1;
}
