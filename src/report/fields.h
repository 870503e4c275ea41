#pragma once
/*
 * Fields: which members of a report are shown, under which names. The wire and JSON are both
 * written from these tables, so that a new member is one row.
 */
#include <stddef.h>

enum field_kind {
    FIELD_BUFFER,       /* char[size] */
    FIELD_STRING,       /* const char * */
    FIELD_UINT32,       /* unsigned */
    FIELD_INT32,        /* int */
    FIELD_SHARE,        /* int, permyriad or seconds, -1 = not known yet */
    FIELD_UINT64,       /* uint64_t */
    FIELD_DOUBLE,       /* double, finite */
    FIELD_BOOL,         /* bool */
    FIELD_REASONS,      /* struct reason_counts; only those above 0 are shown */
    FIELD_SCANS,        /* struct scan_verdicts; only those above 0 are shown */
    FIELD_ERRNOS,       /* the three errno members of struct status_report */
    FIELD_ADDRESS,      /* uint64_t, hexadecimal in JSON: numbers above 2^53 are not safe there */
    FIELD_THREAD_NODES, /* struct node_threads_list */
    FIELD_THREADS,      /* struct thread_names */
    FIELD_NODES,        /* struct node_list */
    FIELD_KIND_COUNT
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
};

struct field_list {
    const struct field *fields;
    size_t n_fields;
};

/* Of struct status_report, struct process_report, struct vma_report and struct doctor_check. */
struct field_list fields_of_status(void);
struct field_list fields_of_process(void);
struct field_list fields_of_vma(void);
struct field_list fields_of_check(void);

/* The field of that name, or NULL. */
const struct field *fields_find(const struct field_list *list, const char *name);

/* "EBUSY" of 16, or "errno-N" where the C library knows no name; `buffer` holds the latter. */
const char *fields_errno_name(int error, char buffer[static 24]);
/* The reverse; 0 for an unknown name. */
int fields_errno_of_name(const char *name);
