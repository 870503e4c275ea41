#include "fake_perf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "util/array.h"

static struct fake_perf_event *event_of(struct fake_perf *fake, int fd)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i].open && fake->events[i].fd == fd)
            return &fake->events[i];
    return NULL;
}

static struct fake_perf_dir *dir_named(struct fake_perf *fake, const char *path)
{
    for (size_t i = 0; i < fake->n_dirs; i++)
        if (!strcmp(fake->dirs[i].path, path))
            return &fake->dirs[i];
    return NULL;
}

static bool thread_exists(const struct fake_perf *fake, pid_t tid)
{
    for (size_t i = 0; i < fake->n_processes; i++)
        for (size_t j = 0; j < fake->processes[i].n; j++)
            if (fake->processes[i].tids[j] == tid)
                return true;
    return tid == 0;
}

/* In the order in which the kernel looks. Return: 0 or a negative errno. */
static int refusal(struct fake_perf *fake, pid_t pid, int cpu, bool cgroup)
{
    if (fake->refuse_open)
        return -fake->refuse_open;
    if (cpu >= 0 && (cpu >= FAKE_PERF_CPUS || fake->offline[cpu]))
        return cpu >= FAKE_PERF_CPUS ? -EINVAL : -ENODEV;
    if (cgroup && fake->refuse_cgroup)
        return -fake->refuse_cgroup;
    if (!cgroup && pid >= 0 && pid == fake->refuse_tid)
        return pid ? -EACCES : 0;
    if (!cgroup && pid >= 0 && !thread_exists(fake, pid))
        return -ESRCH;
    return fake->files_max && fake->n_files >= fake->files_max ? -EMFILE : 0;
}

static const char *dir_of_fd(struct fake_perf *fake, int fd)
{
    for (size_t i = 0; i < fake->n_dirs; i++)
        if (fake->dirs[i].fd == fd)
            return fake->dirs[i].path;
    fail_msg("fd %d is no directory", fd);
    return NULL;
}

static int fake_open(void *self, const struct perf_event_attr *attr, pid_t pid, int cpu,
                     int group_fd, unsigned long flags)
{
    struct fake_perf *fake = self;
    bool cgroup = flags & PERF_FLAG_PID_CGROUP;
    int r = refusal(fake, pid, cpu, cgroup);

    fake->n_opens++;
    assert_int_equal(attr->size, sizeof *attr);
    assert_true(attr->sample_type & PERF_SAMPLE_IDENTIFIER);
    assert_true(!cgroup || cpu >= 0);
    if (group_fd >= 0)
        assert_int_equal(event_of(fake, group_fd)->cpu, cpu);
    if (r < 0)
        return r;
    assert_true(fake->n_events < FAKE_PERF_EVENTS);
    fake->n_files++;
    fake->events[fake->n_events] = (struct fake_perf_event){
        .open = true,
        .fd = ++fake->next_fd,
        .attr = *attr,
        .tid = cgroup ? 0 : pid,
        .cpu = cpu,
        .group_fd = group_fd,
        .cgroup = cgroup ? dir_of_fd(fake, pid) : NULL,
        .id = 100 + fake->n_events,
        .period = attr->sample_period,
        .output_fd = -1,
    };
    fake->n_events++;
    return fake->next_fd;
}

static void fake_close(void *self, int fd)
{
    struct fake_perf *fake = self;
    struct fake_perf_event *event = event_of(fake, fd);

    fake->n_files--;
    if (event) {
        event->open = false;
        return;
    }
    for (size_t i = 0; i < fake->n_dirs; i++) {
        if (fake->dirs[i].fd == fd) {
            fake->dirs[i].fd = -1;
            return;
        }
    }
    fail_msg("fd %d is not open", fd);
}

static int fake_id(void *self, int fd, uint64_t *idp)
{
    struct fake_perf *fake = self;

    *idp = event_of(fake, fd)->id;
    return -fake->refuse_id;
}

