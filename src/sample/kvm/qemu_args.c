/*
 * Read are, with one or two dashes, each as often as it stands there:
 *
 *     -object memory-backend-{ram,memfd,file},id=ID,size=SIZE[,mem-path=PATH]      (or as JSON)
 *     -numa node[,nodeid=N][,cpus=A[-B]]...[,memdev=ID]
 *     -m [size=]SIZE[,...]
 *
 * -numa cpu places CPUs by socket and core, whose numbers depend on the machine type, and nodes
 * without any cpus= get them by the machine type's own rule: which CPU is where is vague then.
 * Nodes with mem= share one block of memory, which is vague as well.
 */
#include "sample/kvm/qemu_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/kvm/qemu_option.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/scan.h"

#define MIB (UINT64_C(1) << 20)
#define QEMU_CPUS_MAX (1u << 16)      /* more than any machine type has */
#define QEMU_ITEMS_MAX ((size_t)4096) /* of a kind: a command line of nonsense costs no more */

void qemu_args_deinit(struct qemu_args *args)
{
    for (size_t i = 0; i < args->n_backends; i++) {
        free(args->backends[i].id);
        free(args->backends[i].path);
    }
    for (size_t i = 0; i < args->n_nodes; i++)
        free(args->nodes[i].memdev);
    free(args->backends);
    free(args->nodes);
    free(args->cpus);
    *args = (struct qemu_args){0};
}

static int replace(char **textp, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return -ENOMEM;
    free(*textp);
    *textp = copy;
    return 0;
}

static bool backend_kind(const char *type, enum qemu_backend_kind *kindp)
{
    static const char *const types[] = {
        [QEMU_BACKEND_RAM] = "memory-backend-ram",
        [QEMU_BACKEND_MEMFD] = "memory-backend-memfd",
        [QEMU_BACKEND_FILE] = "memory-backend-file",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (!strcmp(type, types[i])) {
            *kindp = (enum qemu_backend_kind)i;
            return true;
        }
    }
    return false;
}

static int backend_take(struct qemu_backend *backend, const struct qemu_option *option,
                        bool *knownp)
{
    if (!*option->key || !strcmp(option->key, "qom-type"))
        *knownp = backend_kind(option->value, &backend->kind);
    else if (!strcmp(option->key, "id"))
        return replace(&backend->id, option->value);
    else if (!strcmp(option->key, "mem-path"))
        return replace(&backend->path, option->value);
    else if (!strcmp(option->key, "size") && !qemu_size_parse(option->value, 1, &backend->bytes))
        backend->bytes = 0;
    return 0;
}

static int args_add_backend(struct qemu_args *args, struct qemu_backend *backend)
{
    if (args->n_backends >= QEMU_ITEMS_MAX) {
        args->vague = true;
        return 0;
    }
    if (ARRAY_RESERVE(args->backends, args->backends_cap, args->n_backends + 1) < 0)
        return -ENOMEM;
    args->backends[args->n_backends++] = *backend;
    *backend = (struct qemu_backend){0};
    return 0;
}

static void backend_deinit(struct qemu_backend *backend)
{
    free(backend->id);
    free(backend->path);
}

/* A backend without a size that makes sense is left out: nothing can be matched to it. */
static int args_take_object(struct qemu_args *args, const char *value)
{
    CLEANUP(backend_deinit) struct qemu_backend backend = {.node = -1};
    struct qemu_options options = qemu_options_of(value);
    struct qemu_option option;
    bool known = false;
    int r = 0;

    while (!r && qemu_option_next(&options, &option))
        r = backend_take(&backend, &option, &known);
    if (r || !known || !backend.id || !backend.bytes)
        return r;
    return args_add_backend(args, &backend);
}

static bool scan_cpus(const char *text, struct qemu_cpus *cpus)
{
    struct scan scan = {.at = text, .end = text + strlen(text)};
    uint64_t first, last;

    if (!scan_decimal(&scan, QEMU_CPUS_MAX, &first))
        return false;
    last = first;
    if (scan_char(&scan, '-') && !scan_decimal(&scan, QEMU_CPUS_MAX, &last))
        return false;
    cpus->first = (unsigned)first;
    cpus->last = (unsigned)last;
    return scan_at_end(&scan) && first <= last;
}

/* The node's id may follow its CPUs: they get it when it is known. */
static int args_take_cpus(struct qemu_args *args, const char *value)
{
    struct qemu_cpus cpus = {.node = -1};

    if (!scan_cpus(value, &cpus) || args->n_cpus >= QEMU_ITEMS_MAX) {
        args->vague = true;
        return 0;
    }
    if (ARRAY_RESERVE(args->cpus, args->cpus_cap, args->n_cpus + 1) < 0)
        return -ENOMEM;
    args->cpus[args->n_cpus++] = cpus;
    return 0;
}

