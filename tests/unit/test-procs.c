/*
 * Facts of processes: of a tree of files, and of the live machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numabd/discover.h"
#include "util/array.h"
#include "util/cleanup.h"

#define STAT_FIELDS                                                                                \
    " S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 56274944 1981 18446744073709551615 1\n"

/* A tree of files in a folder of its own. */
struct tree {
    char path[64];
    struct procs procs;
};

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status, (void)kind, (void)ftw;
    return remove(path);
}

static int tree_setup(void **state)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    char path[128];

    strcpy(tree->path, "/tmp/test-procs-XXXXXX");
    assert_non_null(mkdtemp(tree->path));
    snprintf(path, sizeof(path), "%s/proc", tree->path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(procs_new_root(&tree->procs, tree->path), 0);
    *state = tree;
    return 0;
}

static int tree_teardown(void **state)
{
    struct tree *tree = *state;

    procs_deinit(&tree->procs);
    nftw(tree->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(tree);
    return 0;
}

static void write_file(const struct tree *tree, const char *name, const char *text)
{
    CLEANUP(fclosep) FILE *file = NULL;
    char path[256], *slash;

    snprintf(path, sizeof(path), "%s/%s", tree->path, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static const struct process *find_process(const struct process_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->n_items; i++)
        if (list->items[i].pid == pid)
            return &list->items[i];
    return NULL;
}

static void tree_lists_folders_with_a_pid_and_stat(void **state)
{
    const struct tree *tree = *state;
    CLEANUP(process_list_deinit) struct process_list list = {0};

    write_file(tree, "proc/7/stat", "7 (a)" STAT_FIELDS);
    write_file(tree, "proc/9876868/stat",
               "7 (Web Content)" STAT_FIELDS);       /* the folder's number counts */
    write_file(tree, "proc/8/status", "Name:\tx\n"); /* is just ending */
    write_file(tree, "proc/9/stat", "9 (broken");
    write_file(tree, "proc/self/stat", "7 (a)" STAT_FIELDS);
    write_file(tree, "proc/7x/stat", "7 (a)" STAT_FIELDS);
    write_file(tree, "proc/07/stat", "7 (a)" STAT_FIELDS);
    write_file(tree, "proc/99999999999999999999/stat", "7 (a)" STAT_FIELDS);
    write_file(tree, "proc/stat", "cpu 1 2 3\n");
    assert_int_equal(tree->procs.ops->list(tree->procs.self, &list), 0);
    assert_int_equal(list.n_items, 2);
    assert_string_equal(find_process(&list, 7)->comm, "a");
    assert_string_equal(find_process(&list, 9876868)->comm, "Web Content");
}

static void tree_gives_detail(void **state)
{
    const struct tree *tree = *state;
    CLEANUP(process_deinit) struct process process = {.pid = 7};
    char link[128];

    write_file(tree, "proc/7/status", "Name:\tx\nUid:\t0\t1000\t0\t0\n");
    write_file(tree, "proc/7/cgroup", "0::/system.slice/x.service\n");
    snprintf(link, sizeof(link), "%s/proc/7/exe", tree->path);
    assert_int_equal(symlink("/opt/a b/c (deleted)", link), 0);
    for (int i = 0; i < 2; i++) { /* a second reading leaks nothing */
        assert_int_equal(tree->procs.ops->read_detail(tree->procs.self, &process), 0);
        assert_true(process.uid_known);
        assert_int_equal(process.uid, 1000);
        assert_string_equal(process.exe, "/opt/a b/c");
        assert_string_equal(process.cgroup, "/system.slice/x.service");
    }
}

static void unknown_detail_stays_null(void **state)
{
    const struct tree *tree = *state;
    CLEANUP(process_deinit) struct process process = {.pid = 7}, gone = {.pid = 8};

    write_file(tree, "proc/7/status", "Name:\tx\nUid:\t0\t1000\t0\t0\n");
    assert_int_equal(tree->procs.ops->read_detail(tree->procs.self, &process), 0);
    assert_true(process.uid_known);
    assert_null(process.exe);
    assert_null(process.cgroup);
    assert_int_equal(tree->procs.ops->read_detail(tree->procs.self, &gone), DISCOVER_GONE);
}

static void status_with_a_thousand_groups_is_read_whole(void **state)
{
    const struct tree *tree = *state;
    CLEANUP(freep) char *text = calloc(1, 64 * 1024), *list = NULL;
    char *at = text;

    at += sprintf(at, "Name:\tx\nUid:\t1\t2\t3\t4\nGroups:\t");
    for (unsigned i = 0; i < 1000; i++)
        at += sprintf(at, "%u ", 4000000000u + i);
    sprintf(at, "\nMems_allowed_list:\t1\n");
    write_file(tree, "proc/7/status", text);
    assert_int_equal(tree->procs.ops->read_mems_allowed(tree->procs.self, 7, &list), 0);
    assert_string_equal(list, "1");
    assert_int_equal(tree->procs.ops->read_mems_allowed(tree->procs.self, 8, &list), DISCOVER_GONE);
}

static void tree_without_proc_is_an_error(void **state)
{
    CLEANUP(process_list_deinit) struct process_list list = {0};
    CLEANUP(procs_deinit) struct procs procs = {0};

    (void)state;
    assert_int_equal(procs_new_root(&procs, "/dev/null"), 0);
    assert_true(procs.ops->list(procs.self, &list) < 0);
}

/* A child that names itself, optionally hides from dumps, and stops, to touch no more memory. */
static pid_t child_start(const char *name, bool dumpable)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, name);
        if (!dumpable && geteuid() == 0 && setuid(65534))
            _exit(1);
        prctl(PR_SET_DUMPABLE, dumpable);
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void live_list_equals_the_files(void **state)
{
    static const char *const names[] = {"plain", "Web Content", "a) R 1 (b", "-"};
    CLEANUP(procs_deinit) struct procs live = {0}, root = {0};

    (void)state;
    assert_int_equal(procs_new_live(&live), 0);
    assert_int_equal(procs_new_root(&root, "/"), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        CLEANUP(process_list_deinit) struct process_list by_library = {0}, by_files = {0};
        pid_t pid = child_start(names[i], true);
        const struct process *a, *b;

        assert_int_equal(live.ops->list(live.self, &by_library), 0);
        assert_int_equal(root.ops->list(root.self, &by_files), 0);
        child_end(pid);
        a = find_process(&by_library, pid);
        b = find_process(&by_files, pid);
        assert_non_null(a);
        assert_non_null(b);
        assert_string_equal(a->comm, names[i]);
        assert_string_equal(b->comm, names[i]);
        assert_int_equal(a->start_ticks, b->start_ticks);
        assert_int_equal(a->rss_bytes, b->rss_bytes);
        assert_true(a->rss_bytes > 0);
        assert_int_equal(a->n_threads, b->n_threads);
        assert_int_equal(a->n_threads, 1);
        assert_int_equal(a->kernel_thread, b->kernel_thread);
    }
}

static void live_name_is_exact_in_the_detail(void **state)
{
    static const char *const names[] = {"x)\ny", "h\xc3\xb6st", "\xff\x01", "tail\n", " "};
    CLEANUP(procs_deinit) struct procs live = {0};

    (void)state;
    assert_int_equal(procs_new_live(&live), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        pid_t pid = child_start(names[i], true);
        CLEANUP(process_deinit) struct process process = {.pid = pid, .comm = "odd"};
        int r = live.ops->read_detail(live.self, &process);

        child_end(pid);
        assert_int_equal(r, 0);
        assert_string_equal(process.comm, names[i]);
    }
}

static void live_detail_equals_the_files(void **state)
{
    CLEANUP(procs_deinit) struct procs live = {0}, root = {0};
    CLEANUP(process_deinit) struct process a = {.pid = getpid()}, b = {.pid = getpid()};
    CLEANUP(freep) char *mems_a = NULL, *mems_b = NULL;

    (void)state;
    assert_int_equal(procs_new_live(&live), 0);
    assert_int_equal(procs_new_root(&root, "/"), 0);
    assert_int_equal(live.ops->read_detail(live.self, &a), 0);
    assert_int_equal(root.ops->read_detail(root.self, &b), 0);
    assert_int_equal(a.uid, geteuid());
    assert_int_equal(b.uid, geteuid());
    assert_string_equal(a.exe, b.exe);
    assert_non_null(strstr(a.exe, "test-procs"));
    assert_true((!a.cgroup && !b.cgroup) || !strcmp(a.cgroup, b.cgroup));
    assert_true(a.uid_known && b.uid_known);
    assert_int_equal(live.ops->read_mems_allowed(live.self, getpid(), &mems_a), 0);
    assert_int_equal(root.ops->read_mems_allowed(root.self, getpid(), &mems_b), 0);
    assert_string_equal(mems_a, mems_b);
}

/* The files in its folder of /proc belong to root, whoever runs it. */
static void live_uid_of_an_undumpable_process_is_its_own(void **state)
{
    CLEANUP(procs_deinit) struct procs live = {0};
    pid_t pid = child_start("hidden", false);
    CLEANUP(process_deinit) struct process process = {.pid = pid};
    uid_t uid = geteuid() ? geteuid() : 65534;

    (void)state;
    assert_int_equal(procs_new_live(&live), 0);
    assert_int_equal(live.ops->read_detail(live.self, &process), 0);
    child_end(pid);
    assert_int_equal(process.uid, uid);
    assert_true(process.uid_known);
}

static void live_process_that_ended_is_gone(void **state)
{
    CLEANUP(procs_deinit) struct procs live = {0};
    CLEANUP(freep) char *mems = NULL;
    pid_t pid = child_start("gone", true);
    CLEANUP(process_deinit) struct process process = {.pid = pid};

    (void)state;
    child_end(pid);
    assert_int_equal(procs_new_live(&live), 0);
    assert_int_equal(live.ops->read_detail(live.self, &process), DISCOVER_GONE);
    assert_int_equal(live.ops->read_mems_allowed(live.self, pid, &mems), DISCOVER_GONE);
    assert_null(mems);
}

static uint64_t start_ticks_of(const struct procs *procs, pid_t pid)
{
    CLEANUP(process_list_deinit) struct process_list list = {0};

    assert_int_equal(procs->ops->list(procs->self, &list), 0);
    assert_non_null(find_process(&list, pid));
    return find_process(&list, pid)->start_ticks;
}

static void pidref_knows_one_process_only(void **state)
{
    CLEANUP(procs_deinit) struct procs live = {0};
    CLEANUP(pidref_deinit) struct pidref ref = PIDREF_NULL, other = PIDREF_NULL;
    pid_t pid = child_start("ref", true);
    uint64_t start;

    (void)state;
    assert_int_equal(procs_new_live(&live), 0);
    start = start_ticks_of(&live, pid);
    assert_int_equal(live.ops->open_ref(live.self, &ref, pid, start), 0);
    assert_true(ref.fd >= 0);
    assert_int_equal(fcntl(ref.fd, F_GETFD), FD_CLOEXEC);
    assert_true(pidref_is_alive(&ref));
    assert_int_equal(pidref_init(&other, pid, start + 1), DISCOVER_GONE);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_false(pidref_is_alive(&ref)); /* a zombie is dead */
    waitpid(pid, NULL, 0);
    assert_false(pidref_is_alive(&ref));
    assert_int_equal(pidref_init(&other, pid, start), DISCOVER_GONE);
    assert_int_equal(other.fd, -1);
}

static void pidref_without_a_pidfd_counts_as_alive(void **state)
{
    struct pidref ref = PIDREF_NULL;

    (void)state;
    assert_true(pidref_is_alive(&ref));
    pidref_deinit(&ref);
    pidref_deinit(&ref);
    assert_int_equal(ref.fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tree_lists_folders_with_a_pid_and_stat, tree_setup,
                                        tree_teardown),
        cmocka_unit_test_setup_teardown(tree_gives_detail, tree_setup, tree_teardown),
        cmocka_unit_test_setup_teardown(unknown_detail_stays_null, tree_setup, tree_teardown),
        cmocka_unit_test_setup_teardown(status_with_a_thousand_groups_is_read_whole, tree_setup,
                                        tree_teardown),
        cmocka_unit_test(tree_without_proc_is_an_error),
        cmocka_unit_test(live_list_equals_the_files),
        cmocka_unit_test(live_name_is_exact_in_the_detail),
        cmocka_unit_test(live_detail_equals_the_files),
        cmocka_unit_test(live_uid_of_an_undumpable_process_is_its_own),
        cmocka_unit_test(live_process_that_ended_is_gone),
        cmocka_unit_test(pidref_knows_one_process_only),
        cmocka_unit_test(pidref_without_a_pidfd_counts_as_alive),
    };

    return cmocka_run_group_tests_name("procs", tests, NULL, NULL);
}
