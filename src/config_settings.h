#pragma once
/*
 * The settings of numabd.conf: one table row each, which the sample file and the man page repeat.
 */
#include <stddef.h>

#include "config_source.h"
#include "config_value.h"

struct setting {
    const char *section, *key;
    enum value_kind kind;
    size_t offset;            /* in struct config: bool, unsigned or uint64_t by kind */
    const char *default_text; /* as in the file */
    const char *min, *max;    /* the same; NULL for a switch and for names */
    const char *const *names; /* of VALUE_CHOICE and VALUE_NAMES */
};

/* Where in the file something stands. */
struct setting_place {
    const char *section, *key;
    unsigned line;
};

/* The table, of *np rows. */
const struct setting *settings_table(size_t *np);

/* Stores the default of every row. Return: 0, or -EINVAL for a faulty row. */
int settings_apply_defaults(struct config *config);

/* Is there such a section and key? Return: 0, or CONFIG_INVALID with the message set. */
int settings_check_section(const struct config_source *source, const char *name, unsigned line);
int settings_check_key(const struct config_source *source, const struct setting_place *place);

/*
 * Stores the value of a key that settings_check_key knows: of a row or of a rule list.
 * Return: 0, CONFIG_INVALID with the message set, or -ENOMEM.
 */
int settings_apply(struct config *config, const struct config_source *source,
                   const struct setting_place *place, const char *value);
