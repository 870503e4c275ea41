/*
 * Records become lines of words. What other processes name (commands, paths, file contents) is
 * escaped, so that a line stays a line: every byte that is not printable ASCII, a backslash, and in
 * words a blank, becomes \xHH.
 */
#include "sample/trace/trace_write.h"

#include <inttypes.h>
#include <string.h>

#include "util/procfs.h"

static bool is_escaped(char c, char from)
{
    return (unsigned char)c < (unsigned char)from || (unsigned char)c > '~' || c == '\\';
}

static void put_escaped(FILE *file, const char *text, size_t size, char from)
{
    for (size_t i = 0; i < size; i++) {
        if (is_escaped(text[i], from))
            fprintf(file, "\\x%02x", (unsigned char)text[i]);
        else
            putc_unlocked(text[i], file);
    }
}

/* A path of 4 KiB may take four times that, which no line that holds two of them has room for. */
static bool word_fits(const char *word)
{
    size_t n = 0;

    for (const char *at = word; *at && n <= TRACE_WORD_MAX; at++)
        n += is_escaped(*at, '!') ? 4 : 1;
    return n <= TRACE_WORD_MAX;
}

/* "-" for NULL and for one that is too long, "\e" for an empty one. */
static void put_word(FILE *file, const char *word)
{
    putc(' ', file);
    if (!word || !word_fits(word))
        putc('-', file);
    else if (!*word)
        fputs("\\e", file);
    else if (!strcmp(word, "-"))
        fputs("\\x2d", file);
    else
        put_escaped(file, word, strlen(word), '!');
}

void trace_write_version(struct trace_writer *writer)
{
    fprintf(writer->file, "numabd-trace %d\n", TRACE_VERSION);
}

static void write_node(struct trace_writer *writer, const struct topology *topology, int id)
{
    fprintf(writer->file, "node %d %" PRIu64, id, topology->nodes[id].total_bytes);
    for (int to = 0; to < topology->n_node_ids; to++)
        fprintf(writer->file, " %u", topology_distance(topology, id, to));
    putc('\n', writer->file);
}

/* Is the CPU of the set: those of a node, or (node -1) those that are isolated? */
static bool has_cpu(const struct topology *topology, int node, int cpu)
{
    return node >= 0 ? topology->cpu_node[cpu] == node : topology->cpu_isolated[cpu];
}

static void put_cpus_head(FILE *file, int node)
{
    if (node >= 0)
        fprintf(file, "cpus %d", node);
    else
        fputs("isolated", file);
}

/* "cpus 0 0-3 8": as many lines as needed. */
static void write_cpus(struct trace_writer *writer, const struct topology *topology, int node)
{
    size_t n = 0;

    for (int cpu = 0; cpu < topology->n_cpu_ids; cpu++) {
        int first = cpu;

        if (!has_cpu(topology, node, cpu))
            continue;
        while (cpu + 1 < topology->n_cpu_ids && has_cpu(topology, node, cpu + 1))
            cpu++;
        if (n && n % TRACE_RUNS_MAX == 0)
            putc('\n', writer->file);
        if (n++ % TRACE_RUNS_MAX == 0)
            put_cpus_head(writer->file, node);
        fprintf(writer->file, first == cpu ? " %d" : " %d-%d", first, cpu);
    }
    if (n)
        putc('\n', writer->file);
}

void trace_write_machine(struct trace_writer *writer, const struct topology *topology,
                         uint64_t page_bytes, pid_t self_pid, uint64_t now)
{
    fprintf(writer->file, "machine %d %" PRIu64 " %" PRIu64 " %d %d\n", self_pid, page_bytes, now,
            topology->n_node_ids, topology->n_cpu_ids);
    for (int node = 0; node < topology->n_node_ids; node++) {
        if (!topology->nodes[node].online)
            continue;
        write_node(writer, topology, node);
        write_cpus(writer, topology, node);
    }
    write_cpus(writer, topology, -1);
}

void trace_write_room(struct trace_writer *writer, int id, const struct node *node)
{
    fprintf(writer->file, "room %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", id, node->free_bytes,
            node->reserve_bytes, node->inactive_file_bytes);
}

void trace_write_process(struct trace_writer *writer, const struct process *process)
{
    fprintf(writer->file, "process %d %" PRIu64 " %" PRIu64 " %u %d", process->pid,
            process->start_ticks, process->rss_bytes, process->n_threads, process->kernel_thread);
    put_word(writer->file, process->comm);
    putc('\n', writer->file);
}

void trace_write_detail(struct trace_writer *writer, const struct process *process)
{
    fprintf(writer->file, "detail %d ", process->pid);
    if (process->uid_known)
        fprintf(writer->file, "%u", process->uid);
    else
        putc('-', writer->file);
    put_word(writer->file, process->comm);
    put_word(writer->file, process->exe);
    put_word(writer->file, process->cgroup);
    putc('\n', writer->file);
}

void trace_write_mems(struct trace_writer *writer, pid_t pid, const char *list)
{
    fprintf(writer->file, "mems %d", pid);
    put_word(writer->file, list);
    putc('\n', writer->file);
}

void trace_write_gone(struct trace_writer *writer, pid_t pid)
{
    fprintf(writer->file, "gone %d\n", pid);
}

/* A line with a tab in front; "\c" at its end stands for: no newline here. */
static void write_text(FILE *file, const char *text, size_t size)
{
    while (size) {
        size_t most = size < TRACE_TEXT_MAX ? size : TRACE_TEXT_MAX;
        const char *newline = memchr(text, '\n', most);
        size_t taken = newline ? (size_t)(newline - text) : most;

        putc('\t', file);
        put_escaped(file, text, taken, ' ');
        fputs(newline ? "\n" : "\\c\n", file);
        taken += newline != NULL;
        text += taken;
        size -= taken;
    }
}

