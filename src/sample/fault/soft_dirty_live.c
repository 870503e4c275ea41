/*
 * The pages of the self-test on the live machine: a mapping of base pages with a guard page on
 * either side, so that no mapping that is made meanwhile merges with it (a merged mapping reads as
 * written as a whole).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/fault/soft_dirty.h"
#include "util/cleanup.h"
#include "util/error.h"
#include "util/nsec.h"

#define TEST_PAGES ((size_t)64)
#define PAGEMAP_SOFT_DIRTY (UINT64_C(1) << 55)

struct live_pages {
    int pagemap; /* -1: not open yet */
    uint8_t *map;
    size_t map_bytes, page_bytes;
};

static volatile uint8_t *live_page(const struct live_pages *live, size_t page)
{
    return live->map + (page + 1) * live->page_bytes;
}

static int live_clear(void *self)
{
    CLEANUP(fd_closep) int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    (void)self;
    if (fd < 0 || write(fd, "4", 1) < 0)
        return error_errno();
    return 0;
}

static void live_write(void *self, size_t page)
{
    volatile uint8_t *at = live_page(self, page);

    *at = (uint8_t)(*at + 1);
}

static int live_read(void *self, size_t page, bool *is_dirtyp)
{
    struct live_pages *live = self;
    uintptr_t at = (uintptr_t)live_page(live, page);
    uint64_t entry;
    ssize_t got;

    /* Once for 3,000 reads: doctor makes this test in the daemon's loop. */
    if (live->pagemap < 0)
        live->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (live->pagemap < 0)
        return error_errno();
    got = pread(live->pagemap, &entry, sizeof entry, (off_t)(at / live->page_bytes * sizeof entry));
    if (got != sizeof entry)
        return got < 0 ? error_errno() : -EIO;
    *is_dirtyp = entry & PAGEMAP_SOFT_DIRTY;
    return 0;
}

static uint64_t live_cpu_nsec(void *self)
{
    (void)self;
    return nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void live_pages_deinit(struct live_pages *live)
{
    if (live->map)
        munmap(live->map, live->map_bytes);
    live->map = NULL;
    live->pagemap = fd_close(live->pagemap);
}

static int live_pages_init(struct live_pages *live)
{
    void *map;

    live->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    live->map_bytes = (TEST_PAGES + 2) * live->page_bytes;
    map = mmap(NULL, live->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return error_errno();
    live->map = map;
    if (mprotect((void *)(uintptr_t)live_page(live, 0), TEST_PAGES * live->page_bytes,
                 PROT_READ | PROT_WRITE) < 0)
        return error_errno();
    /* Refused where the kernel has no huge pages, which is as good. */
    (void)madvise(live->map, live->map_bytes, MADV_NOHUGEPAGE);
    return 0;
}

int soft_dirty_test_live(double *fault_secp, struct source_reason *reason)
{
    static const struct soft_dirty_ops ops = {
        .clear = live_clear,
        .write = live_write,
        .read = live_read,
        .cpu_nsec = live_cpu_nsec,
    };
    CLEANUP(live_pages_deinit) struct live_pages live = {.pagemap = -1};
    const struct soft_dirty_pages pages = {.ops = &ops, .self = &live, .n_pages = TEST_PAGES};
    int r = live_pages_init(&live);

    return r ? r : soft_dirty_test(&pages, fault_secp, reason);
}
