/*
 * The recorder: the file that it makes, what goes through it, and what happens when it is full.
 * That its traces tell all that decisions need is shown by test-replay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample/trace/recorder.h"
#include "sample/trace/trace_read.h"
#include "tree.h"
#include "util/array.h"
#include "util/procfs.h"

struct bed {
    struct tree tree;
    char path[300];
    struct recorder *recorder;
};

static struct bed bed_init(void)
{
    struct bed bed = {.recorder = NULL};

    tree_init(&bed.tree);
    snprintf(bed.path, sizeof(bed.path), "%s/trace", bed.tree.root);
    assert_int_equal(recorder_new(&bed.recorder, bed.path), 0);
    return bed;
}

static void bed_deinit(struct bed *bed)
{
    recorder_free(bed->recorder);
    tree_deinit(&bed->tree);
}

/* What was written by now, to be freed. */
static char *bed_text(struct bed *bed)
{
    char *text = NULL;
    size_t size;

    recorder_stop(bed->recorder);
    assert_int_equal(procfs_read(bed->tree.root, "trace", &text, &size), 0);
    return text;
}

static void only_its_owner_reads_the_file(void **state)
{
    mode_t mask = umask(0);
    struct bed bed = bed_init();
    struct stat status;

    (void)state;
    umask(mask);
    assert_int_equal(stat(bed.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    bed_deinit(&bed);
}

/* A dangling link too: writing through it would make a file elsewhere. */
static void what_exists_is_refused(void **state)
{
    struct bed bed = bed_init();
    struct recorder *other = NULL;
    char link[310], elsewhere[310];

    (void)state;
    snprintf(link, sizeof(link), "%s.link", bed.path);
    snprintf(elsewhere, sizeof(elsewhere), "%s.new", bed.path);
    assert_int_equal(symlink(elsewhere, link), 0);
    assert_int_equal(recorder_new(&other, bed.path), -EEXIST);
    assert_int_equal(recorder_new(&other, link), -EEXIST);
    assert_int_equal(access(elsewhere, F_OK), -1);
    assert_int_equal(recorder_new(&other, bed.tree.root), -EEXIST);
    assert_int_equal(recorder_new(&other, "/nonexistent/trace"), -ENOENT);
    assert_null(other);
    bed_deinit(&bed);
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    (void)path, (void)limit;
    *bufp = strdup(self);
    *sizep = strlen(self);
    return 0;
}

/* The kernel writes only the first status. */
static long move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                       int *status, int flags)
{
    (void)self, (void)pid, (void)pages, (void)flags;
    status[0] = nodes ? nodes[0] : 3;
    return n > 1 ? 1 : 0;
}

static struct host fake_host(char *text)
{
    static const struct host_ops ops = {.read_file = read_file, .move_pages = move_pages};

    return (struct host){.ops = &ops, .self = text, .page_bytes = 4096};
}

static void read_through(const struct host *host, const char *path)
{
    char *text = NULL;
    size_t size;

    assert_int_equal(host->ops->read_file(host->self, path, 100, &text, &size), 0);
    free(text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* A text is written when it is new, for each file. Files of the sources are not written. */
static void the_same_text_is_written_once(void **state)
{
    struct bed bed = bed_init();
    char content[16] = "one\n", *text;
    struct host inner = fake_host(content), host = recorder_host(bed.recorder, &inner);

    (void)state;
    read_through(&host, "proc/1/numa_maps");
    read_through(&host, "proc/1/numa_maps");
    read_through(&host, "proc/1/task/2/numa_maps");
    strcpy(content, "two\n");
    read_through(&host, "proc/1/numa_maps");
    read_through(&host, "sys/kernel/mm/page_idle/bitmap");
    read_through(&host, "proc/1/smaps");
    text = bed_text(&bed);
    assert_int_equal(count(text, "file "), 4);
    assert_int_equal(count(text, " same "), 1);
    assert_int_equal(count(text, "\tone\n"), 2);
    assert_int_equal(count(text, "\ttwo\n"), 1);
    free(text);
    bed_deinit(&bed);
}

/* Statuses that the kernel leaves alone keep the caller's values, and are known as such. */
static void unwritten_statuses_are_told_apart(void **state)
{
    struct bed bed = bed_init();
    struct host inner = fake_host(NULL), host = recorder_host(bed.recorder, &inner);
    void *pages[] = {(void *)0x1000, (void *)0x2000};
    int nodes[] = {1, 1}, status[] = {-77, -77};
    char *text;

    (void)state;
    assert_int_equal(host.ops->move_pages(host.self, 5, 2, pages, nodes, status, 2), 1);
    assert_int_equal(status[0], 1);
    assert_int_equal(status[1], -77);
    text = bed_text(&bed);
    assert_non_null(strstr(text, " 1000>1=1 2000>1=?\n"));
    free(text);
    bed_deinit(&bed);
}

static void push(void *userdata, const struct access *accesses, size_t n)
{
    (void)accesses;
    *(size_t *)userdata += n;
}

/* It says so once, and everything goes through all the same. */
static void a_full_disk_stops_only_the_recording(void **state)
{
    struct bed bed = bed_init();
    struct topology topology = {.n_node_ids = 0};
    struct rlimit old, limit;
    size_t n_pushed = 0;
    struct access accesses[100] = {{.when_nsec = 1}};
    struct access_sink sink =
        recorder_sink(bed.recorder, (struct access_sink){.push = push, .userdata = &n_pushed});

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = 512, .rlim_max = old.rlim_max};
    assert_int_equal(recorder_round(bed.recorder, &topology, 1), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sink.push(sink.userdata, accesses, ARRAY_LENGTH(accesses));
    assert_int_equal(recorder_round(bed.recorder, &topology, 2), RECORDER_STOPPED);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(recorder_round(bed.recorder, &topology, 3), 0);
    sink.push(sink.userdata, accesses, ARRAY_LENGTH(accesses));
    assert_int_equal(n_pushed, 2 * ARRAY_LENGTH(accesses));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    bed_deinit(&bed);
}

/* A lost worker comes back to a recorder that has been stopped. */
static void calls_go_through_after_it_was_stopped(void **state)
{
    struct bed bed = bed_init();
    char content[] = "one\n", *text;
    struct host inner = fake_host(content), host = recorder_host(bed.recorder, &inner);

    (void)state;
    recorder_stop(bed.recorder);
    read_through(&host, "proc/1/numa_maps");
    recorder_on_late(bed.recorder, 1, "maps");
    text = bed_text(&bed);
    assert_string_equal(text, "numabd-trace 1\n");
    free(text);
    bed_deinit(&bed);
}

static bool agree(void *userdata)
{
    *(bool *)userdata = true;
    return false;
}

static bool visit(void *userdata, const char *text)
{
    (void)text;
    return ++*(size_t *)userdata < 100;
}

/* write_fault called a function that was not there, idle_page and kvm saw nothing. */
static void sources_have_all_of_the_host_while_it_is_recorded(void **state)
{
    struct bed bed = bed_init();
    struct host inner = host_live(), host = recorder_host(bed.recorder, &inner);
    CLEANUP(fd_closep) int read_fd = -1;
    CLEANUP(fd_closep) int write_fd = -1;
    char name[sizeof bed.tree.root + 8], text[4] = "";
    bool was_asked = false;
    size_t n_names = 0;

    (void)state;
    snprintf(name, sizeof name, "%.*s/file", (int)sizeof bed.tree.root - 1, bed.tree.root + 1);
    tree_write(&bed.tree, "file", "abcd", 4);
    assert_int_equal(
        host.ops->write_file(host.self, "proc/self/clear_refs", "4", agree, &was_asked),
        HOST_DECLINED);
    assert_true(was_asked);
    assert_int_equal(host.ops->list_folder(host.self, "proc/self/fd", 100, visit, &n_names), 0);
    assert_true(n_names > 0);
    assert_int_equal(host.ops->read_link(host.self, "proc/self/cwd", text, sizeof text), 0);
    assert_int_equal(text[0], '/');
    assert_int_equal(host_pwrite(&host, name, &write_fd, 1, "x", 1), 1);
    assert_int_equal(host_pread(&host, name, &read_fd, 0, text, 3), 3);
    assert_memory_equal(text, "axc", 3);
    bed_deinit(&bed);
}

/* As the answers to a fixture tree are: no pwrite_file. */
static void what_the_host_lacks_is_lacking_while_it_is_recorded(void **state)
{
    struct bed bed = bed_init();
    struct host inner = fake_host(NULL), host = recorder_host(bed.recorder, &inner);
    int fd = -1;

    (void)state;
    assert_null(host.ops->list_folder);
    assert_int_equal(host_pwrite(&host, "sys/x", &fd, 0, "x", 1), -EOPNOTSUPP);
    bed_deinit(&bed);
}

/* The replay has no answers of it, and must come to the same addresses. */
static void page_tables_are_not_looked_at_while_recording(void **state)
{
    struct bed bed = bed_init();
    struct host inner = host_live(), host = recorder_host(bed.recorder, &inner);
    struct page_scan scan = {.start = 0, .end = 4096};
    int fd = -1;

    (void)state;
    assert_int_equal(host_scan_pages(&host, getpid(), &fd, &scan), -EOPNOTSUPP);
    bed_deinit(&bed);
}

static int list(void *self, struct process_list *list)
{
    const struct process_list *present = self;

    list->items = calloc(present->n_items + 1, sizeof(*list->items));
    assert_non_null(list->items);
    memcpy(list->items, present->items, present->n_items * sizeof(*list->items));
    list->n_items = list->cap = present->n_items;
    return 0;
}

static void scan_through(const struct procs *procs)
{
    struct process_list seen = {0};

    assert_int_equal(procs->ops->list(procs->self, &seen), 0);
    process_list_deinit(&seen);
}

/* Of each scan only what has changed. */
static void processes_are_written_when_they_change(void **state)
{
    static const struct procs_ops ops = {.list = list};
    struct process items[] = {{.pid = 1, .comm = "init"}, {.pid = 2, .comm = "two"}};
    struct process_list present = {.items = items, .n_items = 2};
    struct bed bed = bed_init();
    struct procs procs =
        recorder_procs(bed.recorder, (struct procs){.ops = &ops, .self = &present});
    char *text;

    (void)state;
    assert_null(procs.ops->read_one); /* as the real one */
    scan_through(&procs);
    scan_through(&procs);
    items[1].rss_bytes = 4096;
    scan_through(&procs);
    items[1].start_ticks = 7; /* the pid is used again */
    scan_through(&procs);
    present.n_items = 1;
    scan_through(&procs);
    scan_through(&procs);
    procs_deinit(&procs);
    text = bed_text(&bed);
    assert_string_equal(text, "numabd-trace 1\n"
                              "process 1 0 0 0 0 init\n"
                              "process 2 0 0 0 0 two\n"
                              "process 2 0 4096 0 0 two\n"
                              "process 2 7 4096 0 0 two\n"
                              "gone 2\n");
    free(text);
    bed_deinit(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_owner_reads_the_file),
        cmocka_unit_test(what_exists_is_refused),
        cmocka_unit_test(the_same_text_is_written_once),
        cmocka_unit_test(unwritten_statuses_are_told_apart),
        cmocka_unit_test(a_full_disk_stops_only_the_recording),
        cmocka_unit_test(calls_go_through_after_it_was_stopped),
        cmocka_unit_test(sources_have_all_of_the_host_while_it_is_recorded),
        cmocka_unit_test(what_the_host_lacks_is_lacking_while_it_is_recorded),
        cmocka_unit_test(page_tables_are_not_looked_at_while_recording),
        cmocka_unit_test(processes_are_written_when_they_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