/* As the kernel: the same CPU, the same clock, and a ring that is mapped. */
static int fake_set_output(void *self, int fd, int ring_fd)
{
    struct fake_perf_event *event = event_of(self, fd), *ring = event_of(self, ring_fd);

    if (!ring || !ring->map || ring->cpu != event->cpu ||
        ring->attr.use_clockid != event->attr.use_clockid ||
        ring->attr.clockid != event->attr.clockid || (ring->cpu == -1 && ring->tid != event->tid))
        return -EINVAL;
    event->output_fd = ring_fd;
    return 0;
}

static int fake_set_period(void *self, int fd, uint64_t value)
{
    struct fake_perf *fake = self;

    fake->n_periods++;
    if (!fake->refuse_period)
        event_of(fake, fd)->period = value;
    return -fake->refuse_period;
}

static bool event_is_owner(const struct fake_perf_event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_DUMMY &&
           event->attr.sample_period == 0;
}

/* A ring's owner counts for nobody: it is enabled all the time while its CPU has it. */
static int fake_read(void *self, int fd, struct perf_kernel_count *count)
{
    struct fake_perf *fake = self;
    struct fake_perf_event *event = event_of(fake, fd);

    if (!event_is_owner(event))
        fake->n_reads++;
    else if (!event->detached)
        event->enabled_nsec = fake->now;
    assert_int_equal(event->attr.read_format, PERF_KERNEL_READ_FORMAT);
    *count = (struct perf_kernel_count){event->value, event->enabled_nsec, event->running_nsec};
    return 0;
}

static int fake_map(void *self, int fd, size_t bytes, void **mapp)
{
    struct fake_perf *fake = self;
    struct fake_perf_event *event = event_of(fake, fd);
    size_t pages = bytes / (size_t)sysconf(_SC_PAGESIZE) - 1;

    assert_true(pages > 0 && (pages & (pages - 1)) == 0);
    if (fake->refuse_map)
        return -fake->refuse_map;
    event->map = calloc(1, bytes);
    event->map_bytes = bytes;
    *mapp = event->map;
    return 0;
}

static void fake_unmap(void *self, void *map, size_t bytes)
{
    struct fake_perf *fake = self;

    for (size_t i = 0; i < fake->n_events; i++) {
        if (fake->events[i].map == map) {
            assert_int_equal(fake->events[i].map_bytes, bytes);
            fake->events[i].map = NULL;
        }
    }
    free(map);
}

static int fake_watch(void *self, int epoll_fd, int fd)
{
    assert_true(epoll_fd >= 0);
    event_of(self, fd)->watched = true;
    return 0;
}

static bool fake_has_ended(void *self, int fd)
{
    return event_of(self, fd)->ended;
}

static int fake_open_dir(void *self, const char *path)
{
    struct fake_perf *fake = self;
    struct fake_perf_dir *dir = dir_named(fake, path);

    if (!dir || !dir->id)
        return -ENOENT;
    assert_int_equal(dir->fd, -1);
    if (fake->files_max && fake->n_files >= fake->files_max)
        return -EMFILE;
    fake->n_files++;
    return dir->fd = ++fake->next_fd;
}

static int fake_dir_id(void *self, const char *path, uint64_t *idp)
{
    const struct fake_perf_dir *dir = dir_named(self, path);

    if (!dir || !dir->id)
        return -ENOENT;
    *idp = dir->id;
    return 0;
}

static size_t fake_count_processes(void *self, const char *path, size_t limit)
{
    struct fake_perf *fake = self;
    const struct fake_perf_dir *dir = dir_named(fake, path);
    size_t n = dir ? dir->n_processes : 0;

    fake->n_counts++;
    return n < limit ? n : limit;
}

static int fake_list_threads(void *self, pid_t pid, struct perf_kernel_tids *tids)
{
    struct fake_perf *fake = self;

    fake->n_lists++;
    if (fake->refuse_list)
        return -fake->refuse_list;
    for (size_t i = 0; i < fake->n_processes; i++) {
        const struct fake_perf_process *process = &fake->processes[i];

        if (process->pid != pid)
            continue;
        if (ARRAY_RESERVE(tids->items, tids->cap, process->n) < 0)
            return -ENOMEM;
        for (size_t j = 0; j < process->n; j++)
            tids->items[tids->n++] = process->tids[j];
        return 0;
    }
    return -ENOENT;
}

