#pragma once
/*
 * Writing a trace. Failures show in ferror(file); what was written before them can be read.
 */
#include <stdio.h>

#include "sample/trace/trace.h"

struct trace_writer {
    FILE *file;         /* the caller's */
    struct access last; /* fields that repeat are left out */
};

/* The first line. */
void trace_write_version(struct trace_writer *writer);
/* machine, node, cpus and isolated. */
void trace_write_machine(struct trace_writer *writer, const struct topology *topology,
                         uint64_t page_bytes, pid_t self_pid, uint64_t now);
void trace_write_room(struct trace_writer *writer, int id, const struct node *node);

void trace_write_process(struct trace_writer *writer, const struct process *process);
void trace_write_detail(struct trace_writer *writer, const struct process *process);
void trace_write_mems(struct trace_writer *writer, pid_t pid, const char *list);
void trace_write_gone(struct trace_writer *writer, pid_t pid);

/* A file as it was read; `text` only when result is 0. */
void trace_write_file(struct trace_writer *writer, const char *path, int result, uint64_t cpu_nsec,
                      const char *text, size_t size);
void trace_write_same(struct trace_writer *writer, const char *path, uint64_t cpu_nsec);

/* A call of move_pages and what it said. */
struct trace_call {
    pid_t pid;
    int result;
    uint64_t cpu_nsec;
    uint64_t page_bytes;
    size_t n;
    void *const *pages;
    const int *nodes;  /* [n], NULL: a query */
    const int *status; /* [n], TRACE_UNWRITTEN where the kernel wrote nothing */
};

void trace_write_call(struct trace_writer *writer, const struct trace_call *call);

void trace_write_access(struct trace_writer *writer, const struct access *access);
void trace_write_late(struct trace_writer *writer, pid_t pid, const char *name);
void trace_write_returned(struct trace_writer *writer, pid_t pid);
void trace_write_lost(struct trace_writer *writer, unsigned n_lost);
void trace_write_round(struct trace_writer *writer, uint64_t now);
