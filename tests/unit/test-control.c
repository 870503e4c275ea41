/*
 * Control: the whole way from the daemon's reports over the socket to the client.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "control_rig.h"
#include "ctl/client.h"
#include "ctl/verbs.h"
#include "report/json.h"
#include "report/wire.h"
#include "util/array.h"

/* One call of the real client, run in a thread. */
struct call {
    const char *bus, *method;
    char message[512];
    char *json; /* of the reply */
};

static int read_reply(struct call *call, sd_bus_message *reply)
{
    struct process_reports reports = {0};
    struct status_report status;
    size_t size;
    FILE *file = open_memstream(&call->json, &size);
    int r = 0;

    if (!strcmp(call->method, "Status")) {
        r = wire_read_status(reply, &status);
        json_print_status(file, &status);
    } else if (!strcmp(call->method, "Processes")) {
        r = wire_read_processes(reply, &reports);
        json_print_processes(file, &reports);
    }
    process_reports_deinit(&reports);
    fclose(file);
    return r;
}

static int run_call(void *argument)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct call *call = argument;
    struct client client;
    int r = client_init(&client, call->bus);

    if (r == 0)
        r = client_call(&client, call->method, &reply);
    if (r == 0)
        r = read_reply(call, reply);
    memcpy(call->message, client.message, sizeof call->message);
    client_deinit(&client);
    return r;
}

static void set_every_status_field(struct status_report *status)
{
    unsigned char *bytes = (unsigned char *)status;

    /* Different everywhere, so that two swapped rows or a wrong width show. */
    for (size_t i = 0; i < sizeof *status; i++)
        bytes[i] = (unsigned char)(i * 37 % 127);
    snprintf(status->version, sizeof status->version, "0.1.0");
    status->state = "observing";
    snprintf(status->why, sizeof status->why, "asked to \"observe\"");
    snprintf(status->sources, sizeof status->sources, "timer");
    status->kernel_balancing = "tiering";
    status->n_errnos = 32;
    for (int i = 0; i < 32; i++)
        status->errnos[i] = i + 1;
}

static void status_arrives_with_every_field(void **state)
{
    struct control_rig rig;
    char *expected = NULL;
    size_t size;
    FILE *file = open_memstream(&expected, &size);
    struct call call = {.method = "Status"};

    (void)state;
    control_rig_init(&rig, false);
    call.bus = rig.bus;
    set_every_status_field(&rig.status);
    json_print_status(file, &rig.status);
    fclose(file);
    assert_int_equal(control_rig_run(&rig, run_call, &call), 0);
    assert_string_equal(call.json, expected);
    control_rig_deinit(&rig);
    free(call.json);
    free(expected);
}

static void processes_arrive_with_nodes_and_hostile_names(void **state)
{
    struct node_bytes nodes[] = {{0, 4096}, {255, UINT64_MAX}};
    struct process_report items[] = {
        {.pid = 9876868,
         .uid = UINT32_MAX - 1,
         .comm = "a\xff\x1b",
         .rss_bytes = 1,
         .n_threads = 2,
         .remote_permyriad = -1,
         .nodes = {nodes, 2},
         .nodes_known = true,
         .moved_bytes = 3,
         .autonuma = {4, 5, 6, 7, 1328.672},
         .state = "stable"},
        {.pid = 2, .comm = "\xef\xbf\xbe", .state = "learning"}, /* U+FFFE */
    };
    struct control_rig rig;
    struct call call = {.method = "Processes"};

    (void)state;
    control_rig_init(&rig, false);
    call.bus = rig.bus;
    rig.processes = (struct process_reports){.items = items, .n_items = 2};
    assert_int_equal(control_rig_run(&rig, run_call, &call), 0);
    assert_string_equal(
        call.json,
        "[{\"pid\":9876868,\"uid\":4294967294,\"comm\":\"a\xef\xbf\xbd\\u001b\",\"rss_bytes\":1,"
        "\"n_threads\":2,\"remote_permyriad\":null,\"nodes_known\":true,"
        "\"nodes\":[{\"node\":0,\"bytes\":4096},{\"node\":255,\"bytes\":18446744073709551615}],"
        "\"moved_bytes\":3,"
        "\"numa_pte_updates\":4,\"numa_hint_faults\":5,"
        "\"numa_hint_faults_local\":6,\"numa_pages_migrated\":7,\"autonuma_cost\":1328.672,"
        "\"state\":\"stable\"},"
        "{\"pid\":2,\"uid\":0,\"comm\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"rss_bytes\":0,"
        "\"n_threads\":0,\"remote_permyriad\":0,\"nodes_known\":false,\"nodes\":[],"
        "\"moved_bytes\":0,"
        "\"numa_pte_updates\":0,\"numa_hint_faults\":0,"
        "\"numa_hint_faults_local\":0,\"numa_pages_migrated\":0,\"autonuma_cost\":0,"
        "\"state\":\"learning\"}]");
    assert_int_equal(rig.asked_uid, geteuid());
    control_rig_deinit(&rig);
    free(call.json);
}

