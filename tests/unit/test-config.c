/*
 * Each message of numabd.conf(5), and what is accepted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numabd/config.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define MAN_PAGE "man/numabd.conf.5"
#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* A folder with numabd.conf in it. */
struct place {
    char folder[64];
    char path[96];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    strcpy(place->folder, "/tmp/test-config-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof(place->path), "%s/numabd.conf", place->folder);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;

    unlink(place->path);
    rmdir(place->folder);
    free(place);
    return 0;
}

static int load_bytes(const struct place *place, const char *text, size_t size,
                      struct config **configp, struct config_error *error)
{
    CLEANUP(fd_closep) int fd = open(place->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    return config_new(configp, place->path, error);
}

static struct config *load_good(const struct place *place, const char *text)
{
    struct config_error error = {""};
    struct config *config = NULL;
    int r = load_bytes(place, text, strlen(text), &config, &error);

    if (r)
        fail_msg("refused: %s\n%s", error.message, text);
    return config;
}

static void read_project_file(const char *path, char **textp)
{
    size_t size;

    if (procfs_read(".", path, textp, &size))
        fail_msg("%s: cannot be read; run from the root of the project", path);
}

/* `form` is the part of the message that the man page repeats. */
static const struct error_case {
    const char *text, *message, *form;
} error_cases[] = {
    {"[daemon]\njust text\n", "2: neither [section] nor key = value: \"just text\"",
     "neither [section] nor key = value"},
    {"= 1 s\n", "1: neither [section] nor key = value: \"= 1 s\"", NULL},
    {"x", "1: neither [section] nor key = value: \"x\"", NULL},
    {"[daemon\n", "1: neither [section] nor key = value: \"[daemon\"", NULL},
    {"[daemon] observe = yes\n", "1: neither [section] nor key = value: \"[daemon] observe = yes\"",
     NULL},
    {"[daemon] # why\n", "1: neither [section] nor key = value: \"[daemon] # why\"", NULL},
    {"\xef\xbb\xbf[daemon]\n", "1: neither [section] nor key = value: \"\xef\xbb\xbf[daemon]\"",
     NULL},
    {"\n\n[deamon]\n",
     "3: unknown section [deamon] (known: daemon, sampling, decide, migrate, include, exclude, "
     "write_fault)",
     "unknown section ["},
    {"[]\n",
     "1: unknown section [] (known: daemon, sampling, decide, migrate, include, exclude, "
     "write_fault)",
     NULL},
    {"[daemon]\nintervall = 1 s\n",
     "2: unknown key \"intervall\" in [daemon] (known: interval, observe, min_rss, "
     "cpu_budget, numa_maps_limit)",
     "unknown key "},
    {"[sampling]\ninterval = 1 s\n",
     "2: unknown key \"interval\" in [sampling] (known: sources, rate, "
     "sampling_budget, scope, mask_bits, mask_window, scan_filter)",
     NULL},
    {"[exclude]\nname = x\n",
     "2: unknown key \"name\" in [exclude] (known: comm, exe, user, unit, cgroup, pid)", NULL},
    {"[daemon]\ninter val = 1 s\n",
     "2: unknown key \"inter val\" in [daemon] (known: interval, observe, min_rss, "
     "cpu_budget, numa_maps_limit)",
     NULL},
    {"# hello\ninterval = 1 s\n[daemon]\n", "2: key \"interval\" stands before the first section",
     "stands before the first section"},
    {"[daemon]\n\n[decide]\n[Daemon]\n", "4: duplicate section [daemon], first on line 1",
     "duplicate section ["},
    {"[exclude]\ncomm = a\nCOMM = b\n", "3: duplicate key \"comm\", first on line 2",
     "duplicate key "},
    {"[daemon]\ninterval =\n", "2: \"interval\" has no value", "has no value"},
    {"[daemon]\ninterval = # 1 s\n", "2: \"interval\" has no value", NULL},
    {"[daemon]\ninterval = \"\"\n", "2: \"interval\" has no value", NULL},
    {"[daemon]\ninterval = '  ' ; x\n", "2: \"interval\" has no value", NULL},
    {"[daemon]\ninterval = fast\n", "2: interval = fast is not a number in ms, s or min",
     "is not a number in"},
    {"[daemon]\ninterval = -1 s\n", "2: interval = -1 s is not a number in ms, s or min", NULL},
    {"[daemon]\ninterval = 1. s\n", "2: interval = 1. s is not a number in ms, s or min", NULL},
    {"[daemon]\ninterval = 1,5 s\n", "2: interval = 1,5 s has an unknown unit, not ms, s or min",
     NULL},
    {"[daemon]\nobserve = maybe\n", "2: observe = maybe is not yes or no", "is not yes or no"},
    {"[daemon]\nobserve = 1\n", "2: observe = 1 is not yes or no", NULL},
    {"[daemon]\ninterval = 1\n", "2: interval = 1 needs a unit: ms, s or min", "needs a unit: "},
    {"[daemon]\nmin_rss = 0\n", "2: min_rss = 0 needs a unit: B, KiB, MiB, GiB or TiB", NULL},
    {"[decide]\nmin_share = 60\n", "2: min_share = 60 needs a unit: %", NULL},
    {"[sampling]\nrate = 250\n", "2: rate = 250 needs a unit: Hz or kHz", NULL},
    {"[migrate]\nmigration_rate = 1 GiB\n",
     "2: migration_rate = 1 GiB has an unknown unit, not KiB/s, MiB/s, GiB/s or TiB/s",
     "has an unknown unit, not "},
    {"[daemon]\nmin_rss = 32 MB\n",
     "2: min_rss = 32 MB has an unknown unit, not B, KiB, MiB, GiB or TiB", NULL},
    {"[daemon]\ninterval = 99 ms\n", "2: interval = 99 ms is out of range: 100 ms to 60 s",
     "is out of range: "},
    {"[daemon]\ninterval = 61 s\n", "2: interval = 61 s is out of range: 100 ms to 60 s", NULL},
    {"[decide]\nmin_share = 95.01 %\n", "2: min_share = 95.01 % is out of range: 50 % to 95 %",
     NULL},
    {"[decide]\ncool_down = 0\n", "2: cool_down = 0 is out of range: 1 round to 1000 rounds", NULL},
    {"[daemon]\nmin_rss = 18446744073709551616 B\n",
     "2: min_rss = 18446744073709551616 B is out of range: 0 B to 1 TiB", NULL},
    {"[daemon]\nmin_rss = 16777217 TiB\n",
     "2: min_rss = 16777217 TiB is out of range: 0 B to 1 TiB", NULL},
    {"[exclude]\ncomm = a,,b\n", "2: \"comm\" has an empty item", "has an empty item"},
    {"[exclude]\ncomm = a,\n", "2: \"comm\" has an empty item", NULL},
    {"[exclude]\ncomm = , a\n", "2: \"comm\" has an empty item", NULL},
    {"[exclude]\npid = 12x\n", "2: pid \"12x\" is not a process id (1 to 4194304)",
     "is not a process id (1 to 4194304)"},
    {"[exclude]\npid = 1, 0\n", "2: pid \"0\" is not a process id (1 to 4194304)", NULL},
    {"[exclude]\npid = 4194305\n", "2: pid \"4194305\" is not a process id (1 to 4194304)", NULL},
    {"[exclude]\npid = -1\n", "2: pid \"-1\" is not a process id (1 to 4194304)", NULL},
    {"[exclude]\npid = *\n", "2: pid \"*\" is not a process id (1 to 4194304)", NULL},
    {"[exclude]\ncomm = sixteen-bytes-xy\n",
     "2: comm \"sixteen-bytes-xy\" never matches: the kernel keeps 15 bytes of a command name",
     "never matches: the kernel keeps 15 bytes of a command name"},
    {"[include]\nexe = postgres\n", "2: exe \"postgres\" never matches: a path begins with /",
     "never matches: a path begins with /"},
    {"[include]\ncgroup = x.slice/\n", "2: cgroup \"x.slice/\" never matches: a path begins with /",
     NULL},
    {"[include]\nunit = postgresql\n",
     "2: unit \"postgresql\" never matches: a unit ends in .service or .scope",
     "never matches: a unit ends in .service or .scope"},
    {"[exclude]\ncomm = \"a\n", "2: missing closing quote", "missing closing quote"},
    {"[exclude]\ncomm = \"Web Content\", foo\n", "2: text behind the closing quote: \", foo\"",
     "text behind the closing quote: "},
    {"[exclude]\ncomm = foo, \"a;b\"\n", "2: quotes must enclose the whole value",
     "quotes must enclose the whole value"},
    {"[exclude]\ncomm = \"a\\*\"\n", "2: backslash inside quotes", "backslash inside quotes"},
    {"[exclude]\ncomm = a, \\\n", "2: backslash at the end of the file continues nothing",
     "backslash at the end of the file continues nothing"},
    {"# note \\\n[daemon]\n", "1: comment must not be continued with a backslash",
     "comment must not be continued with a backslash"},
    {"[exclude]\ncomm = a, # note \\\nb\n", "2: comment must not be continued with a backslash",
     NULL},
    {"[exclude]\ncomm = \"a\" # note \\\nb\n", "2: comment must not be continued with a backslash",
     NULL},
    {"[daemon]\ninterval = 2 s\ninterval\t= 50 ms\n",
     "3: duplicate key \"interval\", first on line 2", NULL},
    {"[exclude]\ncomm = a, \\\n  b,\\\n  c\npid = x\n",
     "5: pid \"x\" is not a process id (1 to 4194304)", NULL},
    {"[daemon]\r\ninterval = 9 ms\r\n", "2: interval = 9 ms is out of range: 100 ms to 60 s", NULL},
    {"[daemon]\ninterval = a\tb\x1b[31m\n",
     "2: interval = a?b?[31m is not a number in ms, s or min", NULL},
};

static void check_error(const struct place *place, const char *text, size_t size,
                        const char *message)
{
    struct config_error error = {""};
    struct config *config = NULL;
    char expected[600];
    int r = load_bytes(place, text, size, &config, &error);

    snprintf(expected, sizeof(expected), "numabd.conf:%s", message);
    if (r != CONFIG_INVALID || strcmp(error.message, expected))
        fail_msg("got %d \"%s\", expected \"%s\"", r, error.message, expected);
    assert_null(config);
}

static void every_mistake_has_its_message(void **state)
{
    for (size_t i = 0; i < ARRAY_LENGTH(error_cases); i++)
        check_error(*state, error_cases[i].text, strlen(error_cases[i].text),
                    error_cases[i].message);
}

/* mdoc writes a double quote as \(dq. */
static void assert_in_man_page(const char *form)
{
    CLEANUP(freep) char *page = NULL;

    read_project_file(MAN_PAGE, &page);
    if (!strstr(page, form))
        fail_msg("%s does not name \"%s\"", MAN_PAGE, form);
}

static void man_page_names_every_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(error_cases); i++)
        if (error_cases[i].form) {
            assert_non_null(strstr(error_cases[i].message, error_cases[i].form));
            assert_in_man_page(error_cases[i].form);
        }
    assert_in_man_page("line is longer than 1022 bytes (with the lines it continues)");
    assert_in_man_page("NUL byte");
    assert_in_man_page("file is larger than 1 MiB");
    assert_in_man_page("not a regular file");
    assert_in_man_page("iniparser reads this otherwise (was the file changed just now?)");
}

