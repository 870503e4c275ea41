#pragma once
/*
 * Three sources that are made, fail and drop out as the test says, and a sampler over them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "numabd/sampler.h"
#include "util/nsec.h"

/* What the fake sources do is told through the sink's userdata, which every constructor sees. */
struct world {
    int make_r[3]; /* by kind: hardware, spare, guests */
    int round_r[3];
    bool lacks;
    unsigned n_made[3], n_freed[3], n_rounds[3];
    char line[512];
    unsigned n_lines;
    int fd; /* watched by the next source that is made; -1: none */
    unsigned n_drains;
    unsigned rate_hz; /* that the last one was made with */
    enum sample_scope scope;
    double sampling_budget, cpu_budget; /* of the last round */
};

struct fake {
    struct world *world;
    unsigned kind;
    struct sample_counts counts;
};

static int fake_round(void *self, const struct sample_round *round, struct source_reason *reason)
{
    struct fake *fake = self;

    fake->world->sampling_budget = round->sampling_budget;
    fake->world->cpu_budget = round->cpu_budget;
    fake->world->n_rounds[fake->kind]++;
    if (fake->world->round_r[fake->kind] == SOURCE_UNAVAILABLE)
        snprintf(reason->text, sizeof(reason->text), "ring %u is gone", fake->kind);
    return fake->world->round_r[fake->kind];
}

static int fake_drain(void *self)
{
    struct fake *fake = self;

    fake->world->n_drains++;
    return 0;
}

static bool fake_lacks(void *self, struct source_reason *reason)
{
    const struct fake *fake = self;

    snprintf(reason->text, sizeof(reason->text), "kind %u wants files", fake->kind);
    return fake->world->lacks;
}

static const struct sample_counts *fake_counts(void *self)
{
    return &((struct fake *)self)->counts;
}

static void fake_free(void *self)
{
    struct fake *fake = self;

    fake->world->n_freed[fake->kind]++;
    free(fake);
}

static int fake_make(struct source *source, const struct source_options *options,
                     struct source_reason *reason, unsigned kind)
{
    static const struct source_ops ops = {.name = "fake",
                                          .round = fake_round,
                                          .drain = fake_drain,
                                          .counts = fake_counts,
                                          .lacks = fake_lacks,
                                          .free = fake_free};
    struct world *world = options->sink.userdata;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = world->fd};
    struct fake *fake;

    if (world->make_r[kind]) {
        snprintf(reason->text, sizeof(reason->text), "kind %u: no way", kind);
        return world->make_r[kind];
    }
    if (world->fd >= 0)
        assert_int_equal(epoll_ctl(options->epoll_fd, EPOLL_CTL_ADD, world->fd, &event), 0);
    fake = calloc(1, sizeof(*fake));
    *fake = (struct fake){.world = world, .kind = kind, .counts.n_samples = 10 + kind};
    *source = (struct source){.ops = &ops, .self = fake};
    world->n_made[kind]++;
    world->rate_hz = options->rate_hz;
    world->scope = options->scope;
    return 0;
}

static int make_hardware(struct source *source, const struct source_options *options,
                         struct source_reason *reason)
{
    return fake_make(source, options, reason, 0);
}

static int make_spare(struct source *source, const struct source_options *options,
                      struct source_reason *reason)
{
    return fake_make(source, options, reason, 1);
}

static int make_guests(struct source *source, const struct source_options *options,
                       struct source_reason *reason)
{
    return fake_make(source, options, reason, 2);
}

static const struct source_kind kinds[] = {
    {.name = "hardware", .make = make_hardware, .sees_who = true},
    {.name = "spare", .make = make_spare, .sees_who = true, .is_spare = true},
    {.name = "guests", .make = make_guests, .sees_who = true, .only = "guests"},
};

static void on_log(void *userdata, const char *line)
{
    struct world *world = userdata;

    world->n_lines++;
    snprintf(world->line, sizeof(world->line), "%s", line);
}

static struct sampler *make_sampler(struct world *world, unsigned mask)
{
    struct sampler_options options = {
        .source.sink.userdata = world,
        .kinds = kinds,
        .n_kinds = 3,
        .log = on_log,
        .userdata = world,
    };
    CLEANUP(config_freep) struct config *config = NULL;
    struct sampler *sampler = NULL;

    assert_int_equal(config_new_default(&config), 0);
    config->source_mask = mask;
    assert_int_equal(sampler_new(&sampler, &options, config, NSEC_PER_SEC), 0);
    return sampler;
}

static void round_at(struct sampler *sampler, uint64_t second)
{
    static const struct sample_target target = {.pid = 4711};
    const struct sample_round round = {
        .now = second * NSEC_PER_SEC, .targets = &target, .n_targets = 1};

    assert_int_equal(sampler_round(sampler, &round), 0);
}
