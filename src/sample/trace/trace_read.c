/*
 * Lines are taken one after the other. The first word of a line names its kind; kinds that are not
 * known are skipped with the indented lines that follow them, and so is what follows the last known
 * field of a record: a format that only grows stays version 1.
 */
#include "sample/trace/trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/trace_parse.h"

/* Return: 0, or TRACE_END, TRACE_CUT or TRACE_BAD. */
static int take_line(struct trace_reader *reader, struct scan *line)
{
    if (scan_at_end(&reader->rest))
        return TRACE_END;
    reader->n_lines++;
    if (!scan_line(&reader->rest, line)) {
        reader->what = "the trace ends in the middle of a line";
        return TRACE_CUT;
    }
    if (line->end - line->at > TRACE_LINE_MAX) {
        reader->what = "the line is too long";
        return TRACE_BAD;
    }
    return 0;
}

int trace_reader_init(struct trace_reader *reader, const char *text, size_t size)
{
    struct scan line;
    uint64_t version;

    *reader = (struct trace_reader){.rest = {.at = text, .end = text + size}};
    if (take_line(reader, &line) || !scan_literal(&line, "numabd-trace ") ||
        !scan_decimal(&line, UINT32_MAX, &version) || !scan_at_end(&line) || version == 0) {
        reader->n_lines = 1;
        reader->what = "not a trace of numabd";
        return TRACE_BAD;
    }
    if (version > TRACE_VERSION) {
        reader->what = "the trace is of a newer version of the format: use a newer numabd";
        return TRACE_BAD;
    }
    return 0;
}

static bool is_body(const struct scan *rest)
{
    return !scan_at_end(rest) && *rest->at == '\t';
}

/* The indented lines that follow a record. */
static int take_body(struct trace_reader *reader, struct scan *body)
{
    struct scan line;
    int r = 0;

    body->at = body->end = reader->rest.at;
    while (!r && is_body(&reader->rest)) {
        r = take_line(reader, &line);
        body->end = reader->rest.at;
    }
    return r;
}

static const struct trace_parser *find_parser(const struct scan *name)
{
    for (size_t i = 0; i < TRACE_KIND_COUNT; i++) {
        struct scan left = *name;

        if (scan_literal(&left, trace_kind_names[i]) && scan_at_end(&left))
            return &trace_parsers[i];
    }
    return NULL;
}

/* Fields, and the blank after the last known one where others follow. */
static bool parse_fields(const struct trace_parser *parser, struct scan *line,
                         struct trace_record *record, const struct access *last)
{
    if (record->kind == TRACE_ACCESS)
        record->access = *last;
    return parser->parse(line, record) && (scan_at_end(line) || *line->at == ' ');
}

/* Does the text have the size that its record says? At the end of the trace it may be cut. */
static int check_body(struct trace_reader *reader, struct trace_record *record)
{
    size_t size;

    if (record->kind != TRACE_FILE)
        return 0;
    if (!trace_text_measure(&record->file.body, &size)) {
        reader->what = "malformed text of a file";
        return TRACE_BAD;
    }
    if (size == record->file.size)
        return 0;
    reader->what = "text of a file is missing, or there is too much of it";
    if (size > record->file.size || !scan_at_end(&reader->rest))
        return TRACE_BAD;
    reader->what = "the trace ends in the middle of a file's text";
    return TRACE_CUT;
}

static int parse_record(struct trace_reader *reader, const struct trace_parser *parser,
                        struct scan *line, struct trace_record *record)
{
    struct scan body;
    int r;

    record->kind = (enum trace_kind)(parser - trace_parsers);
    record->pid = 0;
    if (!parse_fields(parser, line, record, &reader->last)) {
        reader->what = parser->what;
        return TRACE_BAD;
    }
    if (record->kind == TRACE_ACCESS)
        reader->last = record->access;
    r = take_body(reader, &body);
    if (!r && record->kind == TRACE_FILE)
        record->file.body = body;
    return r ? r : check_body(reader, record);
}

int trace_read(struct trace_reader *reader, struct trace_record *record)
{
    const struct trace_parser *parser = NULL;
    struct scan line, name;
    int r = 0;

    while (!r && !parser) {
        r = take_line(reader, &line);
        if (!r && scan_word(&line, &name))
            parser = find_parser(&name);
    }
    if (!r)
        r = parse_record(reader, parser, &line, record);
    if (r)
        reader->rest.at = reader->rest.end;
    return r;
}

int trace_word_decode(const struct scan *word, char **textp)
{
    struct scan left = *word;
    size_t size = 0;
    char *text;

    *textp = NULL;
    if (scan_literal(&left, "-") && scan_at_end(&left))
        return 0;
    left = *word;
    text = malloc((size_t)(left.end - left.at) + 1);
    if (!text)
        return -ENOMEM;
    (void)scan_literal(&left, "\\e");
    while (!scan_at_end(&left))
        text[size++] = trace_decode_byte(&left);
    text[size] = '\0';
    *textp = text;
    return 0;
}

int trace_text_decode(const struct trace_record *record, char **textp)
{
    struct scan rest = record->file.body, line;
    char *text = malloc(record->file.size + 1), *to = text;

    if (!text)
        return -ENOMEM;
    while (!scan_at_end(&rest)) {
        bool ends = trace_text_line(&rest, &line);

        while (!scan_at_end(&line))
            *to++ = trace_decode_byte(&line);
        if (ends)
            *to++ = '\n';
    }
    *to = '\0';
    *textp = text;
    return 0;
}
