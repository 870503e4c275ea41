#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/nsec.h"
#include "util/procfs.h"

#define N_STARTED 10 /* threads, at most: among them one with its own policy */
#define N_SLOTS 64   /* so few that they are used again */

size_t world_below(struct world *world, size_t n)
{
    return mutate_below(world->mutate, n);
}

static struct life *find_life(struct world *world, pid_t pid)
{
    for (size_t i = 0; i < N_LIVES; i++)
        if (world->lives[i].pid == pid)
            return &world->lives[i];
    fail();
    return NULL;
}

/* The file holds the number of the program, so that copies of its fd tell it too. */
static int open_program(unsigned program)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &program, sizeof program, 0), sizeof program);
    return fd;
}

/* Of one moment, or of several. */
static void print_maps(struct world *world, struct life *life, char text[VM_MAPS_SIZE])
{
    life->vm_read = life->vm;
    if (world_below(world, 4) == 0)
        vm_print_torn(&life->vm_before, &life->vm, world->mutate, &life->vm_read, text);
    else
        vm_print(&life->vm, text);
}

static int read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    struct life *life = find_life(self, pid);
    unsigned program = 0;

    if (!life->alive)
        return PROCFS_GONE;
    if (*fdp < 0)
        *fdp = open_program(life->program);
    assert_int_equal(pread(*fdp, &program, sizeof program, 0), sizeof program);
    if (program != life->program)
        return PROCFS_GONE;
    *bufp = malloc(VM_MAPS_SIZE);
    assert_non_null(*bufp);
    print_maps(self, life, *bufp);
    *sizep = strlen(*bufp);
    return 0;
}

/* Only threads have policies: those of VMAs are not part of this test, and none is ever known. */
static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    int pid, tid;

    (void)self, (void)limit;
    if (sscanf(path, "proc/%d/task/%d/", &pid, &tid) != 2 || (tid - pid) % 8 != LEARNED_BOUND)
        return PROCFS_GONE;
    *bufp = strdup("1000 bind:0 anon=1 N0=1\n");
    assert_non_null(*bufp);
    *sizep = strlen(*bufp);
    return 0;
}

/* Each mapping lies on one node, other ones elsewhere. */
static unsigned node_of(const struct vm_cell *cell)
{
    return cell->content == VM_ANONYMOUS ? 0 : cell->inode % LEARNED_NODES;
}

static long move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                       int *status, int flags)
{
    struct world *world = self;
    struct life *life = find_life(world, pid);

    (void)flags;
    assert_null(nodes);
    for (size_t i = 0; i < n; i++) {
        size_t cell = vm_cell_of((uintptr_t)pages[i]);
        unsigned node = node_of(&life->vm.cells[cell]);

        status[i] = -ENOENT;
        if (!life->alive || !life->vm.cells[cell].present)
            continue;
        status[i] = world->cpu_node[node];
        learned_answer(&life->learned, cell, node);
    }
    return 0;
}

static uint64_t no_cost(void *self)
{
    (void)self;
    return 0;
}

void life_begin(struct world *world, struct life *life)
{
    life->alive = true;
    life->start_ticks++;
    life->program = ++world->n_programs;
    life->first_thread = 0;
    life->n_threads = world->use == USE_EVEN ? 1 : 1 + (unsigned)world_below(world, N_STARTED);
    life->vm_before = life->vm;
}

void world_init(struct world *world, struct mutate *mutate)
{
    static const struct host_ops ops = {.read_file = read_file,
                                        .read_maps = read_maps,
                                        .move_pages = move_pages,
                                        .cpu_nsec = no_cost};
    struct attribute_options options = {.topology = &world->topology, .host = &world->host};

    *world = (struct world){.mutate = mutate, .now = 100 * NSEC_PER_SEC, .cpu_node = {0, 8}};
    world->use = mutate_below(mutate, 2) ? USE_EVEN : mutate_below(mutate, N_USES);
    world->fleeting = world->use == USE_EVEN && mutate_below(mutate, 4) == 0;
    world->topology =
        (struct topology){.n_node_ids = 9, .n_cpu_ids = LEARNED_NODES, .cpu_node = world->cpu_node};
    world->host = (struct host){.ops = &ops, .self = world, .page_bytes = 4096};
    assert_int_equal(worker_pool_new_inline(&world->pool), 0);
    assert_int_equal(config_new_default(&world->config), 0);
    world->config->mask_bits = N_SLOTS;
    options.pool = world->pool;
    assert_int_equal(attribute_new(&world->attribute, &options), 0);
    for (size_t i = 0; i < N_LIVES; i++) {
        world->lives[i].pid = 1000 * (pid_t)(i + 1);
        vm_exec(&world->lives[i].vm, mutate);
        life_begin(world, &world->lives[i]);
    }
}

void world_deinit(struct world *world)
{
    worker_pool_free(world->pool);
    attribute_free(world->attribute);
    config_free(world->config);
}

void life_forget(struct life *life)
{
    life->tracked = life->asked = false;
    life->tracked_program = 0;
    learned_reset(&life->learned);
}

struct target life_target(const struct life *life)
{
    return (struct target){.pid = life->pid,
                           .process = {.pid = life->pid,
                                       .start_ticks = life->start_ticks,
                                       .n_threads = life->n_threads,
                                       .rss_bytes = (uint64_t)1 << 30}};
}

/* The store learns of a new process by its first access. */
void life_track(struct life *life)
{
    if (life->tracked && life->tracked_ticks != life->start_ticks)
        life_forget(life);
    life->tracked = true;
    life->tracked_ticks = life->start_ticks;
}
