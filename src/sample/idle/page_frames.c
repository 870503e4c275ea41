/*
 * Two tables of 64-bit words: /proc/PID/pagemap by virtual page, /proc/kpageflags by frame.
 *
 * A large folio (a huge page or a smaller multiple) has its idle bit, and its place on the LRU, at
 * its head. Folios are naturally aligned, and all frames between head and page are tails of the
 * same one: so the head is the first frame with the head flag among the page's frame rounded down
 * to 2, 4, 8 ... frames.
 *
 * Without kpageflags a page is its own head; the idle bits of tails then do not read back as set,
 * and nothing is learned from them.
 */
#include "sample/idle/page_frames.h"

#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/cleanup.h"

#define ENTRY_BYTES sizeof(uint64_t)
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_PFN_MASK ((UINT64_C(1) << 55) - 1)

/* 512 MiB in pages of 64 KiB, the largest transparent huge page there is (arm64). */
#define FOLIO_ORDER_MAX 13

#define FLAG(name) (UINT64_C(1) << KPF_##name)

void page_frames_deinit(struct page_frames *frames)
{
    free(frames->items);
    *frames = (struct page_frames){0};
}

int page_frames_add(struct page_frames *frames, const struct page_frame *frame)
{
    int r;

    r = ARRAY_RESERVE(frames->items, frames->cap, frames->n + 1);
    if (r < 0)
        return r;
    frames->items[frames->n++] = *frame;
    return 0;
}

void page_files_deinit(struct page_files *files)
{
    fd_close(files->pagemap);
    fd_close(files->kpageflags);
    *files = PAGE_FILES_NULL;
}

static int pagemap_condition(ssize_t error)
{
    switch (-error) {
    case ENOENT:
    case ESRCH:
        return PAGE_FRAMES_GONE;
    case EACCES:
    case EPERM:
        return PAGE_FRAMES_DENIED;
    default:
        return (int)error;
    }
}

/* Finds the frame. An address space that has ended reads as 0 bytes. */
static int pagemap_read(const struct host *host, const char *path, struct page_files *files,
                        struct page_frame *frame)
{
    uint64_t entry = 0;
    ssize_t got;

    got = host_pread(host, path, &files->pagemap, frame->addr / host->page_bytes * ENTRY_BYTES,
                     &entry, sizeof entry);
    if (got < 0)
        return pagemap_condition(got);
    if (got != sizeof entry)
        return PAGE_FRAMES_GONE;
    if (!(entry & PAGEMAP_PRESENT))
        return 0;
    frame->pfn = frame->head = entry & PAGEMAP_PFN_MASK;
    return frame->pfn ? 0 : PAGE_FRAMES_HIDDEN;
}

/* Return: the flags; none for frames that the kernel does not know. */
static uint64_t flags_read(const struct host *host, struct page_files *files, uint64_t pfn)
{
    uint64_t flags = 0;
    ssize_t got;

    got = host_pread(host, "proc/kpageflags", &files->kpageflags, pfn * ENTRY_BYTES, &flags,
                     sizeof flags);
    if (got < 0)
        files->without_flags = true;
    return got == sizeof flags ? flags : 0;
}

/* Return: the flags of the folio's head, which is *headp then; 0 if it came apart meanwhile. */
static uint64_t head_find(const struct host *host, struct page_files *files, uint64_t pfn,
                          uint64_t *headp)
{
    uint64_t head = pfn, flags = flags_read(host, files, pfn);

    for (unsigned order = 1; flags & FLAG(COMPOUND_TAIL) && order <= FOLIO_ORDER_MAX; order++) {
        uint64_t aligned = pfn >> order << order;

        if (aligned == head)
            continue;
        head = aligned;
        flags = flags_read(host, files, head);
    }
    *headp = head;
    return flags & FLAG(COMPOUND_TAIL) || (head != pfn && !(flags & FLAG(COMPOUND_HEAD))) ? 0
                                                                                          : flags;
}

static void frame_judge(const struct host *host, struct page_files *files, struct page_frame *frame)
{
    uint64_t flags;

    if (!frame->pfn || files->without_flags)
        return;
    flags = head_find(host, files, frame->pfn, &frame->head);
    if (files->without_flags)
        frame->head = frame->pfn;
    else if (!(flags & FLAG(LRU)))
        frame->pfn = frame->head = 0;
}

int page_frames_read(const struct host *host, pid_t pid, struct page_files *files,
                     struct page_frame *frames, size_t n)
{
    char path[64];
    int r;

    snprintf(path, sizeof path, "proc/%d/pagemap", pid);
    for (size_t i = 0; i < n; i++) {
        frames[i] = (struct page_frame){.addr = frames[i].addr};
        r = pagemap_read(host, path, files, &frames[i]);
        if (r)
            return r;
        frame_judge(host, files, &frames[i]);
    }
    return 0;
}
