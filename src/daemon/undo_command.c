#include "daemon/undo_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control_socket.h"
#include "migrate/undo.h"

static void say(void *userdata, const char *line)
{
    (void)userdata;
    puts(line);
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "numabd: %s: %s\n", what, why);
    return EXIT_FAILURE;
}

static int undo_all(const char *path)
{
    CLEANUP(undo_freep) struct undo *undo = NULL;
    const struct host host = host_live();
    struct undo_reason reason;
    int r = undo_new(&undo, path, &host, &reason);

    if (r)
        return fail("nothing is undone", r < 0 ? strerror(-r) : reason.text);
    return undo_restore(undo, say, NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int undo_command(const char *directory)
{
    CLEANUP(freep) char *path = NULL;
    struct control_socket lock;
    int r;

    if (asprintf(&path, "%s/" UNDO_NAME, directory) < 0)
        return path = NULL, fail("nothing is undone", strerror(ENOMEM));
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return EXIT_SUCCESS;
    r = control_socket_lock(&lock, directory);
    if (r == CONTROL_BUSY)
        return fail("nothing is undone", "numabd is running, ask it with numabctl undo");
    if (r)
        return fail(directory, strerror(-r));
    r = undo_all(path);
    control_socket_deinit(&lock);
    return r;
}