static void ten_thousand_processes_arrive(void **state)
{
    struct control_rig rig;
    struct call call = {.method = "Processes"};
    struct process_report *items = calloc(10000, sizeof *items);

    (void)state;
    assert_non_null(items);
    control_rig_init(&rig, false);
    call.bus = rig.bus;
    for (int i = 0; i < 10000; i++)
        items[i] = (struct process_report){.pid = i + 1, .comm = "worker", .state = "stable"};
    rig.processes = (struct process_reports){.items = items, .n_items = 10000};
    assert_int_equal(control_rig_run(&rig, run_call, &call), 0);
    assert_non_null(strstr(call.json, "{\"pid\":10000,"));
    control_rig_deinit(&rig);
    free(call.json);
    free(items);
}

static void failures_arrive_as_one_line(void **state)
{
    struct control_rig rig;
    struct call status = {.method = "Status"}, unknown = {.method = "Frobnicate"};

    (void)state;
    control_rig_init(&rig, false);
    status.bus = unknown.bus = rig.bus;
    rig.result = -ENOMEM;
    assert_int_equal(control_rig_run(&rig, run_call, &status), CLIENT_FAILED);
    assert_string_equal(status.message, "Cannot allocate memory");
    assert_int_equal(control_rig_run(&rig, run_call, &unknown), CLIENT_FAILED);
    assert_non_null(strstr(unknown.message, "Frobnicate"));
    control_rig_deinit(&rig);
}

static void reload_brings_the_configs_error_to_root(void **state)
{
    struct control_rig rig;
    struct call call = {.method = "Reload"};

    (void)state;
    if (geteuid() != 0) {
        print_message("reload as root: not tried, needs root\n");
        skip();
    }
    control_rig_init(&rig, false);
    call.bus = rig.bus;
    assert_int_equal(control_rig_run(&rig, run_call, &call), 0);
    free(call.json);
    rig.reload_message = "numabd.conf:3: unknown key \"\xff\x1b\"";
    assert_int_equal(control_rig_run(&rig, run_call, &call), CLIENT_FAILED);
    assert_string_equal(call.message, "numabd.conf:3: unknown key \"\xef\xbf\xbd\\x1b\"");
    assert_int_equal(rig.n_reloads, 2);
    control_rig_deinit(&rig);
}

static int verb_of(const char *bus, int (*verb)(const struct ctl_options *options))
{
    const struct ctl_options options = {.bus = bus};

    return verb(&options);
}

static int run_pause(void *bus)
{
    return verb_of(bus, verb_pause);
}

static int run_resume(void *bus)
{
    return verb_of(bus, verb_resume);
}

static int run_undo(void *bus)
{
    return verb_of(bus, verb_undo);
}

static void pause_resume_and_undo_reach_the_daemon(void **state)
{
    struct control_rig rig;

    (void)state;
    if (geteuid() != 0) {
        print_message("pause as root: not tried, needs root\n");
        skip();
    }
    control_rig_init(&rig, false);
    assert_int_equal(control_rig_run(&rig, run_pause, rig.bus), EXIT_SUCCESS);
    assert_true(rig.held);
    assert_int_equal(control_rig_run(&rig, run_resume, rig.bus), EXIT_SUCCESS);
    assert_false(rig.held);
    assert_int_equal(control_rig_run(&rig, run_undo, rig.bus), EXIT_SUCCESS);
    assert_true(rig.held);
    rig.undo_message = "something could not be put back";
    assert_int_equal(control_rig_run(&rig, run_undo, rig.bus), EXIT_FAILURE);
    control_rig_deinit(&rig);
}