static void nul_byte_is_found_on_its_line(void **state)
{
    static const char text[] = "[daemon]\nobserve = yes\nmin_rss = 1\0 MiB\n";

    check_error(*state, text, sizeof(text) - 1, "3: NUL byte");
}

/* "[exclude]\ncomm = aa,aa,...\n" with the second line of exactly `size` bytes. */
static size_t long_line(char *text, size_t size, char filler)
{
    size_t used = (size_t)sprintf(text, "[exclude]\ncomm = ");

    memset(text + used, filler, 10 + size - used);
    text[10 + size] = '\0';
    return 10 + size;
}

static void longest_line_is_read_whole(void **state)
{
    CLEANUP(config_freep) struct config *config = NULL;
    char text[2048];
    size_t size = long_line(text, 1022, '*');

    strcpy(text + size, "\npid = 7\n");
    config = load_good(*state, text);
    assert_int_equal(config->exclude.n_rules, 2);
    assert_int_equal(strlen(config->exclude.rules[0].pattern), 1022 - strlen("comm = "));
    config = config_free(config);
    text[size] = '\0'; /* the same without a newline at the end */
    config = load_good(*state, text);
    assert_int_equal(config->exclude.n_rules, 1);
}

static void longer_line_is_refused_not_cut(void **state)
{
    char text[2048];
    size_t size = long_line(text, 1023, '*');
    const char *message = "2: line is longer than 1022 bytes (with the lines it continues)";

    check_error(*state, text, size, message);
    strcpy(text + size, "\npid = 7\n");
    check_error(*state, text, strlen(text), message);
    size = long_line(text, 1000, '*');
    strcpy(text + size, ",\\\n" X64 "\n");
    check_error(*state, text, strlen(text),
                "3: line is longer than 1022 bytes (with the lines it continues)");
}

