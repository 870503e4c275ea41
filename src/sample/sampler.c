/*
 * Sources come and go while the rest runs on: one that fails is freed, with its reason kept, and
 * made again after a delay that doubles with each failure. A spare one is only in use while no
 * better one is.
 */
#include "numabd/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sample/rate.h"
#include "sample/retry.h"
#include "util/array.h"
#include "util/error.h"
#include "util/nsec.h"

/* A source that worked for so long starts over with the shortest delay. */
#define LASTED_NSEC (60 * NSEC_PER_SEC)

void source_deinit(struct source *source)
{
    if (source->ops)
        source->ops->free(source->self);
    *source = (struct source){0};
}

#define EVENTS_AT_ONCE 64

struct slot {
    const struct source_kind *kind;
    struct source source; /* ops NULL: not in use */
    bool wanted;
    bool failed; /* it was tried; `reason` says why it does not work */
    bool is_out; /* it failed, and that it samples again was not said yet */
    bool lacks;  /* so it was said: it goes on with less */
    struct source_reason reason;
    uint64_t made_nsec; /* 0: not made since it failed */
    struct retry retry;
};

struct sampler {
    struct sampler_options options;
    struct slot *slots; /* those of options.kinds first, then what was added */
    size_t n_slots, cap;
    struct rate rate;
    unsigned rate_hz;
    double sampling_budget, cpu_budget;
    int epoll_fd;
    char why[256], gap[256];
};

static bool slot_works(const struct slot *slot)
{
    return slot->source.ops != NULL;
}

/* Does a kind before this one see who, so that it is not needed? */
static bool is_idle_spare(const struct sampler *sampler, size_t i)
{
    if (!sampler->slots[i].kind->is_spare)
        return false;
    for (size_t before = 0; before < i; before++)
        if (slot_works(&sampler->slots[before]) && sampler->slots[before].kind->sees_who)
            return true;
    return false;
}

static void slot_postpone(struct slot *slot, uint64_t now)
{
    if (slot->made_nsec && slot->made_nsec + LASTED_NSEC < now)
        slot->retry = (struct retry){0};
    slot->made_nsec = 0;
    retry_failed(&slot->retry, now);
    slot->failed = slot->is_out = true;
}

/* `reason` NULL: none. */
static void sampler_say(const struct sampler *sampler, const struct slot *slot, const char *what,
                        const struct source_reason *reason)
{
    char line[sizeof reason->text + 64];

    snprintf(line, sizeof line, "%s %s%s%s", slot->kind->name, what, reason ? ": " : "",
             reason ? reason->text : "");
    sampler->options.log(sampler->options.userdata, line);
}

/* Return: 0 (also when it is not available) or a negative errno. */
static int slot_make(struct sampler *sampler, struct slot *slot, uint64_t now)
{
    struct source_options options = sampler->options.source;
    int r;

    options.rate_hz =
        rate_most(sampler->rate_hz, sampler->sampling_budget, sampler->options.sample_cost_nsec);
    options.epoll_fd = sampler->epoll_fd;
    r = slot->kind->make(&slot->source, &options, &slot->reason);
    if (r == -ENOMEM)
        return r;
    /* Whatever befell one source, the others are told their targets all the same. */
    if (r < 0)
        snprintf(slot->reason.text, sizeof slot->reason.text, "%s", strerrordesc_np(-r));
    if (r) {
        slot_postpone(slot, now);
        return 0;
    }
    slot->failed = false;
    slot->made_nsec = now;
    return 0;
}

/* Makes and frees so that what is wanted and possible is in use. */
static int sampler_choose(struct sampler *sampler, uint64_t now)
{
    int r = 0;

    for (size_t i = 0; i < sampler->n_slots && !r; i++) {
        struct slot *slot = &sampler->slots[i];

        if (!slot->wanted || is_idle_spare(sampler, i))
            source_deinit(&slot->source);
        else if (!slot_works(slot) && slot->kind->make &&
                 (!slot->failed || retry_is_due(&slot->retry, now)))
            r = slot_make(sampler, slot, now);
    }
    return r;
}

static bool sees_all(const struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->n_slots; i++)
        if (slot_works(&sampler->slots[i]) && sampler->slots[i].kind->sees_who &&
            !sampler->slots[i].kind->only)
            return true;
    return false;
}

/*
 * The last that failed asks for least. That there are no guests explains nothing where another
 * source, which would see all, failed too.
 */
