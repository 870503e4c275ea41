#pragma once
/*
 * The fields of each kind of record.
 */
#include "sample/trace/trace.h"

struct trace_parser {
    const char *what; /* is said when it fails */
    /* `line` is what follows the name. An access leaves out what record->access holds already. */
    bool (*parse)(struct scan *line, struct trace_record *record);
};

/* By kind. */
extern const struct trace_parser trace_parsers[TRACE_KIND_COUNT];

/* Takes a line of a file's text, without its tab. Return: a newline belongs to it. */
bool trace_text_line(struct scan *body, struct scan *line);
/* Bytes that the text of a file decodes to. Return: every escape in it is sound. */
bool trace_text_measure(const struct scan *body, size_t *sizep);
/* Takes a byte of sound text: "\xHH", or one that stands for itself. */
char trace_decode_byte(struct scan *scan);
/* Takes a blank and a word whose escapes are sound. */
bool trace_scan_word(struct scan *line, struct scan *word);
/* " 12" and " -12" */
bool trace_scan_number(struct scan *line, uint64_t max, uint64_t *valuep);
bool trace_scan_int(struct scan *line, int *valuep);
/* An int without a blank before it. */
bool trace_scan_digits(struct scan *line, int *valuep);

/* The longer ones (trace_parse_*.c). */
bool trace_parse_call(struct scan *line, struct trace_record *record);
bool trace_parse_access(struct scan *line, struct trace_record *record);
