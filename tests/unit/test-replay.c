/*
 * A recorded run of the model machine is replayed to the same moves in the same rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/replay.h"
#include "model_run.h"
#include "numabd/decide.h"
#include "sample/trace/recorder.h"
#include "util/array.h"

#define MOVES_MAX 4096

struct moved {
    unsigned round;
    int pid, node;
    unsigned long long start, end;
};

/* A run that is being recorded; model_run is first, for its hook. */
struct recording {
    struct model_run run;
    struct tree folder;
    char path[300];
    struct recorder *recorder;
    unsigned n_rounds;
    struct moved moves[MOVES_MAX];
    size_t n_moves;
    struct status_report status; /* at its end */
};

/* Between a round's plan and its requests: what daemon.c does after pipeline_round. */
static void on_round(struct model_run *run)
{
    struct recording *recording = (struct recording *)run;
    const struct plan *plan = pipeline_plan(run->pipeline);

    recording->n_rounds++;
    for (size_t i = 0; i < plan->n_moves; i++) {
        assert_true(recording->n_moves < MOVES_MAX);
        recording->moves[recording->n_moves++] = (struct moved){.round = recording->n_rounds,
                                                                .pid = plan->moves[i].pid,
                                                                .node = plan->moves[i].node,
                                                                .start = plan->moves[i].start,
                                                                .end = plan->moves[i].end};
    }
    assert_int_equal(recorder_round(recording->recorder, run->topology, run->model.now), 0);
}

static struct recording *recording_new(const struct model_shape *shape, uint64_t seed)
{
    struct recording *recording = calloc(1, sizeof(*recording));
    struct model_run *run = &recording->run;

    assert_non_null(recording);
    model_run_init(run, shape, seed);
    tree_init(&recording->folder);
    snprintf(recording->path, sizeof(recording->path), "%s/trace", recording->folder.root);
    assert_int_equal(recorder_new(&recording->recorder, recording->path), 0);
    recorder_start(recording->recorder, run->topology, MODEL_PAGE_BYTES, MODEL_SELF,
                   run->model.now);
    run->host = recorder_host(recording->recorder, &run->host);
    run->procs = recorder_procs(recording->recorder, run->procs);
    run->model.sink = recorder_sink(recording->recorder, run->model.sink);
    run->before_dispatch = on_round;
    return recording;
}

/* Ends the run. Return: the trace, to be freed. */
static char *recording_stop(struct recording *recording, size_t *sizep)
{
    struct stat status;
    char *text;
    FILE *file;

    recording->status = model_run_status(&recording->run);
    model_run_deinit(&recording->run);
    recording->recorder = recorder_free(recording->recorder);
    assert_int_equal(stat(recording->path, &status), 0);
    file = fopen(recording->path, "r");
    assert_non_null(file);
    text = malloc((size_t)status.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)status.st_size, file), status.st_size);
    fclose(file);
    *sizep = (size_t)status.st_size;
    return text;
}

static void recording_free(struct recording *recording)
{
    tree_deinit(&recording->folder);
    free(recording);
}

/* Return: what the replay prints, to be freed. */
static char *replay_out(const char *text, size_t size, struct replay_end *end, bool observe)
{
    char *out = NULL;
    size_t out_size;
    FILE *file = open_memstream(&out, &out_size);
    struct replay_options options = {.text = text, .size = size, .out = file};

    assert_int_equal(config_new_default(&options.config), 0);
    options.config->observe = observe;
    assert_int_equal(replay(&options, end), 0);
    fclose(file);
    return out;
}

static bool parse_move(const char *line, struct moved *moved)
{
    char from[8];
    double size;

    return sscanf(line, "round %u: %d %llx-%llx %lf %*s node %7s -> %d", &moved->round, &moved->pid,
                  &moved->start, &moved->end, &size, from, &moved->node) == 7;
}

static bool same_move(const struct moved *a, const struct moved *b)
{
    return a->round == b->round && a->pid == b->pid && a->node == b->node && a->start == b->start &&
           a->end == b->end;
}

static void assert_same_moves(const struct recording *recording, char *out)
{
    size_t n = 0;
    char *save;

    for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct moved moved;

        if (!parse_move(line, &moved))
            continue;
        if (n >= recording->n_moves || !same_move(&moved, &recording->moves[n]))
            fail_msg("move %zu of the replay was not recorded: %s", n, line);
        n++;
    }
    assert_int_equal(n, recording->n_moves);
}

/* What became of the moves is the same too. */
static void assert_same_pages(const struct recording *recording, const char *out)
{
    const struct status_report *status = &recording->status;
    char pages[128];

    snprintf(pages, sizeof(pages), "pages  %llu tried, %llu moved, %llu failed",
             (unsigned long long)status->pages_tried, (unsigned long long)status->pages_moved,
             (unsigned long long)status->pages_failed);
    if (!strstr(out, pages))
        fail_msg("not \"%s\": %s", pages, out);
}

static void add_misplaced(struct model_run *run, pid_t pid, int first_cpu)
{
    const int cpus[] = {first_cpu, first_cpu + 1};
    struct model_process *process = model_add_process(&run->model, pid, "load \\ of\ttest");

    model_add_vma(&run->model, process, 64 * MODEL_MIB_PAGES, 0);
    model_add_workers(process, cpus, 2);
}

static void assert_replays(struct recording *recording)
{
    struct replay_end end;
    size_t size;
    char *text = recording_stop(recording, &size);
    char *out = replay_out(text, size, &end, false);

    print_message("%zu bytes, %u rounds, %zu moves\n", size, recording->n_rounds,
                  recording->n_moves);
    assert_string_equal(end.message, "");
    assert_true(recording->n_moves > 0);
    assert_non_null(strstr(out, "sources replay"));
    assert_same_pages(recording, out);
    assert_same_moves(recording, out);
    free(out);
    free(text);
    recording_free(recording);
}

