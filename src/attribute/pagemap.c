/*
 * move_pages tells where a page lies, for one address after the other, whether it is there or not.
 * In sparse memory most answers are "absent", and a sample of them says nothing; of a huge page it
 * gives the same answer 512 times. A scan of the page table (util/page_scan.h) costs less than one
 * such answer for what is huge or absent, and shows which addresses are worth asking for.
 *
 * What it says is a hint only. Pages come and go after it, and some kinds cannot be told: the huge
 * zero page looks like any huge one before Linux 6.17 (move_pages answers -EFAULT), and a large
 * folio that is mapped by small entries (mTHP) looks like its small pages. Of those, a sample of 16
 * in 2 MiB is 128 KiB apart, so folios up to that size are asked for once. PROT_NONE memory is
 * shown as present; VM_PFNMAP is not shown; secretmem is, and is left alone by its name.
 */
#include "attribute/pagemap.h"

#include <errno.h>

#include "util/array.h"
#include "util/cleanup.h"

/* As many as the kernel collects before it lets go of mmap_lock (PAGEMAP_WALK_SIZE). */
#define RUNS_PER_CALL 512
/* The smallest huge page but for hugetlb ones of 64 KiB on arm64, which are never moved. */
#define HUGE_BYTES ((uint64_t)2 << 20)

void pagemap_init(struct pagemap *pagemap, const struct host *host, pid_t pid)
{
    *pagemap = (struct pagemap){.host = host, .pid = pid, .fd = -1};
}

void pagemap_deinit(struct pagemap *pagemap)
{
    pagemap->fd = fd_close(pagemap->fd);
    free(pagemap->runs);
    pagemap->runs = NULL;
}

/* What an errno of the scan, or of opening its file, says about the next try. */
static int pagemap_condition(long error)
{
    switch (error) {
    case -ENOTTY:     /* Linux before 6.7 */
    case -EINVAL:     /* one that knows other kinds of pages; or a filter's answer */
    case -ENOSYS:     /* a filter's answer */
    case -EOPNOTSUPP: /* a host without it */
        return PAGEMAP_ABSENT;
    case -EPERM:
    case -EACCES:
        return PAGEMAP_DENIED;
    default:
        return PAGEMAP_FAILED;
    }
}

/* One call at *posp, which goes on to where the scan came. Return: as pagemap_read. */
static int pagemap_read_part(struct pagemap *pagemap, uint64_t *posp, uint64_t end)
{
    struct page_scan scan = {.start = *posp, .n_runs_max = RUNS_PER_CALL};
    long n;

    if (ARRAY_RESERVE(pagemap->runs, pagemap->cap, pagemap->n_runs + RUNS_PER_CALL) < 0)
        return -ENOMEM;
    scan.end = end - *posp < PAGEMAP_CALL_BYTES ? end : *posp + PAGEMAP_CALL_BYTES;
    scan.runs = &pagemap->runs[pagemap->n_runs];
    pagemap->n_calls++;
    n = host_scan_pages(pagemap->host, pagemap->pid, &pagemap->fd, &scan);
    if (n < 0)
        return pagemap_condition(n);
    if (n > RUNS_PER_CALL || scan.reached <= *posp || scan.reached > scan.end)
        return PAGEMAP_FAILED; /* it would go on for ever */
    pagemap->n_runs += (size_t)n;
    *posp = scan.reached;
    return 0;
}

int pagemap_read(struct pagemap *pagemap, uint64_t start, uint64_t end)
{
    uint64_t pos = start;
    int r = 0;

    pagemap->n_runs = 0;
    while (pos < end && !r)
        r = pagemap_read_part(pagemap, &pos, end);
    if (r)
        pagemap->n_runs = 0;
    return r;
}