static bool scan_node(const char *text, int *nodep)
{
    struct scan scan = {.at = text, .end = text + strlen(text)};
    uint64_t node;

    if (!scan_decimal(&scan, QEMU_NODES_MAX - 1, &node) || !scan_at_end(&scan))
        return false;
    *nodep = (int)node;
    return true;
}

static int node_take(struct qemu_args *args, struct qemu_node *node,
                     const struct qemu_option *option)
{
    if (!strcmp(option->key, "nodeid")) {
        if (!scan_node(option->value, &node->id))
            args->vague = true;
    } else if (!strcmp(option->key, "cpus")) {
        return args_take_cpus(args, option->value);
    } else if (!strcmp(option->key, "memdev")) {
        return replace(&node->memdev, option->value);
    } else if (!strcmp(option->key, "mem")) {
        args->vague = true;
    }
    return 0;
}

/* A node without an id gets the next one, as in QEMU. */
static int args_take_node(struct qemu_args *args, struct qemu_options *options)
{
    struct qemu_node *node;
    struct qemu_option option;
    size_t from = args->n_cpus;
    int r = 0;

    if (args->n_nodes >= QEMU_NODES_MAX) {
        args->vague = true;
        return 0;
    }
    if (ARRAY_RESERVE(args->nodes, args->nodes_cap, args->n_nodes + 1) < 0)
        return -ENOMEM;
    node = &args->nodes[args->n_nodes];
    *node = (struct qemu_node){.id = (int)args->n_nodes};
    args->n_nodes++;
    while (!r && qemu_option_next(options, &option))
        r = node_take(args, node, &option);
    for (size_t i = from; i < args->n_cpus; i++)
        args->cpus[i].node = node->id;
    return r;
}

static int args_take_numa(struct qemu_args *args, const char *value)
{
    struct qemu_options options = qemu_options_of(value);
    struct qemu_option option;

    if (!qemu_option_next(&options, &option))
        return 0;
    if (!strcmp(option.value, "node"))
        return args_take_node(args, &options);
    if (!strcmp(option.value, "cpu"))
        args->vague = true;
    return 0; /* distances and the like */
}

static void args_take_memory(const char *value, uint64_t *bytesp)
{
    struct qemu_options options = qemu_options_of(value);
    struct qemu_option option;

    while (qemu_option_next(&options, &option))
        if (!*option.key || !strcmp(option.key, "size"))
            (void)qemu_size_parse(option.value, MIB, bytesp);
}

static int args_take(struct qemu_args *args, const char *name, const char *value, uint64_t *bytesp)
{
    name += name[0] == '-' && name[1] == '-';
    if (!strcmp(name, "-object"))
        return args_take_object(args, value);
    if (!strcmp(name, "-numa"))
        return args_take_numa(args, value);
    if (!strcmp(name, "-m"))
        args_take_memory(value, bytesp);
    return 0;
}

static void args_name_nodes(struct qemu_args *args)
{
    for (size_t i = 0; i < args->n_nodes; i++)
        for (size_t j = 0; j < args->n_backends && args->nodes[i].memdev; j++)
            if (!strcmp(args->nodes[i].memdev, args->backends[j].id))
                args->backends[j].node = args->nodes[i].id;
}

/* The next whole argument, or NULL. */
static const char *next_argument(const char **atp, const char *end)
{
    const char *argument = *atp;
    const char *nul = argument < end ? memchr(argument, '\0', (size_t)(end - argument)) : NULL;

    if (!nul)
        return NULL;
    *atp = nul + 1;
    return argument;
}

int qemu_args_parse(struct qemu_args *args, const char *text, size_t size)
{
    struct qemu_backend machine = {.kind = QEMU_BACKEND_RAM, .node = -1};
    const char *end = text + size, *name = next_argument(&text, end), *value;
    int r = 0;

    while (!r && name && (value = next_argument(&text, end))) {
        r = args_take(args, name, value, &machine.bytes);
        name = value;
    }
    if (r)
        return r;
    args_name_nodes(args);
    args->vague |= args->n_cpus == 0;
    return args->n_backends == 0 && machine.bytes ? args_add_backend(args, &machine) : 0;
}

int qemu_args_cpu_node(const struct qemu_args *args, int cpu)
{
    for (size_t i = 0; i < args->n_cpus && cpu >= 0; i++)
        if ((unsigned)cpu >= args->cpus[i].first && (unsigned)cpu <= args->cpus[i].last)
            return args->cpus[i].node;
    return -1;
}
