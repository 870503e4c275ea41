/*
 * Each distinct IP gets a window of code, [ip - X86_BEFORE_BYTES, ip + X86_AFTER_BYTES), cut into
 * pieces at page borders. process_vm_readv stops at the first piece that it cannot read, and pages
 * are what is readable or not; so a stop costs exactly one piece, and reading resumes behind it.
 * The code of a window is the run of readable pieces that holds the IP.
 *
 * The bytes are read for each request, of read-only files too, so that the cache of decoded code
 * need trust no mapping. Measured in requests of 25 samples: reading costs 0.2 to 0.6 us a sample,
 * finding the code in the cache and evaluating it 0.15 to 0.3, decoding it 3 to 9. Knowing what
 * need not be read takes the maps of the process, again after each change of them.
 */
#include "sample/timer/timer_resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "sample/timer/x86_address.h"
#include "util/array.h"
#include "util/nsec.h"

#define WINDOW_BYTES (X86_BEFORE_BYTES + X86_AFTER_BYTES)
#define WINDOW_PIECES 2 /* a window is smaller than a page */
#define READ_PIECES 512 /* of the 1024 that one call takes */

struct window {
    uint64_t ip, start;
    size_t piece_bytes[WINDOW_PIECES]; /* the second is 0 when no page border is inside */
    bool readable[WINDOW_PIECES];
    uint8_t bytes[WINDOW_BYTES];
};

/* A piece as process_vm_readv takes it, and where to note that it was read. */
struct pieces {
    struct iovec *local, *remote;
    bool **readable;
    size_t n;
};

static void pieces_deinit(struct pieces *pieces)
{
    free(pieces->local);
    free(pieces->remote);
    free(pieces->readable);
}

static int compare_ips(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void window_init(struct window *window, uint64_t ip, size_t page_bytes)
{
    uint64_t start = ip > X86_BEFORE_BYTES ? ip - X86_BEFORE_BYTES : 0;
    uint64_t end = ip < UINT64_MAX - X86_AFTER_BYTES ? ip + X86_AFTER_BYTES : UINT64_MAX;
    uint64_t border = (start / page_bytes + 1) * page_bytes;

    window->ip = ip;
    window->start = start;
    window->piece_bytes[0] = border - start < end - start ? border - start : end - start;
    window->piece_bytes[1] = end - start - window->piece_bytes[0];
}

/* One window per distinct IP, ascending. */
static int windows_new(struct window **windowsp, size_t *np, const struct timer_sample *samples,
                       size_t n, size_t page_bytes)
{
    CLEANUP(freep) struct window *windows = NULL;
    CLEANUP(freep) uint64_t *ips = NULL;
    size_t n_windows = 0;

    ips = calloc(n + 1, sizeof *ips);
    if (!ips)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        ips[i] = samples[i].ip;
    qsort(ips, n, sizeof *ips, compare_ips);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ips[i] != ips[n_windows - 1])
            ips[n_windows++] = ips[i];
    windows = calloc(n_windows + 1, sizeof *windows);
    if (!windows)
        return -ENOMEM;
    for (size_t i = 0; i < n_windows; i++)
        window_init(&windows[i], ips[i], page_bytes);
    *windowsp = TAKE(windows);
    *np = n_windows;
    return 0;
}

static void pieces_add(struct pieces *pieces, struct window *window)
{
    size_t offset = 0;

    for (size_t i = 0; i < WINDOW_PIECES && window->piece_bytes[i] > 0; i++) {
        size_t bytes = window->piece_bytes[i];

        pieces->local[pieces->n] = (struct iovec){window->bytes + offset, bytes};
        pieces->remote[pieces->n] = (struct iovec){(void *)(window->start + offset), bytes};
        pieces->readable[pieces->n++] = &window->readable[i];
        offset += bytes;
    }
}

static int pieces_init(struct pieces *pieces, struct window *windows, size_t n)
{
    pieces->local = calloc(n * WINDOW_PIECES + 1, sizeof *pieces->local);
    pieces->remote = calloc(n * WINDOW_PIECES + 1, sizeof *pieces->remote);
    pieces->readable = calloc(n * WINDOW_PIECES + 1, sizeof *pieces->readable);
    if (!pieces->local || !pieces->remote || !pieces->readable)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        pieces_add(pieces, &windows[i]);
    return 0;
}

/* Marks the pieces from `first` that `got` bytes fill. Return: the first that they do not. */
static size_t pieces_mark(struct pieces *pieces, size_t first, size_t end, size_t got)
{
    size_t i = first;

    while (i < end && got >= pieces->local[i].iov_len) {
        got -= pieces->local[i].iov_len;
        *pieces->readable[i++] = true;
    }
    return i;
}

static void pieces_read(struct pieces *pieces, const struct host *host, pid_t pid)
{
    size_t first = 0, end;
    ssize_t got;

    while (first < pieces->n) {
        end = pieces->n - first < READ_PIECES ? pieces->n : first + READ_PIECES;
        got = host->ops->read_memory(host->self, pid, &pieces->local[first], &pieces->remote[first],
                                     end - first);
        if (got < 0 && got != -EFAULT)
            return; /* gone, or not ours to read */
        first = pieces_mark(pieces, first, end, got > 0 ? (size_t)got : 0);
        if (first < end)
            first++;
    }
}

