#pragma once
/*
 * The file that a configuration comes from: its text, its name in messages, and where messages go.
 */
#include <stddef.h>

#include "numabd/config.h"

#define CONFIG_FILE_MAX ((size_t)1 << 20) /* bytes; a longer file is a mistake */

struct config_source {
    const char *path;
    const char *name; /* path without folders */
    struct config_error *error;
};

struct config_source config_source_of(const char *path, struct config_error *error);

/*
 * Reads the whole regular file into a new string, which the caller frees. A symbolic link to
 * nowhere is not a missing file.
 * Return: 0, CONFIG_MISSING or CONFIG_INVALID with the message set, or a negative errno.
 */
int config_source_read(const struct config_source *source, char **textp);

/* Sets the message "NAME:LINE: ..." as one printable line. Return: CONFIG_INVALID, always. */
int config_source_fail(const struct config_source *source, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
