/*
 * A rule that can never match is refused: who excludes "gnome-shell-calendar" by comm, of which the
 * kernel keeps 15 bytes, must not learn from a moved process that nothing was excluded.
 */
#include "config_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

#define COMM_BYTES 15     /* TASK_COMM_LEN less the NUL */
#define PID_LIMIT 4194304 /* PID_MAX_LIMIT of 64-bit kernels */
#define BLANKS " \t\n\v\f\r"

static const char *const fields[RULE_FIELD_COUNT] = {
    [RULE_COMM] = "comm", [RULE_EXE] = "exe",       [RULE_USER] = "user",
    [RULE_UNIT] = "unit", [RULE_CGROUP] = "cgroup", [RULE_PID] = "pid",
};

const char *rule_field_name(enum rule_field field)
{
    return field < RULE_FIELD_COUNT ? fields[field] : NULL;
}

enum rule_field rule_field_of(const char *key)
{
    enum rule_field field = 0;

    while (field < RULE_FIELD_COUNT && strcmp(fields[field], key))
        field++;
    return field;
}

static bool is_pid(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    long pid;

    if (!digits || digits > 7 || text[digits])
        return false;
    pid = strtol(text, NULL, 10);
    return pid >= 1 && pid <= PID_LIMIT;
}

/* Bytes before the first wildcard; all of them where there is none. */
static size_t literal_size(const char *pattern)
{
    return strcspn(pattern, "*?[\\");
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && !strcmp(text + size - end_size, end);
}

/* Why the pattern is wrong. Return: NULL if it is not. */
static const char *pattern_fault(enum rule_field field, const char *pattern)
{
    bool literal = !pattern[literal_size(pattern)];

    switch (field) {
    case RULE_PID:
        return is_pid(pattern) ? NULL : "is not a process id (1 to 4194304)";
    case RULE_COMM:
        return literal_size(pattern) <= COMM_BYTES
                   ? NULL
                   : "never matches: the kernel keeps 15 bytes of a command name";
    case RULE_EXE:
    case RULE_CGROUP:
        return strchr("/*?[\\", *pattern) ? NULL : "never matches: a path begins with /";
    case RULE_UNIT:
        return !literal || ends_with(pattern, ".service") || ends_with(pattern, ".scope")
                   ? NULL
                   : "never matches: a unit ends in .service or .scope";
    default:
        return NULL;
    }
}

static int append(struct rule_list *list, enum rule_field field, char **patternp, unsigned line)
{
    if (ARRAY_RESERVE(list->rules, list->cap, list->n_rules + 1) < 0)
        return -ENOMEM;
    list->rules[list->n_rules++] =
        (struct rule){.field = field, .pattern = TAKE(*patternp), .line = line};
    return 0;
}

int config_rules_append(struct rule_list *list, const struct config_source *source,
                        enum rule_field field, const char *value, unsigned line)
{
    for (const char *end;; value = end + 1) {
        CLEANUP(freep) char *pattern = NULL;
        const char *fault;
        size_t size;
        int r;

        value += strspn(value, BLANKS);
        end = value + strcspn(value, ",");
        for (size = (size_t)(end - value); size && strchr(BLANKS, value[size - 1]);)
            size--;
        if (!size)
            return config_source_fail(source, line, "\"%s\" has an empty item", fields[field]);
        if (!(pattern = strndup(value, size)))
            return -ENOMEM;
        if ((fault = pattern_fault(field, pattern)))
            return config_source_fail(source, line, "%s \"%.60s\" %s", fields[field], pattern,
                                      fault);
        if ((r = append(list, field, &pattern, line)) < 0 || !*end)
            return r;
    }
}

void config_rules_deinit(struct rule_list *list)
{
    for (size_t i = 0; i < list->n_rules; i++) {
        free(list->rules[i].pattern);
        free(list->rules[i].uids);
    }
    free(list->rules);
    *list = (struct rule_list){0};
}
