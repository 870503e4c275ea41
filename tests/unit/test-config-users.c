/*
 * Users of rules: names become numbers when the file is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numabd/config.h"
#include "tree.h"
#include "util/cleanup.h"

/* Of a line beyond the buffer that the reentrant reader would be given. */
#define LONG_BYTES 20000

static const char passwd[] = "root:x:0:0::/:/x\n"
                             "anna:x:1000:1000:Anna:/a:/x\n"
                             "web-1:x:2001:1::/:/x\n"
                             "web-2:x:2002:1::/:/x\n";

static int setup(void **state)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    tree_init(tree);
    tree_write(tree, "etc/passwd", passwd, strlen(passwd));
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    tree_deinit(*state);
    free(*state);
    return 0;
}

/* Loads "[exclude] user = ..." and resolves it below `root`. */
static int load(struct tree *tree, const char *users, const char *root, struct config **configp,
                struct config_error *error)
{
    CLEANUP(freep) char *text = NULL, *path = NULL;

    assert_true(asprintf(&text, "[exclude]\nuser = %s\n", users) > 0);
    assert_true(asprintf(&path, "%s/numabd.conf", tree->root) > 0);
    tree_write(tree, "numabd.conf", text, strlen(text));
    assert_int_equal(config_new(configp, path, error), 0);
    assert_false((*configp)->exclude.rules[0].resolved);
    return config_resolve_users(*configp, path, root, error);
}

static void check_uids(struct tree *tree, const char *users, const uid_t *uids, size_t n_uids)
{
    CLEANUP(config_freep) struct config *config = NULL;
    struct config_error error = {""};
    const struct rule *rule;

    if (load(tree, users, tree->root, &config, &error))
        fail_msg("%s: %s", users, error.message);
    rule = &config->exclude.rules[0];
    assert_true(rule->resolved);
    assert_int_equal(rule->n_uids, n_uids);
    for (size_t i = 0; i < n_uids; i++)
        assert_int_equal(rule->uids[i], uids[i]);
}

static void names_become_numbers(void **state)
{
    static const uid_t anna[] = {1000}, number[] = {4711}, web[] = {2001, 2002};
    static const uid_t all[] = {0, 1000, 2001, 2002};

    check_uids(*state, "anna", anna, 1);
    check_uids(*state, "4711", number, 1);
    check_uids(*state, "web-*", web, 2);
    check_uids(*state, "web-[13]", web, 1);
    check_uids(*state, "*", all, 4);
    check_uids(*state, "nobody-at-all*", NULL, 0);
}

static void check_refused(struct tree *tree, const char *users, const char *message)
{
    CLEANUP(config_freep) struct config *config = NULL;
    struct config_error error = {""};
    int r = load(tree, users, tree->root, &config, &error);

    if (r != CONFIG_INVALID || strcmp(error.message, message))
        fail_msg("%s: %d \"%s\"", users, r, error.message);
}

static void user_that_is_nobody_is_refused(void **state)
{
    check_refused(*state, "anna, bert",
                  "numabd.conf:2: user \"bert\" never matches: there is no such user");
    check_refused(*state, "4294967295",
                  "numabd.conf:2: user \"4294967295\" is not a user id (0 to 4294967294)");
    check_refused(*state, "99999999999999999999",
                  "numabd.conf:2: user \"99999999999999999999\" is not a user id (0 to "
                  "4294967294)");
}

static void entry_behind_a_long_line_is_found(void **state)
{
    static const uid_t last[] = {77};
    CLEANUP(freep) char *text = malloc(LONG_BYTES + 100);
    size_t used = (size_t)sprintf(text, "big:x:5:5:");

    memset(text + used, 'x', LONG_BYTES);
    sprintf(text + used + LONG_BYTES, ":/:/x\nlast:x:77:1::/:/x\n");
    tree_write(*state, "etc/passwd", text, strlen(text));
    check_uids(*state, "last", last, 1);
}

static void whole_names_of_the_live_machine_are_asked_for(void **state)
{
    CLEANUP(config_freep) struct config *config = NULL, *refused = NULL;
    struct config_error error = {""};

    assert_int_equal(load(*state, "root", "/", &config, &error), 0);
    assert_int_equal(config->exclude.rules[0].n_uids, 1);
    assert_int_equal(config->exclude.rules[0].uids[0], 0);
    assert_int_equal(load(*state, "no-such-user-here", "/", &refused, &error), CONFIG_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(names_become_numbers),
        TEST(user_that_is_nobody_is_refused),
        TEST(entry_behind_a_long_line_is_found),
        TEST(whole_names_of_the_live_machine_are_asked_for),
    };

    return cmocka_run_group_tests_name("config-users", tests, NULL, NULL);
}
