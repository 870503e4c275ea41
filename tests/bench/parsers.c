/*
 * What parsing maps and numa_maps costs, against what the kernel needs to print the same text: this
 * process makes many mappings of all kinds, reads each file of its own and parses what it read, in
 * turns, on the CPU time of the thread. Prints medians; judges nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attribute/numa_maps.h"
#include "attribute/vmas.h"
#include "util/cleanup.h"
#include "util/maps.h"
#include "util/nsec.h"

#define N_VMAS 20000 /* a large server; vm.max_map_count allows 65,530 */
#define N_REPEATS 31
#define VMA_PAGES 4
#define TEXT_MAX ((size_t)16 << 20)
#define FILE_NAME "/tmp/numabd-bench (a name with blanks)-XXXXXX"

/* Of each kind of mapping there is one in so many; neighbours differ, so that none are merged. */
static const struct kind {
    int protection, flags;
    int policy; /* MPOL_..., on node 0 */
    unsigned n_touched;
    bool named; /* maps the file */
} kinds[] = {
    {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MPOL_DEFAULT, 2, false},
    {PROT_READ, MAP_PRIVATE, MPOL_DEFAULT, 0, true},
    {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MPOL_BIND, 4, false},
    {PROT_READ | PROT_WRITE, MAP_SHARED, MPOL_DEFAULT, 1, true},
    {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MPOL_INTERLEAVE, 1, false},
    {PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, MPOL_DEFAULT, 0, false},
    {PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MPOL_PREFERRED, 2, false},
    {PROT_READ | PROT_EXEC, MAP_PRIVATE, MPOL_DEFAULT, 0, true},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int make_file(size_t size)
{
    char path[] = FILE_NAME;
    int fd = mkstemp(path);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        fail(path);
    unlink(path); /* so that " (deleted)" is printed, too */
    return fd;
}

static void map_one(char *at, size_t page, const struct kind *kind, int fd)
{
    const unsigned long node0 = 1;

    if (mmap(at, VMA_PAGES * page, kind->protection, kind->flags | MAP_FIXED, kind->named ? fd : -1,
             0) == MAP_FAILED)
        fail("mmap");
    if (kind->policy != MPOL_DEFAULT &&
        mbind(at, VMA_PAGES * page, kind->policy, &node0, 8 * sizeof node0, 0) < 0 &&
        errno != ENOSYS)
        fail("mbind");
    for (unsigned i = 0; i < kind->n_touched; i++)
        *(volatile char *)(at + i * page) = 1;
}

static void map_all(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CLEANUP(fd_closep) int fd = make_file(VMA_PAGES * page);
    char *at = mmap(NULL, N_VMAS * VMA_PAGES * page, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        fail("mmap");
    for (size_t i = 0; i < N_VMAS; i++, at += VMA_PAGES * page)
        map_one(at, page, &kinds[i % N_KINDS], fd);
}

/* Reads without growing a buffer, so that this is the kernel's time alone. */
static size_t read_text(int fd, char *text)
{
    size_t size = 0;
    ssize_t got;

    while ((got = pread(fd, text + size, TEXT_MAX - size, (off_t)size)) > 0)
        size += (size_t)got;
    if (got < 0)
        fail("read");
    return size;
}

static void add_pages(void *userdata, int node, uint64_t pages)
{
    (void)node;
    *(uint64_t *)userdata += pages;
}

/* Return: how many lines were good. */
static size_t parse_maps(const char *text, size_t size)
{
    const char *end = text + size;
    struct maps_entry entry;
    size_t n = 0;
    int r;

    while ((r = maps_parse_line(&text, end, &entry)) != MAPS_END)
        n += r == 0;
    return n;
}

static size_t parse_vma_list(const char *text, size_t size)
{
    CLEANUP(vma_list_deinit) struct vma_list list = {0};

    return vma_list_parse(&list, text, size) ? 0 : list.n_items;
}

static size_t parse_numa_maps(const char *text, size_t size)
{
    const char *end = text + size;
    struct numa_maps_entry entry;
    uint64_t n_pages = 0;
    size_t n = 0;
    int r;

    while ((r = numa_maps_parse_line(&text, end, 4096, &entry, add_pages, &n_pages)) !=
           NUMA_MAPS_END)
        n += r == 0;
    return n_pages > 0 ? n : 0;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static double median_usec(uint64_t *nsec)
{
    qsort(nsec, N_REPEATS, sizeof *nsec, by_value);
    return (double)nsec[N_REPEATS / 2] / 1e3;
}

static size_t count_lines(const char *text, size_t size)
{
    size_t n = 0;

    for (const char *at = text; (at = memchr(at, '\n', size - (size_t)(at - text))); at++)
        n++;
    return n;
}

static void measure(const char *path, const char *what, size_t (*parse)(const char *, size_t),
                    char *text)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t kernel[N_REPEATS], own[N_REPEATS];
    size_t size = 0, n_good = 0;
    double kernel_usec, own_usec;

    if (fd < 0) {
        printf("%s: not here: %s\n", path, strerror(errno));
        return;
    }
    for (int i = 0; i < N_REPEATS; i++) {
        uint64_t begin = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID), middle;

        size = read_text(fd, text);
        middle = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID);
        n_good = parse(text, size);
        kernel[i] = middle - begin;
        own[i] = nsec_of_clock(CLOCK_THREAD_CPUTIME_ID) - middle;
    }
    kernel_usec = median_usec(kernel);
    own_usec = median_usec(own);
    printf("%-14s %-22s %zu lines (%zu good), %zu bytes; kernel %.2f ms, parser %.2f ms"
           " (%.0f MB/s): %.1f %%\n",
           path + strlen("/proc/self/"), what, count_lines(text, size), n_good, size,
           kernel_usec / 1e3, own_usec / 1e3, (double)size / own_usec,
           100 * own_usec / kernel_usec);
}

int main(void)
{
    CLEANUP(freep) char *text = malloc(TEXT_MAX);

    if (!text)
        fail("malloc");
    memset(text, 0, TEXT_MAX); /* no page faults while reading */
    map_all();
    measure("/proc/self/maps", "lines", parse_maps, text);
    measure("/proc/self/maps", "into a list of VMAs", parse_vma_list, text);
    measure("/proc/self/numa_maps", "lines", parse_numa_maps, text);
    printf("(medians of %d, CPU time; parser in %% of the kernel's)\n", N_REPEATS);
    return 0;
}
