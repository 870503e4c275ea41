#include "control_rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/client.h"
#include "util/array.h"

static int answer_status(void *userdata, struct status_report *report)
{
    struct control_rig *rig = userdata;

    *report = rig->status;
    return rig->result;
}

static int copy_report(struct process_report *to, const struct process_report *from)
{
    *to = *from;
    to->nodes.items = calloc(from->nodes.n_items + 1u, sizeof *to->nodes.items);
    if (!to->nodes.items)
        return -ENOMEM;
    if (from->nodes.n_items)
        memcpy(to->nodes.items, from->nodes.items, from->nodes.n_items * sizeof *to->nodes.items);
    return 0;
}

static int answer_processes(void *userdata, uid_t uid, struct process_reports *reports)
{
    struct control_rig *rig = userdata;
    int r = rig->result;

    rig->asked_uid = uid;
    for (size_t i = 0; r == 0 && i < rig->processes.n_items; i++) {
        r = ARRAY_RESERVE(reports->items, reports->cap, reports->n_items + 1);
        if (r == 0)
            r = copy_report(&reports->items[reports->n_items++], &rig->processes.items[i]);
    }
    return r;
}

static int answer_vmas(void *userdata, uid_t uid, const struct vmas_query *query,
                       struct vmas_page *page)
{
    struct control_rig *rig = userdata;

    rig->n_vmas_calls++;
    return rig->vmas ? rig->vmas(rig, uid, query, page) : VMAS_UNKNOWN;
}

static int answer_doctor(void *userdata, const struct doctor_report **reportp)
{
    struct control_rig *rig = userdata;

    *reportp = &rig->doctor;
    return rig->result;
}

static int answer_reload(void *userdata, char *message, size_t message_size)
{
    struct control_rig *rig = userdata;

    rig->n_reloads++;
    if (!rig->reload_message)
        return rig->result;
    snprintf(message, message_size, "%s", rig->reload_message);
    return -EINVAL;
}

static void answer_hold(void *userdata, bool held)
{
    struct control_rig *rig = userdata;

    rig->held = held;
}

static int answer_undo(void *userdata, char *message, size_t message_size)
{
    struct control_rig *rig = userdata;

    rig->held = true;
    if (!rig->undo_message)
        return rig->result;
    snprintf(message, message_size, "%s", rig->undo_message);
    return -EIO;
}

static const struct report_ops answers = {
    .status = answer_status,
    .processes = answer_processes,
    .vmas = answer_vmas,
    .doctor = answer_doctor,
    .reload = answer_reload,
    .hold = answer_hold,
    .undo = answer_undo,
};

int control_rig_start(struct control_rig *rig)
{
    return control_new(&rig->control, rig->event, rig->directory, &answers, rig);
}

void control_rig_init(struct control_rig *rig, bool idle)
{
    *rig = (struct control_rig){.status = {.state = "idle", .kernel_balancing = "off"}};
    snprintf(rig->top, sizeof rig->top, "/tmp/numabd-test-XXXXXX");
    assert_non_null(mkdtemp(rig->top));
    assert_int_equal(chmod(rig->top, 0755), 0);
    snprintf(rig->directory, sizeof rig->directory, "%s/run", rig->top);
    snprintf(rig->bus, sizeof rig->bus, "%s/bus", rig->directory);
    assert_true(sd_event_new(&rig->event) >= 0);
    if (!idle)
        assert_int_equal(control_rig_start(rig), 0);
}

static void remove_name(const char *directory, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (unlink(path) < 0)
        (void)rmdir(path);
}

void control_rig_deinit(struct control_rig *rig)
{
    rig->control = control_free(rig->control);
    rig->event = sd_event_unref(rig->event);
    remove_name(rig->directory, "bus");
    remove_name(rig->directory, "bus.lock");
    remove_name(rig->top, "run");
    remove_name(rig->top, "elsewhere");
    assert_int_equal(rmdir(rig->top), 0);
}

void control_rig_pump(struct control_rig *rig)
{
    int r;

    do {
        r = sd_event_run(rig->event, 0);
        assert_true(r >= 0);
    } while (r > 0);
}

struct thread {
    int (*function)(void *argument);
    void *argument;
    int value;
    atomic_bool done;
};

static void *run_thread(void *userdata)
{
    struct thread *thread = userdata;

    thread->value = thread->function(thread->argument);
    atomic_store(&thread->done, true);
    return NULL;
}

int control_rig_run(struct control_rig *rig, int (*function)(void *argument), void *argument)
{
    struct thread thread = {.function = function, .argument = argument};
    pthread_t id;

    assert_int_equal(pthread_create(&id, NULL, run_thread, &thread), 0);
    while (!atomic_load(&thread.done))
        assert_true(sd_event_run(rig->event, 1000) >= 0);
    pthread_join(id, NULL);
    control_rig_pump(rig);
    return thread.value;
}

int control_rig_connect(const struct control_rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", rig->bus);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool control_rig_is_closed(int fd)
{
    char buffer[4096];
    ssize_t got;

    do
        got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    while (got > 0);
    return got == 0 || errno == ECONNRESET;
}

int control_rig_listen(const struct control_rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(mkdir(rig->directory, 0755), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", rig->bus);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

int control_rig_ask_status(void *argument)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct client client;
    int r = client_init(&client, argument);

    if (r == 0)
        r = client_call(&client, "Status", &reply);
    client_deinit(&client);
    return r;
}

bool control_rig_serves(struct control_rig *rig)
{
    return control_rig_run(rig, control_rig_ask_status, rig->bus) == 0;
}
