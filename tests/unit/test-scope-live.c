/*
 * The scope on the live kernel with real cpu-clock events: a child in a cgroup of its own, in
 * threads, and in the whole system, beside one that is nobody's target. Skipped, with the reason,
 * where the kernel refuses events or cgroups.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "numabd/host.h"
#include "sample/scope/cgroup_mounts.h"
#include "sample/scope/perf_scope.h"
#include "sample/scope/scope_cpus.h"
#include "util/cleanup.h"
#include "util/nsec.h"
#include "util/procfs.h"

#define RATE_HZ 1000
#define SAMPLES_ENOUGH 200
#define PATIENCE_SEC 120 /* a hang, not a deadline */

struct live {
    struct host host;
    struct source_options options;
    struct perf_scope *scope;
    int epoll_fd;
    pid_t target, stranger;
    char cgroup[64]; /* below the mount; empty: none was made */
    struct cgroup_mounts mounts;
    size_t n_target, n_stranger;
    uint64_t period; /* of the last sample of the target */
};

static void burn(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned long i = 0;; i++)
        ;
}

static pid_t start_burning(void)
{
    pid_t pid = fork();

    assert_return_code(pid, 0);
    if (pid == 0)
        burn();
    return pid;
}

static void stop_burning(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void make_path(const struct live *live, char *path, size_t size, const char *file)
{
    snprintf(path, size, "%s%s%s", cgroup_mounts_perf(&live->mounts), live->cgroup, file);
}

/* Return: false where no cgroup with perf can be made; the child is in it otherwise. */
static bool join_cgroup(struct live *live)
{
    CLEANUP(freep) char *text = NULL;
    char path[512];
    size_t size;
    FILE *procs;
    bool ok;

    if (procfs_read("/", "proc/mounts", &text, &size))
        return false;
    cgroup_mounts_parse(&live->mounts, text);
    if (!cgroup_mounts_perf(&live->mounts)[0])
        return false;
    snprintf(live->cgroup, sizeof live->cgroup, "/numabd-test-%d", (int)getpid());
    make_path(live, path, sizeof path, "");
    if (mkdir(path, 0755) < 0) {
        live->cgroup[0] = '\0';
        return false;
    }
    make_path(live, path, sizeof path, "/cgroup.procs");
    procs = fopen(path, "we");
    ok = procs && fprintf(procs, "%d\n", (int)live->target) > 0;
    return procs && fclose(procs) == 0 && ok;
}

static void leave_cgroup(struct live *live)
{
    char path[512];

    make_path(live, path, sizeof path, "");
    for (int i = 0; live->cgroup[0] && rmdir(path) < 0 && i < 1000; i++)
        usleep(1000); /* EBUSY until its last process is reaped */
}

static void live_close(struct live *live)
{
    live->scope = perf_scope_free(live->scope);
    stop_burning(live->target);
    stop_burning(live->stranger);
    leave_cgroup(live);
    close(live->epoll_fd);
}

static void live_open(struct live *live, enum sample_scope scope)
{
    const struct perf_scope_event event = {
        .attr = {
            .type = PERF_TYPE_SOFTWARE,
            .config = PERF_COUNT_SW_CPU_CLOCK,
            .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID,
            .exclude_kernel = 1,
            .use_clockid = 1,
            .clockid = CLOCK_MONOTONIC,
        }};
    const struct perf_scope_options options = {
        .source = &live->options, .events = &event, .n_events = 1, .record_bytes = 24};
    struct source_reason reason;

    *live = (struct live){.host = host_live(), .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    live->options = (struct source_options){
        .rate_hz = RATE_HZ,
        .scope = scope,
        .n_cpu_ids = (int)sysconf(_SC_NPROCESSORS_CONF),
        .epoll_fd = live->epoll_fd,
        .host = &live->host,
    };
    if (perf_scope_new(&live->scope, &options, &reason) == SOURCE_UNAVAILABLE) {
        close(live->epoll_fd);
        print_message("skipped: %s\n", reason.text);
        skip();
    }
    live->target = start_burning();
    live->stranger = start_burning();
}

static void live_round(struct live *live, unsigned rate_hz)
{
    const struct sample_target target = {
        .pid = live->target,
        .n_threads = 1,
        .rate_hz = rate_hz,
        .cgroup = live->cgroup[0] ? live->cgroup : NULL,
    };
    const struct sample_round round = {.now = nsec_now(), .targets = &target, .n_targets = 1};
    struct source_reason reason;
    char text[128];

    assert_int_equal(perf_scope_round(live->scope, &round, &reason), 0);
    perf_scope_describe(live->scope, text, sizeof text);
    print_message("%s\n", text);
}

static void on_sample(void *userdata, size_t event, uint64_t period,
                      const struct perf_event_header *record)
{
    struct live *live = userdata;
    pid_t pid = (pid_t)((const uint32_t *)(record + 1))[2];

    assert_int_equal(event, 0);
    live->n_target += pid == live->target;
    live->n_stranger += pid == live->stranger;
    if (pid == live->target)
        live->period = period;
}

/* Reads when the kernel asks for it, and now and then. */
static void live_sample(struct live *live, size_t n_target, size_t n_stranger)
{
    time_t begin = time(NULL);
    struct epoll_event event;

    while (live->n_target < n_target || live->n_stranger < n_stranger) {
        assert_true(time(NULL) - begin < PATIENCE_SEC);
        (void)epoll_wait(live->epoll_fd, &event, 1, 50);
        perf_scope_read(live->scope, on_sample, live);
    }
}

static void check_counts(struct live *live)
{
    const struct perf_scope_counts *counts = perf_scope_counts(live->scope);

    print_message("%zu samples of the target, %zu of the other, %llu interrupts, %llu lost\n",
                  live->n_target, live->n_stranger, (unsigned long long)counts->n_interrupts,
                  (unsigned long long)counts->n_lost);
    assert_int_equal(counts->n_unknown + counts->n_corrupt + counts->n_open_failures, 0);
}

static void test_cgroup(void **state)
{
    struct live live;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_AUTO);
    if (!join_cgroup(&live)) {
        live_close(&live);
        print_message("skipped: no cgroup with perf_event can be made here\n");
        skip();
    }
    live_round(&live, RATE_HZ);
    assert_int_equal(perf_scope_counts(live.scope)->n_cgroups, 1);
    live_sample(&live, SAMPLES_ENOUGH, 0);
    assert_int_equal(live.n_stranger, 0);
    assert_int_equal(live.period, NSEC_PER_SEC / RATE_HZ);
    live_round(&live, RATE_HZ / 2); /* looks at the events' time */
    check_counts(&live);
    /* fewer samples than interrupts: those in the kernel are dropped */
    assert_true(perf_scope_counts(live.scope)->n_interrupts > SAMPLES_ENOUGH / 2);
    live_close(&live);
}

static void test_threads(void **state)
{
    struct live live;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_THREAD);
    live_round(&live, RATE_HZ);
    assert_int_equal(perf_scope_counts(live.scope)->n_threads, 1);
    live_sample(&live, SAMPLES_ENOUGH, 0);
    assert_int_equal(live.n_stranger, 0);
    check_counts(&live);
    live_close(&live);
}

