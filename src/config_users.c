/*
 * Rules know users by number alone. Their names are looked up once, when the file is read: asking
 * for a name can take as long as the network behind it (LDAP), which a scan must not wait for.
 * Patterns with wildcards match local names only, since a name service cannot list all of its own.
 *
 * A whole name that nobody has is refused, as every rule that can never match: a misspelt user
 * would be moved though he was to be excluded.
 */
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_source.h"
#include "util/array.h"
#include "util/cleanup.h"

#define UID_DIGITS_MAX 10
#define UID_NOBODY UINT32_MAX /* (uid_t)-1 is nobody's */

static int add_uid(struct rule *rule, uid_t uid)
{
    if (ARRAY_RESERVE(rule->uids, rule->uids_cap, rule->n_uids + 1) < 0)
        return -ENOMEM;
    rule->uids[rule->n_uids++] = uid;
    return 0;
}

static bool is_number(const char *pattern)
{
    return !pattern[strspn(pattern, "0123456789")];
}

static bool has_wildcards(const char *pattern)
{
    return strpbrk(pattern, "*?[\\") != NULL;
}

static int fail(const struct config_source *source, const struct rule *rule, const char *why)
{
    return config_source_fail(source, rule->line, "user \"%.60s\" %s", rule->pattern, why);
}

static int fail_lookup(const struct config_source *source, const struct rule *rule, int error)
{
    return config_source_fail(source, rule->line, "user \"%.60s\" cannot be looked up: %s",
                              rule->pattern, strerror(error));
}

static int resolve_number(struct rule *rule, const struct config_source *source)
{
    unsigned long long uid = strtoull(rule->pattern, NULL, 10);

    if (strlen(rule->pattern) > UID_DIGITS_MAX || uid >= UID_NOBODY)
        return fail(source, rule, "is not a user id (0 to 4294967294)");
    return add_uid(rule, (uid_t)uid);
}

/* What getpwnam leaves in errno for a name that nobody has differs by service; see its page. */
static bool means_nobody(int error)
{
    return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

static int resolve_name(struct rule *rule, const struct config_source *source)
{
    const struct passwd *entry;

    errno = 0;
    entry = getpwnam(rule->pattern);
    if (entry)
        return add_uid(rule, entry->pw_uid);
    if (errno == ENOMEM)
        return -ENOMEM;
    return means_nobody(errno) ? 0 : fail_lookup(source, rule, errno);
}

static int resolve_local(struct rule *rule, const struct config_source *source, const char *root)
{
    CLEANUP(fclosep) FILE *file = NULL;
    CLEANUP(freep) char *path = NULL;
    const struct passwd *entry;
    int r = 0;

    if (asprintf(&path, "%s/etc/passwd", root) < 0)
        return path = NULL, -ENOMEM;
    file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? 0 : fail_lookup(source, rule, errno);
    while (!r && (entry = fgetpwent(file)))
        if (!fnmatch(rule->pattern, entry->pw_name, 0))
            r = add_uid(rule, entry->pw_uid);
    return r;
}

static int resolve(struct rule *rule, const struct config_source *source, const char *root)
{
    int r;

    if (is_number(rule->pattern))
        r = resolve_number(rule, source);
    else if (has_wildcards(rule->pattern) || strcmp(root, "/") != 0)
        r = resolve_local(rule, source, root);
    else
        r = resolve_name(rule, source);
    if (!r && !rule->n_uids && !has_wildcards(rule->pattern))
        r = fail(source, rule, "never matches: there is no such user");
    rule->resolved = !r;
    return r;
}

static int resolve_list(struct rule_list *list, const struct config_source *source,
                        const char *root)
{
    int r = 0;

    for (size_t i = 0; i < list->n_rules && !r; i++)
        if (list->rules[i].field == RULE_USER && !list->rules[i].resolved)
            r = resolve(&list->rules[i], source, root);
    return r;
}

int config_resolve_users(struct config *config, const char *path, const char *root,
                         struct config_error *error)
{
    struct config_source source = config_source_of(path, error);
    int r = resolve_list(&config->include, &source, root);

    if (!r)
        r = resolve_list(&config->exclude, &source, root);
    return r ? r : resolve_list(&config->write_fault, &source, root);
}