static void write_file_head(FILE *file, const char *path, const char *result, uint64_t cpu_nsec,
                            size_t size)
{
    fputs("file", file);
    put_word(file, path);
    fprintf(file, " %s %" PRIu64 " %zu\n", result, cpu_nsec, size);
}

void trace_write_file(struct trace_writer *writer, const char *path, int result, uint64_t cpu_nsec,
                      const char *text, size_t size)
{
    char number[16];

    if (result) {
        snprintf(number, sizeof number, "%d", result);
        write_file_head(writer->file, path,
                        result == PROCFS_GONE     ? "gone"
                        : result == PROCFS_DENIED ? "denied"
                                                  : number,
                        cpu_nsec, 0);
        return;
    }
    write_file_head(writer->file, path, "read", cpu_nsec, size);
    write_text(writer->file, text, size);
}

void trace_write_same(struct trace_writer *writer, const char *path, uint64_t cpu_nsec)
{
    write_file_head(writer->file, path, "same", cpu_nsec, 0);
}

/* One line of a call is begun by the first of its runs. */
struct run_line {
    FILE *file;
    const struct trace_call *call;
    size_t n_runs, n_lines;
};

static void line_begin(struct run_line *line)
{
    const struct trace_call *call = line->call;

    fprintf(line->file, "%s %d %d %" PRIu64, call->nodes ? "move" : "pages", call->pid,
            call->result, line->n_lines++ ? 0 : call->cpu_nsec);
}

/* "7f0000000000*16/32>1=0", without what is usual */
static void line_put(struct run_line *line, const struct trace_run *run)
{
    if (line->n_runs && line->n_runs % TRACE_RUNS_MAX == 0) {
        putc('\n', line->file);
        line_begin(line);
    }
    line->n_runs++;
    fprintf(line->file, " %" PRIx64, run->addr);
    if (run->n > 1)
        fprintf(line->file, "*%" PRIu64, run->n);
    if (run->stride_pages > 1)
        fprintf(line->file, "/%" PRIu64, run->stride_pages);
    if (line->call->nodes)
        fprintf(line->file, ">%d", run->node);
    if (run->status == TRACE_UNWRITTEN)
        fputs("=?", line->file);
    else
        fprintf(line->file, "=%d", run->status);
}

/* Takes the pages from *firstp on that have one answer and lie at even distances. */
static struct trace_run take_run(const struct trace_call *call, size_t *firstp)
{
    size_t i = *firstp;
    uint64_t addr = (uintptr_t)call->pages[i], stride = 0;
    struct trace_run run = {.addr = addr,
                            .n = 1,
                            .stride_pages = 1,
                            .node = call->nodes ? call->nodes[i] : 0,
                            .status = call->status[i]};

    for (i++; i < call->n && run.n < TRACE_RUN_PAGES_MAX; i++, run.n++) {
        uint64_t next = (uintptr_t)call->pages[i], step = next - addr;

        if (call->status[i] != run.status || (call->nodes && call->nodes[i] != run.node) ||
            next <= addr || step % call->page_bytes || (stride && step != stride) ||
            step / call->page_bytes > TRACE_STRIDE_MAX)
            break;
        stride = step;
        addr = next;
    }
    if (stride)
        run.stride_pages = stride / call->page_bytes;
    *firstp = i;
    return run;
}

void trace_write_call(struct trace_writer *writer, const struct trace_call *call)
{
    struct run_line line = {.file = writer->file, .call = call};
    size_t i = 0;

    line_begin(&line);
    while (i < call->n && (call->nodes || call->result >= 0)) {
        struct trace_run run = take_run(call, &i);

        line_put(&line, &run);
    }
    putc('\n', writer->file);
}

/* The shortest text that gives the same number again; 17 digits always do. */
static void put_double(FILE *file, double value)
{
    char text[32];

    for (int digits = 6; digits <= 17; digits += digits == 6 ? 9 : 1) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fprintf(file, " w%s", text);
}

/* "a 4000000 7f0000401000 t4712 c1": time since the last one, address, and what has changed. */
void trace_write_access(struct trace_writer *writer, const struct access *access)
{
    const struct access *last = &writer->last;
    FILE *file = writer->file;

    fprintf(file, "a %" PRId64 " %" PRIx64, (int64_t)(access->when_nsec - last->when_nsec),
            access->addr);
    if (access->pid != last->pid)
        fprintf(file, " p%d", access->pid);
    if (access->tid != last->tid)
        fprintf(file, " t%d", access->tid);
    if (access->cpu != last->cpu)
        fprintf(file, " c%d", access->cpu);
    if (access->weight_sec != last->weight_sec)
        put_double(file, access->weight_sec);
    if (access->kind != last->kind)
        fprintf(file, " k%s", trace_access_kinds[access->kind]);
    if (access->source != last->source)
        fprintf(file, " s%s", trace_access_sources[access->source]);
    if (access->locality != last->locality)
        fprintf(file, " l%s", trace_localities[access->locality]);
    putc('\n', file);
    writer->last = *access;
}

void trace_write_late(struct trace_writer *writer, pid_t pid, const char *name)
{
    fprintf(writer->file, "late %d", pid);
    put_word(writer->file, name);
    putc('\n', writer->file);
}

void trace_write_returned(struct trace_writer *writer, pid_t pid)
{
    fprintf(writer->file, "returned %d\n", pid);
}

void trace_write_lost(struct trace_writer *writer, unsigned n_lost)
{
    fprintf(writer->file, "lost %u\n", n_lost);
}

void trace_write_round(struct trace_writer *writer, uint64_t now)
{
    fprintf(writer->file, "round %" PRIu64 "\n", now);
}
