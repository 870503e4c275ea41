#pragma once
/*
 * Doctor world: a machine for the doctor on which every fact is what the test says. At first all is
 * well: two nodes, root, a Debian kernel.
 */
#include "fake_host.h"
#include "report/doctor.h"

struct doctor_world {
    struct fake_host host;
    int errors[PROBE_CALL_COUNT]; /* what each probe gives */
    unsigned n_calls;
    struct node nodes[4];
    int cpu_node[8];
    bool cpu_isolated[8];
    uint8_t distances[16];
    struct topology topology;
    struct source_kind kinds[2]; /* "whose", which sees who, and "which", which does not */
    struct doctor_options options;
    struct doctor_report report;
};

void doctor_world_init(struct doctor_world *world);
void doctor_world_deinit(struct doctor_world *world);

/* Capabilities by name ("SYS_PTRACE SYS_NICE"), NULL: all; and the line "Seccomp:". */
void doctor_world_set_status(struct doctor_world *world, const char *capabilities, int seccomp);
void doctor_world_set_limits(struct doctor_world *world, const char *files, const char *locked);

/* Runs the doctor; the report is world->report. */
void doctor_world_run(struct doctor_world *world);
/* The line of that name, or NULL. */
const struct doctor_check *doctor_world_find(const struct doctor_world *world, const char *name);

/* The line has that state, and its fix holds `fix` (NULL: is empty). */
void doctor_world_expect(const struct doctor_world *world, const char *name, const char *state,
                         const char *fix);
/* `text` holds `part` (NULL: is empty); a failure names `what`. */
void doctor_world_expect_text(const char *what, const char *text, const char *part);
