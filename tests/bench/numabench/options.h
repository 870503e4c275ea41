#pragma once

/* The command line of numabench, and its table of workloads. */

#include <stdbool.h>
#include <stddef.h>

struct workload {
    const char *name;
    unsigned int n_processes;
    bool shared;       /* every thread works over all of its process's memory, not over a slice */
    bool every_second; /* threads for every second CPU of a node only */
};

enum access_kind {
    ACCESS_READ,
    ACCESS_WRITE,
    ACCESS_MIXED,
};

enum placement {
    PLACEMENT_FIRST_TOUCH,
    PLACEMENT_NODE,
    PLACEMENT_HARD_BIND,
    PLACEMENT_INVERSE_BIND,
};

struct options {
    const struct workload *workload;
    size_t size_bytes;    /* of all processes together */
    double seconds;       /* 0: no limit */
    unsigned long passes; /* 0: no limit */
    enum access_kind access;
    bool huge;
    bool pin;
    enum placement placement;
    int node;             /* id, for PLACEMENT_NODE */
    unsigned int threads; /* of each process; 0: by the number of CPUs */
    const char *label;
    bool quiet;
    bool verify;
    bool hold_page;
};

/* Exits 2 with one line on stderr for anything it does not understand, 0 after --help. */
void options_parse(struct options *options, int argc, char **argv);
