#include "config_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config_names.h"
#include "config_rules.h"
#include "util/array.h"

#define NAMES_MAX 128

#define ROW(section_, key_, kind_, field_, default_, min_, max_)                                   \
    {                                                                                              \
        .section = section_, .key = key_, .kind = VALUE_##kind_,                                   \
        .offset = offsetof(struct config, field_), .default_text = default_, .min = min_,          \
        .max = max_                                                                                \
    }
#define NAMES(section_, key_, kind_, field_, default_, names_)                                     \
    {                                                                                              \
        .section = section_, .key = key_, .kind = VALUE_##kind_,                                   \
        .offset = offsetof(struct config, field_), .default_text = default_, .names = names_       \
    }

/* Defaults and limits: include/numabd/config.h says what they are for. */
static const struct setting settings[] = {
    ROW("daemon", "interval", TIME, interval_nsec, "1 s", "100 ms", "60 s"),
    ROW("daemon", "observe", SWITCH, observe, "no", NULL, NULL),
    ROW("daemon", "min_rss", SIZE, min_rss_bytes, "32 MiB", "0 B", "1 TiB"),
    ROW("daemon", "cpu_budget", SHARE, cpu_budget_permyriad, "2 %", "0.1 %", "10000 %"),
    ROW("daemon", "numa_maps_limit", SIZE, numa_maps_limit_bytes, "64 GiB", "0 B", "64 TiB"),
    NAMES("sampling", "sources", NAMES, source_mask,
          "mem_events, timer, write_fault, idle_page, kvm", names_of_sources),
    ROW("sampling", "rate", FREQUENCY, rate_hz, "250 Hz", "10 Hz", "10 kHz"),
    ROW("sampling", "sampling_budget", SHARE, sampling_budget_permyriad, "1 %", "0.01 %", "100 %"),
    NAMES("sampling", "scope", CHOICE, scope, "auto", names_of_scopes),
    ROW("sampling", "mask_bits", BITS, mask_bits, "256 bits", "64 bits", "4096 bits"),
    ROW("sampling", "mask_window", TIME, mask_window_nsec, "4 s", "1 s", "60 s"),
    NAMES("sampling", "scan_filter", CHOICE, scan_filter, "numabd", names_of_filters),
    ROW("decide", "min_share", SHARE, min_share_permyriad, "60 %", "50 %", "95 %"),
    ROW("decide", "cool_down", ROUNDS, cool_down_rounds, "5 rounds", "1 round", "1000 rounds"),
    ROW("decide", "headroom", SIZE, headroom_bytes, "256 MiB", "0 B", "1 TiB"),
    ROW("decide", "use_page_cache", SWITCH, use_page_cache, "yes", NULL, NULL),
    ROW("migrate", "migration_rate", BANDWIDTH, migration_rate_bytes, "1 GiB/s", "1 MiB/s",
        "1 TiB/s"),
    NAMES("migrate", "kernel_balancing", CHOICE, kernel_balancing, "pause", names_of_wishes),
};

static const char *const sections[] = {"daemon",  "sampling", "decide",     "migrate",
                                       "include", "exclude",  "write_fault"};

/* Sections that hold rules. */
static const struct {
    const char *section;
    size_t offset; /* of the list in struct config */
} lists[] = {
    {"include", offsetof(struct config, include)},
    {"exclude", offsetof(struct config, exclude)},
    {"write_fault", offsetof(struct config, write_fault)},
};

const struct setting *settings_table(size_t *np)
{
    *np = ARRAY_LENGTH(settings);
    return settings;
}

static const struct setting *find_setting(const char *section, const char *key)
{
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        if (!strcmp(settings[i].section, section) && !strcmp(settings[i].key, key))
            return &settings[i];
    return NULL;
}

static struct rule_list *find_list(struct config *config, const char *section)
{
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        if (!strcmp(section, lists[i].section))
            return (struct rule_list *)((char *)config + lists[i].offset);
    return NULL;
}

static bool is_list(const char *section)
{
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        if (!strcmp(section, lists[i].section))
            return true;
    return false;
}

