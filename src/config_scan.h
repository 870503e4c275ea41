#pragma once
/*
 * The scanner of numabd.conf: which section, key and value stands on which line.
 */
#include <stddef.h>

#include "config_source.h"

/* Bytes of a line, continuation lines joined: iniparser reads into 1024 with newline and NUL. */
#define CONFIG_LINE_MAX 1022

struct scan_section {
    char *name; /* lower case */
    unsigned line;
    size_t n_keys;
};

struct scan_key {
    size_t section; /* index */
    char *name;     /* lower case */
    char *value;    /* without quotes and comment, never empty */
    unsigned line;  /* the first one of a continued line */
};

struct config_scan {
    struct scan_section *sections;
    size_t n_sections, sections_cap;
    struct scan_key *keys;
    size_t n_keys, keys_cap;
};

/*
 * Scans the text into *scan, which starts zeroed and is to be deinitialised also after a failure.
 * Return: 0, CONFIG_INVALID with the message set, or -ENOMEM.
 */
int config_scan_text(struct config_scan *scan, const struct config_source *source,
                     const char *text);
void config_scan_deinit(struct config_scan *scan);
