#include "idle_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/array.h"

#define WORD_BYTES 8

struct idle_world_page *idle_world_page(struct idle_world *world, pid_t pid, uint64_t addr)
{
    for (size_t i = 0; i < world->n_pages; i++)
        if (world->pages[i].pid == pid && world->pages[i].addr == addr)
            return &world->pages[i];
    return NULL;
}

static struct idle_world_frame *frame_at(struct idle_world *world, uint64_t pfn)
{
    assert_true(pfn < IDLE_WORLD_FRAMES);
    return &world->frames[pfn];
}

void idle_world_map(struct idle_world *world, pid_t pid, uint64_t addr, uint64_t pfn, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(world->n_pages < ARRAY_LENGTH(world->pages));
        world->pages[world->n_pages++] = (struct idle_world_page){
            .pid = pid, .addr = addr + i * IDLE_WORLD_PAGE, .pfn = pfn + i};
        *frame_at(world, pfn + i) =
            (struct idle_world_frame){.used = true, .lru = true, .young = true, .head = pfn + i};
    }
}

void idle_world_join(struct idle_world *world, uint64_t pfn, size_t n)
{
    for (size_t i = 0; i < n; i++)
        frame_at(world, pfn + i)->head = pfn;
}

void idle_world_split(struct idle_world *world, uint64_t pfn, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        frame_at(world, pfn + i)->head = pfn + i;
        frame_at(world, pfn + i)->idle = frame_at(world, pfn)->idle;
    }
}

void idle_world_touch(struct idle_world *world, pid_t pid, uint64_t addr)
{
    struct idle_world_page *page = idle_world_page(world, pid, addr);

    assert_non_null(page);
    frame_at(world, frame_at(world, page->pfn)->head)->young = true;
}

void idle_world_migrate(struct idle_world *world, pid_t pid, uint64_t addr, uint64_t pfn)
{
    struct idle_world_page *page = idle_world_page(world, pid, addr);
    struct idle_world_frame *old = frame_at(world, page->pfn);

    *frame_at(world, pfn) = *old;
    frame_at(world, pfn)->head = pfn;
    *old = (struct idle_world_frame){0};
    page->pfn = pfn;
}

static void hook(struct idle_world *world, void (**hookp)(struct idle_world *world))
{
    void (*call)(struct idle_world *) = *hookp;

    *hookp = NULL;
    if (call)
        call(world);
}

/* Takes the accessed bit of a frame away. */
static bool take_young(struct idle_world *world, struct idle_world_frame *frame)
{
    bool young = frame->young;

    if (frame->own) {
        young = *frame->own != frame->own_byte;
        frame->own_byte = *frame->own;
    }
    frame->young = false;
    return young && !world->never_young;
}

static bool is_tracked(const struct idle_world *world, uint64_t pfn)
{
    const struct idle_world_frame *frame = &world->frames[pfn];

    return frame->used && frame->lru && frame->head == pfn;
}

static uint64_t bits_read(struct idle_world *world, uint64_t first)
{
    uint64_t bits = 0;

    for (uint64_t i = 0; i < 64; i++) {
        struct idle_world_frame *frame = &world->frames[first + i];

        if (!is_tracked(world, first + i) || !frame->idle)
            continue;
        if (take_young(world, frame))
            frame->idle = false;
        else
            bits |= UINT64_C(1) << i;
        if (world->always_young)
            frame->young = true, frame->own_byte ^= 1;
    }
    return bits;
}

static void bits_write(struct idle_world *world, uint64_t first, uint64_t bits)
{
    for (uint64_t i = 0; i < 64; i++) {
        if (!(bits >> i & 1))
            continue;
        world->bits_written++;
        if (!is_tracked(world, first + i) || world->never_sets)
            continue;
        take_young(world, &world->frames[first + i]);
        world->frames[first + i].idle = true;
    }
}

static int bitmap_call(struct idle_world *world, uint64_t offset, size_t size)
{
    if (world->bitmap_error && world->bitmap_calls_good == 0)
        return world->bitmap_error;
    if (world->bitmap_calls_good > 0)
        world->bitmap_calls_good--;
    return offset % WORD_BYTES || size != WORD_BYTES ? -EINVAL : 0;
}

static uint64_t flags_of(const struct idle_world *world, uint64_t pfn)
{
    const struct idle_world_frame *frame = &world->frames[pfn];
    const struct idle_world_frame *head = &world->frames[frame->head];
    uint64_t flags = 0;

    if (!frame->used)
        return UINT64_C(1) << KPF_BUDDY;
    if (head->lru)
        flags |= UINT64_C(1) << KPF_LRU;
    if (frame->ksm)
        flags |= UINT64_C(1) << KPF_KSM;
    if (frame->head != pfn)
        flags |= UINT64_C(1) << KPF_COMPOUND_TAIL;
    else if (pfn + 1 < IDLE_WORLD_FRAMES && world->frames[pfn + 1].head == pfn)
        flags |= UINT64_C(1) << KPF_COMPOUND_HEAD;
    return flags;
}

