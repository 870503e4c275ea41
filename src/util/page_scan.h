#pragma once
/*
 * PAGEMAP_SCAN of Linux 6.7, the ioctl of /proc/PID/pagemap: runs of pages of one kind. Layout and
 * values are those of include/uapi/linux/fs.h, which Debian 12 does not have yet.
 */
#include <stddef.h>
#include <stdint.h>

enum page_kind {
    PAGE_PRESENT = 1 << 3,
    PAGE_SWAPPED = 1 << 4, /* not there, and no hole: in swap, on its way between nodes, poisoned */
    PAGE_ZERO = 1 << 5,    /* the zero page; before Linux 6.17 not the huge one */
    PAGE_HUGE = 1 << 6,    /* one entry above the last level, or hugetlb; never a page of PTEs */
};

/* struct page_region */
struct page_run {
    uint64_t start, end; /* [start, end), cut where the scan was */
    uint64_t kinds;      /* enum page_kind */
};

struct page_scan {
    uint64_t start, end; /* [start, end), multiples of the base page */
    struct page_run *runs;
    size_t n_runs_max;
    uint64_t reached; /* out: all before this address is in runs, or is a hole */
};

/*
 * Runs of pages that are present or swapped, ascending; holes and memory that is not made of pages
 * (VM_PFNMAP) are left out. fd: of the pagemap file.
 * Return: how many runs, or a negative errno: -ENOTTY before Linux 6.7; -ESRCH: its process ended.
 */
long page_scan_fd(int fd, struct page_scan *scan);
