#include "sample/trace/replay_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "numabd/topology.h"
#include "sample/trace/trace.h"
#include "util/cleanup.h"
#include "util/hash.h"

#define BLOCK_PAGES 512
#define UNKNOWN INT16_MIN

/* Nodes, or negative errnos. */
struct page {
    int16_t recorded, replayed;
    int16_t refusal; /* positive errno that a move of it gives; 0: none */
    bool assumed;    /* `recorded` is a guess: the kernel did not say how a move ended */
};

struct block_key {
    uint64_t number; /* of the block in its address space */
    uint64_t pid;
};

struct replay_block {
    struct block_key key;
    struct page pages[BLOCK_PAGES];
    UT_hash_handle hh;
};

void replay_pages_deinit(struct replay_pages *pages)
{
    struct replay_block *block, *next;

    HASH_ITER (hh, pages->blocks, block, next) {
        HASH_DEL(pages->blocks, block);
        free(block);
    }
}

void replay_pages_forget(struct replay_pages *pages, pid_t pid)
{
    struct replay_block *block, *next;

    HASH_ITER (hh, pages->blocks, block, next) {
        if (block->key.pid != (uint64_t)pid)
            continue;
        HASH_DEL(pages->blocks, block);
        free(block);
    }
}

static struct replay_block *find_block(const struct replay_pages *pages, pid_t pid, uint64_t addr)
{
    struct block_key key = {.number = addr / pages->page_bytes / BLOCK_PAGES, .pid = (uint64_t)pid};
    struct replay_block *block;

    HASH_FIND(hh, pages->blocks, &key, sizeof key, block);
    return block;
}

static struct replay_block *add_block(struct replay_pages *pages, pid_t pid, uint64_t addr)
{
    struct replay_block *block;

    if (HASH_COUNT(pages->blocks) >= REPLAY_BLOCKS_MAX || !(block = calloc(1, sizeof *block)))
        return NULL;
    block->key =
        (struct block_key){.number = addr / pages->page_bytes / BLOCK_PAGES, .pid = (uint64_t)pid};
    for (size_t i = 0; i < BLOCK_PAGES; i++)
        block->pages[i] = (struct page){.recorded = UNKNOWN, .replayed = UNKNOWN};
    HASH_ADD(hh, pages->blocks, key, sizeof block->key, block);
    return block;
}

static size_t page_index(const struct replay_pages *pages, uint64_t addr)
{
    return addr / pages->page_bytes % BLOCK_PAGES;
}

static struct page *get_page(struct replay_pages *pages, pid_t pid, uint64_t addr)
{
    struct replay_block *block = find_block(pages, pid, addr);

    if (!block)
        block = add_block(pages, pid, addr);
    return block ? &block->pages[page_index(pages, addr)] : NULL;
}

/*
 * Where the replay decides sooner than the recorded run did, it moves pages that the trace first
 * tells about later, when then they were still to be moved: their place of then is no news.
 */
static bool was_moved_first(const struct page *page, int status)
{
    return page->recorded == UNKNOWN && page->replayed >= 0 && status >= 0;
}

void replay_pages_observe(struct replay_pages *pages, pid_t pid, uint64_t addr, int status)
{
    struct page *page = get_page(pages, pid, addr);

    if (!page || status == TRACE_UNWRITTEN)
        return;
    if (was_moved_first(page, status)) {
        page->recorded = (int16_t)status;
    } else if (page->recorded != status) {
        page->refusal = page->assumed ? EBUSY : 0;
        page->recorded = page->replayed = (int16_t)status;
    }
    page->assumed = false;
}

void replay_pages_note_move(struct replay_pages *pages, pid_t pid, uint64_t addr, int node,
                            int status)
{
    struct page *page = get_page(pages, pid, addr);

    if (!page)
        return;
    if (status == -ENOENT || status == -EFAULT) {
        replay_pages_observe(pages, pid, addr, status);
        return;
    }
    page->assumed = status == TRACE_UNWRITTEN;
    if (status >= 0 || page->assumed) {
        page->recorded = (int16_t)(page->assumed ? node : status);
        page->refusal = 0;
    } else {
        page->refusal = (int16_t)-status;
    }
}

/* The nearest page of the block that is known, UNKNOWN if none. */
static int nearest(const struct replay_block *block, size_t index)
{
    for (size_t distance = 0; distance < BLOCK_PAGES; distance++) {
        if (index >= distance && block->pages[index - distance].replayed != UNKNOWN)
            return block->pages[index - distance].replayed;
        if (index + distance < BLOCK_PAGES && block->pages[index + distance].replayed != UNKNOWN)
            return block->pages[index + distance].replayed;
    }
    return UNKNOWN;
}

int replay_pages_ask(const struct replay_pages *pages, pid_t pid, uint64_t addr)
{
    const struct replay_block *block = find_block(pages, pid, addr);
    int at = block ? nearest(block, page_index(pages, addr)) : UNKNOWN;

    return at == UNKNOWN ? -ENOENT : at;
}

int replay_pages_move(struct replay_pages *pages, pid_t pid, uint64_t addr, int node)
{
    int at = replay_pages_ask(pages, pid, addr);
    struct page *page = at < 0 ? NULL : get_page(pages, pid, addr);

    if (!page)
        return at;
    if (at != node && page->refusal)
        return -page->refusal;
    page->replayed = (int16_t)node;
    return node;
}

static void count_block(const struct replay_pages *pages, const struct replay_block *block,
                        uint64_t start, uint64_t end, uint64_t *n_on)
{
    uint64_t first = block->key.number * BLOCK_PAGES;

    for (size_t i = 0; i < BLOCK_PAGES; i++) {
        uint64_t addr = (first + i) * pages->page_bytes;
        int at = block->pages[i].replayed;

        if (addr >= start && addr < end && at >= 0 && at < TOPOLOGY_NODE_MAX)
            n_on[at]++;
    }
}

int replay_pages_most(const struct replay_pages *pages, pid_t pid, uint64_t start, uint64_t end,
                      int to)
{
    uint64_t n_on[TOPOLOGY_NODE_MAX] = {0}, step = BLOCK_PAGES * pages->page_bytes;
    int most = -1;

    /* By number: at the end of the addresses the next one would be 0. */
    for (uint64_t number = start / step; start < end && number <= (end - 1) / step; number++) {
        const struct replay_block *block = find_block(pages, pid, number * step);

        if (block)
            count_block(pages, block, start, end, n_on);
    }
    for (int node = 0; node < TOPOLOGY_NODE_MAX; node++)
        if (node != to && n_on[node] && (most < 0 || n_on[node] > n_on[most]))
            most = node;
    return most;
}
