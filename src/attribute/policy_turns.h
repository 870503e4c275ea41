#pragma once
/*
 * Turns: whose numa_maps is read next. Reading it costs 70 ns for each resident page, 19 s of CPU
 * time for 1 TiB in small pages, so all processes share two limits. Pure.
 */
#include "numabd/attribute.h"

/* Share of cpu_budget for processes whose pages are about to move, and for all other reasons. */
#define POLICY_WAITING_PART 0.5
#define POLICY_OTHER_PART 0.1
/* What is not used of them is kept for so long: samples of a new target spend savings too. */
#define POLICY_SAVED_SEC 10
/* Seen on a quiet host. */
#define POLICY_NSEC_PER_PAGE 70
/* Seen: 0.15 s for 65,530 VMAs with two pages each. */
#define POLICY_NSEC_PER_VMA 2300

enum policy_want {
    POLICY_NOT_WANTED,
    POLICY_WANTED_OTHER,   /* a claim has none yet, or the totals are old */
    POLICY_WANTED_WAITING, /* pages lie elsewhere than a claim says: moves need a fresh one */
    POLICY_WANT_COUNT
};

struct policy_turn {
    struct space *space;
    enum policy_want want;
};

struct policy_turns {
    struct policy_turn *items; /* of this round */
    size_t n_items, cap, n_taken;
    double saved_sec[POLICY_WANT_COUNT]; /* CPU time left by want; below 0: a debt */
    uint64_t filled_nsec;                /* 0: never, both are full then */
};

void policy_turns_deinit(struct policy_turns *turns);

/* A round begins. budget: cpu_budget, in CPU time per second. */
void policy_turns_begin(struct policy_turns *turns, double budget, uint64_t now);

/*
 * Does the process want its numa_maps read now? At most once per max(1 s, 20 x what it costs), so
 * that its own lock is not held for more than a twentieth of the time; for totals once per max(5 s,
 * 500 x), and not above numa_maps_limit.
 */
enum policy_want policy_want(const struct space *space, const struct config *config, uint64_t now);

/* Return: 0 or -ENOMEM. */
int policy_turns_add(struct policy_turns *turns, struct space *space, enum policy_want want);

/*
 * The next one whose limit has something left: those that wait first, then who was read longest
 * ago. Return: false when there is none.
 */
bool policy_turns_next(struct policy_turns *turns, struct policy_turn *turn);

/* CPU time that a reading took, or gives back where less was used than was charged before. */
void policy_turns_spend(struct policy_turns *turns, enum policy_want want, double sec);

/* What the next reading of the process will cost. */
uint64_t policy_cost(const struct space *space, uint64_t page_bytes);
