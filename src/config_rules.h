#pragma once
/*
 * The lists of [include] and [exclude].
 */
#include "config_source.h"

/* "comm, exe, ..." as users write them; NULL outside the range. */
const char *rule_field_name(enum rule_field field);

/* The field of a key. Return: RULE_FIELD_COUNT for no such key. */
enum rule_field rule_field_of(const char *key);

/*
 * Appends the items of "postgres*, Web Content" to the list.
 * Return: 0, CONFIG_INVALID with the message set, or -ENOMEM.
 */
int config_rules_append(struct rule_list *list, const struct config_source *source,
                        enum rule_field field, const char *value, unsigned line);
void config_rules_deinit(struct rule_list *list);
