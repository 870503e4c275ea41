/*
 * The command line of a process that has /dev/kvm open, which any user can write: what is taken
 * from it lies within limits, and its CPUs are on nodes that exist.
 */
#include "fuzz.h"
#include "sample/kvm/qemu_args.h"
#include "util/cleanup.h"

#define CPUS_MAX (1 << 16) /* as QEMU_CPUS_MAX */

static void check_args(const struct qemu_args *args)
{
    for (size_t i = 0; i < args->n_nodes; i++)
        FUZZ_CHECK(args->nodes[i].id >= 0 && args->nodes[i].id < QEMU_NODES_MAX);
    for (size_t i = 0; i < args->n_cpus; i++) {
        FUZZ_CHECK(args->cpus[i].first <= args->cpus[i].last && args->cpus[i].last <= CPUS_MAX);
        FUZZ_CHECK(args->cpus[i].node >= 0 && args->cpus[i].node < QEMU_NODES_MAX);
    }
    for (size_t i = 0; i < args->n_backends; i++) {
        FUZZ_CHECK(args->backends[i].kind <= QEMU_BACKEND_FILE);
        FUZZ_CHECK(args->backends[i].node >= -1 && args->backends[i].node < QEMU_NODES_MAX);
    }
}

/* The corpus is text: its newlines stand for the NULs between arguments. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(freep) char *text = fuzz_string(data, size);
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = '\0';
    FUZZ_CHECK(qemu_args_parse(&args, text, size) == 0);
    check_args(&args);
    for (int cpu = -1; cpu < 40; cpu++)
        FUZZ_CHECK(qemu_args_cpu_node(&args, cpu) >= -1);
    return 0;
}
