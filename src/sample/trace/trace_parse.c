#include "sample/trace/trace_parse.h"

#include <limits.h>
#include <string.h>

#include "util/procfs.h"

#define ERRNO_MAX 4095 /* include/linux/err.h MAX_ERRNO */

bool trace_scan_number(struct scan *line, uint64_t max, uint64_t *valuep)
{
    return scan_blanks(line) && scan_decimal(line, max, valuep);
}

bool trace_scan_digits(struct scan *line, int *valuep)
{
    bool negative = scan_char(line, '-');
    uint64_t value;

    if (!scan_decimal(line, INT_MAX, &value))
        return false;
    *valuep = negative ? -(int)value : (int)value;
    return true;
}

bool trace_scan_int(struct scan *line, int *valuep)
{
    return scan_blanks(line) && trace_scan_digits(line, valuep);
}

static bool scan_id(struct scan *line, int limit, int *idp)
{
    uint64_t value;

    if (!trace_scan_number(line, (uint64_t)limit - 1, &value))
        return false;
    *idp = (int)value;
    return true;
}

static bool scan_pid(struct scan *line, struct trace_record *record)
{
    uint64_t value;

    if (!trace_scan_number(line, INT_MAX, &value) || value == 0)
        return false;
    record->pid = (pid_t)value;
    return true;
}

char trace_decode_byte(struct scan *scan)
{
    struct scan digits = {.at = scan->at + 2, .end = scan->at + 4};
    uint64_t value = 0;

    if (*scan->at != '\\')
        return *scan->at++;
    (void)scan_hex(&digits, 0xff, &value);
    scan->at += 4;
    return (char)value;
}

/* Counts what a line or word decodes to. */
static bool measure(struct scan text, size_t *sizep)
{
    uint64_t byte;

    for (*sizep = 0; !scan_at_end(&text); ++*sizep) {
        struct scan digits = {.at = text.at + 2, .end = text.at + 4};

        if (*text.at != '\\') {
            text.at++;
            continue;
        }
        if (text.end - text.at < 4 || text.at[1] != 'x' || !scan_hex(&digits, 0xff, &byte) ||
            !scan_at_end(&digits))
            return false;
        text.at += 4;
    }
    return true;
}

bool trace_text_line(struct scan *body, struct scan *line)
{
    (void)scan_line(body, line);
    line->at++; /* the tab */
    if (line->end - line->at < 2 || memcmp(line->end - 2, "\\c", 2) != 0)
        return true;
    line->end -= 2;
    return false;
}

bool trace_text_measure(const struct scan *body, size_t *sizep)
{
    struct scan rest = *body, line;
    size_t size;

    *sizep = 0;
    while (!scan_at_end(&rest)) {
        bool ends = trace_text_line(&rest, &line);

        if (!measure(line, &size))
            return false;
        *sizep += size + ends;
    }
    return true;
}

bool trace_scan_word(struct scan *line, struct scan *word)
{
    struct scan left;
    size_t size;

    if (!scan_blanks(line) || !scan_word(line, word))
        return false;
    left = *word;
    return (scan_literal(&left, "\\e") && scan_at_end(&left)) || measure(*word, &size);
}

/* Needs no escapes: it is known, printable, and has no backslash. */
static bool is_plain(const struct scan *word)
{
    struct scan left = *word;

    if (scan_literal(&left, "-") && scan_at_end(&left))
        return false;
    for (const char *at = word->at; at < word->end; at++)
        if (*at < '!' || *at > '~' || *at == '\\')
            return false;
    return true;
}

/* A plain word that fits. */
static bool scan_plain(struct scan *line, char *text, size_t size)
{
    struct scan word;
    size_t length;

    if (!scan_blanks(line) || !scan_word(line, &word) || !is_plain(&word))
        return false;
    length = (size_t)(word.end - word.at);
    if (length >= size)
        return false;
    memcpy(text, word.at, length);
    text[length] = '\0';
    return true;
}

