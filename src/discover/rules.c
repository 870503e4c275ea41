/*
 * Exclude beats include; an include list alone means only those. Exclusion is a promise, so a rule
 * of [exclude] that asks for a fact that is unknown excludes; a rule of [include] then does not
 * match. A "*" matches slashes too; a cgroup pattern that ends in "/" matches that group and all
 * that is below.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/discover.h"
#include "util/cleanup.h"

enum match {
    MATCH_NO,
    MATCH_YES,
    MATCH_UNKNOWN,
};

static enum match match_of(bool matches)
{
    return matches ? MATCH_YES : MATCH_NO;
}

static enum match match_text(const char *pattern, const char *text)
{
    return text ? match_of(!fnmatch(pattern, text, 0)) : MATCH_UNKNOWN;
}

static enum match match_pid(const char *pattern, pid_t pid)
{
    char text[24];

    snprintf(text, sizeof(text), "%d", pid);
    return match_of(!strcmp(pattern, text));
}

static enum match match_user(const struct rule *rule, const struct process *process)
{
    if (!process->uid_known || !rule->resolved)
        return MATCH_UNKNOWN;
    for (size_t i = 0; i < rule->n_uids; i++)
        if (rule->uids[i] == process->uid)
            return MATCH_YES;
    return MATCH_NO;
}

/* A known group that belongs to no unit matches no pattern. */
static enum match match_unit(const char *pattern, const struct process *process)
{
    CLEANUP(freep) char *unit = process_unit(process);

    if (!process->cgroup)
        return MATCH_UNKNOWN;
    return unit ? match_text(pattern, unit) : MATCH_NO;
}

/* "/a/" is "/a" and whatever begins with "/a/". */
static enum match match_cgroup(const char *pattern, const char *path)
{
    CLEANUP(freep) char *inside = NULL;
    CLEANUP(freep) char *below = NULL;
    size_t size = strlen(pattern);

    if (!path || !size || pattern[size - 1] != '/')
        return match_text(pattern, path);
    inside = strndup(pattern, size - 1);
    if (!inside || asprintf(&below, "%s*", pattern) < 0)
        return below = NULL, MATCH_UNKNOWN;
    return match_of(match_text(inside, path) == MATCH_YES || match_text(below, path) == MATCH_YES);
}

static enum match match_rule(const struct rule *rule, const struct process *process)
{
    switch (rule->field) {
    case RULE_COMM:
        return match_text(rule->pattern, process->comm);
    case RULE_EXE:
        return match_text(rule->pattern, process->exe);
    case RULE_USER:
        return match_user(rule, process);
    case RULE_UNIT:
        return match_unit(rule->pattern, process);
    case RULE_CGROUP:
        return match_cgroup(rule->pattern, process->cgroup);
    case RULE_PID:
        return match_pid(rule->pattern, process->pid);
    case RULE_FIELD_COUNT:
        break;
    }
    return MATCH_UNKNOWN;
}

static enum match match_list(const struct rule_list *list, const struct process *process)
{
    enum match found = MATCH_NO;

    for (size_t i = 0; i < list->n_rules && found != MATCH_YES; i++) {
        enum match match = match_rule(&list->rules[i], process);

        if (match != MATCH_NO)
            found = match;
    }
    return found;
}

bool rules_allow_write_fault(const struct config *config, const struct process *process)
{
    return match_list(&config->write_fault, process) == MATCH_YES;
}

enum reason rules_judge(const struct config *config, const struct process *process)
{
    if (match_list(&config->exclude, process) != MATCH_NO)
        return REASON_EXCLUDED;
    if (config->include.n_rules && match_list(&config->include, process) != MATCH_YES)
        return REASON_NOT_INCLUDED;
    return REASON_NONE;
}