static bool fake_may_run(void *self, pid_t tid, const bool *cpu_skip, int n_cpu_ids)
{
    const struct fake_perf *fake = self;

    (void)cpu_skip, (void)n_cpu_ids;
    return tid != fake->isolated_tid;
}

void fake_perf_init(struct fake_perf *fake)
{
    static const struct perf_kernel_ops ops = {
        .open = fake_open,
        .close = fake_close,
        .id = fake_id,
        .set_output = fake_set_output,
        .set_period = fake_set_period,
        .read = fake_read,
        .map = fake_map,
        .unmap = fake_unmap,
        .watch = fake_watch,
        .has_ended = fake_has_ended,
        .open_dir = fake_open_dir,
        .dir_id = fake_dir_id,
        .count_processes = fake_count_processes,
        .list_threads = fake_list_threads,
        .may_run = fake_may_run,
    };

    memset(fake, 0, sizeof *fake);
    fake->kernel = (struct perf_kernel){.ops = &ops, .self = fake};
    fake->next_fd = 10;
}

void fake_perf_deinit(struct fake_perf *fake)
{
    assert_int_equal(fake->n_files, 0);
    for (size_t i = 0; i < fake->n_events; i++) {
        assert_false(fake->events[i].open);
        assert_null(fake->events[i].map);
    }
}

void fake_perf_dir(struct fake_perf *fake, const char *path, uint64_t id, size_t n_processes)
{
    struct fake_perf_dir *dir = dir_named(fake, path);

    if (!dir) {
        dir = &fake->dirs[fake->n_dirs++];
        dir->fd = -1;
        strncpy(dir->path, path, sizeof dir->path - 1);
    }
    dir->id = id;
    dir->n_processes = n_processes;
}

void fake_perf_process(struct fake_perf *fake, pid_t pid, const pid_t *tids, size_t n)
{
    struct fake_perf_process *process = NULL;

    for (size_t i = 0; i < fake->n_processes; i++)
        if (fake->processes[i].pid == pid)
            process = &fake->processes[i];
    if (!process)
        process = &fake->processes[fake->n_processes++];
    process->pid = pid;
    process->n = n;
    for (size_t i = 0; i < n; i++)
        process->tids[i] = tids[i];
}

static bool event_is(const struct fake_perf_event *event, const char *cgroup, pid_t tid, int cpu)
{
    return event->open && !event_is_owner(event) &&
           (!cgroup || (event->cgroup && !strcmp(cgroup, event->cgroup))) &&
           (!tid || event->tid == tid) && (cpu == -2 || event->cpu == cpu);
}

size_t fake_perf_count(const struct fake_perf *fake, const char *cgroup, pid_t tid, int cpu)
{
    size_t n = 0;

    for (size_t i = 0; i < fake->n_events; i++)
        n += event_is(&fake->events[i], cgroup, tid, cpu);
    return n;
}

struct fake_perf_event *fake_perf_find(struct fake_perf *fake, const char *cgroup, pid_t tid,
                                       int cpu)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (event_is(&fake->events[i], cgroup, tid, cpu))
            return &fake->events[i];
    return NULL;
}

void fake_perf_bounce(struct fake_perf *fake, int cpu)
{
    for (size_t i = 0; i < fake->n_events; i++)
        if (fake->events[i].cpu == cpu && !fake->events[i].detached) {
            fake->events[i].detached = true;
            fake->events[i].enabled_nsec = fake->now;
        }
}

void fake_perf_write(struct fake_perf *fake, const struct fake_perf_event *event,
                     const void *record, size_t size)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const struct fake_perf_event *ring = event;
    struct perf_event_mmap_page *page;
    uint8_t *data;

    for (size_t i = 0; event->output_fd >= 0 && i < fake->n_events; i++)
        if (fake->events[i].fd == event->output_fd)
            ring = &fake->events[i];
    assert_non_null(ring->map);
    page = ring->map;
    data = (uint8_t *)ring->map + page_bytes;
    for (size_t i = 0; i < size; i++)
        data[(page->data_head + i) % (ring->map_bytes - page_bytes)] = ((const uint8_t *)record)[i];
    page->data_head += size;
}
