#pragma once
/*
 * Client: asks a running numabd over its socket. Every failure is put into one line for the user.
 */
#include <systemd/sd-bus.h>

#include "util/cleanup.h"

#define CLIENT_BUS_PATH "/run/numabd/bus"

enum {
    CLIENT_ABSENT = 1, /* no numabd is listening there */
    CLIENT_REFUSED,    /* it is there and does not allow this */
    CLIENT_FAILED,     /* it does not answer, or answers with an error */
};

struct client {
    sd_bus *bus;
    char message[512]; /* why the last call failed; safe for a terminal */
};

#define CLIENT_NULL ((struct client){.bus = NULL})

/* Connects to the socket `path`. Return: 0, or one of the above with client->message filled. */
int client_init(struct client *client, const char *path);
void client_deinit(struct client *client);

/*
 * Calls a method without arguments of org.numabd; the caller unrefs *replyp.
 * Return: 0, or one of the above with client->message filled.
 */
int client_call(struct client *client, const char *method, sd_bus_message **replyp);
/* The same for Vmas of the process, from the address `from` on. */
int client_call_vmas(struct client *client, pid_t pid, uint64_t from, sd_bus_message **replyp);