/* As new pages do, the last ones wait on a per-CPU list for their place on the LRU. */
static uint64_t own_entry(struct idle_world *world, uint64_t addr)
{
    const uint64_t n_own = 128, n_waiting = 31;
    uint64_t pfn;

    if (!world->own_start)
        world->own_start = addr;
    pfn = IDLE_WORLD_OWN + (addr - world->own_start) / IDLE_WORLD_PAGE;
    if (!frame_at(world, pfn)->used)
        *frame_at(world, pfn) = (struct idle_world_frame){
            .used = true,
            .lru = pfn < IDLE_WORLD_OWN + n_own - n_waiting,
            .head = pfn,
            .own = (const volatile unsigned char *)(uintptr_t)addr,
        };
    return UINT64_C(1) << 63 | pfn;
}

static uint64_t pagemap_entry(struct idle_world *world, pid_t pid, uint64_t addr)
{
    const struct idle_world_page *page;

    if (pid == getpid())
        return own_entry(world, addr);
    page = idle_world_page(world, pid, addr);
    if (!page)
        return 0;
    if (page->swapped) /* type and offset of the swap entry are where the frame would be */
        return UINT64_C(1) << 62 | page->pfn << 5 | 1;
    return UINT64_C(1) << 63 | UINT64_C(1) << 55 | page->pfn;
}

/* The file holds the epoch that it was opened in. */
static int open_file(const struct idle_world *world, int *fdp)
{
    if (*fdp >= 0)
        return 0;
    *fdp = memfd_create("idle", MFD_CLOEXEC);
    assert_true(*fdp >= 0);
    assert_int_equal(pwrite(*fdp, &world->epoch, sizeof world->epoch, 0), sizeof world->epoch);
    return 0;
}

static ssize_t read_pagemap(struct idle_world *world, pid_t pid, int *fdp, uint64_t page,
                            uint64_t *value)
{
    unsigned epoch;

    world->n_lookups++;
    if (world->blocks) {
        sem_post(&world->entered);
        sem_wait(&world->leave);
    }
    hook(world, &world->before_lookup);
    if (world->gone)
        return *fdp < 0 ? -ESRCH : 0;
    if (world->pagemap_error)
        return world->pagemap_error;
    open_file(world, fdp);
    assert_int_equal(pread(*fdp, &epoch, sizeof epoch, 0), sizeof epoch);
    if (epoch != world->epoch)
        return 0;
    *value = pagemap_entry(world, pid, page * IDLE_WORLD_PAGE);
    if (world->hidden)
        *value &= ~((UINT64_C(1) << 55) - 1);
    return WORD_BYTES;
}

static ssize_t world_pread(void *self, const char *path, int *fdp, uint64_t offset, void *buf,
                           size_t size)
{
    struct idle_world *world = self;
    uint64_t value = 0;
    ssize_t got = WORD_BYTES;
    int pid, r;

    assert_int_equal(size, WORD_BYTES);
    if (sscanf(path, "proc/%d/pagemap", &pid) == 1) {
        got = read_pagemap(world, pid, fdp, offset / WORD_BYTES, &value);
    } else if (strcmp(path, "proc/kpageflags") == 0) {
        if (world->flags_error)
            return world->flags_error;
        open_file(world, fdp);
        value = flags_of(world, offset / WORD_BYTES);
    } else {
        assert_string_equal(path, "sys/kernel/mm/page_idle/bitmap");
        world->n_reads++;
        r = bitmap_call(world, offset, size);
        if (r < 0)
            return r;
        open_file(world, fdp);
        if (offset * 8 >= IDLE_WORLD_FRAMES)
            return 0;
        value = bits_read(world, offset * 8);
    }
    if (got > 0)
        memcpy(buf, &value, sizeof value);
    return got;
}

static ssize_t world_pwrite(void *self, const char *path, int *fdp, uint64_t offset,
                            const void *buf, size_t size)
{
    struct idle_world *world = self;
    uint64_t value;
    int r;

    assert_string_equal(path, "sys/kernel/mm/page_idle/bitmap");
    world->n_writes++;
    hook(world, &world->before_write);
    r = bitmap_call(world, offset, size);
    if (r < 0)
        return r;
    open_file(world, fdp);
    if (offset * 8 >= IDLE_WORLD_FRAMES)
        return -ENXIO;
    memcpy(&value, buf, sizeof value);
    bits_write(world, offset * 8, value);
    return WORD_BYTES;
}

void idle_world_init(struct idle_world *world)
{
    static const struct host_ops ops = {.pread_file = world_pread, .pwrite_file = world_pwrite};

    *world = (struct idle_world){0};
    world->host = (struct host){.ops = &ops, .self = world, .page_bytes = IDLE_WORLD_PAGE};
    sem_init(&world->entered, 0, 0);
    sem_init(&world->leave, 0, 0);
}

void idle_world_deinit(struct idle_world *world)
{
    sem_destroy(&world->entered);
    sem_destroy(&world->leave);
}
