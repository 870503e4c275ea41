#include "model_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/nsec.h"

const struct model_shape model_two_nodes = {
    .n_nodes = 2,
    .cpus = {2, 2},
    .memory_mib = {1024, 1024},
    .distances = {{10, 21}, {21, 10}},
};

const struct model_shape model_four_nodes = {
    .n_nodes = 4,
    .cpus = {2, 2, 2, 2},
    .memory_mib = {1024, 1024, 1024, 1024},
    .distances = {{10, 16, 28, 22}, {16, 10, 22, 28}, {28, 22, 10, 16}, {22, 28, 16, 10}},
};

const struct model_shape model_memory_node = {
    .n_nodes = 3,
    .cpus = {2, 2, 0},
    .memory_mib = {1024, 1024, 1024},
    .distances = {{10, 20, 17}, {20, 10, 28}, {17, 28, 10}},
};

const struct model_shape model_fake_numa = {
    .n_nodes = 2,
    .cpus = {2, 2},
    .memory_mib = {1024, 1024},
    .distances = {{10, 10}, {10, 10}},
};

static void on_log(void *userdata, const char *line)
{
    struct model_run *run = userdata;

    run->n_log++;
    snprintf(run->log, sizeof(run->log), "%s", line);
}

void model_run_sample(struct model_run *run, struct source source)
{
    static const struct source_kind kind = {.name = "model", .sees_who = true};
    const struct sampler_options options = {
        .source = {.topology = run->topology}, .log = on_log, .userdata = run};
    struct sampler *sampler = NULL;

    assert_int_equal(sampler_new(&sampler, &options, pipeline_config(run->pipeline), 0), 0);
    if (source.ops)
        assert_int_equal(sampler_add(sampler, &kind, source), 0);
    pipeline_set_sampler(run->pipeline, sampler);
}

static void model_run_new_pipeline(struct model_run *run)
{
    struct pipeline_options options = {
        .root = run->tree.root,
        .topology = run->topology,
        .procs = &run->procs,
        .host = &run->host,
        .pool = run->pool,
        .self_pid = MODEL_SELF,
        .now = run->model.now,
        .log = on_log,
        .userdata = run,
    };

    assert_int_equal(config_new_default(&options.config), 0);
    assert_int_equal(pipeline_new(&run->pipeline, &options), 0);
    run->model.sink = pipeline_sink(run->pipeline);
    run->model.filter = pipeline_filter(run->pipeline);
    model_run_sample(run, model_source(&run->model));
}

void model_run_init(struct model_run *run, const struct model_shape *shape, uint64_t seed)
{
    *run = (struct model_run){0};
    model_init(&run->model, shape, seed);
    tree_init(&run->tree);
    model_write_tree(&run->model, &run->tree);
    assert_int_equal(topology_new(&run->topology, run->tree.root), 0);
    run->procs = model_procs(&run->model);
    run->host = model_host(&run->model);
    assert_int_equal(worker_pool_new_inline(&run->pool), 0);
    model_run_new_pipeline(run);
}

void model_run_deinit(struct model_run *run)
{
    worker_pool_free(run->pool);
    pipeline_free(run->pipeline);
    topology_free(run->topology);
    tree_deinit(&run->tree);
    model_deinit(&run->model);
}

static void model_run_dispatch(struct model_run *run)
{
    while (worker_pool_dispatch(run->pool, 0))
        ;
}

/* Of one second. */
static void model_run_round(struct model_run *run)
{
    for (int slice = 0; slice < MODEL_DRAINS; slice++) {
        run->model.now += NSEC_PER_SEC / MODEL_DRAINS;
        assert_int_equal(pipeline_drain(run->pipeline), 0);
        model_run_dispatch(run);
    }
    model_write_room(&run->model, &run->tree);
    assert_int_equal(pipeline_round(run->pipeline, run->model.now, 0), 0);
    if (run->before_dispatch)
        run->before_dispatch(run);
    model_run_dispatch(run);
}

void model_run_rounds(struct model_run *run, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        model_run_round(run);
}

unsigned model_run_until_local(struct model_run *run, const struct model_process *process,
                               unsigned limit)
{
    unsigned n = 0;

    while (n <= limit && model_remote_permyriad(&run->model, process) > 500) {
        model_run_round(run);
        n += process->n_pushed > 0;
        assert_false(process->ended);
    }
    return n;
}

struct status_report model_run_status(const struct model_run *run)
{
    struct status_report report;

    assert_int_equal(pipeline_status(run->pipeline, run->model.now, &report), 0);
    return report;
}

const char *model_run_state(const struct model_run *run, pid_t pid)
{
    struct process_reports reports = {0};
    const char *state = NULL;

    assert_int_equal(pipeline_processes(run->pipeline, 0, &reports), 0);
    for (size_t i = 0; i < reports.n_items; i++)
        if (reports.items[i].pid == pid)
            state = reports.items[i].state;
    process_reports_deinit(&reports);
    return state ? state : "not listed";
}

void model_add_rule(struct rule_list *list, enum rule_field field, const char *pattern)
{
    assert_int_equal(ARRAY_RESERVE(list->rules, list->cap, list->n_rules + 1), 0);
    list->rules[list->n_rules++] = (struct rule){.field = field, .pattern = strdup(pattern)};
}

static void copy_rules(struct rule_list *to, const struct rule_list *from)
{
    for (size_t i = 0; i < from->n_rules; i++)
        model_add_rule(to, from->rules[i].field, from->rules[i].pattern);
}

struct config *model_run_config(const struct model_run *run)
{
    const struct config *from = pipeline_config(run->pipeline);
    struct config *config = malloc(sizeof(*config));

    assert_non_null(config);
    *config = *from;
    config->include = config->exclude = (struct rule_list){0};
    copy_rules(&config->include, &from->include);
    copy_rules(&config->exclude, &from->exclude);
    return config;
}
