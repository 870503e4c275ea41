/*
 * A thread that rewrites 1 GiB faults 262,144 times. Keeping the first of them would show only
 * where it began, so the window is thinned evenly: when it is full, every second fault goes and
 * from then on only every second new one is kept.
 */
#include "sample/fault/fault_window.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/nsec.h"

void fault_window_deinit(struct fault_window *window)
{
    free(window->faults);
    *window = (struct fault_window){0};
}

void fault_window_reset(struct fault_window *window)
{
    window->n_faults = 0;
    window->n_seen = 0;
    window->stride = 1;
}

static void window_thin(struct fault_window *window)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < window->n_faults; i += 2)
        window->faults[n_kept++] = window->faults[i];
    window->n_faults = n_kept;
    window->stride *= 2;
}

int fault_window_add(struct fault_window *window, const struct fault *fault)
{
    if (!window->stride)
        window->stride = 1;
    if (window->n_seen++ % window->stride)
        return 0;
    /* Full after an even number of strides: this one belongs to the wider stride, too. */
    if (window->n_faults == FAULT_WINDOW_FAULTS_MAX)
        window_thin(window);
    if (ARRAY_RESERVE(window->faults, window->cap, window->n_faults + 1) < 0)
        return -ENOMEM;
    window->faults[window->n_faults++] = *fault;
    return 0;
}

static int compare_faults(const void *left, const void *right)
{
    const struct fault *a = left, *b = right;

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->when_nsec < b->when_nsec ? -1 : a->when_nsec > b->when_nsec;
}

static void window_cut(struct fault_window *window, uint64_t begin, uint64_t end)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < window->n_faults; i++)
        if (window->faults[i].when_nsec >= begin && window->faults[i].when_nsec < end)
            window->faults[n_kept++] = window->faults[i];
    window->n_faults = n_kept;
}

static size_t count_of_thread(const struct fault_window *window, size_t first)
{
    size_t n = 1;

    while (first + n < window->n_faults &&
           window->faults[first + n].tid == window->faults[first].tid)
        n++;
    return n;
}

static double weight_of(const struct fault_window *window, size_t n, double window_sec)
{
    double weight_max_sec = FAULT_WEIGHT_MAX_SEC * (double)window->stride;
    double weight_sec = window_sec / (double)n;

    return weight_sec < weight_max_sec ? weight_sec : weight_max_sec;
}

/* Return: the sum of all weights. */
static double window_fill(const struct fault_window *window, pid_t pid, double window_sec,
                          struct access *accesses)
{
    double sum_sec = 0;

    for (size_t first = 0, n; first < window->n_faults; first += n) {
        double weight_sec;

        n = count_of_thread(window, first);
        weight_sec = weight_of(window, n, window_sec);
        sum_sec += weight_sec * (double)n;
        for (size_t i = first; i < first + n; i++)
            accesses[i] = (struct access){
                .when_nsec = window->faults[i].when_nsec,
                .pid = pid,
                .tid = window->faults[i].tid,
                .cpu = window->faults[i].cpu,
                .addr = window->faults[i].addr,
                .weight_sec = weight_sec,
                .kind = ACCESS_WRITE,
                .source = ACCESS_SOURCE_WRITE_FAULT,
            };
    }
    return sum_sec;
}

int fault_window_accesses(struct fault_window *window, pid_t pid, uint64_t begin, uint64_t end,
                          double cpu_sec, struct access **accessesp, size_t *np)
{
    struct access *accesses;
    double sum_sec;

    window_cut(window, begin, end);
    accesses = calloc(window->n_faults + 1, sizeof *accesses);
    if (!accesses)
        return -ENOMEM;
    if (window->n_faults > 0)
        qsort(window->faults, window->n_faults, sizeof *window->faults, compare_faults);
    sum_sec = window_fill(window, pid, nsec_to_sec(end - begin), accesses);
    for (size_t i = 0; sum_sec > cpu_sec && i < window->n_faults; i++)
        accesses[i].weight_sec *= cpu_sec / sum_sec;
    *accessesp = accesses;
    *np = window->n_faults;
    return 0;
}
