#pragma once
/*
 * Idle budget: how many pages a round may look at, so that the work stays below a share of one CPU.
 * Pure.
 */
#include <stddef.h>
#include <stdint.h>

/* Of cpu_budget: the rest is for the other sources, and for what the samples are good for. */
#define IDLE_BUDGET_SHARE 0.25
/* Until it is measured: about six small calls a page from arming to checking. */
#define IDLE_PAGE_NSEC_START 5000.0
/* Never less, so that slow (emulated) machines see something: 8 MiB of small pages in 2 MiB ranges;
   never more, so that one scan of all of them (2 s at 500 us a page) ends within its deadline. */
#define IDLE_PAGES_MIN 64
#define IDLE_PAGES_MAX 4096

struct idle_budget {
    double page_nsec;    /* CPU time of a page, moving average */
    uint64_t round_nsec; /* when pages were last given; 0: never */
};

#define IDLE_BUDGET_START ((struct idle_budget){.page_nsec = IDLE_PAGE_NSEC_START})

/*
 * How many pages the round at `now` may take with cpu_budget (CPU seconds per second): those of the
 * time since the last one, at most a second (also at the first).
 * Return: a number in [0, IDLE_PAGES_MAX]; at least IDLE_PAGES_MIN after a second.
 */
size_t idle_budget_give(struct idle_budget *budget, double cpu_budget, uint64_t now);

/* n pages took that much CPU time. */
void idle_budget_learn(struct idle_budget *budget, size_t n_pages, uint64_t cpu_nsec);