static void test_whole_system(void **state)
{
    struct live live;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_SYSTEM);
    live_round(&live, RATE_HZ);
    assert_true(perf_scope_counts(live.scope)->whole_system);
    live_sample(&live, SAMPLES_ENOUGH, SAMPLES_ENOUGH);
    check_counts(&live);
    live_close(&live);
}

/* Opens events until that is refused. Return: how many; *errorp is why. */
static int open_all(int *fds, int n_max, int *errorp)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .exclude_kernel = 1,
    };
    const struct perf_kernel kernel = perf_kernel_live();
    int n = 0;

    for (*errorp = 0; n < n_max; n++) {
        fds[n] = kernel.ops->open(kernel.self, &attr, 0, -1, -1, 0);
        if (fds[n] < 0) {
            *errorp = -fds[n];
            break;
        }
    }
    return n;
}

/*
 * Named after the bug: the events of a second cgroup took the last files but one, and numabd could
 * neither list processes nor answer until its limit was raised.
 */
static void test_events_leave_files_to_others(void **state)
{
    struct rlimit before, few;
    int fds[64], others[PERF_KERNEL_FILES_KEPT], n, error;
    int lowest = dup(0);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)lowest + 40;
    close(lowest);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    n = open_all(fds, 64, &error);
    for (size_t i = 0; error == EMFILE && i < PERF_KERNEL_FILES_KEPT; i++)
        others[i] = dup(0);
    setrlimit(RLIMIT_NOFILE, &before);
    for (int i = 0; i < n; i++)
        close(fds[i]);
    if (error != EMFILE) {
        print_message("skipped: perf_event_open: %s\n", strerror(error));
        skip();
    }
    print_message("%d events\n", n);
    assert_true(n > 0);
    for (size_t i = 0; i < PERF_KERNEL_FILES_KEPT; i++) {
        assert_true(others[i] >= 0);
        close(others[i]);
    }
}

