#pragma once
/*
 * Control methods: the interface org.numabd at /org/numabd of one connection.
 */
#include <systemd/sd-bus.h>

#include "numabd/report.h"

/* Whose call it is and who answers; outlives the bus that it is added to. */
struct control_caller {
    const struct report_ops *ops;
    void *userdata;
    uid_t uid; /* of the connection, from the kernel */
};

/* Return: 0 or a negative errno. */
int control_methods_add(sd_bus *bus, struct control_caller *caller);

/* Answers org.freedesktop.DBus.Hello, which busctl and D-Bus libraries call first. Return: 1 if it
 * was that, 0 if not, or a negative errno. */
int control_methods_hello(sd_bus_message *message);
