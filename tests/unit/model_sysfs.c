/*
 * The model's nodes as files below a root: what topology reads.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model_machine.h"
#include "util/cleanup.h"

static void write_text(struct tree *tree, int node, const char *name, const char *text)
{
    char path[96];

    snprintf(path, sizeof(path), "sys/devices/system/node/node%d/%s", node, name);
    tree_write(tree, path, text, strlen(text));
}

static void write_distances(const struct model *model, struct tree *tree, int node)
{
    char text[128] = "";
    size_t used = 0;

    for (int to = 0; to < model->shape.n_nodes; to++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", to ? " " : "",
                                 model->shape.distances[node][to]);
    snprintf(text + used, sizeof(text) - used, "\n");
    write_text(tree, node, "distance", text);
}

static unsigned write_node(const struct model *model, struct tree *tree, int node, unsigned cpu)
{
    unsigned n_cpus = model->shape.cpus[node];
    char text[160];

    if (n_cpus)
        snprintf(text, sizeof(text), "%u-%u\n", cpu, cpu + n_cpus - 1);
    else
        snprintf(text, sizeof(text), "\n");
    write_text(tree, node, "cpulist", text);
    snprintf(text, sizeof(text), "Node %d MemTotal: %u kB\nNode %d Inactive(file): 0 kB\n", node,
             model->shape.memory_mib[node] * 1024, node);
    write_text(tree, node, "meminfo", text);
    write_distances(model, tree, node);
    return cpu + n_cpus;
}

void model_write_room(const struct model *model, struct tree *tree)
{
    uint64_t scale = (uint64_t)sysconf(_SC_PAGESIZE) / MODEL_PAGE_BYTES;
    CLEANUP(freep) char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (int node = 0; node < model->shape.n_nodes; node++)
        if (model->shape.memory_mib[node])
            fprintf(file,
                    "Node %d, zone   Normal\n  pages free     %llu\n        high     16\n"
                    "        managed  %llu\n        protection: (0, 0, 0, 0, 0)\n",
                    node, (unsigned long long)(model->free_pages[node] / scale),
                    (unsigned long long)model->shape.memory_mib[node] * MODEL_MIB_PAGES / scale);
    fclose(file);
    tree_write(tree, "proc/zoneinfo", text, size);
}

void model_write_tree(const struct model *model, struct tree *tree)
{
    char text[32];
    unsigned cpu = 0;

    for (int node = 0; node < model->shape.n_nodes; node++)
        cpu = write_node(model, tree, node, cpu);
    snprintf(text, sizeof(text), "0-%d\n", model->shape.n_nodes - 1);
    tree_write(tree, "sys/devices/system/node/online", text, strlen(text));
    snprintf(text, sizeof(text), "0-%u\n", cpu - 1);
    tree_write(tree, "sys/devices/system/cpu/online", text, strlen(text));
    model_write_room(model, tree);
}