/* "machine SELF_PID PAGE_BYTES NOW NODE_IDS CPU_IDS" */
static bool parse_machine(struct scan *line, struct trace_record *record)
{
    uint64_t nodes, cpus;

    if (!scan_pid(line, record) ||
        !trace_scan_number(line, UINT32_MAX, &record->machine.page_bytes) ||
        !trace_scan_number(line, UINT64_MAX, &record->machine.now_nsec) ||
        !trace_scan_number(line, TOPOLOGY_NODE_MAX, &nodes) || nodes == 0 ||
        !trace_scan_number(line, TRACE_CPU_MAX, &cpus))
        return false;
    record->machine.n_node_ids = (int)nodes;
    record->machine.n_cpu_ids = (int)cpus;
    return record->machine.page_bytes >= 512 &&
           !(record->machine.page_bytes & (record->machine.page_bytes - 1));
}

/* "node ID TOTAL_BYTES DISTANCE..." */
static bool parse_node(struct scan *line, struct trace_record *record)
{
    uint64_t distance;
    size_t n = 0;

    if (!scan_id(line, TOPOLOGY_NODE_MAX, &record->node.id) ||
        !trace_scan_number(line, UINT64_MAX / 2, &record->node.total_bytes))
        return false;
    for (; n < TOPOLOGY_NODE_MAX && trace_scan_number(line, UINT8_MAX, &distance); n++) {
        if (distance == 0)
            return false;
        record->node.distances[n] = (uint8_t)distance;
    }
    record->node.n_distances = n;
    return n > 0;
}

/* " 3" or " 0-3" */
static bool scan_ids(struct scan *line, struct trace_ids *ids)
{
    uint64_t last;

    if (!scan_id(line, TRACE_CPU_MAX, &ids->first))
        return false;
    ids->last = ids->first;
    if (!scan_char(line, '-'))
        return true;
    if (!scan_decimal(line, TRACE_CPU_MAX - 1, &last) || last < (uint64_t)ids->first)
        return false;
    ids->last = (int)last;
    return true;
}

/* "isolated 2-3" */
static bool parse_isolated(struct scan *line, struct trace_record *record)
{
    size_t n = 0;

    while (!scan_at_end(line)) {
        if (n == TRACE_RUNS_MAX || !scan_ids(line, &record->cpus.ranges[n++]))
            return false;
    }
    record->cpus.n_ranges = n;
    return true;
}

/* "cpus NODE 0-3 8" */
static bool parse_cpus(struct scan *line, struct trace_record *record)
{
    return scan_id(line, TOPOLOGY_NODE_MAX, &record->cpus.node) && parse_isolated(line, record);
}

/* "room NODE FREE RESERVE INACTIVE_FILE" */
static bool parse_room(struct scan *line, struct trace_record *record)
{
    return scan_id(line, TOPOLOGY_NODE_MAX, &record->room.node) &&
           trace_scan_number(line, UINT64_MAX / 2, &record->room.free_bytes) &&
           trace_scan_number(line, UINT64_MAX / 2, &record->room.reserve_bytes) &&
           trace_scan_number(line, UINT64_MAX / 2, &record->room.inactive_file_bytes);
}

/* A command name into its field, cut where it is too long. */
static bool scan_comm(struct scan *line, char *comm, size_t size)
{
    struct scan word;
    size_t n = 0;

    if (!trace_scan_word(line, &word))
        return false;
    if (word.at[0] == '\\' && word.at[1] == 'e')
        word.at = word.end;
    while (!scan_at_end(&word) && n + 1 < size)
        comm[n++] = trace_decode_byte(&word);
    comm[n] = '\0';
    return true;
}

/* "process PID START_TICKS RSS_BYTES THREADS KERNEL_THREAD COMM" */
static bool parse_process(struct scan *line, struct trace_record *record)
{
    struct process process = {0};
    uint64_t n_threads, kernel_thread;

    if (!scan_pid(line, record) || !trace_scan_number(line, UINT64_MAX, &process.start_ticks) ||
        !trace_scan_number(line, UINT64_MAX / 2, &process.rss_bytes) ||
        !trace_scan_number(line, UINT32_MAX, &n_threads) ||
        !trace_scan_number(line, 1, &kernel_thread) ||
        !scan_comm(line, process.comm, sizeof process.comm))
        return false;
    process.pid = record->pid;
    process.n_threads = (unsigned)n_threads;
    process.kernel_thread = kernel_thread;
    record->process = process;
    return true;
}

