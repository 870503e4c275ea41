/*
 * Random files: config_scan and iniparser never read one differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numabd/config.h"
#include "util/array.h"
#include "util/cleanup.h"

static int load_text(int fd, const char *path, const char *text, struct config **configp,
                     struct config_error *error)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    return config_new(configp, path, error);
}

/* Pieces that provoke readings in which a scanner and iniparser could differ. */
static const char *const pieces[] = {
    "[exclude]\n",
    "[ Exclude ]\n",
    "[daemon]\n",
    "[decide]\n",
    "comm",
    "Comm ",
    "pid",
    "exe",
    "user",
    "=",
    " = ",
    "\t=\t",
    "\"",
    "'",
    "''",
    "\"a b\"",
    "'a;b'",
    "*",
    "/x",
    ",",
    ", ",
    " ",
    "\t",
    "\r",
    "\v",
    "#",
    ";",
    " # c",
    "\\",
    "\\\n",
    "\\ \n",
    "\n",
    "\n",
    "\n\n",
    "observe = yes\n",
    "user = a\n",
    "comm = b\n",
    "exe = *\n",
    "interval = 1 s\n",
    "[",
    "]",
    "\xff",
    "a",
    "7",
    "%",
    ":",
    "user = \\\n c # d\n",
    "cgroup = /a=b\n",
};

static void scanner_and_iniparser_never_differ(void **state)
{
    const char *seed_text = getenv("TEST_SEED");
    unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 10) : 20261130;
    char path[] = "/tmp/test-config-agree-XXXXXX";
    CLEANUP(fd_closep) int fd = mkstemp(path);
    size_t n_good = 0;

    (void)state;
    assert_true(fd >= 0);
    print_message("TEST_SEED=%u\n", seed);
    for (unsigned round = 0; round < 20000; round++) {
        CLEANUP(config_freep) struct config *config = NULL;
        struct config_error error = {""};
        char text[512] = "";
        int r;

        if (rand_r(&seed) % 8)
            strcpy(text, "[exclude]\n");
        for (unsigned n = (unsigned)rand_r(&seed) % 9; n; n--)
            strcat(text, pieces[(size_t)rand_r(&seed) % ARRAY_LENGTH(pieces)]);
        r = load_text(fd, path, text, &config, &error);
        n_good += !r;
        if (r && (r != CONFIG_INVALID || strstr(error.message, "iniparser")))
            fail_msg("%d \"%s\" for:\n%s", r, error.message, text);
    }
    unlink(path);
    assert_true(n_good > 1000); /* the pieces must not only make mistakes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanner_and_iniparser_never_differ),
    };

    return cmocka_run_group_tests_name("config-agree", tests, NULL, NULL);
}
