/*
 * soft_dirty_user [SECONDS [MIB]]: tracks its own writes by soft-dirty bits, as garbage collectors
 * do. It keeps clear_refs and pagemap open; in each pass it clears the bits, writes to some pages
 * and collects those that read as written. A page that it wrote and that does not read as written
 * was cleared by somebody else: a collector would lose it.
 *
 * Exit status: 0 no write was missed, 1 one was, 2 wrong usage or no memory, 77 no soft-dirty bits
 * here. The last line says how many passes and writes there were.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SOFT_DIRTY (UINT64_C(1) << 55)
#define SECONDS_DEFAULT 10
#define MIB_DEFAULT 64
#define PAUSE_USEC 20000 /* between a write and the look at it: where a clear does harm */

struct tracker {
    int clear_fd, pagemap_fd;
    volatile uint8_t *memory;
    size_t n_pages, page_bytes;
    uint8_t *written; /* [n_pages] in this pass */
    uint64_t *entries;
    unsigned long n_passes, n_writes, n_missed;
};

static int tracker_open(struct tracker *tracker, size_t bytes)
{
    void *memory;

    tracker->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    tracker->n_pages = bytes / tracker->page_bytes;
    tracker->clear_fd = open("/proc/self/clear_refs", O_WRONLY);
    tracker->pagemap_fd = open("/proc/self/pagemap", O_RDONLY);
    tracker->written = calloc(tracker->n_pages, 1);
    tracker->entries = calloc(tracker->n_pages, sizeof *tracker->entries);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tracker->clear_fd < 0 || tracker->pagemap_fd < 0 || !tracker->written ||
        !tracker->entries || memory == MAP_FAILED)
        return -1;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE); /* a bit a page */
    memset(memory, 1, bytes);
    tracker->memory = memory;
    return 0;
}

static int tracker_clear(struct tracker *tracker)
{
    memset(tracker->written, 0, tracker->n_pages);
    return pwrite(tracker->clear_fd, "4", 1, 0) == 1 ? 0 : -1;
}

/* About a quarter of the pages, others in each pass. */
static void tracker_write(struct tracker *tracker, unsigned *seedp)
{
    for (size_t i = 0; i < tracker->n_pages; i++) {
        if (rand_r(seedp) % 4)
            continue;
        tracker->memory[i * tracker->page_bytes]++;
        tracker->written[i] = 1;
        tracker->n_writes++;
    }
}

static int tracker_collect(struct tracker *tracker)
{
    size_t size = tracker->n_pages * sizeof *tracker->entries;
    uintptr_t first = (uintptr_t)tracker->memory / tracker->page_bytes;
    size_t got = 0;

    while (got < size) {
        ssize_t r = pread(tracker->pagemap_fd, (uint8_t *)tracker->entries + got, size - got,
                          (off_t)(first * sizeof *tracker->entries + got));

        if (r <= 0)
            return -1;
        got += (size_t)r;
    }
    for (size_t i = 0; i < tracker->n_pages; i++)
        tracker->n_missed += tracker->written[i] && !(tracker->entries[i] & SOFT_DIRTY);
    tracker->n_passes++;
    return 0;
}

/* Both answers, before anybody is known to interfere. */
static int tracker_works(struct tracker *tracker)
{
    unsigned seed = 1;
    size_t n_clean = 0;

    if (tracker_clear(tracker))
        return 0;
    tracker_write(tracker, &seed);
    if (tracker_collect(tracker))
        return 0;
    for (size_t i = 0; i < tracker->n_pages; i++)
        n_clean += !(tracker->entries[i] & SOFT_DIRTY);
    return tracker->n_missed == 0 && n_clean > 0;
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? atol(argv[1]) : SECONDS_DEFAULT;
    long mib = argc > 2 ? atol(argv[2]) : MIB_DEFAULT;
    time_t end = time(NULL) + seconds;
    struct tracker tracker = {0};
    unsigned seed = 2;

    if (seconds <= 0 || mib <= 0 || tracker_open(&tracker, (size_t)mib << 20)) {
        fprintf(stderr, "usage: soft_dirty_user [SECONDS [MIB]]; or no memory, or no /proc\n");
        return 2;
    }
    if (!tracker_works(&tracker)) {
        printf("no soft-dirty bits here\n");
        return 77;
    }
    while (time(NULL) < end && !tracker.n_missed) {
        if (tracker_clear(&tracker))
            return 2;
        tracker_write(&tracker, &seed);
        usleep(PAUSE_USEC);
        if (tracker_collect(&tracker))
            return 2;
    }
    printf("%lu passes, %lu writes, %lu missed\n", tracker.n_passes, tracker.n_writes,
           tracker.n_missed);
    return tracker.n_missed ? 1 : 0;
}
