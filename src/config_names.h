#pragma once
/*
 * Values that are names from a fixed list: one of them, or several with commas between.
 */
#include <stddef.h>
#include <stdint.h>

/* In the order of the bits or numbers that they stand for; ends with NULL. */
extern const char *const names_of_sources[]; /* as src/sample/sources.c */
extern const char *const names_of_scopes[];  /* as enum sample_scope */
extern const char *const names_of_filters[]; /* as enum scan_filter_kind */
extern const char *const names_of_wishes[];  /* as enum kernel_balancing_wish */

enum {
    NAMES_UNKNOWN = 1, /* a name that is not in the list, an empty item, or one twice */
};

/* Return: 0 with the number, or NAMES_UNKNOWN. */
int names_parse_one(const char *const *names, const char *text, uint64_t *valuep);
/* Return: 0 with a bit per name, or NAMES_UNKNOWN. */
int names_parse_list(const char *const *names, const char *text, uint64_t *maskp);

/* "timer, idle_page" of all names. */
void names_print(const char *const *names, char *text, size_t size);
