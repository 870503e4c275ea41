#pragma once
/*
 * What a QEMU command line (/proc/PID/cmdline) says about the guest's memory and nodes. Command
 * lines of other monitors say nothing of it in these terms, and give an empty result.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_NODES_MAX 128 /* MAX_NODES of QEMU: ids are below */

enum qemu_backend_kind {
    QEMU_BACKEND_RAM,   /* anonymous, or shared without a name */
    QEMU_BACKEND_MEMFD, /* /memfd:... */
    QEMU_BACKEND_FILE,  /* below its path */
};

/* -object memory-backend-..., or the machine's own memory where there is none. */
struct qemu_backend {
    char *id, *path; /* owned; NULL where not given */
    enum qemu_backend_kind kind;
    uint64_t bytes;
    int node; /* of the guest whose memory it is, -1: no -numa names it */
};

/* -numa node. */
struct qemu_node {
    int id;
    char *memdev; /* owned; NULL: no backend of its own */
};

struct qemu_cpus {
    unsigned first, last; /* [first, last] of the guest */
    int node;
};

struct qemu_args {
    struct qemu_backend *backends; /* in the order of the command line, which QEMU makes them in */
    size_t n_backends, backends_cap;
    struct qemu_node *nodes;
    size_t n_nodes, nodes_cap;
    struct qemu_cpus *cpus;
    size_t n_cpus, cpus_cap;
    bool vague; /* which CPU or memory is on which node is not told, or not understood */
};

/*
 * Parses arguments that end with a NUL each into an empty struct; a last one without is cut and is
 * left out. Return: 0 or -ENOMEM.
 */
int qemu_args_parse(struct qemu_args *args, const char *text, size_t size);
void qemu_args_deinit(struct qemu_args *args);

/* The guest node of a guest CPU, -1 where not told. */
int qemu_args_cpu_node(const struct qemu_args *args, int cpu);
