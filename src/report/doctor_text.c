/*
 * The doctor's lines, as text:
 *
 *     missing  idle_page   which pages were touched; to do: use a kernel with ...
 *                          cannot see: who touched them
 *
 * What failed comes first of what follows the purpose, then what to do about it: one line tells
 * all that is to be done. What a source cannot see even when it works has a line of its own.
 */
#include <string.h>

#include "report/doctor.h"
#include "report/fields.h"
#include "report/text.h"
#include "util/array.h"

#define STATE_WIDTH 8
#define NAME_WIDTH 27

static const struct {
    const char *group, *heading;
} headings[] = {
    {"source", "Sources of accesses"},
    {"call", "Calls, tried on numabd's own process"},
    {"permission", "Permissions"},
    {"limit", "Limits"},
    {"kernel", "Kernel"},
    {"machine", "Machine"},
};

static const char *heading_of(const char *group)
{
    for (size_t i = 0; i < ARRAY_LENGTH(headings); i++)
        if (!strcmp(headings[i].group, group))
            return headings[i].heading;
    return "Other";
}

static void print_part(FILE *file, const char *label, const char *value)
{
    char text[2048];

    if (value[0])
        fprintf(file, "%s%s", label, text_escape(text, sizeof text, value));
}

static void print_error(FILE *file, const struct doctor_check *check)
{
    const char *words = strerrordesc_np(fields_errno_of_name(check->error));

    if (!check->error[0])
        return;
    print_part(file, "; ", check->call);
    fprintf(file, ": %s (", words ? words : "unknown error");
    print_part(file, "", check->error);
    fputc(')', file);
}

static void print_check(FILE *file, const struct doctor_check *check)
{
    char state[64], name[sizeof check->name * 4];

    fprintf(file, "  %-*s %-*s ", STATE_WIDTH, text_escape(state, sizeof state, check->state),
            NAME_WIDTH, text_escape(name, sizeof name, check->name));
    print_part(file, "", check->detail);
    print_part(file, "; now: ", check->use);
    print_error(file, check);
    /* A source says itself what it tried and what to do. */
    print_part(file, strcmp(check->group, "source") ? "; to do: " : "; ", check->fix);
    if (check->blind[0])
        fprintf(file, "\n%*s", 2 + STATE_WIDTH + 1 + NAME_WIDTH + 1, "");
    print_part(file, "cannot see: ", check->blind);
    fputc('\n', file);
}

static void print_verdict(FILE *file, const struct doctor_check *check)
{
    fprintf(file, "\nBalancing is %s: ", strcmp(check->state, "ok") ? "not possible" : "possible");
    print_part(file, "", check->detail);
    fputc('\n', file);
}

void doctor_print(FILE *file, const struct doctor_report *report)
{
    const char *group = "";

    for (size_t i = 0; i < report->n_items; i++) {
        const struct doctor_check *check = &report->items[i];

        if (!strcmp(check->group, "verdict")) {
            print_verdict(file, check);
            continue;
        }
        if (strcmp(check->group, group) != 0)
            fprintf(file, "\n%s\n", heading_of(check->group));
        group = check->group;
        print_check(file, check);
    }
}
