/*
 * What the kernel learned about scanning by VMA, one rule for each lesson. Whoever scans too little
 * pays more than who scans too much: threads are forgotten (or a VMA that changes hands is never
 * scanned again), a scan that was begun is finished by whoever comes by (or VMAs of many threads
 * never are), what nobody uses is looked at now and then (or its pages stay where they were when
 * its users sleep), and where nothing else is to be done one such VMA is, in turns. Only the delay
 * for new VMAs saves work without a risk: they are looked at a second later.
 *
 * Two things differ from Linux. A pass is the daemon's, not a thread's: all threads with samples in
 * this window count. And the free passes of a VMA are its first two scans, since with passes as
 * short as its delay, that would use them up.
 */
#include "attribute/scan_filter.h"

/* 2^32 divided by the golden ratio: Linux' GOLDEN_RATIO_32 (hash.h). */
#define GOLDEN_RATIO_32 UINT32_C(0x61C88647)

void scan_state_init(struct scan_state *state, enum reason kind, unsigned n_words, int64_t pass,
                     uint64_t now)
{
    *state = (struct scan_state){
        .kind = kind,
        .born_nsec = now,
        .first_pass = pass,
        .complete_pass = pass - 1,
    };
    recent_init(&state->recent, n_words);
}

void scan_state_deinit(struct scan_state *state)
{
    recent_deinit(&state->recent);
}

/* Without memory its users are forgotten: until they are sampled again it is scanned less. */
void scan_state_inherit(struct scan_state *state, const struct scan_state *before)
{
    state->born_nsec = before->born_nsec;
    state->first_pass = before->first_pass;
    state->complete_pass = before->complete_pass;
    state->n_complete = before->n_complete;
    state->begun = before->begun;
    (void)recent_merge(&state->recent, &before->recent);
}

void scan_state_merge(struct scan_state *state, const struct scan_state *before)
{
    if (before->born_nsec < state->born_nsec)
        state->born_nsec = before->born_nsec;
    if (before->first_pass < state->first_pass)
        state->first_pass = before->first_pass;
    if (before->complete_pass < state->complete_pass)
        state->complete_pass = before->complete_pass;
    if (before->n_complete < state->n_complete)
        state->n_complete = before->n_complete;
    state->begun |= before->begun;
    (void)recent_merge(&state->recent, &before->recent);
}

void scan_state_begin(struct scan_state *state)
{
    state->begun = true;
}

void scan_state_finish(struct scan_state *state, const struct scan_pass *pass)
{
    state->begun = false;
    state->complete_pass = pass->number;
    state->n_complete++;
}

static enum scan_verdict judge_kind(enum reason kind)
{
    if (kind == REASON_SHARED_RO)
        return SCAN_SHARED_RO;
    return kind == REASON_INACCESSIBLE ? SCAN_INACCESSIBLE : SCAN_UNSUITABLE;
}

static bool is_in_first_passes(const struct scan_filter *filter, const struct scan_pass *pass,
                               const struct scan_state *state)
{
    switch (filter->kind) {
    case SCAN_FILTER_RFC4:
        return pass->number < SCAN_FREE_PASSES;
    case SCAN_FILTER_KERNEL:
        return pass->number - state->first_pass < SCAN_FREE_PASSES;
    default:
        return state->n_complete < SCAN_FREE_PASSES;
    }
}

static enum scan_verdict judge_rfc4(const struct scan_state *state, const struct scan_who *who)
{
    const struct recent *recent = &state->recent;

    if (recent_has_any(recent, who->bits) || recent_count(recent) >= SCAN_RFC4_THREADS)
        return SCAN_ACTIVE;
    return SCAN_INACTIVE;
}

bool scan_filter_starves(const struct scan_pass *pass, int64_t complete_pass, unsigned n_threads)
{
    return pass->number - (n_threads ? n_threads : 1) > complete_pass;
}