/* "detail PID UID COMM EXE CGROUP" */
static bool parse_detail(struct scan *line, struct trace_record *record)
{
    uint64_t uid = 0;

    if (!scan_pid(line, record) || !scan_blanks(line))
        return false;
    record->detail.uid_known = !scan_char(line, '-');
    if (record->detail.uid_known && !scan_decimal(line, UINT32_MAX, &uid))
        return false;
    record->detail.uid = (uid_t)uid;
    return trace_scan_word(line, &record->detail.comm) &&
           trace_scan_word(line, &record->detail.exe) &&
           trace_scan_word(line, &record->detail.cgroup);
}

/* "mems PID LIST" */
static bool parse_mems(struct scan *line, struct trace_record *record)
{
    return scan_pid(line, record) && trace_scan_word(line, &record->mems);
}

/* "read", "same", "gone", "denied" or "-12" */
static bool scan_result(struct scan *line, struct trace_record *record)
{
    int error;

    record->file.result = 0;
    if (!scan_blanks(line))
        return false;
    record->file.same = scan_literal(line, "same");
    if (record->file.same || scan_literal(line, "read"))
        return true;
    if (scan_literal(line, "gone")) {
        record->file.result = PROCFS_GONE;
        return true;
    }
    if (scan_literal(line, "denied")) {
        record->file.result = PROCFS_DENIED;
        return true;
    }
    if (!trace_scan_digits(line, &error) || error >= 0 || error < -ERRNO_MAX)
        return false;
    record->file.result = error;
    return true;
}

/* "file PATH RESULT CPU_NSEC SIZE" */
static bool parse_file(struct scan *line, struct trace_record *record)
{
    uint64_t size;

    if (!scan_plain(line, record->file.path, sizeof record->file.path) ||
        !scan_result(line, record) ||
        !trace_scan_number(line, UINT64_MAX / 2, &record->file.cpu_nsec) ||
        !trace_scan_number(line, SIZE_MAX / 4, &size))
        return false;
    record->file.size = (size_t)size;
    return true;
}

static bool parse_pid(struct scan *line, struct trace_record *record)
{
    return scan_pid(line, record);
}

/* "late PID REQUEST" */
static bool parse_late(struct scan *line, struct trace_record *record)
{
    return scan_pid(line, record) && trace_scan_word(line, &record->late);
}

static bool parse_lost(struct scan *line, struct trace_record *record)
{
    uint64_t n;

    if (!trace_scan_number(line, UINT16_MAX, &n))
        return false;
    record->n_lost = (unsigned)n;
    return true;
}

static bool parse_round(struct scan *line, struct trace_record *record)
{
    return trace_scan_number(line, UINT64_MAX, &record->now_nsec);
}

const struct trace_parser trace_parsers[TRACE_KIND_COUNT] = {
    [TRACE_MACHINE] = {"malformed machine", parse_machine},
    [TRACE_NODE] = {"malformed node", parse_node},
    [TRACE_CPUS] = {"malformed cpus", parse_cpus},
    [TRACE_ISOLATED] = {"malformed isolated", parse_isolated},
    [TRACE_ROOM] = {"malformed room", parse_room},
    [TRACE_PROCESS] = {"malformed process", parse_process},
    [TRACE_DETAIL] = {"malformed detail", parse_detail},
    [TRACE_MEMS] = {"malformed mems", parse_mems},
    [TRACE_GONE] = {"malformed gone", parse_pid},
    [TRACE_FILE] = {"malformed file", parse_file},
    [TRACE_PAGES] = {"malformed pages", trace_parse_call},
    [TRACE_MOVE] = {"malformed move", trace_parse_call},
    [TRACE_ACCESS] = {"malformed access", trace_parse_access},
    [TRACE_LATE] = {"malformed late", parse_late},
    [TRACE_RETURNED] = {"malformed returned", parse_pid},
    [TRACE_LOST] = {"malformed lost", parse_lost},
    [TRACE_ROUND] = {"malformed round", parse_round},
};
