/*
 * iniparser knows no line numbers, keeps the last of two equal keys, and drops what follows a
 * closing quote, all without a word. So the text is scanned here first, by the strict part of
 * iniparser's grammar that its versions 4.1 and 4.2 read alike; the rest is an error of its line.
 *
 *     ; or # starts a comment, at the start of a line or behind a value
 *     [section]
 *     key = value
 *     key = "value ; with anything but the quote and a backslash"
 *     key = value, \        a backslash at the end joins the next line
 *           value
 */
#include "config_scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

/* A line with its continuation lines. */
struct line {
    char text[CONFIG_LINE_MAX + 1];
    size_t size;
    size_t last_start; /* where the last of the joined lines begins */
    unsigned number;
};

struct scanner {
    const struct config_source *source;
    struct config_scan *scan;
    const char *at;
    unsigned n_lines; /* read so far */
    struct line line;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *trim(char *text)
{
    size_t size;

    while (is_blank(*text))
        text++;
    size = strlen(text);
    while (size && is_blank(text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

/* ASCII only, so that no locale changes what a key is. */
static char *lower_copy(const char *text)
{
    char *copy = strdup(text);

    for (char *c = copy; c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return copy;
}

static void line_trim_end(struct line *line)
{
    while (line->size && is_blank(line->text[line->size - 1]))
        line->size--;
    line->text[line->size] = '\0';
}

/* Appends the next line of the file. Return: 0 or CONFIG_INVALID. */
static int line_append(struct scanner *scanner)
{
    struct line *line = &scanner->line;
    size_t size = strcspn(scanner->at, "\n");

    scanner->n_lines++;
    if (line->size + size > CONFIG_LINE_MAX)
        return config_source_fail(scanner->source, scanner->n_lines,
                                  "line is longer than %d bytes (with the lines it continues)",
                                  CONFIG_LINE_MAX);
    memcpy(line->text + line->size, scanner->at, size);
    line->last_start = line->size;
    line->size += size;
    scanner->at += size + (scanner->at[size] == '\n');
    line_trim_end(line);
    return 0;
}

static int line_read(struct scanner *scanner)
{
    struct line *line = &scanner->line;
    int r;

    line->size = 0;
    line->number = scanner->n_lines + 1;
    for (;;) {
        if ((r = line_append(scanner)))
            return r;
        if (!line->size || line->text[line->size - 1] != '\\')
            return 0;
        if (!*scanner->at)
            return config_source_fail(scanner->source, scanner->n_lines,
                                      "backslash at the end of the file continues nothing");
        line->text[--line->size] = '\0';
    }
}

/* iniparser joins lines before it looks for comments, so a continued comment swallows settings. */
static int check_comment(struct scanner *scanner, const char *comment)
{
    if ((size_t)(comment - scanner->line.text) >= scanner->line.last_start)
        return 0;
    return config_source_fail(scanner->source, scanner->line.number,
                              "comment must not be continued with a backslash");
}

static int scan_quoted(struct scanner *scanner, char *text, char **valuep)
{
    char *end = strchr(text + 1, *text), *rest;

    if (!end)
        return config_source_fail(scanner->source, scanner->line.number, "missing closing quote");
    *end = '\0';
    if (strchr(text + 1, '\\'))
        return config_source_fail(scanner->source, scanner->line.number, "backslash inside quotes");
    rest = trim(end + 1);
    if (*rest && *rest != ';' && *rest != '#')
        return config_source_fail(scanner->source, scanner->line.number,
                                  "text behind the closing quote: \"%.40s\"", rest);
    *valuep = text + 1;
    return *rest ? check_comment(scanner, rest) : 0;
}

static int scan_plain(struct scanner *scanner, char *text, char **valuep)
{
    char *comment = text + strcspn(text, ";#");

    if (*comment) {
        int r = check_comment(scanner, comment);

        if (r)
            return r;
        *comment = '\0';
    }
    if (strpbrk(text, "\"'"))
        return config_source_fail(scanner->source, scanner->line.number,
                                  "quotes must enclose the whole value");
    *valuep = trim(text);
    return 0;
}

static int scan_value(struct scanner *scanner, const char *key, char *text, char **valuep)
{
    int r;

    while (is_blank(*text))
        text++;
    if (*text == '"' || *text == '\'')
        r = scan_quoted(scanner, text, valuep);
    else
        r = scan_plain(scanner, text, valuep);
    if (r)
        return r;
    if (!(*valuep)[strspn(*valuep, " \t\n\v\f\r")])
        return config_source_fail(scanner->source, scanner->line.number, "\"%.60s\" has no value",
                                  key);
    return 0;
}

static int check_new_key(const struct scanner *scanner, const char *name)
{
    const struct config_scan *scan = scanner->scan;

    if (!scan->n_sections)
        return config_source_fail(scanner->source, scanner->line.number,
                                  "key \"%.60s\" stands before the first section", name);
    for (size_t i = 0; i < scan->n_keys; i++)
        if (scan->keys[i].section == scan->n_sections - 1 && !strcmp(scan->keys[i].name, name))
            return config_source_fail(scanner->source, scanner->line.number,
                                      "duplicate key \"%.60s\", first on line %u", name,
                                      scan->keys[i].line);
    return 0;
}

static int add_key(struct config_scan *scan, char **namep, const char *value, unsigned line)
{
    CLEANUP(freep) char *copy = strdup(value);

    if (!copy || ARRAY_RESERVE(scan->keys, scan->keys_cap, scan->n_keys + 1) < 0)
        return -ENOMEM;
    scan->keys[scan->n_keys++] = (struct scan_key){
        .section = scan->n_sections - 1, .name = TAKE(*namep), .value = TAKE(copy), .line = line};
    scan->sections[scan->n_sections - 1].n_keys++;
    return 0;
}

static int scan_key(struct scanner *scanner, char *text)
{
    CLEANUP(freep) char *name = NULL;
    char *equals = strchr(text, '='), *value = NULL;
    int r;

    if (!equals || equals == text || *text == '[')
        return config_source_fail(scanner->source, scanner->line.number,
                                  "neither [section] nor key = value: \"%.60s\"", text);
    *equals = '\0';
    name = lower_copy(trim(text));
    if (!name)
        return -ENOMEM;
    if ((r = check_new_key(scanner, name)))
        return r;
    if ((r = scan_value(scanner, name, equals + 1, &value)))
        return r;
    return add_key(scanner->scan, &name, value, scanner->line.number);
}

static int check_new_section(const struct scanner *scanner, const char *name)
{
    const struct config_scan *scan = scanner->scan;

    for (size_t i = 0; i < scan->n_sections; i++)
        if (!strcmp(scan->sections[i].name, name))
            return config_source_fail(scanner->source, scanner->line.number,
                                      "duplicate section [%.60s], first on line %u", name,
                                      scan->sections[i].line);
    return 0;
}

static int scan_section(struct scanner *scanner, char *text, size_t size)
{
    struct config_scan *scan = scanner->scan;
    CLEANUP(freep) char *name = NULL;
    int r;

    text[size - 1] = '\0';
    name = lower_copy(trim(text + 1));
    if (!name)
        return -ENOMEM;
    if ((r = check_new_section(scanner, name)))
        return r;
    if (ARRAY_RESERVE(scan->sections, scan->sections_cap, scan->n_sections + 1) < 0)
        return -ENOMEM;
    scan->sections[scan->n_sections++] =
        (struct scan_section){.name = TAKE(name), .line = scanner->line.number};
    return 0;
}

static int scan_line(struct scanner *scanner)
{
    char *text = trim(scanner->line.text);
    size_t size = strlen(text);

    if (!size)
        return 0;
    if (*text == '#' || *text == ';')
        return check_comment(scanner, text);
    if (*text == '[' && strcspn(text, "]") == size - 1)
        return scan_section(scanner, text, size);
    return scan_key(scanner, text);
}

int config_scan_text(struct config_scan *scan, const struct config_source *source, const char *text)
{
    struct scanner scanner = {.source = source, .scan = scan, .at = text};
    int r = 0;

    while (!r && *scanner.at) {
        r = line_read(&scanner);
        if (!r)
            r = scan_line(&scanner);
    }
    return r;
}

void config_scan_deinit(struct config_scan *scan)
{
    for (size_t i = 0; i < scan->n_sections; i++)
        free(scan->sections[i].name);
    for (size_t i = 0; i < scan->n_keys; i++) {
        free(scan->keys[i].name);
        free(scan->keys[i].value);
    }
    free(scan->sections);
    free(scan->keys);
    *scan = (struct config_scan){0};
}
