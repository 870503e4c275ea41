#pragma once
/*
 * Perf kernel: the calls by which the scope opens, reads and closes events, and looks at threads
 * and cgroup directories of the live machine. Tests put a fake kernel behind it.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As read(2) gives it with PERF_KERNEL_READ_FORMAT. */
struct perf_kernel_count {
    uint64_t value;
    uint64_t enabled_nsec; /* since it was opened */
    uint64_t running_nsec; /* of these, on the PMU; of a clock event: the time that it counted */
};
#define PERF_KERNEL_READ_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct perf_kernel_tids {
    pid_t *items;
    size_t n, cap;
};

/*
 * Files that events leave to all else that opens some: listing processes takes two at a time, each
 * target two for good, a request to a worker up to three, a control call two.
 */
#define PERF_KERNEL_FILES_KEPT 16

/* All return 0 (open and open_dir: an fd) or a negative errno, unless said otherwise. */
struct perf_kernel_ops {
    /* perf_event_open(2); PERF_FLAG_FD_CLOEXEC is added. -EMFILE also when fewer than
       PERF_KERNEL_FILES_KEPT files would stay free. */
    int (*open)(void *self, const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                unsigned long flags);
    void (*close)(void *self, int fd);
    int (*id)(void *self, int fd, uint64_t *idp);
    int (*set_output)(void *self, int fd, int ring_fd);
    int (*set_period)(void *self, int fd, uint64_t value); /* ns or Hz, as the attr says */
    int (*read)(void *self, int fd, struct perf_kernel_count *count);
    int (*map)(void *self, int fd, size_t bytes, void **mapp);
    void (*unmap)(void *self, void *map, size_t bytes);
    int (*watch)(void *self, int epoll_fd, int fd);
    /* Has the task that the event is of ended, or left it behind (exec)? It stays silent then. */
    bool (*has_ended)(void *self, int fd);

    int (*open_dir)(void *self, const char *path);
    /* What tells a directory from a later one of the same name. */
    int (*dir_id)(void *self, const char *path, uint64_t *idp);
    /* Processes in the cgroup directory and below; stops looking at `limit`. 0: not known. */
    size_t (*count_processes)(void *self, const char *path, size_t limit);
    /* Appends the threads of a process. */
    int (*list_threads)(void *self, pid_t pid, struct perf_kernel_tids *tids);
    /* May the thread run on a CPU that is not skipped? True where the kernel does not tell. */
    bool (*may_run)(void *self, pid_t tid, const bool *cpu_skip, int n_cpu_ids);
};

struct perf_kernel {
    const struct perf_kernel_ops *ops;
    void *self;
};

struct perf_kernel perf_kernel_live(void);
