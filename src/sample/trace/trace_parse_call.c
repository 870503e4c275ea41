/*
 * "pages 4711 0 25000 7f0000000000*16/32=0 7f0000200000=-2": pid, result, CPU time, and runs of
 * pages with the same answer: 16 pages, each 32 pages behind the one before, on node 0.
 * "move 4711 1 80000 7f0000000000*512>1=1 7f0000200000*512>1=?": moves to node 1, the second of
 * which the kernel said nothing about.
 */
#include "sample/trace/trace_parse.h"

#define STATUS_MIN (-4095) /* include/linux/err.h MAX_ERRNO */

static bool scan_status(struct scan *line, int *statusp)
{
    if (scan_char(line, '?')) {
        *statusp = TRACE_UNWRITTEN;
        return true;
    }
    return trace_scan_digits(line, statusp) && *statusp >= STATUS_MIN &&
           *statusp < TOPOLOGY_NODE_MAX;
}

static bool scan_run(struct scan *line, bool moves, struct trace_run *run)
{
    uint64_t node = 0;

    *run = (struct trace_run){.n = 1, .stride_pages = 1};
    if (!scan_hex(line, UINT64_MAX, &run->addr))
        return false;
    if (scan_char(line, '*') && !scan_decimal(line, TRACE_RUN_PAGES_MAX, &run->n))
        return false;
    if (scan_char(line, '/') && !scan_decimal(line, TRACE_STRIDE_MAX, &run->stride_pages))
        return false;
    if (moves && (!scan_char(line, '>') || !scan_decimal(line, TOPOLOGY_NODE_MAX - 1, &node)))
        return false;
    run->node = (int)node;
    return run->n > 0 && run->stride_pages > 0 && scan_char(line, '=') &&
           scan_status(line, &run->status);
}

bool trace_parse_call(struct scan *line, struct trace_record *record)
{
    uint64_t pid;
    size_t n = 0;

    if (!trace_scan_number(line, INT32_MAX, &pid) || pid == 0 ||
        !trace_scan_int(line, &record->pages.result) ||
        !trace_scan_number(line, UINT64_MAX / 2, &record->pages.cpu_nsec))
        return false;
    record->pid = (pid_t)pid;
    while (scan_blanks(line)) {
        if (n == TRACE_RUNS_MAX ||
            !scan_run(line, record->kind == TRACE_MOVE, &record->pages.runs[n++]))
            return false;
    }
    record->pages.n_runs = n;
    return true;
}
