#include "range_rig.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

#include "util/nsec.h"

void range_rig_init(struct range_rig *rig)
{
    *rig = (struct range_rig){.now = NSEC_PER_SEC, .min_share = 0.6};
    rig->range = calloc(1, sizeof *rig->range);
    assert_non_null(rig->range);
    rig->range->claim.node = -1;
    rig->range->end = RANGE_BYTES;
}

void range_rig_deinit(struct range_rig *rig)
{
    rig->range = range_free(rig->range);
}

void range_rig_add(struct range_rig *rig, int node, unsigned n)
{
    while (n-- > 0) {
        const struct access access = {.when_nsec = ++rig->n_samples, .tid = 1, .weight_sec = 0.004};

        assert_int_equal(range_add(rig->range, &access, node, 0), 0);
    }
}

void range_rig_close(struct range_rig *rig, double elapsed_sec)
{
    rig->now += (uint64_t)(elapsed_sec * (double)NSEC_PER_SEC);
    range_close_round(rig->range, rig->min_share, elapsed_sec, rig->now);
}

enum reason range_rig_round(struct range_rig *rig, int node, unsigned n)
{
    range_rig_add(rig, node, n);
    range_rig_close(rig, 1);
    return range_evidence(rig->range);
}
