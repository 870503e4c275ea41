/*
 * sparse SECONDS: 1 GiB mapped, 1 % of it touched: in the lower half 12 small pages in a row in
 * each fourth 2 MiB, in the upper half three huge pages. All of it is placed on node 0 and used by
 * one thread on node 1. Prints "touched N pages, M huge" and then, each second, "N s  passes N
 * remote X %" by a look at each page of its own.
 */
#include <numa.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define HALF_BYTES ((size_t)512 << 20)
#define HUGE_BYTES ((size_t)2 << 20)
#define PAGE_BYTES ((size_t)4096)
#define LINE_BYTES 64
#define SMALL_STEP (4 * HUGE_BYTES)
#define SMALL_IN_ROW 12             /* less than numabd asks for where it does not know */
#define SMALL_AT (100 * PAGE_BYTES) /* of its 2 MiB: not where a sample begins */
#define HUGE_STEP (100 * HUGE_BYTES)
#define N_SMALL (HALF_BYTES / SMALL_STEP * SMALL_IN_ROW)
#define N_HUGE (HALF_BYTES / HUGE_STEP + 1)

struct touched {
    char *pages[N_SMALL + N_HUGE];
    size_t bytes[N_SMALL + N_HUGE];
    size_t n;
};

static char *map(void)
{
    char *memory = mmap(NULL, 2 * HALF_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    memory += (HUGE_BYTES - (uintptr_t)memory % HUGE_BYTES) % HUGE_BYTES;
    if (madvise(memory, HALF_BYTES, MADV_NOHUGEPAGE) ||
        madvise(memory + HALF_BYTES, HALF_BYTES, MADV_HUGEPAGE))
        return NULL;
    return memory;
}

static void add(struct touched *touched, char *page, size_t bytes)
{
    touched->pages[touched->n] = page;
    touched->bytes[touched->n++] = bytes;
}

static void list(struct touched *touched, char *memory)
{
    for (size_t at = 0; at < HALF_BYTES; at += SMALL_STEP)
        for (size_t i = 0; i < SMALL_IN_ROW; i++)
            add(touched, memory + at + SMALL_AT + i * PAGE_BYTES, PAGE_BYTES);
    for (size_t at = 0; at < HALF_BYTES; at += HUGE_STEP)
        add(touched, memory + HALF_BYTES + at, HUGE_BYTES);
}

static void use(const struct touched *touched)
{
    for (size_t i = 0; i < touched->n; i++)
        for (size_t at = 0; at < touched->bytes[i]; at += LINE_BYTES)
            ++*(volatile uint64_t *)(touched->pages[i] + at);
}

/* Bytes that do not lie on node 1, in percent; -1 when the kernel does not tell. */
static double remote(struct touched *touched)
{
    int nodes[N_SMALL + N_HUGE];
    size_t away = 0, all = 0;

    if (move_pages(0, touched->n, (void **)touched->pages, NULL, nodes, 0))
        return -1;
    for (size_t i = 0; i < touched->n; i++) {
        all += touched->bytes[i];
        away += nodes[i] == 1 ? 0 : touched->bytes[i];
    }
    return 100 * (double)away / (double)all;
}

static void run(struct touched *touched, int seconds)
{
    time_t begin = time(NULL), said = begin;
    unsigned long passes = 0;

    while (time(NULL) < begin + seconds) {
        use(touched);
        passes++;
        if (time(NULL) == said)
            continue;
        said = time(NULL);
        printf("%ld s  passes %lu  remote %.1f %%\n", (long)(said - begin), passes,
               remote(touched));
    }
}

int main(int argc, char **argv)
{
    struct touched touched = {.n = 0};
    char *memory = map();

    if (argc != 2 || !memory || numa_available() < 0 || numa_run_on_node(1) < 0)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    list(&touched, memory);
    numa_set_preferred(0);
    use(&touched);
    set_mempolicy(MPOL_DEFAULT, NULL, 0);
    printf("touched %zu pages, %zu huge\n", N_SMALL + N_HUGE * HUGE_BYTES / PAGE_BYTES, N_HUGE);
    run(&touched, atoi(argv[1]));
    return 0;
}
