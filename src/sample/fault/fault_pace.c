/*
 * Worked example: with a budget of 1 % a process that keeps one CPU busy may lose 10 ms a second.
 * 256 MiB cost 7 ms to clear; if it rewrites 16,384 of the 65,536 pages within the second at 0.7 us
 * a fault, that is 18 ms: the interval becomes 2 s, whose budget is 20 ms, and stays there (18 is
 * more than 5).
 */
#include "sample/fault/fault_pace.h"

#define LEARN_SHARE 0.25
#define FORGET_SHARE 0.0625
/* Beyond a hundred times what was ever seen the measurement is wrong (a suspended machine). */
#define OUTLIER 100.0

double fault_bill_cost(const struct fault_bill *bill)
{
    return bill->clear_sec + (double)bill->n_faults * bill->fault_sec;
}

uint64_t fault_pace_interval(uint64_t interval_nsec, const struct fault_bill *bill)
{
    double allowed_sec =
        bill->budget * bill->cpu_sec / bill->window_sec * nsec_to_sec(interval_nsec);
    double cost_sec = fault_bill_cost(bill);

    if (cost_sec > allowed_sec)
        interval_nsec *= 2;
    else if (cost_sec * 4 <= allowed_sec)
        interval_nsec /= 2;
    if (interval_nsec < FAULT_INTERVAL_MIN_NSEC)
        return FAULT_INTERVAL_MIN_NSEC;
    return interval_nsec > FAULT_INTERVAL_MAX_NSEC ? FAULT_INTERVAL_MAX_NSEC : interval_nsec;
}

double fault_pace_learn(double sec_per_page, double clear_sec, uint64_t n_pages)
{
    double seen = n_pages ? clear_sec / (double)n_pages : sec_per_page;

    if (seen > FAULT_PAGE_SEC * OUTLIER)
        seen = FAULT_PAGE_SEC * OUTLIER;
    if (sec_per_page <= 0)
        return seen;
    return sec_per_page + (seen - sec_per_page) * LEARN_SHARE;
}

double fault_pace_forget(double sec_per_page)
{
    return sec_per_page + (FAULT_PAGE_SEC - sec_per_page) * FORGET_SHARE;
}
