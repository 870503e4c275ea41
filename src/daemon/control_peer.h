#pragma once
/*
 * Control peer: one connection. It ends itself (and says so through on_end) when the other side
 * goes, breaks the protocol, stays silent, sends what does not end, or does not read its answers.
 */
#include <systemd/sd-event.h>

#include "daemon/control_methods.h"
#include "util/cleanup.h"

struct control_peer;

struct control_peer_owner {
    /* The peer is to be freed, though not from within this call. May come more than once. */
    void (*on_end)(void *userdata);
    void *userdata;
};

struct control_peer_limits {
    uint64_t authenticate_usec; /* from the connection on */
    uint64_t idle_usec;         /* from the last message on */
};

#define CONTROL_PEER_LIMITS                                                                        \
    ((struct control_peer_limits){.authenticate_usec = 5 * UINT64_C(1000000),                      \
                                  .idle_usec = 300 * UINT64_C(1000000)})

/*
 * Takes the connected socket `fd` over in any case.
 * Return: 0 or a negative errno.
 */
int control_peer_new(struct control_peer **peerp, sd_event *event, int fd,
                     const struct control_caller *caller, const struct control_peer_owner *owner,
                     const struct control_peer_limits *limits);
struct control_peer *control_peer_free(struct control_peer *peer);
CLEANUP_DEFINE(struct control_peer *, control_peer_free)

uid_t control_peer_uid(const struct control_peer *peer);
bool control_peer_has_ended(const struct control_peer *peer);