static void same_moves_of_a_misplaced_process(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 1);

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 12);
    assert_replays(recording);
}

static void same_moves_when_processes_come_and_go(void **state)
{
    struct recording *recording = recording_new(&model_four_nodes, 2);
    struct model *model = &recording->run.model;

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    add_misplaced(&recording->run, 200, 4);
    model_run_rounds(&recording->run, 4);
    model_kill(model, model_find(model, 100));
    model_run_rounds(&recording->run, 3);
    add_misplaced(&recording->run, 300, 6);
    model_run_rounds(&recording->run, 10);
    assert_replays(recording);
}

static void same_moves_across_an_exec(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 3);
    struct model *model = &recording->run.model;
    struct model_process *process;
    const int cpus[] = {2, 3};

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 10);
    process = model_find(model, 100);
    model_exec(model, process, "other");
    model_add_vma(model, process, 32 * MODEL_MIB_PAGES, 0);
    model_add_workers(process, cpus, 2);
    model_run_rounds(&recording->run, 10);
    assert_replays(recording);
}

static void same_moves_with_refusing_pages(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 4);
    struct model_process *process;

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    process = model_find(&recording->run.model, 100);
    for (size_t page = 0; page < 4096; page += 1024)
        process->vmas[0].pages[page].flags |= MODEL_PAGE_HELD;
    model_run_rounds(&recording->run, 15);
    assert_replays(recording);
}

static void same_moves_where_a_cpuset_forbids_a_node(void **state)
{
    struct recording *recording = recording_new(&model_four_nodes, 5);

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    add_misplaced(&recording->run, 200, 4);
    model_find(&recording->run.model, 200)->mems_allowed = "0,1";
    model_run_rounds(&recording->run, 12);
    assert_replays(recording);
}

/* 64 MiB are to go where less is free above the headroom, until a process ends there. */
static void same_moves_where_room_is_short(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 6);
    struct model *model = &recording->run.model;
    struct model_process *filler = model_add_process(model, 50, "filler");

    (void)state;
    model_add_vma(model, filler, 920 * MODEL_MIB_PAGES, 1);
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 10);
    model_kill(model, filler);
    model_run_rounds(&recording->run, 10);
    assert_true(recording->n_moves > 0 && recording->moves[recording->n_moves - 1].round > 10);
    assert_replays(recording);
}

/* The recorded run moved; the replayed one must not see those moves as its own. */
static void another_configuration_decides_otherwise(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 1);
    struct replay_end end;
    char *text, *out;
    size_t size;

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 12);
    text = recording_stop(recording, &size);
    out = replay_out(text, size, &end, true);
    assert_string_equal(end.message, "");
    assert_non_null(strstr(out, "node 0 -> 1, observed"));
    assert_non_null(strstr(out, "remote access  100.0 % -> 100.0 %"));
    assert_non_null(strstr(out, "moved 0 B"));
    free(out);
    free(text);
    recording_free(recording);
}

/* Whatever the trace is cut at, the moves before are the same ones, and it says where it ended. */
static void a_cut_trace_keeps_what_was_before(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 1);
    struct replay_end end;
    char *text, *whole, *out;
    size_t size, n_same;

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 8);
    text = recording_stop(recording, &size);
    whole = replay_out(text, size, &end, false);
    out = replay_out(text, size - 3, &end, false);
    assert_string_equal(end.message, "the trace ends in the middle of a line");
    assert_true(end.cut && end.line > 1000);
    n_same = (size_t)(strstr(whole, "numabd ") - whole);
    assert_true(n_same > 0);
    assert_int_equal(strncmp(whole, out, n_same), 0);
    assert_non_null(strstr(out, "sources replay"));
    free(out);
    free(whole);
    free(text);
    recording_free(recording);
}

/* It printed nothing at all. */
static void a_trace_without_rounds_says_so(void **state)
{
    static const char *const texts[] = {"numabd-trace 1\n", "numabd-trace 1\n# nothing\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct replay_end end;
        char *out = replay_out(texts[i], strlen(texts[i]), &end, false);

        assert_string_equal(end.message, "no round is in the trace: there is nothing to replay");
        assert_string_equal(out, "");
        free(out);
    }
}

/* docs/trace-format.md says about 25 bytes each. */
static void accesses_are_compact(void **state)
{
    struct recording *recording = recording_new(&model_two_nodes, 1);
    size_t size, n = 0, n_bytes = 0;
    char *text, *save;

    (void)state;
    add_misplaced(&recording->run, 100, 2);
    model_run_rounds(&recording->run, 4);
    text = recording_stop(recording, &size);
    text[size - 1] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (!strncmp(line, "a ", 2)) {
            n++;
            n_bytes += strlen(line) + 1;
        }
    print_message("%zu accesses, %.1f bytes each\n", n, (double)n_bytes / (double)n);
    assert_true(n > 1000 && n_bytes < 30 * n);
    free(text);
    recording_free(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_moves_of_a_misplaced_process),
        cmocka_unit_test(same_moves_when_processes_come_and_go),
        cmocka_unit_test(same_moves_across_an_exec),
        cmocka_unit_test(same_moves_with_refusing_pages),
        cmocka_unit_test(same_moves_where_a_cpuset_forbids_a_node),
        cmocka_unit_test(same_moves_where_room_is_short),
        cmocka_unit_test(another_configuration_decides_otherwise),
        cmocka_unit_test(a_cut_trace_keeps_what_was_before),
        cmocka_unit_test(a_trace_without_rounds_says_so),
        cmocka_unit_test(accesses_are_compact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
