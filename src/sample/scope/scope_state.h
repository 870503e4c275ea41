#pragma once
/*
 * What perf_scope.c (new, free, read, counts) and scope_round.c (round) share.
 */
#include "sample/scope/perf_scope.h"
#include "sample/scope/scope_facts.h"
#include "sample/scope/scope_place.h"

struct perf_scope {
    struct source_options options;
    size_t thread_ring_bytes;
    struct scope_events events;
    struct scope_cpus cpus;
    struct scope_facts facts;
    struct scope_place *places;
    struct retry starved;      /* until then only the whole system is tried */
    struct scope_failure lack; /* why events that should be open are not; error 0: all are */
    size_t n_threads;          /* places that this round wanted so far */
    enum scope_plan_note note;
    uint64_t now;    /* of the last round */
    bool unfinished; /* its slice was spent before all places were */
    uint64_t accounted_nsec;
    struct ring_counts ring_counts;
    uint64_t n_stray; /* records without a known id */
    struct perf_scope_counts counts;
};

/* The first look, also taken at the start. Return: 0 or -ENOMEM. */
int scope_look(struct perf_scope *scope);
/* The first CPU that events may be opened at, or -1. */
int scope_first_cpu(const struct perf_scope *scope);
/* Tells what the kernel refused. Return: SOURCE_UNAVAILABLE. */
int scope_refuse(const struct perf_scope *scope, const struct scope_failure *failure,
                 struct source_reason *reason);
/* Takes another slice of what the last round left. */
void scope_go_on(struct perf_scope *scope);
bool scope_has_whole_system(const struct perf_scope *scope);
/* Reads one number of a file, or takes the other. */
uint64_t scope_read_number(const struct perf_scope *scope, const char *path, uint64_t otherwise);
