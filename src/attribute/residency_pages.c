/*
 * Which addresses a residency request asks for. Where the kernel tells which pages are there
 * (attribute/pagemap.h), only those, and a huge page once; else 16 of each range whatever lies
 * there. A hugetlb page is asked for once either way, also one that is larger than a range:
 * numa_maps tells its size, so there is nothing to look at. Ranges are taken in ascending order, so
 * that neighbours are looked at together.
 */
#include "attribute/pagemap.h"
#include "attribute/requests.h"

static int by_address(const void *left, const void *right)
{
    const struct residency_range *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* The range's addresses among its runs, behind those that were chosen before. */
static void residency_choose(struct residency_request *residency, struct residency_range *range,
                             const struct page_runs *runs, size_t page_bytes)
{
    range->first = (uint32_t)residency->n_pages;
    range->n =
        (uint32_t)page_runs_choose(runs, range->start, range->end, page_bytes, residency->turn,
                                   &residency->pages[range->first], RESIDENCY_PAGES_PER_RANGE);
    residency->n_pages += range->n;
}

/* Nothing is known of its page table: as if all pages were there. */
static void residency_choose_blind(struct residency_request *residency,
                                   struct residency_range *range)
{
    const struct page_run all = {.start = range->start, .end = range->end, .kinds = PAGE_PRESENT};
    const struct page_runs runs = {.items = &all, .n_items = 1};

    residency_choose(residency, range, &runs, range->page_bytes);
}

static void residency_choose_seen(struct residency_request *residency,
                                  struct residency_range *range, const struct pagemap *pagemap)
{
    struct page_runs runs = pagemap_cut(pagemap, range->start, range->end);
    size_t page_bytes = residency->request.host.page_bytes;
    size_t n_units = page_runs_count(&runs, range->start, range->end, page_bytes);

    range->dense = n_units * page_bytes >= range->end - range->start;
    residency_choose(residency, range, &runs, page_bytes);
}

/* Ranges from i on that one scan shows: they follow each other. Return: the first one behind. */
static size_t residency_end_of_look(const struct residency_request *residency, size_t i)
{
    const struct residency_range *ranges = residency->ranges;
    size_t end = i + 1;

    while (end < residency->n_ranges && ranges[end].look &&
           ranges[end].start == ranges[end - 1].end &&
           ranges[end].end - ranges[i].start <= PAGEMAP_CALL_BYTES)
        end++;
    return end;
}

/* Looks at ranges [i, end). Return: as pagemap_read; then they are asked for blindly. */
static int residency_look(struct residency_request *residency, struct pagemap *pagemap, size_t i,
                          size_t end)
{
    struct residency_range *ranges = residency->ranges;
    int r = residency->look_r;

    if (!r)
        r = pagemap_read(pagemap, ranges[i].start, ranges[end - 1].end);
    for (; i < end; i++) {
        if (r)
            residency_choose_blind(residency, &ranges[i]);
        else
            residency_choose_seen(residency, &ranges[i], pagemap);
    }
    return r;
}

/* Of a hugetlb page that holds both this range and the one before, that one's answer counts. */
static bool residency_share_page(struct residency_range *ranges, size_t i)
{
    struct residency_range *range = &ranges[i];

    if (!i || range->page_bytes <= RANGE_BYTES || ranges[i - 1].page_bytes != range->page_bytes ||
        range->start / range->page_bytes != ranges[i - 1].start / range->page_bytes)
        return false;
    range->first = ranges[i - 1].first;
    range->n = ranges[i - 1].n;
    return true;
}

static void residency_take_chosen(struct residency_request *residency,
                                  struct residency_range *range)
{
    size_t page_bytes = residency->request.host.page_bytes;

    range->first = (uint32_t)residency->n_pages;
    for (uint32_t i = 0; i < range->n; i++)
        residency->pages[residency->n_pages++] =
            (void *)(uintptr_t)(range->start + residency->chosen[range->chosen + i] * page_bytes);
}

void residency_request_choose(struct residency_request *residency)
{
    CLEANUP(pagemap_deinit) struct pagemap pagemap;
    struct residency_range *ranges = residency->ranges;
    size_t end;

    pagemap_init(&pagemap, &residency->request.host, residency->request.pid);
    qsort(ranges, residency->n_ranges, sizeof *ranges, by_address);
    for (size_t i = 0; i < residency->n_ranges; i = end) {
        end = ranges[i].look ? residency_end_of_look(residency, i) : i + 1;
        if (!ranges[i].rank && residency_share_page(ranges, i))
            continue;
        if (ranges[i].rank)
            residency_take_chosen(residency, &ranges[i]);
        else if (ranges[i].look)
            residency->look_r = residency_look(residency, &pagemap, i, end);
        else
            residency_choose_blind(residency, &ranges[i]);
    }
    residency->n_looks = pagemap.n_calls;
}