static int windows_read(struct window *windows, size_t n, const struct host *host, pid_t pid)
{
    CLEANUP(pieces_deinit) struct pieces pieces = {0};

    if (pieces_init(&pieces, windows, n) < 0)
        return -ENOMEM;
    pieces_read(&pieces, host, pid);
    return 0;
}

/* The readable bytes around the IP; none when its own piece is not. */
static struct x86_code window_code(const struct window *window)
{
    size_t border = window->piece_bytes[0], ip = window->ip - window->start;
    bool ip_is_first = ip < border;
    struct x86_code code = {.bytes = window->bytes, .ip = ip};

    if (!window->readable[ip_is_first ? 0 : 1])
        return code;
    if (!window->readable[0]) {
        code.bytes += border;
        code.ip -= border;
    } else {
        code.size += border;
    }
    if (window->readable[1])
        code.size += window->piece_bytes[1];
    return code;
}

/* perf's order of registers to the order of their encoding. */
static struct x86_state state_of_sample(const struct timer_sample *sample)
{
    static const enum timer_reg low[8] = {
        TIMER_REG_AX, TIMER_REG_CX, TIMER_REG_DX, TIMER_REG_BX,
        TIMER_REG_SP, TIMER_REG_BP, TIMER_REG_SI, TIMER_REG_DI,
    };
    struct x86_state state = {.ip = sample->ip};

    for (size_t i = 0; i < 8; i++) {
        state.gpr[i] = sample->regs[low[i]];
        state.gpr[8 + i] = sample->regs[TIMER_REG_R8 + i];
    }
    return state;
}

static int result_add(struct timer_result *result, const struct timer_sample *sample,
                      const struct x86_access *found, size_t n)
{
    if (ARRAY_RESERVE(result->accesses, result->cap, result->n_accesses + n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        result->accesses[result->n_accesses++] = (struct access){
            .when_nsec = sample->when_nsec,
            .pid = sample->pid,
            .tid = sample->tid,
            .cpu = sample->cpu,
            .addr = found[i].addr,
            .weight_sec = nsec_to_sec(sample->period_nsec) / (double)n,
            .kind = found[i].kind,
            .source = ACCESS_SOURCE_TIMER,
        };
    return 0;
}

/* Return: how many accesses, or -ENOMEM. */
static long code_resolve(const struct x86_code *code, const struct timer_sample *sample,
                         bool backward, struct code_cache *cache,
                         struct x86_access found[X86_ACCESSES_MAX])
{
    struct x86_state state = state_of_sample(sample);
    const struct x86_operand *operands;
    long n;

    if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE || code->size == 0)
        return 0;
    n = code_cache_get(cache, code, backward, &operands);
    return n < 0 ? n : (long)x86_operands_evaluate(operands, (size_t)n, &state, found);
}

static int sample_resolve(const struct window *windows, size_t n_windows,
                          const struct timer_sample *sample, bool backward,
                          struct code_cache *cache, struct timer_result *result)
{
    struct x86_access found[X86_ACCESSES_MAX];
    const struct window *window; /* its first field is the key */
    struct x86_code code;
    long n;

    window = bsearch(&sample->ip, windows, n_windows, sizeof *windows, compare_ips);
    code = window_code(window);
    code.is_32bit = sample->abi == PERF_SAMPLE_REGS_ABI_32;
    n = code_resolve(&code, sample, backward, cache, found);
    if (n < 0)
        return (int)n;
    result->n_unresolved += n == 0;
    return result_add(result, sample, found, (size_t)n);
}

/* Has the cache only while nothing can block, so that a stuck process does not keep it. */
static int samples_resolve(const struct window *windows, size_t n_windows,
                           const struct timer_sample *samples, size_t n, bool backward,
                           struct code_shelf *shelf, struct timer_result *result)
{
    struct code_cache *cache;
    uint64_t n_misses;
    int r = code_shelf_take(shelf, &cache);

    if (r < 0)
        return r;
    n_misses = code_cache_counts(cache)->n_misses;
    for (size_t i = 0; i < n && r == 0; i++)
        r = sample_resolve(windows, n_windows, &samples[i], backward, cache, result);
    result->n_decoded += code_cache_counts(cache)->n_misses - n_misses;
    code_shelf_give(shelf, cache);
    return r;
}

int timer_resolve(const struct host *host, pid_t pid, const struct timer_sample *samples, size_t n,
                  bool backward, struct code_shelf *shelf, struct timer_result *result)
{
    CLEANUP(freep) struct window *windows = NULL;
    size_t n_windows;
    int r;

    r = windows_new(&windows, &n_windows, samples, n, host->page_bytes);
    if (r < 0)
        return r;
    r = windows_read(windows, n_windows, host, pid);
    if (r < 0)
        return r;
    return samples_resolve(windows, n_windows, samples, n, backward, shelf, result);
}

void timer_result_deinit(struct timer_result *result)
{
    free(result->accesses);
    *result = (struct timer_result){0};
}
