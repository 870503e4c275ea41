/*
 * Which processes the lists of [include] and [exclude] select.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "numabd/discover.h"
#include "util/array.h"
#include "util/cleanup.h"

static const struct process postgres = {
    .pid = 4711,
    .comm = "postgres",
    .uid = 105,
    .uid_known = true,
    .exe = (char *)"/usr/lib/postgresql/16/bin/postgres",
    .cgroup = (char *)"/system.slice/system-postgresql.slice/postgresql@16-main.service",
};

static const struct process firefox = {
    .pid = 99,
    .comm = "Web Content",
    .uid = 1000,
    .uid_known = true,
    .exe = (char *)"/opt/fire fox/firefox",
    .cgroup = (char *)"/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope",
};

/* Nothing could be read of it. */
static const struct process unknown = {.pid = 12, .comm = "unknown"};

static const struct process container = {.pid = 13, .comm = "sh", .cgroup = (char *)"/lxc/a"};

/* Does one pattern match? Tried as an exclude rule. */
static const struct match_case {
    const char *shows;
    const struct process *process;
    enum rule_field field;
    const char *pattern;
    bool matches;
} match_cases[] = {
    {"comm is matched whole", &postgres, RULE_COMM, "postgres", true},
    {"comm is not a prefix", &postgres, RULE_COMM, "postgre", false},
    {"comm is not a substring", &postgres, RULE_COMM, "ostgres", false},
    {"comm is case-sensitive", &postgres, RULE_COMM, "Postgres", false},
    {"comm glob", &postgres, RULE_COMM, "post*", true},
    {"comm character set", &postgres, RULE_COMM, "[op]ostgre?", true},
    {"comm with a blank", &firefox, RULE_COMM, "Web Content", true},
    {"comm with a blank is one word", &firefox, RULE_COMM, "Web", false},
    {"exe is the whole path", &postgres, RULE_EXE, "/usr/lib/postgresql/16/bin/postgres", true},
    {"exe is not a file name", &postgres, RULE_EXE, "/postgres", false},
    {"exe star crosses slashes", &postgres, RULE_EXE, "/usr/*", true},
    {"exe with a blank", &firefox, RULE_EXE, "/opt/fire fox/*", true},
    {"unit instance", &postgres, RULE_UNIT, "postgresql@*.service", true},
    {"unit whole", &postgres, RULE_UNIT, "postgresql@16-main.service", true},
    {"unit is not a slice", &postgres, RULE_UNIT, "system-postgresql.slice", false},
    {"unit is the last one", &firefox, RULE_UNIT, "app-*.scope", true},
    {"unit is not one above", &firefox, RULE_UNIT, "user@1000.service", false},
    {"no unit", &container, RULE_UNIT, "*", false},
    {"cgroup whole", &firefox, RULE_CGROUP,
     "/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope", true},
    {"cgroup without a slash is that group only", &firefox, RULE_CGROUP, "/user.slice", false},
    {"cgroup with a slash is everything below", &firefox, RULE_CGROUP, "/user.slice/", true},
    {"cgroup with a slash is the group itself", &firefox, RULE_CGROUP,
     "/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope/", true},
    {"cgroup with a slash is no sibling", &firefox, RULE_CGROUP, "/user.slice/user-100/", false},
    {"cgroup glob and slash", &firefox, RULE_CGROUP, "/user.slice/user-*.slice/", true},
    {"cgroup root is everything", &firefox, RULE_CGROUP, "/", true},
    {"pid", &postgres, RULE_PID, "4711", true},
    {"pid is not a prefix", &postgres, RULE_PID, "471", false},
};

static void each_field_matches_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(match_cases); i++) {
        const struct match_case *c = &match_cases[i];
        struct rule rule = {.field = c->field, .pattern = (char *)c->pattern};
        struct config config = {.exclude = {.rules = &rule, .n_rules = 1}};
        enum reason reason = rules_judge(&config, c->process);

        if (reason != (c->matches ? REASON_EXCLUDED : REASON_NONE))
            fail_msg("%s: %s", c->shows, reason_name(reason));
    }
}

static enum reason judge_lists(const struct process *process, const char *include,
                               const char *exclude)
{
    struct rule in[] = {{.field = RULE_COMM, .pattern = (char *)"no such name"},
                        {.field = RULE_COMM, .pattern = (char *)include}};
    struct rule ex[] = {{.field = RULE_PID, .pattern = (char *)"1"},
                        {.field = RULE_COMM, .pattern = (char *)exclude}};
    struct config config = {.include = {.rules = in, .n_rules = include ? 2 : 0},
                            .exclude = {.rules = ex, .n_rules = exclude ? 2 : 0}};

    return rules_judge(&config, process);
}

