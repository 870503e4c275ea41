/*
 * The client
 *
 * The socket is connected here and not by libsystemd, so that "not there", "not listening" and "not
 * allowed" can be told apart, and so that a daemon that hangs is given up after five seconds at
 * every step (libsystemd would wait 90 for the authentication).
 */
#include "ctl/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "report/text.h"
#include "util/error.h"
#include "util/nsec.h"

enum {
    TIMEOUT_SEC = 5
};

__attribute__((format(printf, 3, 4))) static int fail(struct client *client, int code,
                                                      const char *format, ...)
{
    char line[sizeof client->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_escape(client->message, sizeof client->message, line);
    return code;
}

static int fail_to_connect(struct client *client, const char *path, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return fail(client, CLIENT_ABSENT, "numabd is not running (no socket at %s)", path);
    case ECONNREFUSED:
        return fail(client, CLIENT_ABSENT, "numabd is not running (nobody listens at %s)", path);
    case EACCES:
    case EPERM:
        return fail(client, CLIENT_REFUSED, "no permission to use %s", path);
    case EAGAIN:
        return fail(client, CLIENT_FAILED, "numabd does not answer (waited %d s)", TIMEOUT_SEC);
    default:
        return fail(client, CLIENT_FAILED, "cannot connect to %s: %s", path, strerror(error));
    }
}

static int fail_to_talk(struct client *client, int r)
{
    if (r == -ETIMEDOUT)
        return fail(client, CLIENT_FAILED, "numabd does not answer (waited %d s)", TIMEOUT_SEC);
    if (r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE)
        return fail(client, CLIENT_FAILED, "numabd closed the connection");
    return fail(client, CLIENT_FAILED, "cannot talk to numabd: %s", strerror(-r));
}

/* Return: 0 with the socket in *fdp, or a positive errno. */
static int connect_socket(const char *path, int *fdp)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = TIMEOUT_SEC};
    CLEANUP(fd_closep) int fd = -1;

    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -error_errno();
    /* Bounds connect() while the queue of a daemon that hangs is full. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -error_errno();
    *fdp = fd;
    fd = -1;
    return 0;
}

static int start_bus(sd_bus *bus, int *fdp)
{
    int r = sd_bus_set_fd(bus, *fdp, *fdp);

    if (r < 0)
        return r;
    *fdp = -1;
    r = sd_bus_set_method_call_timeout(bus, TIMEOUT_SEC * UINT64_C(1000000));
    return r < 0 ? r : sd_bus_start(bus);
}

static int wait_ready(sd_bus *bus)
{
    uint64_t deadline = nsec_now() + TIMEOUT_SEC * NSEC_PER_SEC, now;
    int r;

    while ((r = sd_bus_is_ready(bus)) == 0) {
        r = sd_bus_process(bus, NULL);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        now = nsec_now();
        if (now >= deadline)
            return -ETIMEDOUT;
        r = sd_bus_wait(bus, (deadline - now) / NSEC_PER_USEC);
        if (r < 0 && r != -EINTR)
            return r;
    }
    return r < 0 ? r : 0;
}

int client_init(struct client *client, const char *path)
{
    CLEANUP(fd_closep) int fd = -1;
    int r;

    *client = CLIENT_NULL;
    r = connect_socket(path, &fd);
    if (r > 0)
        return fail_to_connect(client, path, r);
    r = sd_bus_new(&client->bus);
    if (r >= 0)
        r = start_bus(client->bus, &fd);
    if (r >= 0)
        r = wait_ready(client->bus);
    return r < 0 ? fail_to_talk(client, r) : 0;
}

void client_deinit(struct client *client)
{
    client->bus = sd_bus_close_unref(client->bus);
}

static int fail_to_call(struct client *client, int r, const sd_bus_error *error)
{
    if (sd_bus_error_has_name(error, SD_BUS_ERROR_ACCESS_DENIED))
        return fail(client, CLIENT_REFUSED, "numabd refuses: %s", error->message);
    /* Timeouts and lost connections get an error name too. */
    if (!error->message || r == -ETIMEDOUT || r == -ECONNRESET)
        return fail_to_talk(client, r);
    return fail(client, CLIENT_FAILED, "%s", error->message);
}

int client_call(struct client *client, const char *method, sd_bus_message **replyp)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = sd_bus_call_method(client->bus, "org.numabd", "/org/numabd", "org.numabd", method,
                               &error, replyp, "");

    r = r < 0 ? fail_to_call(client, r, &error) : 0;
    sd_bus_error_free(&error);
    return r;
}

int client_call_vmas(struct client *client, pid_t pid, uint64_t from, sd_bus_message **replyp)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = sd_bus_call_method(client->bus, "org.numabd", "/org/numabd", "org.numabd", "Vmas",
                               &error, replyp, "it", pid, from);

    r = r < 0 ? fail_to_call(client, r, &error) : 0;
    sd_bus_error_free(&error);
    return r;
}
