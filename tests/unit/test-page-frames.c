/*
 * Page frames of this process from the kernel itself, and files by position below a root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/idle/page_frames.h"
#include "util/cleanup.h"

#define PAGES 128
#define HUGE ((size_t)2 << 20)

static void *map(size_t size)
{
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(start != MAP_FAILED);
    return start;
}

static void list(struct page_frames *frames, const void *start, size_t n, size_t page_bytes)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(page_frames_add(frames, &(struct page_frame){.addr = (uintptr_t)start +
                                                                              i * page_bytes}),
                         0);
}

/* Skipping jumps over cleanup attributes. */
static void skip_test(struct page_frames *frames, const char *why)
{
    print_message("skipped: %s\n", why);
    page_frames_deinit(frames);
    skip();
}

static void look_up(struct page_frames *frames)
{
    struct page_files files = PAGE_FILES_NULL;
    bool told;
    struct host host = host_live();
    int r;

    r = page_frames_read(&host, getpid(), &files, frames->items, frames->n);
    told = r == 0 && !files.without_flags;
    page_files_deinit(&files);
    if (!told)
        skip_test(frames, "page frames are shown to CAP_SYS_ADMIN only");
}

/* New pages may still wait for the LRU: up to 31 for each CPU that the test ran on. */
static void test_own_pages(void **state)
{
    CLEANUP(page_frames_deinit) struct page_frames frames = {0};
    struct host host = host_live();
    char *start = map(2 * PAGES * host.page_bytes);
    size_t n_found = 0;

    (void)state;
    madvise(start, 2 * PAGES * host.page_bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        start[i * host.page_bytes] = 1;
    list(&frames, start, 2 * PAGES, host.page_bytes);
    look_up(&frames);
    for (size_t i = 0; i < PAGES; i++) {
        n_found += frames.items[i].pfn != 0;
        assert_int_equal(frames.items[i].head, frames.items[i].pfn);
        for (size_t j = 0; j < i; j++)
            assert_true(!frames.items[i].pfn || frames.items[i].pfn != frames.items[j].pfn);
    }
    assert_in_range(n_found, 1, PAGES);
    for (size_t i = PAGES; i < 2 * PAGES; i++) /* never touched */
        assert_int_equal(frames.items[i].pfn, 0);
    munmap(start, 2 * PAGES * host.page_bytes);
}

/* The zero page is everybody's: it is on no LRU list. */
static void test_zero_page(void **state)
{
    CLEANUP(page_frames_deinit) struct page_frames frames = {0};
    struct host host = host_live();
    volatile char *start = map(host.page_bytes);

    (void)state;
    madvise((void *)start, host.page_bytes, MADV_NOHUGEPAGE);
    (void)start[0];
    list(&frames, (void *)start, 1, host.page_bytes);
    look_up(&frames);
    assert_int_equal(frames.items[0].pfn, 0);
    munmap((void *)start, host.page_bytes);
}

static void test_huge_page(void **state)
{
    CLEANUP(page_frames_deinit) struct page_frames frames = {0};
    struct host host = host_live();
    char *memory = map(16 * HUGE), *start = memory + (HUGE - (uintptr_t)memory % HUGE);
    size_t n = HUGE / host.page_bytes, n_on_lru = 0;

    (void)state;
    madvise(start, 15 * HUGE, MADV_HUGEPAGE);
    for (size_t i = 0; i < 15; i++)
        start[i * HUGE] = 1;
    list(&frames, start, 15 * n, host.page_bytes);
    look_up(&frames);
    for (size_t i = 0; i < frames.n; i++) {
        const struct page_frame *frame = &frames.items[i], *first = &frames.items[i - i % n];

        if (!frame->pfn || !first->pfn || frame->pfn == frame->head)
            continue;
        assert_int_equal(frame->head, first->head);
        assert_int_equal(frame->pfn, first->pfn + i % n);
        n_on_lru++;
    }
    munmap(memory, 16 * HUGE);
    if (n_on_lru == 0)
        skip_test(&frames, "the kernel gives no huge pages");
}

static void test_process_that_does_not_exist(void **state)
{
    CLEANUP(page_files_deinit) struct page_files files = PAGE_FILES_NULL;
    struct page_frame frame = {.addr = 4096};
    struct host host = host_live();

    (void)state;
    assert_int_equal(page_frames_read(&host, 0x3fffffff, &files, &frame, 1), PAGE_FRAMES_GONE);
}

static void test_files_by_position(void **state)
{
    char root[] = "/tmp/numabd-host-XXXXXX", path[64], buf[8] = "";
    const struct host below = host_root(mkdtemp(root)), live = host_live();
    int read_fd = -1, write_fd = -1, none = -1;

    (void)state;
    snprintf(path, sizeof path, "%s/file", root);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(host_pwrite(&live, path, &write_fd, 3, "abc", 3), 3);
    assert_int_equal(host_pwrite(&live, path, &write_fd, 6, "d", 1), 1);
    assert_int_equal(host_pread(&below, "file", &read_fd, 4, buf, sizeof buf), 3);
    assert_memory_equal(buf, "bcd", 3);
    assert_int_equal(host_pread(&below, "file", &read_fd, 7, buf, sizeof buf), 0);
    assert_int_equal(host_pread(&below, "other", &none, 0, buf, 1), -ENOENT);
    assert_int_equal(host_pwrite(&below, "file", &none, 0, buf, 1), -EOPNOTSUPP);
    assert_int_equal(none, -1);
    close(read_fd);
    close(write_fd);
    unlink(path);
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_pages),
        cmocka_unit_test(test_zero_page),
        cmocka_unit_test(test_huge_page),
        cmocka_unit_test(test_process_that_does_not_exist),
        cmocka_unit_test(test_files_by_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
