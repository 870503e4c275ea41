#include "sim/root.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/fail.h"
#include "util/cleanup.h"

#define NODES "sys/devices/system/node"
#define CPUS "sys/devices/system/cpu"

static void make_folder(const struct sim_root *root, const char *path)
{
    char full[512];

    snprintf(full, sizeof full, "%s/%s", root->path, path);
    SIM_NEED(mkdir(full, 0755) == 0 || errno == EEXIST);
}

static FILE *open_file(const struct sim_root *root, const char *path)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", root->path, path);
    file = fopen(full, "we");
    SIM_NEED(file != NULL);
    return file;
}

static void __attribute__((format(printf, 3, 4)))
write_file(const struct sim_root *root, const char *path, const char *format, ...)
{
    FILE *file = open_file(root, path);
    va_list args;

    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    SIM_NEED(fclose(file) == 0);
}

static void write_meminfo(const struct sim_root *root, const struct sim_machine *machine, int node)
{
    const struct sim_node *sim = &machine->nodes[node];
    char path[96];

    snprintf(path, sizeof path, NODES "/node%d/meminfo", node);
    write_file(root, path, "Node %d MemTotal: %llu kB\nNode %d Inactive(file): %llu kB\n", node,
               (unsigned long long)(sim->total * SIM_PAGE_BYTES / 1024), node,
               (unsigned long long)(sim->cache * SIM_PAGE_BYTES / 1024));
}

static void write_distances(const struct sim_root *root, const struct sim_machine *machine,
                            int node)
{
    CLEANUP(fclosep) FILE *file = NULL;
    char path[96];

    snprintf(path, sizeof path, NODES "/node%d/distance", node);
    file = open_file(root, path);
    for (int to = 0; to < machine->shape.n_nodes; to++)
        fprintf(file, "%s%u", to ? " " : "", machine->shape.distances[node][to]);
    fprintf(file, "\n");
}

static void write_cpus(const struct sim_root *root, const struct sim_node *node, int id)
{
    char path[96];

    snprintf(path, sizeof path, NODES "/node%d/cpulist", id);
    if (node->n_cpus)
        write_file(root, path, "%d-%d\n", node->first_cpu, node->first_cpu + (int)node->n_cpus - 1);
    else
        write_file(root, path, "\n");
}

static void write_node(const struct sim_root *root, const struct sim_machine *machine, int node)
{
    char path[96];

    snprintf(path, sizeof path, NODES "/node%d", node);
    make_folder(root, path);
    write_cpus(root, &machine->nodes[node], node);
    write_distances(root, machine, node);
    write_meminfo(root, machine, node);
}

void sim_root_init(struct sim_root *root, const struct sim_machine *machine)
{
    static const char *const folders[] = {"proc", "sys", "sys/devices", "sys/devices/system",
                                          NODES,  CPUS};
    const char *above = getenv("TMPDIR");

    snprintf(root->path, sizeof root->path, "%s/numabd-sim-XXXXXX", above ? above : "/tmp");
    SIM_NEED(mkdtemp(root->path) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(root, folders[i]);
    for (int node = 0; node < machine->shape.n_nodes; node++)
        write_node(root, machine, node);
    write_file(root, NODES "/online", "0-%d\n", machine->shape.n_nodes - 1);
    write_file(root, CPUS "/online", "0-%d\n", machine->n_cpus - 1);
    sim_root_write_room(root, machine);
}

void sim_root_write_room(const struct sim_root *root, const struct sim_machine *machine)
{
    /* topology counts in pages of the host that it runs on. */
    uint64_t scale = (uint64_t)sysconf(_SC_PAGESIZE) / SIM_PAGE_BYTES;
    CLEANUP(fclosep) FILE *file = open_file(root, "proc/zoneinfo");

    for (int node = 0; node < machine->shape.n_nodes; node++) {
        const struct sim_node *sim = &machine->nodes[node];

        if (!sim->total)
            continue;
        fprintf(file,
                "Node %d, zone   Normal\n  pages free     %llu\n        high     %llu\n"
                "        managed  %llu\n        protection: (0, 0, 0, 0, 0)\n",
                node, (unsigned long long)(sim->free / scale),
                (unsigned long long)(sim->high / scale), (unsigned long long)(sim->total / scale));
        if (sim->cache)
            write_meminfo(root, machine, node);
    }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void sim_root_deinit(struct sim_root *root)
{
    if (root->path[0])
        SIM_NEED(nftw(root->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    root->path[0] = '\0';
}
