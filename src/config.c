/*
 * Two readers of one file: config_scan finds the lines, iniparser gives the values. They must see
 * the same settings, each checked against the other, so that nothing in the file is lost or read
 * otherwise than its error messages say.
 */
#include "numabd/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<iniparser/iniparser.h>)
#include <iniparser/iniparser.h>
#else
#include <iniparser.h>
#endif

#include "config_rules.h"
#include "config_scan.h"
#include "config_settings.h"
#include "config_source.h"
#include "util/cleanup.h"

#define ENTRY_MAX 128 /* "section:key" of names that are known */

CLEANUP_DEFINE(dictionary *, iniparser_freedict)

int config_new_default(struct config **configp)
{
    CLEANUP(config_freep) struct config *config = calloc(1, sizeof(*config));
    int r;

    if (!config)
        return -ENOMEM;
    if ((r = settings_apply_defaults(config)) < 0)
        return r;
    *configp = TAKE(config);
    return 0;
}

double config_cpu_budget(const struct config *config, unsigned n_cpus)
{
    return config->cpu_budget_permyriad / 10000.0 * (1 + n_cpus / 100.0);
}

struct config *config_free(struct config *config)
{
    if (!config)
        return NULL;
    config_rules_deinit(&config->include);
    config_rules_deinit(&config->exclude);
    config_rules_deinit(&config->write_fault);
    free(config);
    return NULL;
}

static int ignore_message(const char *format, ...)
{
    (void)format;
    return 0;
}

/* iniparser writes to stderr unless told otherwise; that is state of the whole library. */
static dictionary *load_quietly(const char *path)
{
    dictionary *entries;

    iniparser_set_error_callback(ignore_message);
    entries = iniparser_load(path);
    iniparser_set_error_callback(NULL);
    return entries;
}

static struct setting_place place_of(const struct config_scan *scan, const struct scan_key *key)
{
    return (struct setting_place){
        .section = scan->sections[key->section].name, .key = key->name, .line = key->line};
}

/* All names in the order of the file, so that the first mistake is reported. */
static int check_names(const struct config_scan *scan, const struct config_source *source)
{
    size_t n_keys = 0;

    for (size_t i = 0; i < scan->n_sections; i++) {
        const struct scan_section *section = &scan->sections[i];
        int r = settings_check_section(source, section->name, section->line);

        for (size_t k = 0; !r && k < section->n_keys; k++) {
            struct setting_place place = place_of(scan, &scan->keys[n_keys++]);

            r = settings_check_key(source, &place);
        }
        if (r)
            return r;
    }
    return 0;
}

static const char *entry_value(const dictionary *entries, const struct setting_place *place)
{
    char name[ENTRY_MAX];

    snprintf(name, sizeof(name), "%s:%s", place->section, place->key);
    return iniparser_getstring(entries, name, NULL);
}

static int fail_differs(const struct config_source *source, unsigned line)
{
    return config_source_fail(source, line,
                              "iniparser reads this otherwise (was the file changed just now?)");
}

/* Equal numbers here and equal values in apply_all make the two readings the same. */
static int check_counts(const struct config_scan *scan, const struct config_source *source,
                        const dictionary *entries)
{
    if (!entries || iniparser_getnsec(entries) != (int)scan->n_sections)
        return fail_differs(source, 1);
    for (size_t i = 0; i < scan->n_sections; i++)
        if (!iniparser_find_entry(entries, scan->sections[i].name) ||
            iniparser_getsecnkeys(entries, scan->sections[i].name) != (int)scan->sections[i].n_keys)
            return fail_differs(source, scan->sections[i].line);
    return 0;
}

static int apply_all(struct config *config, const struct config_scan *scan,
                     const struct config_source *source, const dictionary *entries)
{
    for (size_t i = 0; i < scan->n_keys; i++) {
        struct setting_place place = place_of(scan, &scan->keys[i]);
        const char *value = entry_value(entries, &place);
        int r;

        if (!value || strcmp(value, scan->keys[i].value))
            return fail_differs(source, place.line);
        if ((r = settings_apply(config, source, &place, value)))
            return r;
    }
    return 0;
}

static int load(struct config *config, const struct config_source *source, struct config_scan *scan)
{
    CLEANUP(iniparser_freedictp) dictionary *entries = NULL;
    CLEANUP(freep) char *text = NULL;
    int r;

    if ((r = config_source_read(source, &text)))
        return r;
    if ((r = config_scan_text(scan, source, text)))
        return r;
    if ((r = check_names(scan, source)))
        return r;
    entries = load_quietly(source->path);
    if ((r = check_counts(scan, source, entries)))
        return r;
    return apply_all(config, scan, source, entries);
}

int config_new(struct config **configp, const char *path, struct config_error *error)
{
    CLEANUP(config_freep) struct config *config = NULL;
    CLEANUP(config_scan_deinit) struct config_scan scan = {0};
    struct config_source source = config_source_of(path, error);
    int r;

    if ((r = config_new_default(&config)) < 0)
        return r;
    if ((r = load(config, &source, &scan)))
        return r;
    *configp = TAKE(config);
    return 0;
}
