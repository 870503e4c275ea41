/*
 * Worked example: at 5 us a page a quarter of 2 % of a CPU, 5 ms a second, is 1,000 pages a second.
 * With 4 pages for each 2 MiB that looks at 500 MiB in each round of 1 s.
 */
#include "sample/idle/idle_budget.h"

#include "util/nsec.h"

#define LEARN_SHARE 0.25 /* of a new measurement: about four of them replace what was known */

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

size_t idle_budget_give(struct idle_budget *budget, double cpu_budget, uint64_t now)
{
    double per_sec =
        clamp(IDLE_BUDGET_SHARE * cpu_budget * (double)NSEC_PER_SEC / budget->page_nsec,
              IDLE_PAGES_MIN, IDLE_PAGES_MAX);
    double elapsed_sec = 1.0;

    if (budget->round_nsec && now < budget->round_nsec + NSEC_PER_SEC)
        elapsed_sec = now > budget->round_nsec ? nsec_to_sec(now - budget->round_nsec) : 0.0;
    budget->round_nsec = now;
    return (size_t)(per_sec * elapsed_sec);
}

void idle_budget_learn(struct idle_budget *budget, size_t n_pages, uint64_t cpu_nsec)
{
    if (n_pages == 0)
        return;
    budget->page_nsec += LEARN_SHARE * ((double)cpu_nsec / (double)n_pages - budget->page_nsec);
    budget->page_nsec = clamp(budget->page_nsec, 1.0, (double)NSEC_PER_SEC);
}
