#pragma once
/*
 * Idle turn: which pages are looked at next. Ranges take turns: a round takes as many pages as its
 * budget has, and the next one goes on behind them. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "numabd/sample.h"

/* The grain of evidence below a VMA, and the size of a huge page on most machines. */
#define IDLE_GRAIN_BYTES (UINT64_C(2) << 20)
/* Stand for their 2 MiB. A touched grain of which only every 8th page is touched between two looks
   is seen in 41 % of them; four times the pages would cost four times as much for 88 %. */
#define IDLE_GRAIN_PAGES 4

/* Where the next round goes on. All zero: at the beginning. */
struct idle_turn {
    pid_t pid;
    uint64_t addr;
    uint64_t n_rounds;
};

struct idle_turn_ops {
    bool (*wants)(void *userdata, pid_t pid); /* may pages of this process be taken now? */
    void (*take)(void *userdata, pid_t pid, uint64_t addr);
};

/*
 * Takes about `budget` pages (the last grain is taken whole), at most each range once, from where
 * the last call stopped. The ranges may have changed since. The first page of each grain is always
 * taken, for it is the head of a huge page; the others change from round to round.
 */
void idle_turn_next(struct idle_turn *turn, const struct sample_range *ranges, size_t n_ranges,
                    size_t page_bytes, size_t budget, const struct idle_turn_ops *ops,
                    void *userdata);
