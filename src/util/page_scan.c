/*
 * The kernel holds mmap_lock for reading until 512 runs are full or the end is reached, so the
 * caller bounds what it asks for. PAGE_IS_FILE is not asked for: it takes a look at each page's
 * struct page, and a scan of dense 4 KiB pages then costs four times as much (40 instead of 11 ns a
 * page). Nothing is ever write-protected.
 */
#include "util/page_scan.h"

#include <sys/ioctl.h>

#include "util/error.h"

/* struct pm_scan_arg */
struct scan_arg {
    uint64_t size;
    uint64_t flags;
    uint64_t start, end;
    uint64_t walk_end;
    uint64_t vec, vec_len;
    uint64_t max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask;
    uint64_t return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)

long page_scan_fd(int fd, struct page_scan *scan)
{
    struct scan_arg arg = {
        .size = sizeof arg,
        .start = scan->start,
        .end = scan->end,
        .vec = (uintptr_t)scan->runs,
        .vec_len = scan->n_runs_max,
        .category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
        .return_mask = PAGE_PRESENT | PAGE_SWAPPED | PAGE_ZERO | PAGE_HUGE,
    };
    int n = ioctl(fd, SCAN_IOCTL, &arg);

    if (n < 0)
        return error_errno();
    scan->reached = arg.walk_end;
    return n;
}