static enum reason judge_user(const struct process *process, uid_t *uids, size_t n_uids,
                              bool resolved)
{
    struct rule rule = {.field = RULE_USER,
                        .pattern = (char *)"who",
                        .uids = uids,
                        .n_uids = n_uids,
                        .resolved = resolved};
    struct config config = {.exclude = {.rules = &rule, .n_rules = 1}};

    return rules_judge(&config, process);
}

static void users_are_matched_by_number_alone(void **state)
{
    uid_t uids[] = {0, 105};

    (void)state;
    assert_int_equal(judge_user(&postgres, uids, 2, true), REASON_EXCLUDED);
    assert_int_equal(judge_user(&firefox, uids, 2, true), REASON_NONE);
    assert_int_equal(judge_user(&firefox, NULL, 0, true), REASON_NONE);
    assert_int_equal(judge_user(&firefox, NULL, 0, false), REASON_EXCLUDED);
}

/* Named after the bug: a process whose executable could not be read was moved although /opt was
 * excluded. */
static void unknown_fact_excludes_and_never_includes(void **state)
{
    static const enum rule_field fields[] = {RULE_EXE, RULE_USER, RULE_UNIT, RULE_CGROUP};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        struct rule rules[] = {{.field = RULE_PID, .pattern = (char *)"1"},
                               {.field = fields[i], .pattern = (char *)"/x", .resolved = true},
                               {.field = RULE_PID, .pattern = (char *)"2"}};
        struct rule_list list = {.rules = rules, .n_rules = 3};
        struct config excluding = {.exclude = list}, including = {.include = list};

        assert_int_equal(rules_judge(&excluding, &unknown), REASON_EXCLUDED);
        assert_int_equal(rules_judge(&including, &unknown), REASON_NOT_INCLUDED);
        assert_int_equal(rules_judge(&excluding, &postgres), REASON_NONE);
        rules[2].pattern = (char *)"12"; /* what is known may still include it */
        assert_int_equal(rules_judge(&including, &unknown), REASON_NONE);
    }
}

static void without_lists_all_are_balanced(void **state)
{
    (void)state;
    assert_int_equal(judge_lists(&postgres, NULL, NULL), REASON_NONE);
    assert_int_equal(judge_lists(&unknown, NULL, NULL), REASON_NONE);
}

static void include_alone_means_only_those(void **state)
{
    (void)state;
    assert_int_equal(judge_lists(&postgres, "postgres", NULL), REASON_NONE);
    assert_int_equal(judge_lists(&firefox, "postgres", NULL), REASON_NOT_INCLUDED);
}

static void exclude_alone_leaves_the_others(void **state)
{
    (void)state;
    assert_int_equal(judge_lists(&postgres, NULL, "postgres"), REASON_EXCLUDED);
    assert_int_equal(judge_lists(&firefox, NULL, "postgres"), REASON_NONE);
}

static void exclude_beats_include(void **state)
{
    (void)state;
    assert_int_equal(judge_lists(&postgres, "postgres", "post*"), REASON_EXCLUDED);
    assert_int_equal(judge_lists(&postgres, "*", "Web*"), REASON_NONE);
    assert_int_equal(judge_lists(&firefox, "postgres", "Web*"), REASON_EXCLUDED);
}

static const struct unit_case {
    const char *cgroup, *unit;
} unit_cases[] = {
    {"/system.slice/x.service", "x.service"},
    {"/system.slice/docker-1a2b.scope/init", "docker-1a2b.scope"},
    {"/user.slice/user@1.service/app.slice/run-r1.scope", "run-r1.scope"},
    {"/system.slice/_memory.service", "memory.service"},
    {"/a.service/_.service", "a.service"}, /* once it was ".service" */
    {"/_.scope/x", NULL},
    {"/system.slice", NULL},
    {"/", NULL},
    {"", NULL},
    {NULL, NULL},
    {"/.service", NULL},
    {"/x.services/y.scopes", NULL},
    {"/x.service.d/y", NULL},
    {"/../../x.service", "x.service"},
};

static void unit_is_the_last_service_or_scope(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(unit_cases); i++) {
        struct process process = {.cgroup = (char *)unit_cases[i].cgroup};
        CLEANUP(freep) char *unit = process_unit(&process);

        if (!unit || !unit_cases[i].unit)
            assert_true(!unit && !unit_cases[i].unit);
        else
            assert_string_equal(unit, unit_cases[i].unit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_matches_what_it_says),
        cmocka_unit_test(users_are_matched_by_number_alone),
        cmocka_unit_test(unknown_fact_excludes_and_never_includes),
        cmocka_unit_test(without_lists_all_are_balanced),
        cmocka_unit_test(include_alone_means_only_those),
        cmocka_unit_test(exclude_alone_leaves_the_others),
        cmocka_unit_test(exclude_beats_include),
        cmocka_unit_test(unit_is_the_last_service_or_scope),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