/* The first run that ends behind addr; runs->n_items if none does. */
static size_t find_run(const struct page_runs *runs, uint64_t addr)
{
    size_t low = 0, high = runs->n_items;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (runs->items[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct page_runs pagemap_cut(const struct pagemap *pagemap, uint64_t start, uint64_t end)
{
    const struct page_runs all = {.items = pagemap->runs, .n_items = pagemap->n_runs};
    size_t first = find_run(&all, start), n = 0;

    while (first + n < all.n_items && all.items[first + n].start < end)
        n++;
    return (struct page_runs){.items = n ? &all.items[first] : NULL, .n_items = n};
}

/* A run's part inside the range, as units: huge ones are one. */
struct piece {
    uint64_t start, end;
    bool huge;
};

/* Return: false if no page of it lies on a node inside the range. */
static bool piece_of_run(const struct page_run *run, uint64_t start, uint64_t end,
                         struct piece *piece)
{
    piece->start = run->start > start ? run->start : start;
    piece->end = run->end < end ? run->end : end;
    piece->huge = run->kinds & PAGE_HUGE;
    return run->kinds & PAGE_PRESENT && !(run->kinds & PAGE_ZERO) && piece->start < piece->end;
}

/* A huge page is taken for one of 2 MiB: of a larger one each 2 MiB is a unit. */
static uint64_t piece_unit_bytes(const struct piece *piece, size_t page_bytes)
{
    return piece->huge ? HUGE_BYTES : page_bytes;
}

static size_t piece_units(const struct piece *piece, size_t page_bytes)
{
    uint64_t unit = piece_unit_bytes(piece, page_bytes);

    return (size_t)((piece->end + unit - 1) / unit - piece->start / unit);
}

/* The address of its n-th unit; that of the one behind the last is its end. */
static uint64_t piece_addr(const struct piece *piece, size_t page_bytes, size_t n)
{
    uint64_t unit = piece_unit_bytes(piece, page_bytes);
    uint64_t addr = (piece->start / unit + n) * unit;

    if (addr > piece->end)
        return piece->end;
    return addr > piece->start ? addr : piece->start;
}

bool page_runs_next(const struct page_runs *runs, uint64_t start, uint64_t end, size_t page_bytes,
                    uint64_t *posp, struct page_unit *unit)
{
    uint64_t pos = *posp > start ? *posp : start;
    struct piece piece;

    for (size_t i = find_run(runs, pos); i < runs->n_items; i++) {
        if (!piece_of_run(&runs->items[i], pos, end, &piece))
            continue;
        *posp = piece_addr(&piece, page_bytes, 1);
        unit->addr = piece.start;
        unit->n_pages = (size_t)((*posp - piece.start) / page_bytes);
        return true;
    }
    return false;
}

size_t page_runs_count(const struct page_runs *runs, uint64_t start, uint64_t end,
                       size_t page_bytes)
{
    size_t n_units = 0;
    struct piece piece;

    for (size_t i = 0; i < runs->n_items; i++)
        if (piece_of_run(&runs->items[i], start, end, &piece))
            n_units += piece_units(&piece, page_bytes);
    return n_units;
}

/* The n-th of `limit` equal parts of n_units begins here. */
static size_t part_start(size_t n_units, size_t limit, size_t n)
{
    return n_units * n / limit;
}

/* The unit that is asked for in the n-th part. */
static size_t part_choice(size_t n_units, size_t limit, size_t n, unsigned turn)
{
    size_t first = part_start(n_units, limit, n), next = part_start(n_units, limit, n + 1);

    return first + turn % (next - first);
}

size_t page_runs_choose(const struct page_runs *runs, uint64_t start, uint64_t end,
                        size_t page_bytes, unsigned turn, void **addrs, size_t limit)
{
    size_t n_units = page_runs_count(runs, start, end, page_bytes);
    size_t n = 0, before = 0; /* units of the runs before */
    struct piece piece;

    if (limit > n_units)
        limit = n_units;
    for (size_t i = 0; i < runs->n_items && n < limit; i++) {
        size_t in_piece;

        if (!piece_of_run(&runs->items[i], start, end, &piece))
            continue;
        in_piece = piece_units(&piece, page_bytes);
        for (; n < limit && part_choice(n_units, limit, n, turn) < before + in_piece; n++) {
            size_t unit = part_choice(n_units, limit, n, turn) - before;

            addrs[n] = (void *)(uintptr_t)piece_addr(&piece, page_bytes, unit);
        }
        before += in_piece;
    }
    return n;
}
