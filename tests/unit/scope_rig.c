#include "scope_rig.h"

#include <stdio.h>
#include <string.h>

#include "sample/perf/perf_sample.h"
#include "util/array.h"

void scope_rig_init(struct scope_rig *rig)
{
    memset(rig, 0, sizeof *rig);
    fake_perf_init(&rig->perf);
    fake_host_init(&rig->host);
    fake_host_set_file(&rig->host, "proc/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
    fake_host_set_file(&rig->host, "sys/devices/system/cpu/online", "0-3\n");
    rig->options = (struct source_options){
        .rate_hz = RIG_RATE,
        .cpu_skip = rig->skip,
        .n_cpu_ids = RIG_CPUS,
        .epoll_fd = 3,
        .host = &rig->host.host,
    };
    perf_sample_attr(&rig->kinds[0].attr, RIG_RATE);
    rig->n_kinds = 1;
    rig->now = 1000 * NSEC_PER_SEC;
}

int scope_rig_open(struct scope_rig *rig)
{
    const struct perf_scope_options options = {
        .source = &rig->options,
        .events = rig->kinds,
        .n_events = rig->n_kinds,
        .record_bytes = 200,
    };

    return perf_scope_new_from_kernel(&rig->scope, &options, &rig->perf.kernel, &rig->reason);
}

void scope_rig_deinit(struct scope_rig *rig)
{
    rig->scope = perf_scope_free(rig->scope);
    fake_perf_deinit(&rig->perf);
    fake_host_deinit(&rig->host);
}

struct sample_target *scope_rig_target(struct scope_rig *rig, pid_t pid, const char *cgroup,
                                       unsigned n_threads)
{
    struct sample_target *target = &rig->targets[rig->n_targets++];
    char path[128];
    pid_t tids[128];

    assert_true(n_threads <= ARRAY_LENGTH(tids));
    for (unsigned i = 0; i < n_threads; i++)
        tids[i] = pid + (pid_t)i;
    fake_perf_process(&rig->perf, pid, tids, n_threads);
    snprintf(path, sizeof path, "/cg%s", cgroup ? cgroup : "");
    if (cgroup)
        fake_perf_dir(&rig->perf, path, 1 + rig->perf.n_dirs, 1);
    *target = (struct sample_target){
        .pid = pid,
        .start_ticks = 7,
        .n_threads = n_threads,
        .rate_hz = RIG_RATE,
        .cgroup = cgroup,
    };
    return target;
}

void scope_rig_drop_target(struct scope_rig *rig, pid_t pid)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < rig->n_targets; i++)
        if (rig->targets[i].pid != pid)
            rig->targets[n_kept++] = rig->targets[i];
    rig->n_targets = n_kept;
}

int scope_rig_round(struct scope_rig *rig)
{
    const struct sample_round round = {
        .now = rig->now += NSEC_PER_SEC,
        .targets = rig->targets,
        .n_targets = rig->n_targets,
    };

    rig->perf.now = rig->now;
    return perf_scope_round(rig->scope, &round, &rig->reason);
}

void scope_rig_sample(struct scope_rig *rig, const struct fake_perf_event *event, uint64_t number)
{
    struct {
        struct perf_event_header header;
        uint64_t id, number;
    } record = {{.type = PERF_RECORD_SAMPLE, .size = sizeof record}, event->id, number};

    fake_perf_write(&rig->perf, event, &record, sizeof record);
}

static void on_sample(void *userdata, size_t event, uint64_t period,
                      const struct perf_event_header *record)
{
    struct scope_rig *rig = userdata;

    assert_true(rig->n_seen < ARRAY_LENGTH(rig->seen));
    rig->seen[rig->n_seen++] = (struct scope_rig_seen){
        .event = event,
        .period = period,
        .number = ((const uint64_t *)(record + 1))[1],
    };
}

void scope_rig_read(struct scope_rig *rig)
{
    rig->n_seen = 0;
    perf_scope_read(rig->scope, on_sample, rig);
}

const char *scope_rig_describe(struct scope_rig *rig, char text[128])
{
    perf_scope_describe(rig->scope, text, 128);
    return text;
}
