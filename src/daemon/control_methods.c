/*
 * The methods of org.numabd
 *
 *     Status()    -> a{sv}    everybody
 *     Processes() -> aa{sv}   everybody, own processes only; root sees all
 *     Vmas(it)    -> a{sv}aa{sv}tt  everybody, of own processes; root of all: of the process, the
 * VMAs from an address on; then the next address and the generation Doctor()    -> aa{sv} everybody
 *     Reload()                root
 *     Pause()                 root
 *     Resume()                root
 *     Undo()                  root
 *
 * sd-bus' own check (may the sender do what needs CAP_SYS_ADMIN?) is off: the kernel said at accept
 * who is at the other end, and that decides.
 */
#include "daemon/control_methods.h"

#include <errno.h>

#include "report/wire.h"
#include "util/utf8.h"

#define ERROR_NO_PROCESS "org.numabd.Error.NoSuchProcess"
#define ERROR_LEFT_ALONE "org.numabd.Error.LeftAlone"
#define ERROR_INVALID_CONFIG "org.numabd.Error.InvalidConfig"
#define ERROR_NOT_UNDONE "org.numabd.Error.NotUndone"

static int on_status(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct control_caller *caller = userdata;
    struct status_report report = {0};
    int r = caller->ops->status(caller->userdata, &report);

    (void)error;
    if (r >= 0)
        r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = wire_append_status(reply, &report);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int reply_processes(sd_bus_message *call, struct control_caller *caller,
                           struct process_reports *reports)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    int r = caller->ops->processes(caller->userdata, caller->uid, reports);

    if (r >= 0)
        r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = wire_append_processes(reply, reports);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int on_processes(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct process_reports reports = {0};
    int r = reply_processes(call, userdata, &reports);

    (void)error;
    process_reports_deinit(&reports);
    return r;
}

static int refuse_vmas(int condition, pid_t pid, const char *state, sd_bus_error *error)
{
    switch (condition) {
    case VMAS_FOREIGN:
        return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED, "process %d is another user's",
                                 pid);
    case VMAS_LEFT_ALONE:
        return sd_bus_error_setf(error, ERROR_LEFT_ALONE, "process %d is left alone: %s", pid,
                                 state);
    default:
        return sd_bus_error_setf(error, ERROR_NO_PROCESS, "numabd knows no process %d", pid);
    }
}

static int reply_vmas(sd_bus_message *call, struct control_caller *caller, struct vmas_page *page,
                      sd_bus_error *error)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct vmas_query query = {0};
    int r = sd_bus_message_read(call, "it", &query.pid, &query.from);

    if (r >= 0)
        r = caller->ops->vmas(caller->userdata, caller->uid, &query, page);
    if (r > 0)
        return refuse_vmas(r, query.pid, page->process.state, error);
    if (r >= 0)
        r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = wire_append_vmas(reply, page);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int on_vmas(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct vmas_page page = {0};
    int r = reply_vmas(call, userdata, &page, error);

    vmas_page_deinit(&page);
    return r;
}

static int on_doctor(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
    struct control_caller *caller = userdata;
    const struct doctor_report *report = NULL;
    int r = caller->ops->doctor(caller->userdata, &report);

    (void)error;
    if (r >= 0)
        r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = wire_append_checks(reply, report);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int refuse(sd_bus_error *error, const char *verb)
{
    return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED, "only root may %s", verb);
}

/* The end of a call that gives 0, or a negative errno with or without words for it. */
static int reply_done(sd_bus_message *call, int r, const char *name, const char *message,
                      sd_bus_error *error)
{
    char valid[1024];

    if (r < 0 && message[0]) {
        utf8_copy(valid, sizeof valid, message);
        return sd_bus_error_set(error, name, valid);
    }
    return r < 0 ? r : sd_bus_reply_method_return(call, "");
}

static int on_reload(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct control_caller *caller = userdata;
    char message[512] = "";
    int r;

    if (caller->uid != 0)
        return refuse(error, "reload");
    r = caller->ops->reload(caller->userdata, message, sizeof message);
    return reply_done(call, r, ERROR_INVALID_CONFIG, message, error);
}

static int on_pause(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct control_caller *caller = userdata;

    if (caller->uid != 0)
        return refuse(error, "pause");
    caller->ops->hold(caller->userdata, true);
    return sd_bus_reply_method_return(call, "");
}

static int on_resume(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct control_caller *caller = userdata;

    if (caller->uid != 0)
        return refuse(error, "resume");
    caller->ops->hold(caller->userdata, false);
    return sd_bus_reply_method_return(call, "");
}

static int on_undo(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct control_caller *caller = userdata;
    char message[512] = "";
    int r;

    if (caller->uid != 0)
        return refuse(error, "undo");
    r = caller->ops->undo(caller->userdata, message, sizeof message);
    return reply_done(call, r, ERROR_NOT_UNDONE, message, error);
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Status", "", "a{sv}", on_status, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Processes", "", "aa{sv}", on_processes, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Vmas", "it", "a{sv}aa{sv}tt", on_vmas, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Doctor", "", "aa{sv}", on_doctor, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Reload", "", "", on_reload, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Pause", "", "", on_pause, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Resume", "", "", on_resume, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Undo", "", "", on_undo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

int control_methods_add(sd_bus *bus, struct control_caller *caller)
{
    int r = sd_bus_add_object_vtable(bus, NULL, "/org/numabd", "org.numabd", vtable, caller);

    return r < 0 ? r : 0;
}

int control_methods_hello(sd_bus_message *message)
{
    if (!sd_bus_message_is_method_call(message, "org.freedesktop.DBus", "Hello"))
        return 0;
    return sd_bus_reply_method_return(message, "s", ":1.1");
}
