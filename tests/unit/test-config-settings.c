/*
 * The sample file, the man page and the table of settings say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_rules.h"
#include "config_settings.h"
#include "numabd/config.h"
#include "util/cleanup.h"
#include "util/procfs.h"

#define SAMPLE "etc/numabd.conf"
#define MAN_PAGE "man/numabd.conf.5"

static void read_project_file(const char *path, char **textp)
{
    size_t size;

    if (procfs_read(".", path, textp, &size))
        fail_msg("%s: cannot be read; run from the root of the project", path);
}

static struct config *load_good(const char *text)
{
    char path[] = "/tmp/test-config-settings-XXXXXX";
    CLEANUP(fd_closep) int fd = mkstemp(path);
    struct config_error error = {""};
    struct config *config = NULL;
    int r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    r = config_new(&config, path, &error);
    unlink(path);
    if (r)
        fail_msg("refused: %s", error.message);
    return config;
}

/* Removes the mark from each line that begins with it and goes on with "name =". */
static char *uncomment(const char *text, const char *mark, size_t *np)
{
    char *out = calloc(1, strlen(text) + 1), *to = out;
    size_t mark_size = strlen(mark);

    for (*np = 0; *text;) {
        size_t size = strcspn(text, "\n"), name;

        if (!strncmp(text, mark, mark_size)) {
            name = strspn(text + mark_size, "abcdefghijklmnopqrstuvwxyz_");
            if (name && !strncmp(text + mark_size + name, " = ", 3)) {
                text += mark_size;
                size -= mark_size;
                ++*np;
            }
        }
        size += text[size] == '\n';
        memcpy(to, text, size);
        to += size;
        text += size;
    }
    return out;
}

static void uncommented_sample_gives_the_defaults(void **state)
{
    CLEANUP(freep) char *sample = NULL;
    CLEANUP(config_freep) struct config *expected = NULL;
    CLEANUP(config_freep) struct config *plain = NULL;
    CLEANUP(config_freep) struct config *config = NULL;
    CLEANUP(freep) char *text = NULL;
    size_t n, n_settings;

    (void)state;
    read_project_file(SAMPLE, &sample);
    settings_table(&n_settings);
    assert_int_equal(config_new_default(&expected), 0);
    plain = load_good(sample);
    assert_memory_equal(plain, expected, sizeof(*plain));
    text = uncomment(sample, "#", &n);
    assert_int_equal(n, n_settings);
    config = load_good(text);
    assert_memory_equal(config, expected, sizeof(*config));
}

static void examples_of_the_sample_are_valid(void **state)
{
    CLEANUP(freep) char *sample = NULL;
    CLEANUP(config_freep) struct config *config = NULL;
    CLEANUP(freep) char *text = NULL;
    size_t n, seen = 0;

    (void)state;
    read_project_file(SAMPLE, &sample);
    text = uncomment(sample, "# ", &n);
    config = load_good(text);
    for (size_t i = 0; i < config->include.n_rules; i++)
        seen |= (size_t)1 << config->include.rules[i].field;
    assert_int_equal(seen, (1 << RULE_FIELD_COUNT) - 1);
    assert_true(config->exclude.n_rules > 0);
}

static void default_sentence(char *text, size_t size, const struct setting *setting)
{
    if (setting->min)
        snprintf(text, size, "Default %s, range %s to %s.", setting->default_text, setting->min,
                 setting->max);
    else
        snprintf(text, size, "Default %s.", setting->default_text);
}

/* Does `what` stand in [begin, end)? */
static void assert_between(const char *begin, const char *end, const char *what, const char *where)
{
    const char *at = begin ? strstr(begin, what) : NULL;

    if (!at || !end || at >= end)
        fail_msg("%s: \"%s\" is missing", where, what);
}

static void sample_tells_each_default_and_range(void **state)
{
    CLEANUP(freep) char *sample = NULL;
    const char *begin;
    size_t n;
    const struct setting *settings = settings_table(&n);

    (void)state;
    read_project_file(SAMPLE, &sample);
    begin = sample;
    for (size_t i = 0; i < n; i++) {
        char sentence[200], line[200], units[200];
        const char *end;

        snprintf(line, sizeof(line), "\n#%s = %s\n", settings[i].key, settings[i].default_text);
        end = strstr(begin, line);
        default_sentence(sentence, sizeof(sentence), &settings[i]);
        snprintf(units, sizeof(units), "%s", value_units(settings[i].kind));
        assert_between(begin, end, sentence, settings[i].key);
        assert_between(begin, end, units, settings[i].key);
        begin = end + 1;
    }
}

/* What the man page says of one key, as a new string. */
static char *man_page_item(const char *key)
{
    CLEANUP(freep) char *page = NULL;
    char mark[100];
    char *item, *end;

    read_project_file(MAN_PAGE, &page);
    snprintf(mark, sizeof(mark), "\n.It Cm %s\n", key);
    item = strstr(page, mark);
    if (!item)
        return NULL;
    item += strlen(mark);
    end = strstr(item, "\n.It ");
    return end ? strndup(item, (size_t)(end - item)) : strdup(item);
}

static void man_page_tells_each_default_and_range(void **state)
{
    size_t n;
    const struct setting *settings = settings_table(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *item = man_page_item(settings[i].key);
        char sentence[200];

        default_sentence(sentence, sizeof(sentence), &settings[i]);
        if (!item || !strstr(item, sentence) || !strstr(item, value_units(settings[i].kind)))
            fail_msg("%s: \"%s\" or its units are missing", settings[i].key, sentence);
    }
}

static void man_page_has_each_list(void **state)
{
    (void)state;
    for (enum rule_field field = 0; field < RULE_FIELD_COUNT; field++) {
        CLEANUP(freep) char *item = man_page_item(rule_field_name(field));

        assert_non_null(item);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uncommented_sample_gives_the_defaults),
        cmocka_unit_test(examples_of_the_sample_are_valid),
        cmocka_unit_test(sample_tells_each_default_and_range),
        cmocka_unit_test(man_page_tells_each_default_and_range),
        cmocka_unit_test(man_page_has_each_list),
    };

    return cmocka_run_group_tests_name("config-settings", tests, NULL, NULL);
}
