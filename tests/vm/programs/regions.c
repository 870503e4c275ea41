/*
 * regions SECONDS: touches three regions, 70, 20 and 10 % of the time, in seven ways that take
 * turns: reads, writes, both, a pointer chase, rep movs within the region, vector loads, and calls
 * with stack traffic around a read. A fourth region is never touched behind its first write. Prints
 * the regions first, a line each: its share in percent, start and end (hexadecimal).
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define REGION_BYTES ((size_t)4 << 20)
#define LINE_BYTES 64
#define LINES (REGION_BYTES / LINE_BYTES)
#define PERCENT_SEC 0.001 /* a round takes 0.1 s */

static const unsigned percents[] = {70, 20, 10, 0};
#define N_REGIONS (sizeof percents / sizeof percents[0])

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each walks over a region once. */
typedef void walk(uint8_t *region);

static void walk_read(uint8_t *region)
{
    for (size_t i = 0; i < REGION_BYTES; i += LINE_BYTES)
        (void)*(volatile uint64_t *)(region + i + 8);
}

static void walk_write(uint8_t *region)
{
    for (size_t i = 0; i < REGION_BYTES; i += LINE_BYTES)
        *(volatile uint64_t *)(region + i + 16) = i;
}

static void walk_both(uint8_t *region)
{
    for (size_t i = 0; i < REGION_BYTES; i += LINE_BYTES)
        ++*(volatile uint32_t *)(region + i + 24);
}

/* The first word of each line points to the next line of a cycle through all of them. */
static void walk_chase(uint8_t *region)
{
    void *volatile *at = (void *volatile *)region;

    for (size_t i = 0; i < LINES; i++)
        at = *at;
}

/* From one line to the next, without the pointers of the chase. */
static void walk_copy(uint8_t *region)
{
    for (size_t i = 0; i + LINE_BYTES < REGION_BYTES; i += LINE_BYTES) {
        uint8_t *from = region + i + 32, *to = region + i + LINE_BYTES + 32;
        size_t n = 32;

#ifdef __x86_64__
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
        memcpy(to, from, n);
#endif
    }
}

#ifdef __x86_64__

__attribute__((target("avx"))) static void walk_avx(uint8_t *region)
{
    for (uint8_t *at = region; at < region + REGION_BYTES; at += 2 * LINE_BYTES)
        __asm__ volatile("vmovdqu (%0), %%ymm0\n vmovdqu 64(%0), %%ymm1"
                         :
                         : "r"(at)
                         : "xmm0", "xmm1", "memory");
    __asm__ volatile("vzeroupper");
}

static void walk_sse(uint8_t *region)
{
    for (uint8_t *at = region; at < region + REGION_BYTES; at += LINE_BYTES)
        __asm__ volatile("movdqu (%0), %%xmm0" : : "r"(at) : "xmm0", "memory");
}

static void walk_vector(uint8_t *region)
{
    if (__builtin_cpu_supports("avx"))
        walk_avx(region);
    else
        walk_sse(region);
}

#else

static void walk_vector(uint8_t *region)
{
    walk_read(region);
}

#endif

__attribute__((noinline)) static uint64_t pushed(uint8_t *at, uint64_t a, uint64_t b, uint64_t c)
{
    volatile uint64_t saved[4] = {a, b, c, a ^ b};

    return *(volatile uint64_t *)(at + 8) + saved[a & 3];
}

static void walk_calls(uint8_t *region)
{
    uint64_t last = 0;

    for (size_t i = 0; i < REGION_BYTES; i += LINE_BYTES)
        last = pushed(region + i, i, last, 3);
}

static walk *const walks[] = {walk_read, walk_write,  walk_both, walk_chase,
                              walk_copy, walk_vector, walk_calls};
#define N_WALKS (sizeof walks / sizeof walks[0])

/* A step that is odd, in lines, comes by all of them. */
static uint8_t *region_new(void)
{
    uint8_t *region =
        mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const size_t step = 4097;

    if (region == MAP_FAILED)
        return NULL;
    for (size_t line = 0; line < LINES; line++) {
        void *next = region + (line + step) % LINES * LINE_BYTES;

        memcpy(region + line * LINE_BYTES, &next, sizeof next);
    }
    return region;
}

/* Each region in turn until its part of the round is over, one walk after the other. */
static void run(uint8_t *const *regions, double seconds)
{
    double end = now() + seconds, until = now();
    unsigned turns[N_REGIONS] = {0};

    while (until < end)
        for (size_t i = 0; i < N_REGIONS; i++) {
            until += PERCENT_SEC * percents[i];
            while (now() < until)
                walks[turns[i]++ % N_WALKS](regions[i]);
        }
}

int main(int argc, char **argv)
{
    uint8_t *regions[N_REGIONS];

    if (argc != 2)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < N_REGIONS; i++) {
        regions[i] = region_new();
        if (!regions[i]) {
            perror("mmap");
            return 1;
        }
        printf("%u %llx %llx\n", percents[i], (unsigned long long)(uintptr_t)regions[i],
               (unsigned long long)(uintptr_t)(regions[i] + REGION_BYTES));
    }
    fflush(stdout);
    run(regions, atof(argv[1]));
    return 0;
}
