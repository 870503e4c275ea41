/*
 * Control
 *
 * The socket is open to every local user, so connections are counted: at most PER_UID_MAX each, and
 * the last ROOT_RESERVE of PEERS_MAX only for root, so that the administrator gets through while
 * others hold all they can. What is too much is closed at once.
 */
#include "daemon/control.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "daemon/control_peer.h"
#include "daemon/control_socket.h"
#include "util/error.h"

enum {
    PEERS_MAX = 64,
    PER_UID_MAX = 16,
    ROOT_RESERVE = 16,
    /* A burst of connections, or a process out of file descriptors, must not keep the loop busy. */
    ACCEPTS_PER_SEC = 200,
};

struct control {
    sd_event *event;
    struct control_socket socket;
    const struct report_ops *ops;
    void *userdata;
    sd_event_source *accept, *reap;
    struct control_peer *peers[PEERS_MAX]; /* the first n_peers */
    size_t n_peers;
};

static bool has_place(const struct control *control, uid_t uid)
{
    size_t limit = uid == 0 ? PEERS_MAX : PEERS_MAX - ROOT_RESERVE;
    size_t n_of_uid = 0;

    for (size_t i = 0; i < control->n_peers; i++)
        n_of_uid += control_peer_uid(control->peers[i]) == uid;
    return control->n_peers < limit && n_of_uid < PER_UID_MAX;
}

/* Peers are freed here and not where they end, which is inside their own callbacks. */
static int on_reap(sd_event_source *source, void *userdata)
{
    struct control *control = userdata;
    size_t kept = 0;

    (void)source;
    for (size_t i = 0; i < control->n_peers; i++) {
        if (control_peer_has_ended(control->peers[i]))
            control_peer_free(control->peers[i]);
        else
            control->peers[kept++] = control->peers[i];
    }
    control->n_peers = kept;
    return 0;
}

static void on_peer_end(void *userdata)
{
    struct control *control = userdata;

    (void)sd_event_source_set_enabled(control->reap, SD_EVENT_ONESHOT);
}

static int add_peer(struct control *control, int *fdp)
{
    struct control_peer_owner owner = {.on_end = on_peer_end, .userdata = control};
    struct control_caller caller = {.ops = control->ops, .userdata = control->userdata};
    struct control_peer *peer = NULL;
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int fd = *fdp, r;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return error_errno();
    caller.uid = credentials.uid;
    if (!has_place(control, caller.uid))
        return -EUSERS;
    *fdp = -1;
    r = control_peer_new(&peer, control->event, fd, &caller, &owner, &CONTROL_PEER_LIMITS);
    if (r == 0)
        control->peers[control->n_peers++] = peer;
    return r;
}

/* A connection that cannot be served is closed; that is its owner's to notice, not worth a log
 * line. */
static int on_accept(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
    CLEANUP(fd_closep) int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)source;
    (void)revents;
    if (fd >= 0)
        (void)add_peer(userdata, &fd);
    return 0;
}

static int add_sources(struct control *control)
{
    int r = sd_event_add_io(control->event, &control->accept, control->socket.fd, EPOLLIN,
                            on_accept, control);

    if (r >= 0)
        r = sd_event_source_set_ratelimit(control->accept, 1000000, ACCEPTS_PER_SEC);
    if (r >= 0)
        r = sd_event_add_defer(control->event, &control->reap, on_reap, control);
    if (r >= 0)
        r = sd_event_source_set_enabled(control->reap, SD_EVENT_OFF);
    return r;
}

int control_new(struct control **controlp, sd_event *event, const char *directory,
                const struct report_ops *ops, void *userdata)
{
    CLEANUP(control_freep) struct control *control = calloc(1, sizeof *control);
    int r;

    if (!control)
        return -ENOMEM;
    control->event = sd_event_ref(event);
    control->socket = CONTROL_SOCKET_NULL;
    control->ops = ops;
    control->userdata = userdata;
    r = control_socket_init(&control->socket, directory);
    if (r != 0)
        return r;
    r = add_sources(control);
    if (r < 0)
        return r;
    *controlp = TAKE(control);
    return 0;
}

struct control *control_free(struct control *control)
{
    if (!control)
        return NULL;
    sd_event_source_disable_unref(control->accept);
    sd_event_source_disable_unref(control->reap);
    for (size_t i = 0; i < control->n_peers; i++)
        control_peer_free(control->peers[i]);
    control_socket_deinit(&control->socket);
    sd_event_unref(control->event);
    free(control);
    return NULL;
}
