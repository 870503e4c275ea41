#include "sample/fault/fault_probe.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample/fault/fault_record.h"
#include "sample/scope/perf_scope.h"
#include "util/error.h"
#include "util/nsec.h"

#define PROBE_PAGES ((size_t)16)

struct probe {
    uint8_t *map;
    size_t bytes, page_bytes;
    bool seen[PROBE_PAGES];
};

static void probe_deinit(struct probe *probe)
{
    if (probe->map)
        munmap(probe->map, probe->bytes);
    probe->map = NULL;
}

static int probe_init(struct probe *probe)
{
    void *map;

    probe->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    probe->bytes = PROBE_PAGES * probe->page_bytes;
    map = mmap(NULL, probe->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return error_errno();
    probe->map = map;
    (void)madvise(probe->map, probe->bytes, MADV_NOHUGEPAGE);
    return 0;
}

static void on_record(void *userdata, size_t event, uint64_t period,
                      const struct perf_event_header *record)
{
    struct probe *probe = userdata;
    struct fault fault;

    (void)event, (void)period;
    if (fault_record_pid(record) != getpid() || fault_record_decode(record, &fault))
        return;
    if (fault.addr - (uintptr_t)probe->map < probe->bytes)
        probe->seen[(fault.addr - (uintptr_t)probe->map) / probe->page_bytes] = true;
}

static void probe_write(struct probe *probe)
{
    for (size_t page = 0; page < PROBE_PAGES; page++)
        *(volatile uint8_t *)(probe->map + page * probe->page_bytes) = 1;
}

/* The kernel may map several pages at a fault, so the first is what must be seen. */
static int probe_judge(const struct probe *probe, struct source_reason *reason)
{
    if (probe->seen[0])
        return 0;
    snprintf(reason->text, sizeof reason->text,
             "page-faults-min events: a page of our own was written and no event told of it: this "
             "kernel does not give addresses of page faults");
    return SOURCE_UNAVAILABLE;
}

int fault_probe(const struct source_options *options, const struct write_fault_events *events,
                struct source_reason *reason)
{
    const struct sample_target self = {
        .pid = getpid(), .n_threads = 1, .rate_hz = options->rate_hz};
    const struct sample_round round = {
        .now = nsec_now(), .targets = &self, .n_targets = 1, .sampling_budget = 1};
    CLEANUP(probe_deinit) struct probe probe = {0};
    struct perf_scope *scope = NULL;
    int r = probe_init(&probe);

    if (!r)
        r = fault_events_open(options, events, &scope, reason);
    if (r)
        return r;
    r = events->round(scope, &round, reason);
    if (!r) {
        probe_write(&probe);
        events->read(scope, on_record, &probe);
        r = probe_judge(&probe, reason);
    }
    events->close(scope);
    return r;
}
