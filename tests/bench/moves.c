/*
 * How fast does numabd move pages, against migrate_pages(2), which migratepages(8) is a shell for?
 * Needs two nodes. The memory of a child goes to the other node by one, then by the other, and
 * back, in pairs, with the child asleep and with threads of it that write to it. Figures are
 * medians of migrate_pages' time over numabd's: 1.00 is as fast, below it numabd is slower.
 *
 * numabd's way is what its workers do: asking where the pages are, then handing over those that are
 * elsewhere, MIGRATE_BATCH_PAGES a call.
 */
#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "migrate/pages.h"
#include "numabd/topology.h"
#include "util/nsec.h"

#define N_PAIRS 5
#define N_WRITERS 2
#define SKIPPED 77

struct memory {
    char *start;
    size_t n_pages, page_bytes;
    int nodes[2]; /* it lies on the first at the start */
};

struct child {
    pid_t pid;
    struct memory memory; /* the addresses are the child's too */
};

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void *write_for_ever(void *userdata)
{
    const struct memory *memory = userdata;
    unsigned long n = 0;

    for (;; n += 7)
        memory->start[n % memory->n_pages * memory->page_bytes]++;
    return NULL;
}

static void child_main(struct memory *memory, bool busy)
{
    unsigned long mask = 1UL << memory->nodes[0];
    pthread_t thread;

    if (set_mempolicy(MPOL_BIND, &mask, 64) < 0)
        fail("set_mempolicy");
    for (size_t i = 0; i < memory->n_pages; i++)
        memory->start[i * memory->page_bytes] = 1;
    (void)set_mempolicy(MPOL_DEFAULT, NULL, 0);
    for (int i = 0; i < N_WRITERS && busy; i++)
        if (pthread_create(&thread, NULL, write_for_ever, memory))
            fail("pthread_create");
    (void)raise(SIGSTOP); /* tells that it is ready */
    for (;;)
        pause();
}

static void child_start(struct child *child, bool busy)
{
    int status;

    fflush(NULL);
    child->pid = fork();
    if (child->pid < 0)
        fail("fork");
    if (child->pid == 0)
        child_main(&child->memory, busy);
    if (waitpid(child->pid, &status, WUNTRACED) != child->pid || !WIFSTOPPED(status))
        fail("the child");
    kill(child->pid, SIGCONT);
}

static void child_stop(const struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
}

static void **list_pages(const struct memory *memory)
{
    void **pages = calloc(memory->n_pages, sizeof *pages);

    for (size_t i = 0; pages && i < memory->n_pages; i++)
        pages[i] = memory->start + i * memory->page_bytes;
    return pages;
}

static size_t count_on(const struct child *child, void **pages, int node)
{
    int *status = calloc(child->memory.n_pages, sizeof *status);
    size_t n = 0;

    if (move_pages(child->pid, child->memory.n_pages, pages, NULL, status, 0) < 0)
        fail("move_pages");
    for (size_t i = 0; i < child->memory.n_pages; i++)
        n += status[i] == node;
    free(status);
    return n;
}

static double by_migrate_pages(const struct child *child, int from, int to)
{
    unsigned long old = 1UL << from, new = 1UL << to;
    uint64_t start = nsec_now();

    if (migrate_pages(child->pid, 64, &old, &new) < 0)
        fail("migrate_pages");
    return nsec_to_sec(nsec_now() - start);
}

static double by_numabd(const struct child *child, void **pages, int to, struct ledger *ledger)
{
    static struct page_to_move batch[MIGRATE_BATCH_PAGES];
    const struct host host = host_live();
    const struct pages_owner owner = {.host = &host, .pid = child->pid};
    static int before[MIGRATE_BATCH_PAGES], at[MIGRATE_BATCH_PAGES];
    uint64_t start = nsec_now();

    for (size_t i = 0; i < child->memory.n_pages; i += MIGRATE_BATCH_PAGES) {
        size_t n = child->memory.n_pages - i;
        int error;

        n = n < MIGRATE_BATCH_PAGES ? n : MIGRATE_BATCH_PAGES;
        for (size_t page = 0; page < n; page++)
            batch[page] = (struct page_to_move){.addr = pages[i + page], .n_pages = 1};
        error = pages_move(&owner, batch, n, to, before, at, ledger);
        if (error) {
            errno = error;
            fail("pages_move");
        }
    }
    return nsec_to_sec(nsec_now() - start);
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static void expect_all(const struct child *child, void **pages, int node, const char *who)
{
    size_t n = count_on(child, pages, node);

    if (n * 100 < child->memory.n_pages * 95)
        printf("  %s left %zu of %zu pages behind\n", who, child->memory.n_pages - n,
               child->memory.n_pages);
}

/* There by one, back by the other, and the other way round: both see the same directions. */
static double one_pair(const struct child *child, void **pages, struct ledger *ledger)
{
    const int *nodes = child->memory.nodes;
    double theirs, ours;

    theirs = by_migrate_pages(child, nodes[0], nodes[1]);
    expect_all(child, pages, nodes[1], "migrate_pages");
    ours = by_numabd(child, pages, nodes[0], ledger);
    expect_all(child, pages, nodes[0], "numabd");
    ours += by_numabd(child, pages, nodes[1], ledger);
    expect_all(child, pages, nodes[1], "numabd");
    theirs += by_migrate_pages(child, nodes[1], nodes[0]);
    expect_all(child, pages, nodes[0], "migrate_pages");
    printf("  migrate_pages %.2f s, numabd %.2f s\n", theirs, ours);
    return theirs / ours;
}

static void compare(struct child *child, bool busy)
{
    double ratios[N_PAIRS];
    struct ledger ledger = {0};
    void **pages = list_pages(&child->memory);

    if (!pages)
        fail("calloc");
    child_start(child, busy);
    for (int i = 0; i < N_PAIRS; i++)
        ratios[i] = one_pair(child, pages, &ledger);
    child_stop(child);
    qsort(ratios, N_PAIRS, sizeof *ratios, ascending);
    printf("%s: numabd moves at %.2f of migrate_pages' speed (median of %d, %.2f to %.2f); "
           "%llu pages moved, %llu failed\n",
           busy ? "busy" : "idle", ratios[N_PAIRS / 2], N_PAIRS, ratios[0], ratios[N_PAIRS - 1],
           (unsigned long long)ledger.n_moved, (unsigned long long)ledger.n_failed);
    free(pages);
}

/* The first two nodes with memory. Return: are there two? */
static bool find_nodes(int nodes[2])
{
    CLEANUP(topology_freep) struct topology *topology = NULL;
    int n = 0;

    if (topology_new(&topology, "/") < 0)
        return false;
    for (int node = 0; node < topology->n_node_ids && n < 2; node++)
        if (topology_has_memory(topology, node))
            nodes[n++] = node;
    return n == 2;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
    struct child child = {.memory = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)}};

    if (!find_nodes(child.memory.nodes)) {
        puts("needs two nodes with memory");
        return SKIPPED;
    }
    child.memory.n_pages = (mib << 20) / child.memory.page_bytes;
    /* Made here, so that its addresses are known; not touched, so that it stays the child's. */
    child.memory.start = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (child.memory.start == MAP_FAILED)
        fail("mmap");
    (void)madvise(child.memory.start, mib << 20, MADV_NOHUGEPAGE);
    printf("%zu MiB of small pages, nodes %d and %d\n", mib, child.memory.nodes[0],
           child.memory.nodes[1]);
    compare(&child, false);
    compare(&child, true);
    return EXIT_SUCCESS;
}