/* Each verb that changes something, by another user. */
static int run_all_as_nobody(const char *bus)
{
    int (*const verbs[])(const struct ctl_options *options) = {verb_reload, verb_pause, verb_resume,
                                                               verb_undo};

    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
        if (verb_of(bus, verbs[i]) != EXIT_REFUSED)
            return 50 + (int)i;
    return EXIT_REFUSED;
}

static int run_as_nobody(void *argument)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(99);
        _exit(run_all_as_nobody(argument));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void changes_are_refused_to_others(void **state)
{
    struct control_rig rig;

    (void)state;
    if (geteuid() != 0) {
        print_message("changes by another user: not tried, needs root\n");
        skip();
    }
    control_rig_init(&rig, false);
    assert_int_equal(control_rig_run(&rig, run_as_nobody, rig.bus), EXIT_REFUSED);
    assert_int_equal(rig.n_reloads, 0);
    assert_false(rig.held);
    control_rig_deinit(&rig);
}

/* busctl and D-Bus libraries say Hello first and want a name. */
static int say_hello(void *argument)
{
    const char *name = NULL;
    char address[160];
    sd_bus *bus = NULL;
    int r = sd_bus_new(&bus);

    snprintf(address, sizeof address, "unix:path=%s", (const char *)argument);
    if (r >= 0)
        r = sd_bus_set_address(bus, address);
    if (r >= 0)
        r = sd_bus_set_bus_client(bus, 1);
    if (r >= 0)
        r = sd_bus_start(bus);
    if (r >= 0)
        r = sd_bus_get_unique_name(bus, &name);
    if (r >= 0)
        r = sd_bus_call_method(bus, "org.numabd", "/org/numabd",
                               "org.freedesktop.DBus.Introspectable", "Introspect", NULL, NULL, "");
    r = r >= 0 && name && !strcmp(name, ":1.1") ? 0 : -1;
    sd_bus_close_unref(bus);
    return r;
}

static void a_bus_client_is_greeted(void **state)
{
    struct control_rig rig;

    (void)state;
    control_rig_init(&rig, false);
    assert_int_equal(control_rig_run(&rig, say_hello, rig.bus), 0);
    control_rig_deinit(&rig);
}

static void without_a_daemon_the_verbs_say_so(void **state)
{
    struct ctl_options options = {.bus = "/nonexistent/numabd/bus"};

    (void)state;
    assert_int_equal(verb_status(&options), EXIT_ABSENT);
    assert_int_equal(verb_ps(&options), EXIT_ABSENT);
    options.watch_nsec = 1;
    assert_int_equal(verb_ps(&options), EXIT_ABSENT);
    assert_int_equal(verb_reload(&options), EXIT_ABSENT);
}

static void a_daemon_that_hangs_is_given_up(void **state)
{
    struct control_rig rig;
    struct call call = {.method = "Status"};
    int fd;

    (void)state;
    control_rig_init(&rig, true);
    call.bus = rig.bus;
    fd = control_rig_listen(&rig);
    assert_int_equal(run_call(&call), CLIENT_FAILED);
    assert_string_equal(call.message, "numabd does not answer (waited 5 s)");
    close(fd);
    assert_int_equal(run_call(&call), CLIENT_ABSENT); /* its socket is still there */
    control_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_arrives_with_every_field),
        cmocka_unit_test(processes_arrive_with_nodes_and_hostile_names),
        cmocka_unit_test(ten_thousand_processes_arrive),
        cmocka_unit_test(failures_arrive_as_one_line),
        cmocka_unit_test(reload_brings_the_configs_error_to_root),
        cmocka_unit_test(changes_are_refused_to_others),
        cmocka_unit_test(pause_resume_and_undo_reach_the_daemon),
        cmocka_unit_test(a_bus_client_is_greeted),
        cmocka_unit_test(without_a_daemon_the_verbs_say_so),
        cmocka_unit_test(a_daemon_that_hangs_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
