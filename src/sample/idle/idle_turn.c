#include "sample/idle/idle_turn.h"

/* One call of idle_turn_next. */
struct walk {
    struct idle_turn *turn;
    size_t page_bytes, budget;
    const struct idle_turn_ops *ops;
    void *userdata;
};

/* Any number below n that differs from round to round and grain to grain (Fibonacci hashing). */
static uint64_t spread(uint64_t addr, uint64_t round, uint64_t n)
{
    return ((addr / IDLE_GRAIN_BYTES + round) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % n;
}

/* Pages of [start, end), which lies in one grain; end > start. */
static void walk_grain(struct walk *walk, pid_t pid, uint64_t start, uint64_t end)
{
    uint64_t n_pages = (end - start + walk->page_bytes - 1) / walk->page_bytes;
    uint64_t n_taken = n_pages < IDLE_GRAIN_PAGES ? n_pages : IDLE_GRAIN_PAGES;
    uint64_t stride = n_pages / n_taken;
    uint64_t shift = spread(start, walk->turn->n_rounds, stride);

    for (uint64_t i = 0; i < n_taken; i++)
        walk->ops->take(walk->userdata, pid,
                        start + (i * stride + (i ? shift : 0)) * walk->page_bytes);
    walk->budget = walk->budget > n_taken ? walk->budget - n_taken : 0;
}

/* Part [start, end) of a range, grain by grain, until the budget is spent. */
static void walk_part(struct walk *walk, pid_t pid, uint64_t start, uint64_t end)
{
    if (!walk->ops->wants(walk->userdata, pid))
        return;
    while (start < end && walk->budget > 0) {
        uint64_t left = IDLE_GRAIN_BYTES - start % IDLE_GRAIN_BYTES;
        uint64_t grain_end = left < end - start ? start + left : end;

        walk_grain(walk, pid, start, grain_end);
        walk->turn->pid = pid;
        walk->turn->addr = start = grain_end;
    }
}

/* Return: the first range that ends behind the turn; 0 if none does. */
static size_t find_range(const struct idle_turn *turn, const struct sample_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ranges[i].pid > turn->pid || (ranges[i].pid == turn->pid && ranges[i].end > turn->addr))
            return i;
    return 0;
}

void idle_turn_next(struct idle_turn *turn, const struct sample_range *ranges, size_t n_ranges,
                    size_t page_bytes, size_t budget, const struct idle_turn_ops *ops,
                    void *userdata)
{
    struct walk walk = {turn, page_bytes, budget, ops, userdata};
    size_t first = find_range(turn, ranges, n_ranges);
    uint64_t begin = 0; /* where in the first range */

    if (n_ranges == 0)
        return;
    begin = ranges[first].start;
    if (ranges[first].pid == turn->pid && turn->addr > begin && turn->addr < ranges[first].end)
        begin = turn->addr;
    /* The range that it begins in comes twice: its rest now, its front at the end. */
    for (size_t i = 0; i <= n_ranges && walk.budget > 0; i++) {
        const struct sample_range *range = &ranges[(first + i) % n_ranges];

        walk_part(&walk, range->pid, i == 0 ? begin : range->start,
                  i == n_ranges ? begin : range->end);
    }
    turn->n_rounds++;
}
