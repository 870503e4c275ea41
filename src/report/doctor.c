/*
 * The doctor: facts first, then one judge a group, then the verdict over all.
 */
#include "report/doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "report/doctor_facts.h"
#include "report/fields.h"
#include "util/array.h"

#define VERDICT "balancing"

struct doctor_check *doctor_add(struct doctor_report *report, const char *group, const char *name)
{
    struct doctor_check *check;

    if (ARRAY_RESERVE(report->items, report->cap, report->n_items + 1) < 0)
        return NULL;
    check = &report->items[report->n_items++];
    *check = (struct doctor_check){.state = "ok"};
    snprintf(check->group, sizeof check->group, "%s", group);
    snprintf(check->name, sizeof check->name, "%s", name);
    return check;
}

void doctor_set_error(struct doctor_check *check, const char *call, int error)
{
    char buffer[24];

    check->state = "missing";
    snprintf(check->call, sizeof check->call, "%s", call);
    snprintf(check->error, sizeof check->error, "%s", fields_errno_name(error, buffer));
}

static int add_source(struct doctor_report *report, const struct source_kind *kind,
                      const struct doctor_options *options, bool *worksp)
{
    struct doctor_check *check = doctor_add(report, "source", kind->name);
    struct source_reason reason = {""};
    int r;

    if (!check)
        return -ENOMEM;
    snprintf(check->detail, sizeof check->detail, "%s", kind->sees);
    snprintf(check->blind, sizeof check->blind, "%s", kind->blind);
    r = probe_source(kind, options->topology, options->host, options->rate_hz, &reason);
    *worksp = r == 0;
    if (r < 0)
        doctor_set_error(check, "self-test", -r);
    if (r)
        check->state = "missing";
    if (r > 0)
        snprintf(check->fix, sizeof check->fix, "%s", reason.text);
    if (options->describe)
        options->describe(options->userdata, kind->name, check->use, sizeof check->use);
    return 0;
}

static int add_sources(struct doctor_report *report, const struct doctor_options *options,
                       const struct source_kind **whop)
{
    bool works;
    int r;

    for (size_t i = 0; i < options->n_kinds; i++) {
        r = add_source(report, &options->kinds[i], options, &works);
        if (r < 0)
            return r;
        if (works && options->kinds[i].sees_who && !*whop)
            *whop = &options->kinds[i];
    }
    return 0;
}

/* Why pages of others cannot be moved, or NULL. */
static const char *moving_obstacle(const struct doctor_facts *facts)
{
    if (facts->errors[PROBE_MOVE_PAGES])
        return "move_pages does not work";
    if (facts->errors[PROBE_NUMA_MAPS])
        return "numa_maps cannot be read, so memory policies are not known and nothing is moved";
    if (!facts->capabilities_known)
        return NULL;
    if (!doctor_has(facts, CAP_SYS_PTRACE))
        return "CAP_SYS_PTRACE is missing, so other users' memory cannot be read or moved";
    if (!doctor_has(facts, CAP_SYS_NICE))
        return "CAP_SYS_NICE is missing, so other users' memory cannot be moved";
    return NULL;
}

static int add_verdict(struct doctor_report *report, const struct doctor_options *options,
                       const struct doctor_facts *facts, const struct source_kind *who)
{
    struct doctor_check *check = doctor_add(report, "verdict", VERDICT);
    const char *moving = moving_obstacle(facts);
    bool nodes = options->topology->n_memory_nodes >= 2;

    if (!check)
        return -ENOMEM;
    if (options->obstacle) {
        check->state = "missing";
        snprintf(check->detail, sizeof check->detail, "%s", options->obstacle);
        return 0;
    }
    if (nodes && who && !moving) {
        snprintf(check->detail, sizeof check->detail,
                 "%d memory nodes, %s sees who accesses%s%s, moving works",
                 options->topology->n_memory_nodes, who->name, who->only ? ", only of " : "",
                 who->only ? who->only : "");
        return 0;
    }
    check->state = "missing";
    snprintf(check->detail, sizeof check->detail, "%s%s%s%s%s",
             nodes ? "" : "this machine has one memory node",
             !nodes && (!who || moving) ? "; " : "", who ? "" : "no source sees who accesses",
             !who && moving ? "; " : "", moving ? moving : "");
    return 0;
}

int doctor_run(struct doctor_report *report, const struct doctor_options *options)
{
    struct doctor_facts facts;
    const struct source_kind *who = NULL;
    int r = doctor_facts_read(&facts, options);

    if (r == 0)
        r = add_sources(report, options, &who);
    if (r == 0)
        r = doctor_add_calls(report, &facts);
    if (r == 0)
        r = doctor_add_permissions(report, &facts);
    if (r == 0)
        r = doctor_add_limits(report, &facts);
    if (r == 0)
        r = doctor_add_kernel(report, &facts);
    if (r == 0)
        r = doctor_add_machine(report, &facts, options->topology);
    return r < 0 ? r : add_verdict(report, options, &facts, who);
}

void doctor_report_deinit(struct doctor_report *report)
{
    free(report->items);
    *report = (struct doctor_report){.items = NULL};
}

bool doctor_says_possible(const struct doctor_report *report)
{
    for (size_t i = 0; i < report->n_items; i++)
        if (!strcmp(report->items[i].name, VERDICT))
            return !strcmp(report->items[i].state, "ok");
    return false;
}