static void large_file_is_refused(void **state)
{
    size_t size = ((size_t)1 << 20) + 1;
    CLEANUP(freep) char *text = malloc(size);

    memset(text, '\n', size);
    check_error(*state, text, size, "1: file is larger than 1 MiB");
}

static void folder_and_fifo_are_not_read(void **state)
{
    const struct place *place = *state;
    struct config_error error = {""};
    struct config *config = NULL;

    assert_int_equal(mkdir(place->path, 0700), 0);
    assert_int_equal(config_new(&config, place->path, &error), CONFIG_INVALID);
    assert_string_equal(error.message, "numabd.conf:1: not a regular file");
    assert_int_equal(rmdir(place->path), 0);
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(config_new(&config, place->path, &error), CONFIG_INVALID);
    assert_string_equal(error.message, "numabd.conf:1: not a regular file");
    assert_null(config);
}

static void missing_file_is_its_own_condition(void **state)
{
    const struct place *place = *state;
    struct config_error error = {""};
    struct config *config = NULL;
    char expected[200];

    unlink(place->path);
    assert_int_equal(config_new(&config, place->path, &error), CONFIG_MISSING);
    snprintf(expected, sizeof(expected), "%s: No such file or directory", place->path);
    assert_string_equal(error.message, expected);
    assert_null(config);
}