static const char *why_unseen(const struct sampler *sampler)
{
    const struct slot *last = NULL;

    for (size_t i = 0; i < sampler->n_slots; i++) {
        const struct slot *slot = &sampler->slots[i];

        if (slot->wanted && slot->failed && slot->kind->sees_who &&
            (!slot->kind->only || !last || last->kind->only))
            last = slot;
    }
    return last ? last->reason.text : "no source that sees who accesses memory is wanted";
}

static void sampler_explain(struct sampler *sampler)
{
    sampler->why[0] = sampler->gap[0] = '\0';
    if (!sampler_sees_who(sampler))
        snprintf(sampler->why, sizeof sampler->why, "%s", why_unseen(sampler));
    else if (!sees_all(sampler))
        snprintf(sampler->gap, sizeof sampler->gap, "only some processes are seen: %.220s",
                 why_unseen(sampler));
}

static bool is_wanted(const struct config *config, const struct source_kind *kind, size_t i)
{
    if (kind->by_rule && !config->write_fault.n_rules)
        return false;
    return config->source_mask & (UINT32_C(1) << i);
}

/* Sources learn their scope when they are made: the next round makes them anew. */
static void sampler_set_scope(struct sampler *sampler, enum sample_scope scope)
{
    if (sampler->options.source.scope == scope)
        return;
    sampler->options.source.scope = scope;
    for (size_t i = 0; i < sampler->n_slots; i++)
        if (sampler->slots[i].kind->make)
            source_deinit(&sampler->slots[i].source);
}

void sampler_configure(struct sampler *sampler, const struct config *config)
{
    sampler_set_scope(sampler, (enum sample_scope)config->scope);
    sampler->rate_hz = config->rate_hz;
    sampler->sampling_budget = config->sampling_budget_permyriad / 10000.0;
    sampler->cpu_budget =
        config_cpu_budget(config, topology_n_cpus(sampler->options.source.topology));
    for (size_t i = 0; i < sampler->options.n_kinds; i++)
        sampler->slots[i].wanted = is_wanted(config, &sampler->options.kinds[i], i);
}

int sampler_new(struct sampler **samplerp, const struct sampler_options *options,
                const struct config *config, uint64_t now)
{
    CLEANUP(sampler_freep) struct sampler *sampler = calloc(1, sizeof *sampler);
    int r;

    if (!sampler)
        return -ENOMEM;
    sampler->options = *options;
    sampler->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (sampler->epoll_fd < 0)
        return error_errno();
    if (ARRAY_RESERVE(sampler->slots, sampler->cap, options->n_kinds) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < options->n_kinds; i++)
        sampler->slots[sampler->n_slots++] = (struct slot){.kind = &options->kinds[i]};
    sampler_configure(sampler, config);
    sampler->rate = rate_init(sampler->cpu_budget);
    r = sampler_choose(sampler, now);
    if (r < 0)
        return r;
    sampler_explain(sampler);
    *samplerp = TAKE(sampler);
    return 0;
}

int sampler_add(struct sampler *sampler, const struct source_kind *kind, struct source source)
{
    if (ARRAY_RESERVE(sampler->slots, sampler->cap, sampler->n_slots + 1) < 0)
        return -ENOMEM;
    sampler->slots[sampler->n_slots++] =
        (struct slot){.kind = kind, .source = source, .wanted = true};
    sampler_explain(sampler);
    return 0;
}

struct sampler *sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return NULL;
    for (size_t i = 0; i < sampler->n_slots; i++)
        source_deinit(&sampler->slots[i].source);
    free(sampler->slots);
    fd_close(sampler->epoll_fd);
    free(sampler);
    return NULL;
}

int sampler_fd(const struct sampler *sampler)
{
    return sampler->epoll_fd;
}

bool sampler_sees_who(const struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->n_slots; i++)
        if (slot_works(&sampler->slots[i]) && sampler->slots[i].kind->sees_who)
            return true;
    return false;
}

const char *sampler_why(const struct sampler *sampler)
{
    return sampler->why;
}

const char *sampler_gap(const struct sampler *sampler)
{
    return sampler->gap;
}

/*
 * A thread or a CPU that has gone hangs up for ever: its fd is closed in the next round; until then
 * it must not wake the loop again.
 */
static void sampler_quiet(struct sampler *sampler)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n;

    do {
        n = epoll_wait(sampler->epoll_fd, events, EVENTS_AT_ONCE, 0);
        for (int i = 0; i < n; i++)
            if (events[i].events & (EPOLLHUP | EPOLLERR))
                (void)epoll_ctl(sampler->epoll_fd, EPOLL_CTL_DEL, events[i].data.fd, NULL);
    } while (n == EVENTS_AT_ONCE);
}

