#include "sim/coverage.h"

#include "attribute/scans.h"
#include "pipeline_state.h"
#include "sim/fail.h"

struct sim_watched {
    bool touched;        /* in the last pass */
    bool waits;          /* has been since `since`, without a scan */
    int64_t since;       /* the first pass of it */
    bool touched_ever;   /* in a pass that counts */
    bool scanned_ever;   /* the same */
    bool touched_before; /* in the pass before the last */
};

void sim_coverage_init(struct sim_coverage *coverage, const struct sim_run *run,
                       const struct sim_process *process)
{
    *coverage = (struct sim_coverage){.run = run, .process = process};
    coverage->items = sim_calloc(process->n_vmas, sizeof *coverage->items);
}

void sim_coverage_deinit(struct sim_coverage *coverage)
{
    free(coverage->items);
}

static void mark_touched(struct sim_coverage *coverage)
{
    const struct sim_process *process = coverage->process;

    for (size_t i = 0; i < process->n_vmas; i++) {
        coverage->items[i].touched_before = coverage->items[i].touched;
        coverage->items[i].touched = false;
    }
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct sim_thread *thread = process->threads[i];

        for (size_t use = 0; thread->cpu >= 0 && use < thread->n_uses; use++)
            coverage->items[thread->uses[use].vma].touched = true;
    }
}

static void end_wait(struct sim_coverage_sums *sums, struct sim_watched *watched, int64_t end)
{
    unsigned wait = (unsigned)(end - watched->since);

    watched->waits = false;
    if (wait > sums->longest_wait)
        sums->longest_wait = wait;
}

static void note_wait(struct sim_coverage_sums *sums, struct sim_watched *watched, bool scanned,
                      int64_t pass)
{
    if (watched->waits && !watched->touched) {
        sums->n_missed++;
        end_wait(sums, watched, pass);
    }
    if (watched->touched && !watched->touched_before) {
        watched->waits = true;
        watched->since = pass;
    }
    if (watched->waits && scanned)
        end_wait(sums, watched, pass + 1);
}

static void note_bytes(struct sim_coverage_sums *sums, struct sim_watched *watched,
                       const struct vma_scan *scan, bool scanned, uint64_t bytes)
{
    bool worked_on = scan_verdict_lets(scan->verdict);

    watched->touched_ever |= watched->touched;
    watched->scanned_ever |= scanned;
    sums->all_bytes += bytes;
    if (worked_on)
        sums->scanned_bytes += bytes;
    if (watched->touched)
        sums->touched_bytes += bytes;
    if (watched->touched && !worked_on)
        sums->missed_bytes += bytes;
}

static void note_vma(struct sim_coverage *coverage, size_t i, const struct vma_scan *scan,
                     int64_t pass)
{
    bool scanned = scan->state.complete_pass == pass;

    note_wait(&coverage->sums, &coverage->items[i], scanned, pass);
    if (pass >= SIM_COVERAGE_FIRST && pass < SIM_COVERAGE_END)
        note_bytes(&coverage->sums, &coverage->items[i], scan, scanned,
                   coverage->process->vmas[i].object->n_pages * SIM_PAGE_BYTES);
}

static const struct vma_scan *find_scan(const struct space *space, uint64_t start)
{
    const struct vma *vma = space_find_vma(space, start);

    SIM_NEED(vma != NULL);
    return &space->scans->items[vma - space->vmas.items];
}

void sim_coverage_note(struct sim_coverage *coverage)
{
    const struct sim_process *process = coverage->process;
    const struct space *space = attribute_find(coverage->run->pipeline->attribute, process->pid);
    int64_t pass;

    if (!space || space->scans->n_items < process->n_vmas ||
        space->scans->pass.number == coverage->n_passes)
        return;
    pass = coverage->n_passes++;
    SIM_NEED(space->scans->pass.number == coverage->n_passes);
    mark_touched(coverage);
    for (size_t i = 0; i < process->n_vmas; i++)
        note_vma(coverage, i, find_scan(space, process->vmas[i].start), pass);
}

static void sums_add(struct sim_coverage_sums *sums, const struct sim_coverage_sums *more)
{
    sums->all_bytes += more->all_bytes;
    sums->scanned_bytes += more->scanned_bytes;
    sums->touched_bytes += more->touched_bytes;
    sums->missed_bytes += more->missed_bytes;
    sums->n_never += more->n_never;
    sums->n_touched += more->n_touched;
    sums->n_waiting += more->n_waiting;
    sums->n_missed += more->n_missed;
    if (more->longest_wait > sums->longest_wait)
        sums->longest_wait = more->longest_wait;
}

void sim_coverage_add(const struct sim_coverage *coverage, struct sim_coverage_sums *sums)
{
    struct sim_coverage_sums mine = coverage->sums;

    for (size_t i = 0; i < coverage->process->n_vmas; i++) {
        struct sim_watched watched = coverage->items[i];

        mine.n_touched += watched.touched_ever;
        mine.n_never += watched.touched_ever && !watched.scanned_ever;
        mine.n_waiting += watched.waits;
        if (watched.waits)
            end_wait(&mine, &watched, coverage->n_passes);
    }
    sums_add(sums, &mine);
}
