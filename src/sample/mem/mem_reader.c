/*
 * One sample gives one access: hardware tells the address, so nothing of the process has to be
 * read and no worker is needed.
 */
#include "sample/mem/mem_reader.h"

void mem_reader_flush(struct mem_reader *reader)
{
    if (reader->n_batch > 0)
        reader->sink.push(reader->sink.userdata, reader->batch, reader->n_batch);
    reader->counts.n_accesses += reader->n_batch;
    reader->n_batch = 0;
}

/* Return: the sample is an access. */
static bool kind_of(enum mem_role role, enum mem_op op, enum access_kind *kindp)
{
    switch (op) {
    case MEM_OP_LOAD:
        *kindp = ACCESS_READ;
        return true;
    case MEM_OP_STORE:
        *kindp = ACCESS_WRITE;
        return true;
    case MEM_OP_LOAD_STORE:
        *kindp = ACCESS_READ_WRITE;
        return true;
    case MEM_OP_UNKNOWN:
        *kindp = role == MEM_ROLE_STORES ? ACCESS_WRITE : ACCESS_READ;
        return role != MEM_ROLE_OPS;
    case MEM_OP_NONE:
        break;
    }
    return false;
}

/* What DATA_SRC does not tell, the page's node tells. */
static enum access_locality locality_of(struct mem_reader *reader, const struct mem_sample *sample)
{
    int cpu_node, page_node;

    if (sample->locality != ACCESS_LOCALITY_UNKNOWN || !reader->phys)
        return sample->locality;
    cpu_node = topology_cpu_node(reader->topology, sample->cpu);
    page_node = mem_phys_node(reader->phys, sample->phys);
    if (cpu_node < 0 || page_node < 0)
        return ACCESS_LOCALITY_UNKNOWN;
    return cpu_node == page_node ? ACCESS_LOCALITY_LOCAL : ACCESS_LOCALITY_REMOTE;
}

static void keep(struct mem_reader *reader, size_t index, const struct mem_sample *sample,
                 enum access_kind kind)
{
    const struct mem_event *event = &reader->events[index];

    if (reader->n_batch == MEM_READER_BATCH)
        mem_reader_flush(reader);
    if (sample->latency > 0)
        mem_bound_add(reader->bound, sample->pid, (double)sample->latency * (double)sample->period,
                      sample->locality);
    reader->batch[reader->n_batch++] = (struct access){
        .when_nsec = sample->when_nsec,
        .pid = sample->pid,
        .tid = sample->tid,
        .cpu = sample->cpu,
        .addr = sample->addr,
        .weight_sec = mem_weights_sec(reader->weights, index, event, sample),
        .kind = kind,
        .source = ACCESS_SOURCE_MEM_EVENTS,
        .locality = locality_of(reader, sample),
    };
}

void mem_reader_take(struct mem_reader *reader, size_t event,
                     const struct perf_event_header *record)
{
    pid_t pid = mem_sample_pid(record);
    struct mem_sample sample;
    enum access_kind kind;

    reader->counts.n_samples++;
    if (pid == 0 || !reader->filter.wants(reader->filter.userdata, pid)) {
        reader->counts.n_foreign++;
        return;
    }
    if (event >= reader->n_events || mem_sample_decode(reader->layout, record, &sample) ||
        !kind_of(reader->events[event].role, sample.op, &kind)) {
        reader->counts.n_unresolved++;
        return;
    }
    keep(reader, event, &sample, kind);
}
