/*
 * The daemon's start and reload, on a machine of files: each daemon is a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/client.h"
#include "daemon/daemon.h"
#include "report/wire.h"
#include "tree.h"
#include "util/array.h"
#include "util/cleanup.h"

/* Hangs, not deadlines. */
#define PATIENCE 60000 /* steps of 1 ms */
#define PATIENCE_SEC 120
#define TEXT_MAX 1000

static const char exclude_redis[] = "[daemon]\ninterval = 100 ms\n[exclude]\ncomm = redis\n";

static const struct tree_file machine[] = {
    {"sys/devices/system/node/online", "0\n"},
    {"sys/devices/system/node/possible", "0\n"},
    {"sys/devices/system/node/has_memory", "0\n"},
    {"sys/devices/system/node/node0/cpulist", "0\n"},
    {"sys/devices/system/node/node0/distance", "10\n"},
    {"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1048576 kB\n"},
    {"sys/devices/system/cpu/possible", "0\n"},
    {"sys/devices/system/cpu/online", "0\n"},
    {"proc/60/stat", "60 (redis) S 1 7 7 0 -1 4194304 9 8 7 6 5 4 3 2 20 0 3 0 82375 99999744 "
                     "24414 18446744073709551615 1\n"},
    {"proc/60/status", "Name:\tredis\nUid:\t0\t0\t0\t0\nMems_allowed_list:\t0\n"},
    {"proc/60/cgroup", "0::/a\n"},
};

struct world {
    struct tree tree;
    char config[300], errors[300], directory[300], bus[310];
    struct daemon_options options;
    pid_t pid; /* of the daemon that runs */
};

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    tree_init(&world->tree);
    tree_add(&world->tree, machine, ARRAY_LENGTH(machine));
    snprintf(world->config, sizeof world->config, "%s/numabd.conf", world->tree.root);
    snprintf(world->errors, sizeof world->errors, "%s/errors", world->tree.root);
    snprintf(world->directory, sizeof world->directory, "%s/run", world->tree.root);
    snprintf(world->bus, sizeof world->bus, "%s/bus", world->directory);
    setenv("RUNTIME_DIRECTORY", world->directory, 1);
    world->options =
        (struct daemon_options){.config_path = world->config, .root = world->tree.root};
    *state = world;
    return 0;
}

static int wait_for(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int teardown(void **state)
{
    struct world *world = *state;

    if (world->pid) {
        kill(world->pid, SIGTERM);
        assert_int_equal(wait_for(world->pid), 0);
    }
    tree_deinit(&world->tree);
    free(world);
    return 0;
}

/* Return: what daemon_new said, or 0 after a run. Its stderr is the file `errors`. */
static int daemon_main(const struct world *world)
{
    CLEANUP(daemon_freep) struct daemon *daemon = NULL;
    CLEANUP(fd_closep) int fd = open(world->errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(PATIENCE_SEC); /* one that should have ended by itself */
    dup2(fd, STDERR_FILENO);
    r = daemon_new(&daemon, &world->options);
    return r ? r : daemon_run(daemon);
}

static pid_t start(const struct world *world)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid)
        _exit(daemon_main(world));
    return pid;
}

static void read_errors(const struct world *world, char text[static TEXT_MAX])
{
    CLEANUP(fclosep) FILE *file = fopen(world->errors, "re");

    assert_non_null(file);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
}

/* It ends by itself, with this code and one line that says `what`. */
static void assert_refused(const struct world *world, int code, const char *what)
{
    char text[TEXT_MAX];
    int status = wait_for(start(world));

    read_errors(world, text);
    if (status != code || !strstr(text, what) || strchr(text, '\n') != text + strlen(text) - 1)
        fail_msg("%d: \"%s\"", status, text);
}

static void connect_client(const struct world *world, struct client *client)
{
    int r = CLIENT_ABSENT;

    for (int i = 0; i < PATIENCE && (r = client_init(client, world->bus)) == CLIENT_ABSENT; i++) {
        client_deinit(client);
        usleep(1000);
    }
    if (r)
        fail_msg("%s", client->message);
}