static void add_name(char *names, size_t size, const char *name)
{
    size_t used = strlen(names);

    snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

int settings_check_section(const struct config_source *source, const char *name, unsigned line)
{
    char names[NAMES_MAX] = "";

    for (size_t i = 0; i < ARRAY_LENGTH(sections); i++) {
        if (!strcmp(sections[i], name))
            return 0;
        add_name(names, sizeof(names), sections[i]);
    }
    return config_source_fail(source, line, "unknown section [%.60s] (known: %s)", name, names);
}

static void list_keys(const char *section, char *names, size_t size)
{
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        if (!strcmp(settings[i].section, section))
            add_name(names, size, settings[i].key);
    for (enum rule_field field = 0; is_list(section) && field < RULE_FIELD_COUNT; field++)
        add_name(names, size, rule_field_name(field));
}

int settings_check_key(const struct config_source *source, const struct setting_place *place)
{
    char names[NAMES_MAX] = "";

    if (is_list(place->section) ? rule_field_of(place->key) < RULE_FIELD_COUNT
                                : find_setting(place->section, place->key) != NULL)
        return 0;
    list_keys(place->section, names, sizeof(names));
    return config_source_fail(source, place->line, "unknown key \"%.60s\" in [%.60s] (known: %s)",
                              place->key, place->section, names);
}

static void store(struct config *config, const struct setting *setting, uint64_t value)
{
    void *at = (char *)config + setting->offset;

    switch (setting->kind) {
    case VALUE_TIME:
    case VALUE_SIZE:
    case VALUE_BANDWIDTH:
        *(uint64_t *)at = value;
        break;
    case VALUE_FREQUENCY:
    case VALUE_SHARE:
    case VALUE_ROUNDS:
    case VALUE_BITS:
    case VALUE_CHOICE:
    case VALUE_NAMES:
        *(unsigned *)at = (unsigned)value;
        break;
    default:
        *(bool *)at = value;
    }
}

static bool is_in_range(const struct setting *setting, uint64_t value)
{
    uint64_t min, max;

    if (!setting->min)
        return true;
    return !value_parse(setting->kind, setting->min, &min) && value >= min &&
           !value_parse(setting->kind, setting->max, &max) && value <= max;
}

static int parse(const struct setting *setting, const char *text, uint64_t *valuep)
{
    switch (setting->kind) {
    case VALUE_CHOICE:
        return names_parse_one(setting->names, text, valuep);
    case VALUE_NAMES:
        return names_parse_list(setting->names, text, valuep);
    default:
        return value_parse(setting->kind, text, valuep);
    }
}

int settings_apply_defaults(struct config *config)
{
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
        uint64_t value;

        if (parse(&settings[i], settings[i].default_text, &value) ||
            !is_in_range(&settings[i], value))
            return -EINVAL;
        store(config, &settings[i], value);
    }
    return 0;
}

static int fail_range(const struct config_source *source, const struct setting *setting,
                      const char *text, unsigned line)
{
    return config_source_fail(source, line, "%s = %.60s is out of range: %s to %s", setting->key,
                              text, setting->min, setting->max);
}

static int fail_name(const struct config_source *source, const struct setting *setting,
                     const char *text, unsigned line)
{
    const char *what = setting->kind == VALUE_CHOICE ? "one of" : "a list, each at most once, of";
    char names[NAMES_MAX] = "";

    names_print(setting->names, names, sizeof(names));
    return config_source_fail(source, line, "%s = %.60s is not %s: %s", setting->key, text, what,
                              names);
}

static int fail_value(const struct config_source *source, const struct setting *setting,
                      const char *text, unsigned line, int fault)
{
    const char *units = value_units(setting->kind);

    switch (fault) {
    case VALUE_TOO_LARGE:
        return fail_range(source, setting, text, line);
    case VALUE_NO_UNIT:
        return config_source_fail(source, line, "%s = %.60s needs a unit: %s", setting->key, text,
                                  units);
    case VALUE_UNKNOWN_UNIT:
        return config_source_fail(source, line, "%s = %.60s has an unknown unit, not %s",
                                  setting->key, text, units);
    default:
        break;
    }
    if (setting->kind == VALUE_SWITCH)
        return config_source_fail(source, line, "%s = %.60s is not %s", setting->key, text, units);
    return config_source_fail(source, line, "%s = %.60s is not a number in %s", setting->key, text,
                              units);
}

static int apply_setting(struct config *config, const struct config_source *source,
                         const struct setting *setting, const char *text, unsigned line)
{
    uint64_t value;
    int fault = parse(setting, text, &value);

    if (fault && setting->names)
        return fail_name(source, setting, text, line);
    if (fault)
        return fail_value(source, setting, text, line, fault);
    if (!is_in_range(setting, value))
        return fail_range(source, setting, text, line);
    store(config, setting, value);
    return 0;
}

int settings_apply(struct config *config, const struct config_source *source,
                   const struct setting_place *place, const char *value)
{
    struct rule_list *list = find_list(config, place->section);

    if (list)
        return config_rules_append(list, source, rule_field_of(place->key), value, place->line);
    return apply_setting(config, source, find_setting(place->section, place->key), value,
                         place->line);
}