int sampler_drain(struct sampler *sampler)
{
    int r = 0;

    for (size_t i = 0; i < sampler->n_slots && !r; i++) {
        const struct source *source = &sampler->slots[i].source;

        if (source->ops && source->ops->drain)
            r = source->ops->drain(source->self);
    }
    sampler_quiet(sampler);
    return r;
}

unsigned sampler_rate(const struct sampler *sampler, enum pace_level level)
{
    return rate_hz(&sampler->rate, sampler->rate_hz, sampler->sampling_budget,
                   sampler->options.sample_cost_nsec, level);
}

void sampler_spend(struct sampler *sampler, uint64_t cpu_nsec, uint64_t elapsed_nsec)
{
    rate_spend(&sampler->rate, sampler->cpu_budget, nsec_to_sec(cpu_nsec),
               nsec_to_sec(elapsed_nsec));
}

static void slot_drop_out(struct sampler *sampler, struct slot *slot, uint64_t now)
{
    bool was_out = slot->is_out;

    source_deinit(&slot->source);
    slot_postpone(slot, now);
    slot->lacks = false;
    if (!was_out)
        sampler_say(sampler, slot, "dropped out", &slot->reason);
}

static void slot_tell_lack(struct sampler *sampler, struct slot *slot)
{
    const struct source_ops *ops = slot->source.ops;
    struct source_reason reason;
    bool lacks = ops->lacks && ops->lacks(slot->source.self, &reason);

    if (lacks == slot->lacks)
        return;
    slot->lacks = lacks;
    if (lacks)
        sampler_say(sampler, slot, "goes on with less", &reason);
    else
        sampler_say(sampler, slot, "lacks nothing any more", NULL);
}

/*
 * What can be made may fail at its first targets, as often as it is tried again: so the end of a
 * failure is only said when a round with targets went well.
 */
static int slot_round(struct sampler *sampler, struct slot *slot, const struct sample_round *round)
{
    const struct source_ops *ops = slot->source.ops;
    int r = ops && ops->round ? ops->round(slot->source.self, round, &slot->reason) : 0;

    if (r == SOURCE_UNAVAILABLE) {
        slot_drop_out(sampler, slot, round->now);
        return 0;
    }
    if (r || !ops)
        return r;
    if (slot->is_out && round->n_targets > 0) {
        slot->is_out = false;
        sampler_say(sampler, slot, "samples again", NULL);
    }
    slot_tell_lack(sampler, slot);
    return 0;
}

int sampler_round(struct sampler *sampler, const struct sample_round *round)
{
    struct sample_round paid = *round;
    int r = sampler_choose(sampler, round->now);

    paid.sampling_budget = sampler->sampling_budget;
    paid.cpu_budget = sampler->cpu_budget;
    for (size_t i = 0; i < sampler->n_slots && !r; i++)
        r = slot_round(sampler, &sampler->slots[i], &paid);
    sampler_explain(sampler);
    return r;
}

int sampler_measure(const struct sampler *sampler, const struct sample_target *target,
                    struct cpu_use *use)
{
    for (size_t i = 0; i < sampler->n_slots; i++) {
        const struct source *source = &sampler->slots[i].source;

        if (source->ops && source->ops->measure && !source->ops->measure(source->self, target, use))
            return 0;
    }
    return SOURCE_UNMEASURED;
}

size_t sampler_n_kinds(const struct sampler *sampler)
{
    return sampler->n_slots;
}

void sampler_state(const struct sampler *sampler, size_t i, struct source_state *state)
{
    const struct slot *slot = &sampler->slots[i];
    const struct source_ops *ops = slot->source.ops;

    *state = (struct source_state){
        .kind = slot->kind, .wanted = slot->wanted, .works = slot_works(slot)};
    if (ops && ops->counts)
        state->counts = *ops->counts(slot->source.self);
    if (ops && ops->describe)
        ops->describe(slot->source.self, state->text, sizeof state->text);
    else if (!ops && !slot->wanted && slot->kind->by_rule)
        snprintf(state->text, sizeof state->text, "not used: no rule names a process for it");
    else if (!ops && !slot->wanted)
        snprintf(state->text, sizeof state->text, "not among the configured sources");
    else if (!ops && is_idle_spare(sampler, i))
        snprintf(state->text, sizeof state->text, "not needed: a better source works");
    else if (!ops)
        snprintf(state->text, sizeof state->text, "%s", slot->reason.text);
}