static void check_unreadable(const struct place *place, int error)
{
    struct config_error message = {""};
    struct config *config = NULL;
    char expected[200];

    snprintf(expected, sizeof(expected), "%s: %s", place->path, strerror(error));
    assert_int_equal(config_new(&config, place->path, &message), CONFIG_INVALID);
    assert_string_equal(message.message, expected);
    assert_null(config);
}

/* Named after the bug: a file that was there but could not be read counted as missing, and the
 * defaults dropped its [exclude]. */
static void unreadable_file_is_not_a_missing_one(void **state)
{
    const struct place *place = *state;

    unlink(place->path);
    assert_int_equal(symlink(place->path, place->path), 0);
    check_unreadable(place, ELOOP);
    unlink(place->path);
    assert_int_equal(symlink("nowhere", place->path), 0);
    check_unreadable(place, ENOENT);
    unlink(place->path);
    assert_int_equal(close(open(place->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0)), 0);
    if (geteuid() == 0)
        print_message("EACCES: not tried, root may read everything\n");
    else
        check_unreadable(place, EACCES);
}

static void mistakes_write_nothing_to_stderr(void **state)
{
    CLEANUP(fd_closep) int saved = dup(STDERR_FILENO);
    CLEANUP(fclosep) FILE *caught = tmpfile();

    assert_non_null(caught);
    dup2(fileno(caught), STDERR_FILENO);
    every_mistake_has_its_message(state);
    missing_file_is_its_own_condition(state);
    dup2(saved, STDERR_FILENO);
    assert_int_equal(lseek(fileno(caught), 0, SEEK_END), 0);
}

static void defaults_are_those_of_the_header(void **state)
{
    CLEANUP(config_freep) struct config *config = NULL;

    (void)state;
    assert_int_equal(config_new_default(&config), 0);
    assert_int_equal(config->interval_nsec, 1000000000);
    assert_false(config->observe);
    assert_int_equal(config->min_rss_bytes, 32 << 20);
    assert_int_equal(config->numa_maps_limit_bytes, UINT64_C(64) << 30);
    assert_int_equal(config->rate_hz, 250);
    assert_int_equal(config->mask_bits, 256);
    assert_int_equal(config->mask_window_nsec, 4000000000);
    assert_int_equal(config->scan_filter, 0);
    assert_int_equal(config->min_share_permyriad, 6000);
    assert_int_equal(config->cool_down_rounds, 5);
    assert_int_equal(config->headroom_bytes, 256 << 20);
    assert_true(config->use_page_cache);
    assert_int_equal(config->migration_rate_bytes, 1 << 30);
    assert_int_equal(config->include.n_rules, 0);
    assert_int_equal(config->exclude.n_rules, 0);
}

