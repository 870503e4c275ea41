/*
 * When is a page touched? A bit that reads as 0 says so only if nothing else made it 0:
 *
 *     never set (tail, not on the LRU)        it did not read back as set at arming: not trusted
 *     the page moved, was freed or swapped    its address has another frame now: unresolved
 *     the folio was split                     it has another head now: unresolved
 *     taken off the LRU since (being moved)   kpageflags says so now: unresolved
 *
 * Frames are looked up after the bits were read: an address that still has its folio then had it
 * all the time. What was idle may have been touched all the same, through a translation that a CPU
 * still held: it is no proof of anything and not reported.
 *
 * Two processes that share a page arm it twice, and the later arming hides what was touched between
 * the two: something is missed, nothing is made up.
 */
#include "sample/idle/idle_scan.h"

#include <errno.h>

#include "sample/idle/idle_batch.h"
#include "sample/idle/idle_bitmap.h"
#include "util/cleanup.h"

void idle_armed_deinit(struct idle_armed *armed)
{
    page_files_deinit(&armed->files);
    page_frames_deinit(&armed->frames);
}

void idle_scan_deinit(struct idle_scan *scan)
{
    page_frames_deinit(&scan->next);
    idle_armed_deinit(&scan->armed);
    page_frames_deinit(&scan->touched);
    *scan = IDLE_SCAN_NULL;
}

/* Adds the frames of a word whose bit is in `bits`. */
static int word_add(const struct page_frames *frames, const struct idle_word *word, uint64_t bits,
                    struct page_frames *to)
{
    int r;

    for (size_t i = word->first; i < word->first + word->n; i++) {
        if (!(idle_batch_bit(&frames->items[i]) & bits))
            continue;
        r = page_frames_add(to, &frames->items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Adds those that do not read as idle to `touched`. */
static int bits_read(const struct host *host, const struct page_frames *armed,
                     struct page_frames *touched)
{
    CLEANUP(idle_bitmap_deinit) struct idle_bitmap bitmap = IDLE_BITMAP_NULL;
    struct idle_word word;
    int r;

    for (size_t at = 0; (word = idle_batch_word(armed, at)).n > 0; at += word.n) {
        uint64_t idle = 0;

        r = idle_bitmap_read(host, &bitmap, word.word, &idle);
        if (r < 0)
            return r;
        r = word_add(armed, &word, ~idle, touched);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Keeps those of `touched` that are still in the folio that was armed for them. */
static int keep_unchanged(const struct host *host, pid_t pid, struct page_files *files,
                          struct page_frames *touched)
{
    size_t n_kept = 0;
    int r;

    for (size_t i = 0; i < touched->n; i++) {
        const struct page_frame *armed = &touched->items[i];
        struct page_frame now = {.addr = armed->addr};

        r = page_frames_read(host, pid, files, &now, 1);
        if (r < 0 || r == PAGE_FRAMES_HIDDEN)
            return r;
        if (r == 0 && now.head && now.head == armed->head)
            touched->items[n_kept++] = now;
    }
    touched->n = n_kept;
    return 0;
}

/* A condition or error of page_frames_read as one of ours. */
static int frames_condition(struct idle_scan *scan, int r)
{
    if (r < 0)
        scan->path = "proc/PID/pagemap";
    return r < 0 ? r : r == PAGE_FRAMES_HIDDEN ? IDLE_SCAN_HIDDEN : IDLE_SCAN_GONE;
}

static int bitmap_error(struct idle_scan *scan, int r)
{
    scan->path = IDLE_BITMAP_PATH;
    return r;
}

int idle_scan_check(const struct host *host, pid_t pid, struct idle_scan *scan)
{
    CLEANUP(idle_armed_deinit) struct idle_armed armed = scan->armed;
    size_t n_read;
    int r;

    scan->armed = IDLE_ARMED_NULL;
    r = bits_read(host, &armed.frames, &scan->touched);
    if (r < 0)
        return bitmap_error(scan, r);
    n_read = scan->touched.n;
    r = keep_unchanged(host, pid, &armed.files, &scan->touched);
    if (r)
        return frames_condition(scan, r);
    scan->n_checked += armed.frames.n;
    scan->n_unresolved += n_read - scan->touched.n;
    return 0;
}

/* Arms an ordered batch, word by word; those that read back as set go to `trusted`. */
static int bits_arm(const struct host *host, const struct page_frames *frames,
                    struct page_frames *trusted)
{
    CLEANUP(idle_bitmap_deinit) struct idle_bitmap bitmap = IDLE_BITMAP_NULL;
    struct idle_word word;
    int r;

    for (size_t at = 0; (word = idle_batch_word(frames, at)).n > 0; at += word.n) {
        uint64_t set = 0;

        r = idle_bitmap_arm(host, &bitmap, word.word, word.mask, &set);
        if (r < 0)
            return r;
        r = word_add(frames, &word, set, trusted);
        if (r < 0)
            return r;
    }
    return 0;
}

int idle_scan_arm(const struct host *host, pid_t pid, struct idle_scan *scan)
{
    CLEANUP(page_frames_deinit) struct page_frames next = scan->next;
    CLEANUP(idle_armed_deinit) struct idle_armed armed = IDLE_ARMED_NULL;
    int r;

    scan->next = (struct page_frames){0};
    r = page_frames_read(host, pid, &armed.files, next.items, next.n);
    if (r)
        return frames_condition(scan, r);
    scan->n_unresolved += idle_batch_order(&next);
    r = bits_arm(host, &next, &armed.frames);
    if (r < 0)
        return bitmap_error(scan, r);
    scan->n_unresolved += next.n - armed.frames.n;
    if (armed.frames.n == 0) /* do not keep files open for nothing */
        return 0;
    /* Until the check every armed process holds its pagemap; these flags are everybody's. */
    armed.files.kpageflags = fd_close(armed.files.kpageflags);
    scan->armed = armed;
    armed = IDLE_ARMED_NULL;
    return 0;
}

int idle_scan_run(const struct host *host, pid_t pid, struct idle_scan *scan)
{
    int r;

    r = idle_scan_check(host, pid, scan);
    if (r)
        return r;
    return idle_scan_arm(host, pid, scan);
}
