#pragma once
/*
 * Pagemap: which pages of a range are there, and which addresses stand for them.
 */
#include "numabd/host.h"

/* Where no worthwhile answer came; the caller does without. */
enum {
    PAGEMAP_ABSENT = 1, /* this kernel, or this host, has no PAGEMAP_SCAN */
    PAGEMAP_DENIED,     /* this process's may not be read */
    PAGEMAP_FAILED,     /* not now: no files or memory left, or the process has gone */
};

/*
 * One walk, which holds the target's mmap_lock for reading: 16 page tables. Measured on Linux 6.18:
 * 11 ns for each 4 KiB page that is there, 2 ns for each that is not, 100 ns for a huge page; so
 * 0.1 ms at most.
 */
#define PAGEMAP_CALL_BYTES ((uint64_t)32 << 20)

/* A slice of ascending runs. */
struct page_runs {
    const struct page_run *items;
    size_t n_items;
};

struct pagemap {
    const struct host *host;
    pid_t pid;
    int fd;
    struct page_run *runs; /* of the last read */
    size_t n_runs, cap;
    size_t n_calls; /* scans so far */
};

void pagemap_init(struct pagemap *pagemap, const struct host *host, pid_t pid);
void pagemap_deinit(struct pagemap *pagemap);

/*
 * Reads the runs of [start, end), multiples of the base page, in calls of at most
 * PAGEMAP_CALL_BYTES. Return: 0, one of the above with no runs, or -ENOMEM.
 */
int pagemap_read(struct pagemap *pagemap, uint64_t start, uint64_t end);

/* Those of the last read that overlap [start, end). */
struct page_runs pagemap_cut(const struct pagemap *pagemap, uint64_t start, uint64_t end);

/*
 * A page as it is moved: one address stands for all of a huge page. Only pages that lie on a node:
 * present ones without the zero page.
 */
struct page_unit {
    uint64_t addr;  /* the first one inside the range */
    size_t n_pages; /* base pages of it inside the range */
};

/*
 * The next unit of [start, end): a base page, or an aligned 2 MiB of huge pages. *posp: 0 at first,
 * then where the next one is looked for. Return: false at the end.
 */
bool page_runs_next(const struct page_runs *runs, uint64_t start, uint64_t end, size_t page_bytes,
                    uint64_t *posp, struct page_unit *unit);

/* How many units there are. */
size_t page_runs_count(const struct page_runs *runs, uint64_t start, uint64_t end,
                       size_t page_bytes);

/*
 * Addresses of at most `limit` units of [start, end), evenly spread, ascending: all if there are
 * no more, else one of each of `limit` equal parts, another one with each `turn`. Return: how many.
 */
size_t page_runs_choose(const struct page_runs *runs, uint64_t start, uint64_t end,
                        size_t page_bytes, unsigned turn, void **addrs, size_t limit);
