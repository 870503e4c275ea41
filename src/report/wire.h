#pragma once
/*
 * Wire: reports as D-Bus dictionaries a{sv}, one entry a field, under the names of report/fields.h.
 * Strings travel as valid UTF-8 (invalid bytes become U+FFFD).
 */
#include <systemd/sd-bus.h>

#include "numabd/report.h"
#include "report/doctor.h"

/* Append one report: a{sv}, or all: aa{sv}. Return: 0 or a negative errno. */
int wire_append_status(sd_bus_message *message, const struct status_report *report);
int wire_append_processes(sd_bus_message *message, const struct process_reports *reports);
/* a{sv}aa{sv}tt: the process, its VMAs, next, generation. */
int wire_append_vmas(sd_bus_message *message, const struct vmas_page *page);
int wire_append_checks(sd_bus_message *message, const struct doctor_report *report);

/*
 * Read what the above appended. Unknown names and values of an unexpected type are skipped, so that
 * both sides may be of different versions; fields that are absent stay 0 (strings "", shares -1).
 * `const char *` members point into the message and live as long as it does.
 * Return: 0 or a negative errno (-EBADMSG, -ENXIO: not such a dictionary).
 */
int wire_read_status(sd_bus_message *message, struct status_report *report);
int wire_read_processes(sd_bus_message *message, struct process_reports *reports);
/* *page must be empty. */
int wire_read_vmas(sd_bus_message *message, struct vmas_page *page);
int wire_read_checks(sd_bus_message *message, struct doctor_report *report);
