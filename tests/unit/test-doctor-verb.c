/*
 * numabctl doctor: through a daemon that answers, and without one.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "util/cleanup.h"

/* The verb in a process of its own, with what it prints. */
struct verb_run {
    struct ctl_options options;
    char text[65536];
};

static void read_all(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;

    while (used + 1 < size && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

/* Return: the exit code. */
static int run_verb(void *argument)
{
    struct verb_run *run = argument;
    int fds[2], status = -1;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        status = verb_doctor(&run->options);
        fflush(stdout);
        _exit(status);
    }
    close(fds[1]);
    read_all(fds[0], run->text, sizeof run->text);
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct doctor_check checks[] = {
    {.group = "source",
     .name = "timer",
     .state = "ok",
     .detail = "reads \"and\" writes",
     .blind = "gathers",
     .use = "12 cgroups, 96 events"},
    {.group = "call",
     .name = "move_pages",
     .state = "missing",
     .call = "move_pages (own page)",
     .error = "EPERM",
     .detail = "moves \xff pages",
     .fix = "a filter"},
    {.group = "verdict", .name = "balancing", .state = "missing", .detail = "no moving"},
};

static int ask_checks(void *argument)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct verb_run *run = argument;
    struct doctor_report report = {.items = NULL};
    FILE *file = fmemopen(run->text, sizeof run->text, "w");
    struct client client;
    int r = client_init(&client, run->options.bus);

    if (r == 0)
        r = client_call(&client, "Doctor", &reply);
    if (r == 0)
        r = wire_read_checks(reply, &report);
    if (r == 0)
        json_print_checks(file, &report);
    fclose(file);
    doctor_report_deinit(&report);
    client_deinit(&client);
    return r;
}

static void the_daemons_lines_arrive_with_every_field(void **state)
{
    struct control_rig rig;
    struct verb_run run = {.options = {.json = true}};

    (void)state;
    control_rig_init(&rig, false);
    run.options.bus = rig.bus;
    rig.doctor = (struct doctor_report){.items = checks, .n_items = ARRAY_LENGTH(checks)};
    assert_int_equal(control_rig_run(&rig, ask_checks, &run), 0);
    assert_string_equal(
        run.text,
        "[{\"group\":\"source\",\"name\":\"timer\",\"state\":\"ok\",\"call\":\"\",\"error\":\"\","
        "\"detail\":\"reads \\\"and\\\" writes\",\"fix\":\"\",\"blind\":\"gathers\","
        "\"use\":\"12 cgroups, 96 events\"},"
        "{\"group\":\"call\",\"name\":\"move_pages\",\"state\":\"missing\","
        "\"call\":\"move_pages (own page)\",\"error\":\"EPERM\","
        "\"detail\":\"moves \xef\xbf\xbd pages\",\"fix\":\"a filter\",\"blind\":\"\",\"use\":\"\"},"
        "{\"group\":\"verdict\",\"name\":\"balancing\",\"state\":\"missing\",\"call\":\"\","
        "\"error\":\"\",\"detail\":\"no moving\",\"fix\":\"\",\"blind\":\"\",\"use\":\"\"}]");
    control_rig_deinit(&rig);
}

static void the_verb_shows_what_the_daemon_sees(void **state)
{
    struct control_rig rig;
    struct verb_run run = {.options = {.json = false}};

    (void)state;
    control_rig_init(&rig, false);
    run.options.bus = rig.bus;
    rig.doctor = (struct doctor_report){.items = checks, .n_items = ARRAY_LENGTH(checks)};
    assert_int_equal(control_rig_run(&rig, run_verb, &run), EXIT_FAILURE);
    assert_string_equal(run.text,
                        "Seen by numabd itself:\n\nSources of accesses\n"
                        "  ok       timer                       reads \"and\" writes; now: 12 "
                        "cgroups, 96 events\n                                       cannot see: "
                        "gathers\n\n"
                        "Calls, tried on numabd's own process\n"
                        "  missing  move_pages                  moves \xef\xbf\xbd pages; "
                        "move_pages (own page): Operation not permitted (EPERM); to do: a "
                        "filter\n\nBalancing is not possible: no moving\n");
    checks[2].state = "ok";
    assert_int_equal(control_rig_run(&rig, run_verb, &run), EXIT_SUCCESS);
    assert_non_null(strstr(run.text, "\nBalancing is possible: no moving\n"));
    checks[2].state = "missing";
    run.options.json = true;
    assert_int_equal(control_rig_run(&rig, run_verb, &run), EXIT_FAILURE);
    assert_ptr_equal(strstr(run.text, "{\"seen_by\":\"numabd\",\"why_local\":\"\",\"possible\":"
                                      "false,\"checks\":[{\"group\""),
                     run.text);
    control_rig_deinit(&rig);
}

static void local_does_not_ask_the_daemon(void **state)
{
    struct control_rig rig;
    struct verb_run run = {.options = {.local = true}};

    (void)state;
    control_rig_init(&rig, false);
    run.options.bus = rig.bus;
    (void)run_verb(&run); /* nobody serves the rig meanwhile */
    assert_non_null(strstr(run.text, "Seen by numabctl itself as user "));
    assert_non_null(strstr(run.text, ": --local was given"));
    assert_non_null(strstr(run.text, "\nBalancing is "));
    control_rig_deinit(&rig);
}

static void a_daemon_that_cannot_look_is_replaced(void **state)
{
    struct control_rig rig;
    struct verb_run run = {.options = {.local = false}};

    (void)state;
    control_rig_init(&rig, false);
    run.options.bus = rig.bus;
    rig.result = -ENOMEM;
    (void)control_rig_run(&rig, run_verb, &run);
    assert_non_null(strstr(run.text, ": Cannot allocate memory"));
    assert_non_null(strstr(run.text, "\nBalancing is "));
    control_rig_deinit(&rig);
}

static int run_as_nobody(void *argument)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(99);
        _exit(run_verb(argument) == EXIT_FAILURE &&
                      strstr(((struct verb_run *)argument)->text, "as user 65534: numabd is not "
                                                                  "running") &&
                      strstr(((struct verb_run *)argument)->text, "CAP_SYS_PTRACE is missing")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void it_works_without_a_daemon_and_without_permissions(void **state)
{
    struct verb_run run = {.options = {.bus = "/nonexistent/numabd/bus"}};
    int r = run_verb(&run);

    (void)state;
    assert_int_equal(r == EXIT_SUCCESS, strstr(run.text, "\nBalancing is possible") != NULL);
    assert_non_null(strstr(run.text, ": numabd is not running (no socket at"));
    if (geteuid() == 0)
        assert_int_equal(run_as_nobody(&run), 0);
}

/* Every line of the text has its object, under the same name. */
static void json_has_an_object_for_each_line(void **state)
{
    struct verb_run text = {.options = {.local = true}}, json = {.options = {.local = true}};
    size_t n_lines = 0, n_objects = 0;
    char *rest = text.text, *line;

    (void)state;
    json.options.json = true;
    (void)run_verb(&text);
    (void)run_verb(&json);
    while ((line = strsep(&rest, "\n"))) {
        char name[32], object[64];

        if (strncmp(line, "  ", 2) != 0 || line[2] == ' ')
            continue;
        snprintf(name, sizeof name, "%.27s", line + strlen("  missing  "));
        while (name[strlen(name) - 1] == ' ')
            name[strlen(name) - 1] = '\0';
        snprintf(object, sizeof object, "\"name\":\"%s\"", name);
        if (!strstr(json.text, object))
            fail_msg("no %s", object);
        n_lines++;
    }
    for (const char *at = json.text; (at = strstr(at, "{\"group\":")); at++)
        n_objects++;
    assert_int_equal(n_objects, n_lines + 1); /* the verdict */
    assert_string_equal(json.text + strlen(json.text) - 4, "}]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemons_lines_arrive_with_every_field),
        cmocka_unit_test(the_verb_shows_what_the_daemon_sees),
        cmocka_unit_test(local_does_not_ask_the_daemon),
        cmocka_unit_test(a_daemon_that_cannot_look_is_replaced),
        cmocka_unit_test(it_works_without_a_daemon_and_without_permissions),
        cmocka_unit_test(json_has_an_object_for_each_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
