/*
 * One connection of the control socket
 *
 * Any local user may connect, so everything that one can hold here is bounded: its time (5 s to
 * authenticate, 5 min between calls), its unread answers (QUEUED_MAX, where libsystemd would keep
 * 393,216), and the size of what it sends. libsystemd takes messages up to 128 MiB and has no
 * setting for it; but each time the socket becomes readable at most one socket buffer has come in,
 * so an unfinished message is bounded by the number of those times (WAKES_MAX). Calls here are
 * short: one needs a few.
 */
#include "daemon/control_peer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "util/error.h"

#define QUEUED_MAX 16
#define WAKES_MAX 64

struct control_peer {
    struct control_caller caller;
    struct control_peer_owner owner;
    struct control_peer_limits limits;
    sd_event *event;
    sd_bus *bus;
    int wake_fd; /* a duplicate: epoll takes each number once */
    sd_event_source *wake, *deadline;
    unsigned n_wakes; /* since the last whole message */
    uint64_t active_usec;
    bool ended;
};

static void end(struct control_peer *peer)
{
    peer->ended = true;
    (void)sd_event_source_set_enabled(peer->wake, SD_EVENT_OFF);
    (void)sd_event_source_set_enabled(peer->deadline, SD_EVENT_OFF);
    peer->owner.on_end(peer->owner.userdata);
}

static int on_wake(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct control_peer *peer = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    if (++peer->n_wakes > WAKES_MAX)
        end(peer);
    return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct control_peer *peer = userdata;
    int r;

    if (sd_bus_is_ready(peer->bus) <= 0 || usec >= peer->active_usec + peer->limits.idle_usec) {
        end(peer);
        return 0;
    }
    r = sd_event_source_set_time(source, peer->active_usec + peer->limits.idle_usec);
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static bool reads_answers(sd_bus *bus)
{
    uint64_t queued = 0;

    return sd_bus_get_n_queued_write(bus, &queued) >= 0 && queued <= QUEUED_MAX;
}

/* Sees every message first. Return: 1 when it is dealt with, 0 to go on, or a negative errno. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct control_peer *peer = userdata;

    (void)error;
    peer->n_wakes = 0;
    (void)sd_event_now(peer->event, CLOCK_MONOTONIC, &peer->active_usec);
    if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") ||
        !reads_answers(peer->bus))
        end(peer);
    return peer->ended ? 1 : control_methods_hello(message);
}

static int start_bus(struct control_peer *peer, int *fdp)
{
    sd_id128_t id;
    int r = sd_id128_randomize(&id);

    if (r >= 0)
        r = sd_bus_set_fd(peer->bus, *fdp, *fdp);
    if (r < 0)
        return r;
    *fdp = -1;
    r = sd_bus_set_server(peer->bus, 1, id);
    if (r >= 0)
        r = sd_bus_negotiate_fds(peer->bus, 0);
    if (r >= 0)
        r = sd_bus_add_filter(peer->bus, NULL, on_message, peer);
    if (r >= 0)
        r = control_methods_add(peer->bus, &peer->caller);
    if (r >= 0)
        r = sd_bus_start(peer->bus);
    return r < 0 ? r : sd_bus_attach_event(peer->bus, peer->event, SD_EVENT_PRIORITY_NORMAL);
}

static int add_sources(struct control_peer *peer)
{
    int r =
        sd_event_add_io(peer->event, &peer->wake, peer->wake_fd, EPOLLIN | EPOLLET, on_wake, peer);

    if (r >= 0)
        r = sd_event_now(peer->event, CLOCK_MONOTONIC, &peer->active_usec);
    if (r < 0)
        return r;
    return sd_event_add_time_relative(peer->event, &peer->deadline, CLOCK_MONOTONIC,
                                      peer->limits.authenticate_usec, 0, on_deadline, peer);
}

int control_peer_new(struct control_peer **peerp, sd_event *event, int fd,
                     const struct control_caller *caller, const struct control_peer_owner *owner,
                     const struct control_peer_limits *limits)
{
    CLEANUP(control_peer_freep) struct control_peer *peer = calloc(1, sizeof *peer);
    CLEANUP(fd_closep) int owned_fd = fd;
    int r;

    if (!peer)
        return -ENOMEM;
    peer->caller = *caller;
    peer->owner = *owner;
    peer->limits = *limits;
    peer->event = sd_event_ref(event);
    peer->wake_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (peer->wake_fd < 0)
        return error_errno();
    r = sd_bus_new(&peer->bus);
    if (r >= 0)
        r = add_sources(peer);
    if (r >= 0)
        r = start_bus(peer, &owned_fd);
    if (r < 0)
        return r;
    *peerp = TAKE(peer);
    return 0;
}

struct control_peer *control_peer_free(struct control_peer *peer)
{
    if (!peer)
        return NULL;
    sd_event_source_disable_unref(peer->wake);
    sd_event_source_disable_unref(peer->deadline);
    sd_bus_close_unref(peer->bus);
    fd_close(peer->wake_fd);
    sd_event_unref(peer->event);
    free(peer);
    return NULL;
}

uid_t control_peer_uid(const struct control_peer *peer)
{
    return peer->caller.uid;
}

bool control_peer_has_ended(const struct control_peer *peer)
{
    return peer->ended;
}