/* By it a CPU that was offline for a moment is told from one that never was. */
static void test_time_of_a_ring_owner_goes_on(void **state)
{
    const struct source_options *options;
    struct scope_events events = {.kernel = perf_kernel_live(), .epoll_fd = -1};
    struct scope_cpus cpus = {0};
    struct live live;
    int cpu = 0;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_SYSTEM);
    options = &live.options;
    assert_int_equal(scope_cpus_init(&cpus, NULL, options->n_cpu_ids), 0);
    assert_int_equal(scope_cpus_see(&cpus, NULL), 0);
    cpus.ring_bytes = (size_t)sysconf(_SC_PAGESIZE);
    while (scope_cpus_ring(&cpus, &events, cpu)) /* it is offline */
        assert_true(++cpu < options->n_cpu_ids);
    for (int i = 0; i < 2; i++) {
        assert_false(scope_cpus_has_died(&cpus, &events, cpu, nsec_now()));
        usleep(1200 * 1000);
    }
    assert_false(scope_cpus_has_died(&cpus, &events, cpu, nsec_now()));
    /* Had it stood still since, in a longer time, it would be told. */
    assert_true(scope_cpus_has_died(&cpus, &events, cpu, nsec_now() + 100 * NSEC_PER_SEC));
    scope_cpus_deinit(&cpus, &events);
    scope_events_deinit(&events);
    live_close(&live);
}

/* Named after the bug that it would be: an event whose thread has ended is readable for ever. */
static void test_ended_thread_does_not_keep_epoll_busy(void **state)
{
    struct epoll_event event;
    unsigned n_wakeups = 0;
    siginfo_t info;
    struct live live;

    (void)state;
    live_open(&live, SAMPLE_SCOPE_THREAD);
    live_round(&live, RATE_HZ);
    kill(live.target, SIGKILL);
    waitid(P_PID, (id_t)live.target, &info, WNOWAIT | WEXITED); /* stays a zombie */
    for (int i = 0; i < 100; i++)
        n_wakeups += epoll_wait(live.epoll_fd, &event, 1, 1) > 0;
    print_message("%u wake-ups in 100 waits\n", n_wakeups);
    assert_in_range(n_wakeups, 0, 3);
    live_round(&live, RATE_HZ); /* the zombie is still listed */
    live_close(&live);
}

static void *exec_burner(void *unused)
{
    (void)unused;
    execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
    _exit(1);
}

static void wait_and_exec(int go_fd)
{
    pthread_t thread;
    char byte;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go_fd, &byte, 1) == 1)
        pthread_create(&thread, NULL, exec_burner, NULL);
    for (;;)
        pause();
}

static bool is_named(pid_t pid, const char *name)
{
    CLEANUP(freep) char *text = NULL;
    char path[64];
    size_t size;

    snprintf(path, sizeof path, "proc/%d/comm", (int)pid);
    return !procfs_read("/", path, &text, &size) && !strncmp(text, name, strlen(name));
}

/*
 * Named after the bug: the thread that calls exec takes the pid over, with the start of the one
 * that had it. The event of that one is dead, and nothing is sampled ever after.
 */
static void test_exec_by_another_thread_does_not_end_sampling(void **state)
{
    struct live live;
    int go[2];

    (void)state;
    live_open(&live, SAMPLE_SCOPE_THREAD);
    stop_burning(live.target);
    assert_return_code(pipe(go), 0);
    live.target = fork();
    if (live.target == 0)
        wait_and_exec(go[0]);
    live_round(&live, RATE_HZ);
    assert_int_equal(write(go[1], "x", 1), 1);
    while (!is_named(live.target, "sh\n"))
        usleep(1000);
    live_round(&live, RATE_HZ);
    live_sample(&live, SAMPLES_ENOUGH, 0);
    check_counts(&live);
    live_close(&live);
    close(go[0]);
    close(go[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_whole_system),
        cmocka_unit_test(test_events_leave_files_to_others),
        cmocka_unit_test(test_time_of_a_ring_owner_goes_on),
        cmocka_unit_test(test_ended_thread_does_not_keep_epoll_busy),
        cmocka_unit_test(test_exec_by_another_thread_does_not_end_sampling),
    };

    return cmocka_run_group_tests_name("perf scope, live", tests, NULL, NULL);
}