static struct status_report status_of(struct client *client)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct status_report report;

    assert_int_equal(client_call(client, "Status", &reply), 0);
    assert_true(wire_read_status(reply, &report) >= 0);
    report.state = report.kernel_balancing = NULL; /* they go with the reply */
    return report;
}

/* Rounds go by until one process is excluded, and once more. */
static void assert_excluded(struct client *client)
{
    struct status_report report = status_of(client);
    uint64_t n_rounds = report.n_rounds;

    for (int i = 0; i < PATIENCE && report.n_rounds < n_rounds + 2; i++) {
        usleep(1000);
        report = status_of(client);
    }
    assert_true(report.n_rounds >= n_rounds + 2);
    assert_int_equal(report.n_excluded, 1);
}

/* Named after the bug: a reload with the file missing dropped [exclude] and said "reloaded". */
static void reload_without_the_file_keeps_what_is_excluded(void **state)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct world *world = *state;
    struct client client;

    tree_write(&world->tree, "numabd.conf", exclude_redis, strlen(exclude_redis));
    world->pid = start(world);
    connect_client(world, &client);
    assert_excluded(&client);
    assert_int_equal(unlink(world->config), 0);
    assert_int_equal(client_call(&client, "Reload", &reply), CLIENT_FAILED);
    assert_non_null(strstr(client.message, "No such file"));
    assert_excluded(&client);
    client_deinit(&client);
}

static void only_a_missing_default_file_means_the_defaults(void **state)
{
    struct world *world = *state;
    struct client client;

    assert_int_equal(symlink("nowhere", world->config), 0);
    assert_refused(world, DAEMON_BAD_CONFIG, "numabd.conf: No such file or directory");
    assert_int_equal(unlink(world->config), 0);
    assert_int_equal(symlink(world->config, world->config), 0);
    assert_refused(world, DAEMON_BAD_CONFIG, "Too many levels of symbolic links");
    assert_int_equal(unlink(world->config), 0);
    world->options.config_is_given = true;
    assert_refused(world, DAEMON_BAD_CONFIG, "numabd.conf: No such file or directory");
    world->options.config_is_given = false;
    world->pid = start(world);
    connect_client(world, &client);
    client_deinit(&client);
}

static void user_of_a_rule_that_is_nobody_is_refused(void **state)
{
    static const char text[] = "[exclude]\nuser = anna\n", passwd[] = "bert:x:5:5::/:/x\n";
    struct world *world = *state;

    tree_write(&world->tree, "numabd.conf", text, strlen(text));
    tree_write(&world->tree, "etc/passwd", passwd, strlen(passwd));
    assert_refused(world, DAEMON_BAD_CONFIG, "there is no such user");
}

/* Named after the bug: it went on, and moved the same pages. */
static void second_numabd_ends(void **state)
{
    struct world *world = *state;
    struct client client;

    world->pid = start(world);
    connect_client(world, &client);
    assert_refused(world, DAEMON_BUSY, "another numabd answers at");
    assert_int_equal(status_of(&client).n_memory_nodes, 1); /* the first one serves on */
    client_deinit(&client);
}

/* Named after the bug: "//" and "/." were taken for a tree of files. */
static void every_path_to_the_live_root_is_live(void **state)
{
    static const char *const paths[] = {"/", "//", "/.", "/proc/.."};
    struct world *world = *state;
    struct client client;

    world->options.observe = true;
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        world->options.root = paths[i];
        world->pid = start(world);
        connect_client(world, &client);
        assert_null(strstr(status_of(&client).why, "reading"));
        client_deinit(&client);
        kill(world->pid, SIGTERM);
        assert_int_equal(wait_for(world->pid), 0);
        world->pid = 0;
    }
    world->options.root = world->tree.root;
    world->pid = start(world);
    connect_client(world, &client);
    assert_non_null(strstr(status_of(&client).why, "reading"));
    client_deinit(&client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(reload_without_the_file_keeps_what_is_excluded),
        TEST(only_a_missing_default_file_means_the_defaults),
        TEST(user_of_a_rule_that_is_nobody_is_refused),
        TEST(second_numabd_ends),
        TEST(every_path_to_the_live_root_is_live),
    };

    return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
