/*
 * Evidence downstream is counted in samples and judged by their statistics, so these records must
 * behave like samples of a guest that cannot be looked into: independent draws of a vCPU. Taking
 * turns among the vCPUs instead would let their order beat with the order of the addresses, and
 * memory that all share would fall apart into pieces that seem to be one vCPU's each.
 *
 * The addresses of a guest node are numbered 0 ... n - 1 and visited as turn x stride modulo n with
 * a stride near n / 1.618 that has no divisor in common with n: every address once in n turns, and
 * any few turns in a row spread over all the memory.
 */
#include "sample/kvm/kvm_spread.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/cleanup.h"

#define GOLDEN_RATIO 1.6180339887498949

/* A vCPU that ran. */
struct runner {
    const struct vmm_vcpu *vcpu;
    double sec;
};

struct runners {
    struct runner *items;
    size_t n, cap;
    double sec; /* of all */
};

static void runners_deinit(struct runners *runners)
{
    free(runners->items);
}

/* xorshift64, Marsaglia 2003; in [0, 1). */
static double draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (double)(*random >> 11) * 0x1p-53;
}

/* Both are in order of tids. */
static uint64_t vcpu_ran(const struct vmm *before, const struct vmm_vcpu *vcpu, size_t *atp)
{
    while (*atp < before->n_vcpus && before->vcpus[*atp].thread.tid < vcpu->thread.tid)
        ++*atp;
    return *atp < before->n_vcpus ? vmm_thread_ran(&before->vcpus[*atp].thread, &vcpu->thread) : 0;
}

static int runners_find(struct runners *runners, const struct vmm *before, const struct vmm *after,
                        double tick_sec)
{
    size_t at = 0;

    for (size_t i = 0; i < after->n_vcpus; i++) {
        double sec = (double)vcpu_ran(before, &after->vcpus[i], &at) * tick_sec;

        if (sec <= 0)
            continue;
        if (ARRAY_RESERVE(runners->items, runners->cap, runners->n + 1) < 0)
            return -ENOMEM;
        runners->items[runners->n++] = (struct runner){.vcpu = &after->vcpus[i], .sec = sec};
        runners->sec += sec;
    }
    return 0;
}

static double runners_node_sec(const struct runners *runners, int node)
{
    double sec = 0;

    for (size_t i = 0; i < runners->n; i++)
        sec += runners->items[i].vcpu->node == node ? runners->items[i].sec : 0;
    return sec;
}

/* The runner of the node at `sec` of its node's time. */
static const struct vmm_vcpu *runners_pick(const struct runners *runners, int node, double sec)
{
    const struct vmm_vcpu *last = NULL;

    for (size_t i = 0; i < runners->n; i++) {
        if (runners->items[i].vcpu->node != node)
            continue;
        last = runners->items[i].vcpu;
        if (sec < runners->items[i].sec)
            return last;
        sec -= runners->items[i].sec;
    }
    return last;
}

static bool range_serves(const struct vmm_range *range, int node)
{
    return node < 0 || range->node < 0 || range->node == node;
}

static uint64_t range_points(const struct vmm_range *range, uint64_t step)
{
    uint64_t bytes = range->end - range->start;

    return bytes / step + (bytes % step != 0);
}

static uint64_t memory_points(const struct vmm_memory *memory, int node, uint64_t step)
{
    uint64_t n = 0;

    for (size_t i = 0; i < memory->n_ranges; i++)
        if (range_serves(&memory->ranges[i], node))
            n += range_points(&memory->ranges[i], step);
    return n;
}

/* Address of a point below memory_points. */
static uint64_t memory_address(const struct vmm_memory *memory, int node, uint64_t step,
                               uint64_t at)
{
    for (size_t i = 0; i < memory->n_ranges; i++) {
        const struct vmm_range *range = &memory->ranges[i];
        uint64_t n = range_serves(range, node) ? range_points(range, step) : 0;

        if (at < n)
            return range->start + at * step;
        at -= n;
    }
    return 0;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static uint64_t stride_of(uint64_t n)
{
    uint64_t stride = (uint64_t)((double)n / GOLDEN_RATIO);

    if (stride == 0)
        return 1;
    while (greatest_divisor(n, stride) != 1)
        stride++;
    return stride;
}

/* What a guest node gets of the records. */
struct cell {
    int node;
    double sec;
    uint64_t n_points;
    size_t n_records;
};

static struct cell cell_of(const struct kvm_spread_round *round, const struct runners *runners,
                           const struct vmm_memory *memory, int node)
{
    struct cell cell = {
        .node = node,
        .sec = runners_node_sec(runners, node),
        .n_points = memory_points(memory, node, round->step_bytes),
    };
    double n = (double)round->n_max * cell.sec / runners->sec;

    n = fmin(fmin(n, (double)cell.n_points), cell.sec / KVM_RECORD_SEC);
    cell.n_records = cell.n_points == 0 ? 0 : n < 1 ? 1 : (size_t)n;
    return cell;
}

static int cell_spread(struct kvm_spread *spread, const struct kvm_spread_round *round,
                       const struct runners *runners, const struct vmm_memory *memory,
                       const struct cell *cell, struct kvm_accesses *accesses)
{
    uint64_t stride = stride_of(cell->n_points), *turn = &spread->turns[cell->node + 1];

    if (ARRAY_RESERVE(accesses->items, accesses->cap, accesses->n + cell->n_records) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < cell->n_records; i++) {
        double sec = draw(&spread->random) * cell->sec;
        const struct vmm_vcpu *vcpu = runners_pick(runners, cell->node, sec);
        uint64_t point = (*turn)++ % cell->n_points * stride % cell->n_points;

        accesses->items[accesses->n++] = (struct access){
            .when_nsec = round->now - (cell->n_records - 1 - i), /* each a sample of its own */
            .pid = round->pid,
            .tid = vcpu->thread.tid,
            .cpu = vcpu->thread.cpu,
            .addr = memory_address(memory, cell->node, round->step_bytes, point),
            .weight_sec = cell->sec / (double)cell->n_records,
            .kind = ACCESS_READ_WRITE,
            .source = ACCESS_SOURCE_KVM,
        };
    }
    return 0;
}

/* Is it the first runner of its guest node? */
static bool runner_is_first(const struct runners *runners, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (runners->items[i].vcpu->node == runners->items[at].vcpu->node)
            return false;
    return true;
}

int kvm_spread(struct kvm_spread *spread, const struct kvm_spread_round *round,
               const struct vmm *before, const struct vmm *after, struct kvm_accesses *accesses)
{
    CLEANUP(runners_deinit) struct runners runners = {0};
    int r;

    r = runners_find(&runners, before, after, round->tick_sec);
    accesses->n_ran += runners.n;
    for (size_t i = 0; i < runners.n && !r; i++) {
        struct cell cell;

        if (!runner_is_first(&runners, i))
            continue;
        cell = cell_of(round, &runners, &after->memory, runners.items[i].vcpu->node);
        if (cell.n_records == 0)
            accesses->unplaced_sec += cell.sec;
        else
            r = cell_spread(spread, round, &runners, &after->memory, &cell, accesses);
    }
    return r;
}

uint64_t kvm_step_bytes(uint64_t bytes, uint64_t n_max)
{
    uint64_t step = KVM_STEP_MIN;

    while (bytes / step > n_max)
        step *= 2;
    return step;
}