static enum scan_verdict judge_users(const struct scan_pass *pass, const struct scan_state *state,
                                     const struct scan_who *who)
{
    if (recent_has_any(&state->recent, who->bits))
        return SCAN_ACTIVE;
    if (state->begun)
        return SCAN_UNFINISHED;
    if (scan_filter_starves(pass, state->complete_pass, who->n_threads))
        return SCAN_STARVED;
    return SCAN_INACTIVE;
}

static bool is_delayed(const struct scan_filter *filter, const struct scan_pass *pass,
                       const struct scan_state *state, uint64_t now)
{
    if (filter->kind == SCAN_FILTER_NONE || filter->kind == SCAN_FILTER_RFC4)
        return false;
    return pass->number > 0 && now < state->born_nsec + SCAN_NEW_VMA_NSEC;
}

enum scan_verdict scan_filter_judge(const struct scan_filter *filter, const struct scan_pass *pass,
                                    const struct scan_state *state, const struct scan_who *who,
                                    uint64_t now)
{
    if (state->kind != REASON_NONE)
        return judge_kind(state->kind);
    if (is_delayed(filter, pass, state, now))
        return SCAN_DELAY;
    if (state->complete_pass == pass->number)
        return SCAN_COMPLETED;
    if (filter->kind == SCAN_FILTER_NONE)
        return SCAN_UNFILTERED;
    if (is_in_first_passes(filter, pass, state))
        return SCAN_FIRST_PASSES;
    if (filter->kind == SCAN_FILTER_RFC4)
        return judge_rfc4(state, who);
    return judge_users(pass, state, who);
}

bool scan_state_rests(const struct scan_state *state, enum scan_verdict verdict)
{
    return !state->recent.words && (state->kind != REASON_NONE || verdict == SCAN_INACTIVE);
}

void scan_pass_count(struct scan_pass *pass, enum scan_verdict verdict)
{
    pass->n_scanned += scan_verdict_lets(verdict);
    pass->n_inactive += verdict == SCAN_INACTIVE;
}

void scan_pass_end(struct scan_pass *pass)
{
    *pass = (struct scan_pass){.number = pass->number + 1, .turn = pass->turn};
}

bool scan_filter_wants_one(const struct scan_filter *filter, const struct scan_pass *pass)
{
    if (filter->kind == SCAN_FILTER_NONE || filter->kind == SCAN_FILTER_RFC4)
        return false;
    return !pass->n_scanned && pass->n_inactive;
}

bool scan_verdict_lets(enum scan_verdict verdict)
{
    return verdict < SCAN_UNSUITABLE;
}

const char *scan_verdict_name(enum scan_verdict verdict)
{
    static const char *const names[] = {
#define X(constant, name, text) [SCAN_##constant] = name,
        SCAN_VERDICTS(X)
#undef X
    };

    return (unsigned)verdict < SCAN_VERDICT_COUNT ? names[verdict] : "unknown";
}

const char *scan_verdict_text(enum scan_verdict verdict)
{
    static const char *const texts[] = {
#define X(constant, name, text) [SCAN_##constant] = text,
        SCAN_VERDICTS(X)
#undef X
    };

    return (unsigned)verdict < SCAN_VERDICT_COUNT ? texts[verdict] : "unknown";
}

unsigned scan_filter_words(const struct scan_filter *filter, unsigned n_words)
{
    return filter->kind == SCAN_FILTER_KERNEL ? 1 : n_words;
}

unsigned scan_filter_bit(const struct scan_filter *filter, pid_t tid, unsigned slot)
{
    if (filter->kind != SCAN_FILTER_KERNEL)
        return slot;
    return (uint32_t)tid * GOLDEN_RATIO_32 >> (32 - SCAN_KERNEL_BITS_LOG2);
}

bool scan_filter_remembers(const struct scan_filter *filter, const struct recent *recent)
{
    return filter->kind != SCAN_FILTER_RFC4 || recent_count(recent) < SCAN_RFC4_THREADS;
}

bool scan_filter_forgets(const struct scan_filter *filter)
{
    return filter->kind != SCAN_FILTER_RFC4;
}
