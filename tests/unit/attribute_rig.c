#include "attribute_rig.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#define PATH(file) "proc/4711/" file

void attribute_rig_init(struct attribute_rig *rig, const char *maps, const char *numa_maps)
{
    static const int cpu_node[] = {0, 0, 8, 8, -1};
    struct attribute_options options;

    *rig = (struct attribute_rig){.now = 100 * SEC};
    fake_host_init(&rig->fake);
    fake_host_set_file(&rig->fake, PATH("task/4711/numa_maps"), "1000000 default\n");
    fake_host_set_file(&rig->fake, PATH("numa_maps"), numa_maps);
    attribute_rig_set_maps(rig, maps);
    memcpy(rig->cpu_node, cpu_node, sizeof cpu_node);
    rig->topology = (struct topology){.n_node_ids = 9, .n_cpu_ids = 5, .cpu_node = rig->cpu_node};
    rig->target = (struct target){
        .pid = SPACE_PID,
        .process = {.pid = SPACE_PID, .start_ticks = SPACE_TICKS, .rss_bytes = 64 * M},
    };
    assert_int_equal(worker_pool_new_inline(&rig->pool), 0);
    assert_int_equal(config_new_default(&rig->config), 0);
    options = (struct attribute_options){
        .topology = &rig->topology, .host = &rig->fake.host, .pool = rig->pool};
    assert_int_equal(attribute_new(&rig->attribute, &options), 0);
}

void attribute_rig_deinit(struct attribute_rig *rig)
{
    worker_pool_free(rig->pool);
    attribute_free(rig->attribute);
    config_free(rig->config);
    fake_host_deinit(&rig->fake);
}

void attribute_rig_set_maps(struct attribute_rig *rig, const char *maps)
{
    fake_host_set_file(&rig->fake, PATH("maps"), maps);
}

void attribute_rig_push(struct attribute_rig *rig, int cpu, uint64_t addr, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct access access = {
            .when_nsec = ++rig->now,
            .pid = SPACE_PID,
            .tid = SPACE_PID,
            .cpu = cpu,
            .addr = addr,
            .weight_sec = 0.004,
        };

        assert_int_equal(attribute_push(rig->attribute, &rig->target, &access, 1), 0);
    }
}

void attribute_rig_dispatch(struct attribute_rig *rig)
{
    while (worker_pool_dispatch(rig->pool, 0) > 0)
        ;
}

void attribute_rig_round(struct attribute_rig *rig, uint64_t sec)
{
    rig->now += sec * SEC;
    assert_int_equal(attribute_round(rig->attribute, rig->config, rig->now), 0);
    if (!rig->held)
        attribute_rig_dispatch(rig);
}

struct space *attribute_rig_space(const struct attribute_rig *rig)
{
    struct space *space = attribute_find(rig->attribute, SPACE_PID);

    assert_non_null(space);
    return space;
}

struct range *attribute_rig_range(const struct attribute_rig *rig, uint64_t start)
{
    struct range *range = space_find_range(attribute_rig_space(rig), start);

    assert_non_null(range);
    return range;
}

enum reason attribute_rig_policy(const struct attribute_rig *rig, uint64_t addr)
{
    const struct vma *vma = space_find_vma(attribute_rig_space(rig), addr);

    assert_non_null(vma);
    return vma->policy;
}
