/*
 * Two readers go through the trace. The first feeds what was told (processes, room, accesses) and
 * runs a round at each `round` record. The second is one round ahead and feeds the answers: what is
 * asked in a round was answered after it. So the questions of a round are put, and their requests
 * run to the end, before the accesses that follow it. What is asked between rounds, at the first
 * access of a process, waits for the place of an answer.
 */
#include "daemon/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "numabd/decide.h"
#include "numabd/pipeline.h"
#include "report/listing.h"
#include "report/text.h"
#include "sample/trace/replay_world.h"
#include "util/worker.h"

struct replay {
    FILE *out;
    struct config *config; /* until the pipeline takes it */
    struct trace_reader reader, ahead;
    struct replay_world *world;
    struct worker_pool *pool;
    struct pipeline *pipeline; /* NULL before the first round */
    uint64_t n_rounds, now;
    const char *what; /* why the last record is refused */
};

/* What stops a replay: a positive code of its own. */
enum {
    STOP = 1
};

static void replay_deinit(struct replay *replay)
{
    worker_pool_free(replay->pool);
    pipeline_free(replay->pipeline);
    replay_world_free(replay->world);
    config_free(replay->config);
}

static void on_log(void *userdata, const char *line)
{
    const struct replay *replay = userdata;

    fprintf(replay->out, "round %" PRIu64 ": %s\n", replay->n_rounds, line);
}

static int replay_new_pipeline(struct replay *replay)
{
    struct pipeline_options options = {
        .topology = replay_world_topology(replay->world),
        .procs = replay_world_procs(replay->world),
        .host = replay_world_host(replay->world),
        .pool = replay->pool,
        .config = replay->config,
        .self_pid = replay_world_self_pid(replay->world),
        .now = replay_world_start(replay->world),
        .log = on_log,
        .userdata = replay,
    };

    if (!options.topology) {
        replay->what = "the trace has no machine with a memory node";
        return STOP;
    }
    replay->config = NULL;
    replay->now = options.now;
    return pipeline_new(&replay->pipeline, &options);
}

/* Feeds answers up to the next round. What is wrong there is said when the first reader comes. */
static int replay_look_ahead(struct replay *replay)
{
    struct trace_record record;
    int r = 0;

    while (!r && !trace_read(&replay->ahead, &record) && record.kind != TRACE_ROUND)
        r = replay_world_answer(replay->world, &record);
    return r;
}

static void print_move(const struct replay *replay, const struct move *move)
{
    char bytes[TEXT_SIZE];
    int from = replay_pages_most(replay_world_pages(replay->world), move->pid, move->start,
                                 move->end, move->node);

    fprintf(replay->out, "round %" PRIu64 ": %d %" PRIx64 "-%" PRIx64 " %s node ", replay->n_rounds,
            move->pid, move->start, move->end, text_bytes(bytes, move->end - move->start));
    if (from >= 0)
        fprintf(replay->out, "%d", from);
    else
        putc('?', replay->out);
    fprintf(replay->out, " -> %d%s\n", move->node, move->observe ? ", observed" : "");
}

static void run_requests(const struct replay *replay)
{
    while (worker_pool_dispatch(replay->pool, 0))
        ;
}

static int replay_round(struct replay *replay, uint64_t now)
{
    const struct plan *plan;
    int r = 0;

    if (!replay->pipeline) {
        r = replay_new_pipeline(replay);
        if (!r)
            r = replay_look_ahead(replay);
    }
    if (r)
        return r;
    if (now < replay->now) {
        replay->what = "the round is earlier than the one before";
        return STOP;
    }
    replay->now = now;
    replay->n_rounds++;
    r = pipeline_round(replay->pipeline, now, host_cpu_nsec(replay_world_host(replay->world)));
    if (r)
        return r;
    plan = pipeline_plan(replay->pipeline);
    for (size_t i = 0; i < plan->n_moves; i++)
        print_move(replay, &plan->moves[i]);
    r = replay_look_ahead(replay);
    if (!r)
        run_requests(replay);
    return r;
}

static void push_access(const struct replay *replay, const struct access *access)
{
    struct access_sink sink = pipeline_sink(replay->pipeline);

    sink.push(sink.userdata, access, 1);
}

static int tell_late(struct replay *replay, const struct trace_record *record)
{
    CLEANUP(freep) char *name = NULL;

    if (trace_word_decode(&record->late, &name) < 0)
        return -ENOMEM;
    pipeline_on_late(replay->pipeline, record->pid, name ? name : "a request");
    return 0;
}

/* Before the first round there is nobody to be told. */
static int tell_pipeline(struct replay *replay, const struct trace_record *record)
{
    if (!replay->pipeline)
        return 0;
    if (record->kind == TRACE_ACCESS)
        push_access(replay, &record->access);
    else if (record->kind == TRACE_LATE)
        return tell_late(replay, record);
    else if (record->kind == TRACE_RETURNED)
        pipeline_on_returned(replay->pipeline, record->pid);
    else if (record->kind == TRACE_LOST)
        pipeline_on_lost(replay->pipeline, record->n_lost);
    return 0;
}

static int replay_record(struct replay *replay, const struct trace_record *record)
{
    switch (record->kind) {
    case TRACE_ROUND:
        return replay_round(replay, record->now_nsec);
    case TRACE_ACCESS:
    case TRACE_LATE:
    case TRACE_RETURNED:
    case TRACE_LOST:
        return tell_pipeline(replay, record);
    case TRACE_FILE:
    case TRACE_PAGES:
    case TRACE_MOVE:
        run_requests(replay);
        return 0;
    default:
        return replay_world_tell(replay->world, record, &replay->what);
    }
}

static void end_at(struct replay_end *end, const struct replay *replay, const char *what)
{
    end->line = replay->reader.n_lines;
    snprintf(end->message, sizeof end->message, "%s", what);
}

/* Return: 0 at its end, wherever that is, or a negative errno. */
static int replay_records(struct replay *replay, struct replay_end *end)
{
    struct trace_record record;
    int r = 0, read = 0;

    while (!r && !(read = trace_read(&replay->reader, &record)))
        r = replay_record(replay, &record);
    if (r > 0)
        end_at(end, replay, replay->what);
    else if (read == TRACE_CUT || read == TRACE_BAD)
        end_at(end, replay, replay->reader.what);
    else if (read == TRACE_END && !replay->pipeline)
        end_at(end, replay, "no round is in the trace: there is nothing to replay");
    end->cut = read == TRACE_CUT;
    return r < 0 ? r : 0;
}

static int print_status(const struct replay *replay)
{
    struct status_report report;
    int r;

    if (!replay->pipeline)
        return 0;
    r = pipeline_status(replay->pipeline, replay->now, &report);
    if (r < 0)
        return r;
    snprintf(report.sources, sizeof report.sources, "replay");
    listing_print_status(replay->out, &report);
    return 0;
}

int replay(const struct replay_options *options, struct replay_end *end)
{
    CLEANUP(replay_deinit) struct replay replay = {.out = options->out, .config = options->config};
    int r;

    *end = (struct replay_end){.line = 0};
    if (trace_reader_init(&replay.reader, options->text, options->size)) {
        end_at(end, &replay, replay.reader.what);
        return 0;
    }
    replay.ahead = replay.reader;
    r = replay_world_new(&replay.world);
    if (!r)
        r = worker_pool_new_inline(&replay.pool);
    if (!r)
        r = replay_records(&replay, end);
    return r < 0 ? r : print_status(&replay);
}
