#pragma once
/*
 * Lines for the journal: stderr, with the syslog level in front where systemd reads it.
 */
enum journal_level {
    JOURNAL_ERROR = 3,
    JOURNAL_WARNING = 4,
    JOURNAL_INFO = 6,
};

/* Writes one line; control characters in it become '?'. */
void journal(enum journal_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
