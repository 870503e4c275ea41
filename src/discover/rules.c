/*
 * Exclude beats include; an include list alone means only those. A fact that is unknown matches no
 * pattern. A "*" matches slashes too; a cgroup pattern that ends in "/"
 * matches that group and all that is below.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/discover.h"
#include "util/cleanup.h"

static bool match_text(const char *pattern, const char *text)
{
    return text && !fnmatch(pattern, text, 0);
}

static bool match_number(const char *pattern, unsigned long number)
{
    char text[24];

    snprintf(text, sizeof(text), "%lu", number);
    return !strcmp(pattern, text);
}

static bool match_user(const char *pattern, const struct process *process)
{
    if (!process->user)
        return false;
    return match_number(pattern, process->uid) || match_text(pattern, process->user);
}

static bool match_unit(const char *pattern, const struct process *process)
{
    CLEANUP(freep) char *unit = process_unit(process);

    return match_text(pattern, unit);
}

/* "/a/" is "/a" and whatever begins with "/a/". */
static bool match_cgroup(const char *pattern, const char *path)
{
    CLEANUP(freep) char *inside = NULL;
    CLEANUP(freep) char *below = NULL;
    size_t size = strlen(pattern);

    if (!path || !size || pattern[size - 1] != '/')
        return match_text(pattern, path);
    inside = strndup(pattern, size - 1);
    return (inside && match_text(inside, path)) ||
           (asprintf(&below, "%s*", pattern) >= 0 && match_text(below, path));
}

static bool match_rule(const struct rule *rule, const struct process *process)
{
    switch (rule->field) {
    case RULE_COMM:
        return match_text(rule->pattern, process->comm);
    case RULE_EXE:
        return match_text(rule->pattern, process->exe);
    case RULE_USER:
        return match_user(rule->pattern, process);
    case RULE_UNIT:
        return match_unit(rule->pattern, process);
    case RULE_CGROUP:
        return match_cgroup(rule->pattern, process->cgroup);
    case RULE_PID:
        return match_number(rule->pattern, (unsigned long)process->pid);
    case RULE_FIELD_COUNT:
        break;
    }
    return false;
}

static bool match_list(const struct rule_list *list, const struct process *process)
{
    for (size_t i = 0; i < list->n_rules; i++)
        if (match_rule(&list->rules[i], process))
            return true;
    return false;
}

enum reason rules_judge(const struct config *config, const struct process *process)
{
    if (match_list(&config->exclude, process))
        return REASON_EXCLUDED;
    if (config->include.n_rules && !match_list(&config->include, process))
        return REASON_NOT_INCLUDED;
    return REASON_NONE;
}
