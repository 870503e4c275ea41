/*
 * numabctl doctor
 *
 * A daemon that answers knows best: it sees what its sandbox leaves it. Without one, or with one
 * that does not answer, numabctl looks for itself, with its own permissions, and says so first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/verbs.h"
#include "numabd/config.h"
#include "report/doctor.h"
#include "report/json.h"
#include "report/wire.h"
#include "sample/sources.h"

struct findings {
    struct doctor_report report;
    sd_bus_message *reply; /* strings of the report lie in it */
    bool from_daemon;
    char why_local[600]; /* one clause */
};

static void findings_deinit(struct findings *findings)
{
    doctor_report_deinit(&findings->report);
    sd_bus_message_unref(findings->reply);
}

static int ask(struct findings *findings, struct client *client, const char *bus)
{
    int r = client_init(client, bus);

    if (r == 0)
        r = client_call(client, "Doctor", &findings->reply);
    return r;
}

/* Return: 0 or a negative errno; without an answer findings say why. */
static int ask_daemon(struct findings *findings, const char *bus)
{
    struct client client;
    int r = ask(findings, &client, bus);

    if (r == 0)
        r = wire_read_checks(findings->reply, &findings->report);
    else
        snprintf(findings->why_local, sizeof findings->why_local, "%s", client.message);
    findings->from_daemon = r == 0;
    client_deinit(&client);
    return r < 0 ? r : 0;
}

/* At the rate that numabd starts with where its configuration says nothing. */
static int look(struct doctor_report *report, const struct topology *topology,
                const struct config *config)
{
    struct host host = host_live();
    struct doctor_options options = {
        .probe = probe_live(),
        .topology = topology,
        .host = &host,
        .rate_hz = config->rate_hz,
    };

    options.kinds = source_kinds(&options.n_kinds);
    return doctor_run(report, &options);
}

static int look_here(struct findings *findings)
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    CLEANUP(config_freep) struct config *config = NULL;
    int r = topology_new(&topology, "/");

    if (r == 0)
        r = config_new_default(&config);
    return r < 0 ? r : look(&findings->report, topology, config);
}

static void print_origin(const struct findings *findings)
{
    if (findings->from_daemon)
        puts("Seen by numabd itself:");
    else
        printf(
            "Seen by numabctl itself as user %u: %s%s:\n", (unsigned)geteuid(), findings->why_local,
            geteuid() ? "; root has more permissions, so what is missing here may work there" : "");
}

static void print_json(const struct findings *findings)
{
    printf("{\"seen_by\":\"%s\",\"why_local\":", findings->from_daemon ? "numabd" : "numabctl");
    json_print_string(stdout, findings->why_local);
    printf(",\"possible\":%s,\"checks\":",
           doctor_says_possible(&findings->report) ? "true" : "false");
    json_print_checks(stdout, &findings->report);
    puts("}");
}

static int print(const struct findings *findings, bool json)
{
    if (json) {
        print_json(findings);
    } else {
        print_origin(findings);
        doctor_print(stdout, &findings->report);
    }
    return doctor_says_possible(&findings->report) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int find(struct findings *findings, const struct ctl_options *options)
{
    int r = 0;

    if (options->local)
        snprintf(findings->why_local, sizeof findings->why_local, "--local was given");
    else
        r = ask_daemon(findings, options->bus);
    return r < 0 || findings->from_daemon ? r : look_here(findings);
}

int verb_doctor(const struct ctl_options *options)
{
    struct findings findings = {.reply = NULL};
    int r = find(&findings, options);

    if (r < 0) {
        fprintf(stderr, "numabctl: cannot examine this machine: %s\n", strerror(-r));
        r = EXIT_FAILURE;
    } else {
        r = print(&findings, options->json);
    }
    findings_deinit(&findings);
    return r;
}
