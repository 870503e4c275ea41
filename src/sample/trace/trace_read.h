#pragma once
/*
 * Reading a trace: a buffer in, records out.
 */
#include "sample/trace/trace.h"

/* A copy of a reader reads on by itself from the same place. */
struct trace_reader {
    struct scan rest;
    size_t n_lines;     /* taken so far: the number of the last one */
    const char *what;   /* after TRACE_BAD and TRACE_CUT: what is wrong, with that line */
    struct access last; /* fields that an access leaves out are those of the one before */
};

enum {
    TRACE_END = 1, /* everything was read */
    TRACE_CUT,     /* it ends in the middle of a record; all before it were read */
    TRACE_BAD,     /* a malformed line */
};

/* The text stays the caller's. Return: 0 or TRACE_BAD (no trace, or one of a newer version). */
int trace_reader_init(struct trace_reader *reader, const char *text, size_t size);

/*
 * The next record of a kind that is known; what it points to is part of the text. After anything
 * but 0 nothing more can be read.
 * Return: 0, TRACE_END, TRACE_CUT or TRACE_BAD.
 */
int trace_read(struct trace_reader *reader, struct trace_record *record);

/*
 * The string of a word, NULL where it is "-". The caller frees *textp.
 * Return: 0 or -ENOMEM.
 */
int trace_word_decode(const struct scan *word, char **textp);
/* The text of a file record, with a NUL beyond its size. Return: 0 or -ENOMEM. */
int trace_text_decode(const struct trace_record *record, char **textp);