static void values_are_read_with_their_units(void **state)
{
    CLEANUP(config_freep)
    struct config *config = load_good(*state, "[DAEMON]\n"
                                              "interval=500ms ; twice a second\n"
                                              "Observe = YES\n"
                                              "min_rss = \"1.5 GiB\" # quoted\n"
                                              "numa_maps_limit = 0 B\n"
                                              "[sampling]\nrate = 1.25 kHz\n"
                                              "mask_bits = 1024\nmask_window = 2 s\n"
                                              "scan_filter = kernel\n"
                                              " [ decide ] \n"
                                              "min_share = 66.67 %\n"
                                              "cool_down = 7\n"
                                              "headroom = 0 B\n"
                                              "use_page_cache = no\n"
                                              "[migrate]\nmigration_rate = \\\n 512 MiB/s");

    assert_int_equal(config->interval_nsec, 500000000);
    assert_true(config->observe);
    assert_int_equal(config->min_rss_bytes, UINT64_C(3) << 29);
    assert_int_equal(config->numa_maps_limit_bytes, 0);
    assert_int_equal(config->rate_hz, 1250);
    assert_int_equal(config->mask_bits, 1024);
    assert_int_equal(config->mask_window_nsec, 2000000000);
    assert_int_equal(config->scan_filter, 3);
    assert_int_equal(config->min_share_permyriad, 6667);
    assert_int_equal(config->cool_down_rounds, 7);
    assert_int_equal(config->headroom_bytes, 0);
    assert_false(config->use_page_cache);
    assert_int_equal(config->migration_rate_bytes, 512 << 20);
}

static void empty_files_give_defaults(void **state)
{
    static const char *const texts[] = {
        "", "\n", "#", " ", "; x\n\n", "[daemon]", "\r\n[include]\r\n"};
    CLEANUP(config_freep) struct config *expected = NULL;

    assert_int_equal(config_new_default(&expected), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(config_freep) struct config *config = load_good(*state, texts[i]);

        assert_memory_equal(config, expected, sizeof(*config));
    }
}

static void assert_rule(const struct rule_list *list, size_t i, enum rule_field field,
                        const char *pattern, unsigned line)
{
    assert_true(i < list->n_rules);
    assert_int_equal(list->rules[i].field, field);
    assert_string_equal(list->rules[i].pattern, pattern);
    assert_int_equal(list->rules[i].line, line);
}

static void lists_keep_blanks_order_and_lines(void **state)
{
    CLEANUP(config_freep)
    struct config *config = load_good(*state, "[exclude]\n"
                                              "comm = Web Content ,a*,\\\n"
                                              "\tb[0-9]?\n"
                                              "pid = 1, 4194304\n"
                                              "[include]\n"
                                              "unit = postgresql@*.service, x.scope, data*\n"
                                              "exe = '/opt/a#b;c'\n"
                                              "cgroup = /system.slice/\n"
                                              "user=0\n");

    assert_int_equal(config->exclude.n_rules, 5);
    assert_rule(&config->exclude, 0, RULE_COMM, "Web Content", 2);
    assert_rule(&config->exclude, 1, RULE_COMM, "a*", 2);
    assert_rule(&config->exclude, 2, RULE_COMM, "b[0-9]?", 2);
    assert_rule(&config->exclude, 3, RULE_PID, "1", 4);
    assert_rule(&config->exclude, 4, RULE_PID, "4194304", 4);
    assert_int_equal(config->include.n_rules, 6);
    assert_rule(&config->include, 2, RULE_UNIT, "data*", 6);
    assert_rule(&config->include, 3, RULE_EXE, "/opt/a#b;c", 7);
    assert_rule(&config->include, 4, RULE_CGROUP, "/system.slice/", 8);
    assert_rule(&config->include, 5, RULE_USER, "0", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_mistake_has_its_message, setup, teardown),
        cmocka_unit_test(man_page_names_every_message),
        cmocka_unit_test_setup_teardown(nul_byte_is_found_on_its_line, setup, teardown),
        cmocka_unit_test_setup_teardown(longest_line_is_read_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(longer_line_is_refused_not_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(large_file_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(folder_and_fifo_are_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_file_is_its_own_condition, setup, teardown),
        cmocka_unit_test_setup_teardown(unreadable_file_is_not_a_missing_one, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_write_nothing_to_stderr, setup, teardown),
        cmocka_unit_test(defaults_are_those_of_the_header),
        cmocka_unit_test_setup_teardown(values_are_read_with_their_units, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_files_give_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_keep_blanks_order_and_lines, setup, teardown),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
