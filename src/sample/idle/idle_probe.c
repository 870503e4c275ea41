/*
 * Pages are touched, armed, every second one is touched again, and the bits must tell which. There
 * are enough pages that the kernel's per-CPU lists (up to 31 new pages each wait there to be put on
 * the LRU) cannot hold all of them: those that they hold cannot be armed.
 */
#include "sample/idle/idle_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/idle/idle_bitmap.h"
#include "sample/idle/idle_scan.h"
#include "util/error.h"

#define PROBE_PAGES 128

struct probe_memory {
    volatile unsigned char *start;
    size_t page_bytes;
};

static void memory_deinit(struct probe_memory *memory)
{
    if (memory->start)
        munmap((void *)memory->start, PROBE_PAGES * memory->page_bytes);
}

static void memory_touch(const struct probe_memory *memory, size_t page)
{
    memory->start[page * memory->page_bytes]++;
}

/* Small pages, so that each has a bit of its own; a kernel without huge pages refuses the advice.
 */
static int memory_init(struct probe_memory *memory, size_t page_bytes)
{
    void *start;

    start = mmap(NULL, PROBE_PAGES * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return error_errno();
    *memory = (struct probe_memory){start, page_bytes};
    (void)madvise(start, PROBE_PAGES * page_bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PROBE_PAGES; i++)
        memory_touch(memory, i);
    return 0;
}

/* A CPU that still holds a translation does not mark the page as accessed again: drop them. */
static int memory_flush(const struct probe_memory *memory)
{
    size_t bytes = PROBE_PAGES * memory->page_bytes;

    if (mprotect((void *)memory->start, bytes, PROT_READ) < 0 ||
        mprotect((void *)memory->start, bytes, PROT_READ | PROT_WRITE) < 0)
        return error_errno();
    return 0;
}

static int memory_list(const struct probe_memory *memory, struct page_frames *frames)
{
    int r = 0;

    for (size_t i = 0; i < PROBE_PAGES && r == 0; i++)
        r = page_frames_add(frames, &(struct page_frame){.addr = (uintptr_t)memory->start +
                                                                 i * memory->page_bytes});
    return r;
}

/* How many of the frames are odd and even pages of the memory. */
static void count_parity(const struct probe_memory *memory, const struct page_frames *frames,
                         size_t counts[2])
{
    counts[0] = counts[1] = 0;
    for (size_t i = 0; i < frames->n; i++)
        counts[(frames->items[i].addr - (uintptr_t)memory->start) / memory->page_bytes % 2]++;
}

static void explain_errno(int error, const char *path, struct source_reason *reason)
{
    const char *fix = "no fix is known";

    switch (error) {
    case ENOENT:
        fix = "this kernel has no idle-page tracking: use one with CONFIG_IDLE_PAGE_TRACKING";
        break;
    case EACCES:
    case EPERM:
        fix = "give CAP_SYS_ADMIN, and run as root or give CAP_DAC_OVERRIDE";
        break;
    case EROFS:
        fix = "/sys is read-only here: set ProtectKernelTunables=no in the unit";
        break;
    case EMFILE:
        fix = "raise LimitNOFILE=";
        break;
    }
    snprintf(reason->text, sizeof reason->text, "/%s: %s: %s", path, strerrordesc_np(error), fix);
}

void idle_probe_explain(int r, const char *path, struct source_reason *reason)
{
    if (r < 0)
        explain_errno(-r, path, reason);
    else if (r == IDLE_SCAN_HIDDEN)
        snprintf(reason->text, sizeof reason->text,
                 "/proc/PID/pagemap: page frames are hidden (all 0): give CAP_SYS_ADMIN");
    else
        snprintf(reason->text, sizeof reason->text,
                 "/proc/PID/pagemap of numabd itself cannot be read: use a kernel with "
                 "CONFIG_PROC_PAGE_MONITOR, with /proc of this pid namespace");
}

static int refuse(const char *what, struct source_reason *reason)
{
    snprintf(reason->text, sizeof reason->text, "/%s: self-test: %s", IDLE_BITMAP_PATH, what);
    return SOURCE_UNAVAILABLE;
}

/* Half of them must be right: some bits change by themselves (reclaim, a page lock). */
static int judge(const size_t armed[2], const size_t touched[2], struct source_reason *reason)
{
    if (armed[0] == 0 || armed[1] == 0)
        return refuse("no bit of numabd's own pages reads back as set", reason);
    if (touched[1] * 2 < armed[1])
        return refuse("pages that were touched read as idle", reason);
    if (touched[0] * 2 > armed[0])
        return refuse("pages that were not touched do not read as idle", reason);
    return 0;
}

/* Return: as idle_scan_run. */
static int try_pages(const struct host *host, const struct probe_memory *memory,
                     struct idle_scan *scan, size_t armed[2], size_t touched[2])
{
    int r;

    r = idle_scan_arm(host, getpid(), scan);
    if (r)
        return r;
    count_parity(memory, &scan->armed.frames, armed);
    r = memory_flush(memory);
    if (r < 0)
        return r;
    for (size_t i = 1; i < PROBE_PAGES; i += 2)
        memory_touch(memory, i);
    r = idle_scan_check(host, getpid(), scan);
    count_parity(memory, &scan->touched, touched);
    return r;
}

/* The bitmap first: without it nothing else is worth telling. */
static int probe_bitmap(const struct host *host, struct source_reason *reason)
{
    CLEANUP(idle_bitmap_deinit) struct idle_bitmap bitmap = IDLE_BITMAP_NULL;
    uint64_t bits = 0;
    int r;

    r = idle_bitmap_read(host, &bitmap, 0, &bits);
    if (r == 0 || r == -ENOMEM)
        return r;
    idle_probe_explain(r, IDLE_BITMAP_PATH, reason);
    return SOURCE_UNAVAILABLE;
}

int idle_probe(const struct host *host, struct source_reason *reason)
{
    CLEANUP(memory_deinit) struct probe_memory memory = {0};
    CLEANUP(idle_scan_deinit) struct idle_scan scan = IDLE_SCAN_NULL;
    size_t armed[2] = {0}, touched[2] = {0};
    int r;

    r = probe_bitmap(host, reason);
    if (r)
        return r;
    r = memory_init(&memory, host->page_bytes);
    if (r < 0)
        return r;
    r = memory_list(&memory, &scan.next);
    if (r < 0)
        return r;
    r = try_pages(host, &memory, &scan, armed, touched);
    if (r == 0)
        return judge(armed, touched, reason);
    if (r == -ENOMEM || (r < 0 && !scan.path))
        return r;
    idle_probe_explain(r, scan.path, reason);
    return SOURCE_UNAVAILABLE;
}
