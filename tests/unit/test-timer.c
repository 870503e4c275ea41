/*
 * The timer source on rings in memory and a process in memory: who is sampled, what becomes of one
 * sample, and what code can be read.
 */
#include "timer_world.h"

#include <errno.h>

#include "util/array.h"
#include "util/nsec.h"

/* mov (%rdi),%rax; mov %rax,0x40(%rsi); hlt */
static const uint8_t two_accesses[] = {0x48, 0x8b, 0x07, 0x48, 0x89, 0x46, 0x40, 0xf4};
#define REG(reg) (UINT64_C(0x10000) * ((reg) + 1))

static void test_resolves(void **state)
{
    struct timer_world world;
    struct sample_counts counts;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START + 0x800, two_accesses, sizeof two_accesses);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 0x800);
    timer_world_drain(&world);
    assert_int_equal(world.n_reads, 0); /* never in the loop */
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 1);
    counts = timer_world_counts(&world);
    assert_int_equal(counts.n_samples, 1);
    assert_int_equal(counts.n_accesses, 2);
    assert_int_equal(counts.n_foreign + counts.n_unresolved + counts.n_lost, 0);
    assert_int_equal(world.n_accesses, 2);
    assert_int_equal(world.accesses[0].addr, REG(TIMER_REG_DI));
    assert_int_equal(world.accesses[0].kind, ACCESS_READ);
    assert_int_equal(world.accesses[1].addr, REG(TIMER_REG_SI) + 0x40);
    assert_int_equal(world.accesses[1].kind, ACCESS_WRITE);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world.accesses[i].when_nsec, 12345);
        assert_int_equal(world.accesses[i].pid, TIMER_WORLD_PID);
        assert_int_equal(world.accesses[i].tid, TIMER_WORLD_PID + 1);
        assert_int_equal(world.accesses[i].cpu, 3);
        assert_true(world.accesses[i].weight_sec == 0.002); /* half of 4 ms */
        assert_int_equal(world.accesses[i].source, ACCESS_SOURCE_TIMER);
    }
    timer_world_close(&world);
}

/* perf's order of registers is not that of their encoding. */
static void test_every_register(void **state)
{
    static const enum timer_reg encoded[16] = {
        TIMER_REG_AX,     TIMER_REG_CX,     TIMER_REG_DX,     TIMER_REG_BX,
        TIMER_REG_SP,     TIMER_REG_BP,     TIMER_REG_SI,     TIMER_REG_DI,
        TIMER_REG_R8,     TIMER_REG_R8 + 1, TIMER_REG_R8 + 2, TIMER_REG_R8 + 3,
        TIMER_REG_R8 + 4, TIMER_REG_R8 + 5, TIMER_REG_R8 + 6, TIMER_REG_R15,
    };

    (void)state;
    for (unsigned reg = 0; reg < 16; reg++) {
        /* cmp %al,0x100(,%reg,1); hlt. rsp cannot be an index: 0x100(%rsp) */
        uint8_t code[] = {0x40, 0x38, 0x04, 0x05, 0, 1, 0, 0, 0xf4};
        struct timer_world world;

        timer_world_open(&world, false);
        code[0] |= reg >= 8 ? 2 : 0;
        code[3] |= (reg & 7) << 3;
        if (reg == 4) {
            code[2] = 0x84;
            code[3] = 0x24;
        }
        timer_world_code(&world, CODE_START + 0x800, code, sizeof code);
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + 0x800);
        timer_world_drain(&world);
        worker_pool_dispatch(world.pool, 0);
        assert_int_equal(world.n_accesses, 1);
        assert_int_equal(world.accesses[0].addr, REG(encoded[reg]) + 0x100);
        timer_world_close(&world);
    }
}

static void test_foreign_is_not_decoded(void **state)
{
    struct timer_world world;
    struct sample_counts counts;

    (void)state;
    timer_world_open(&world, false);
    timer_world_sample(&world, TIMER_WORLD_PID + 1, CODE_START);
    timer_world_sample(&world, -1, CODE_START);
    timer_world_sample(&world, 0, CODE_START);
    timer_world_drain(&world);
    assert_int_equal(worker_pool_dispatch(world.pool, 0), 0);
    counts = timer_world_counts(&world);
    assert_int_equal(counts.n_samples, 3);
    assert_int_equal(counts.n_foreign, 3);
    assert_int_equal(counts.n_accesses + counts.n_unresolved, 0);
    assert_int_equal(world.n_reads, 0);
    timer_world_close(&world);
}

static void test_unresolved(void **state)
{
    struct sample_record no_registers = sample_record(TIMER_WORLD_PID, CODE_START);
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    no_registers.abi = PERF_SAMPLE_REGS_ABI_NONE;
    no_registers.header.size = offsetof(struct sample_record, regs);
    timer_world_write(&world, &no_registers, no_registers.header.size);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + PAGE); /* nops */
    timer_world_sample(&world, TIMER_WORLD_PID, 0);
    timer_world_sample(&world, TIMER_WORLD_PID, UINT64_MAX);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START - 1);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + CODE_PAGES * PAGE);
    timer_world_drain(&world);
    worker_pool_dispatch(world.pool, 0);
    assert_int_equal(timer_world_counts(&world).n_samples, 6);
    assert_int_equal(timer_world_counts(&world).n_unresolved, 6);
    assert_int_equal(world.n_accesses, 0);
    timer_world_close(&world);
}

static void test_32bit_sample(void **state)
{
    struct sample_record record = sample_record(TIMER_WORLD_PID, CODE_START + 0x800);
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    record.abi = PERF_SAMPLE_REGS_ABI_32;
    /* inc %eax; mov (%edi),%ecx; hlt. As 64-bit code: a REX prefix and one load */
    timer_world_code(&world, record.ip, (const uint8_t[]){0x40, 0x8b, 0x0f, 0xf4}, 4);
    record.regs[TIMER_REG_DI] |= UINT64_C(1) << 40;
    timer_world_write(&world, &record, sizeof record);
    timer_world_drain(&world);
    worker_pool_dispatch(world.pool, 0);
    assert_int_equal(world.n_accesses, 1);
    assert_int_equal(world.accesses[0].addr, REG(TIMER_REG_DI));
    timer_world_close(&world);
}

/* Pages 1 and 3 cannot be read; what lies at their borders on pages 0 and 2 still can. */
static void test_unreadable_neighbours(void **state)
{
    static const struct {
        const char *name;
        uint64_t offset;
        unsigned n_accesses;
    } cases[] = {
        {"last bytes of page 0", PAGE - sizeof one_access, 1},
        {"inside page 0", 0x100, 1},
        {"on page 1", PAGE + 0x10, 0},
        {"first bytes of page 2", 2 * PAGE, 1},
        {"last bytes of page 2", 3 * PAGE - sizeof one_access, 1},
        {"on page 3", 3 * PAGE, 0},
    };
    struct timer_world world;
    unsigned n_accesses = 0, n_unresolved = 0;

    (void)state;
    timer_world_open(&world, false);
    world.unreadable[1] = world.unreadable[3] = true;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        timer_world_code(&world, CODE_START + cases[i].offset, one_access, sizeof one_access);
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + cases[i].offset);
        n_accesses += cases[i].n_accesses;
        n_unresolved += !cases[i].n_accesses;
    }
    timer_world_drain(&world);
    worker_pool_dispatch(world.pool, 0);
    assert_int_equal(timer_world_counts(&world).n_accesses, n_accesses);
    assert_int_equal(timer_world_counts(&world).n_unresolved, n_unresolved);
    timer_world_close(&world);
}

/* An instruction that reaches into the next page needs it. */
static void test_instruction_across_pages(void **state)
{
    struct timer_world world;

    (void)state;
    for (unsigned unreadable = 0; unreadable < 2; unreadable++) {
        timer_world_open(&world, false);
        world.unreadable[1] = unreadable;
        timer_world_code(&world, CODE_START + PAGE - 1, one_access, sizeof one_access);
        timer_world_sample(&world, TIMER_WORLD_PID, CODE_START + PAGE - 1);
        timer_world_drain(&world);
        worker_pool_dispatch(world.pool, 0);
        assert_int_equal(world.n_accesses, !unreadable);
        timer_world_close(&world);
    }
}

static void test_n_lost_is_the_rings(void **state)
{
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } lost = {{.type = PERF_RECORD_LOST, .size = sizeof lost}, 1, 17};
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_write(&world, &lost, sizeof lost);
    timer_world_drain(&world);
    assert_int_equal(timer_world_counts(&world).n_lost, 17);
    timer_world_close(&world);
}

/* The kernel's event tells its first period for ever, and the change comes before the drain. */
static void test_weight_follows_the_rate(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    timer_world_code(&world, CODE_START, one_access, sizeof one_access);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_round(&world, 100);
    timer_world_sample(&world, TIMER_WORLD_PID, CODE_START);
    timer_world_drain(&world);
    worker_pool_dispatch(world.pool, 0);
    assert_int_equal(world.n_accesses, 2);
    assert_true(world.accesses[0].weight_sec == 0.004); /* as it was when the sample was taken */
    assert_true(world.accesses[1].weight_sec == 0.01);
    timer_world_close(&world);
}

static void test_describes_its_events(void **state)
{
    struct timer_world world;
    char text[128];

    (void)state;
    timer_world_open(&world, false);
    world.source.ops->describe(world.source.self, text, sizeof text);
    assert_string_equal(text, "1 cgroup, 1 event at 1 CPU");
    timer_world_close(&world);
}

/* What the kernel's timer did, not what reached the ring. */
static void test_interrupts_are_the_events_time(void **state)
{
    struct timer_world world;

    (void)state;
    timer_world_open(&world, false);
    fake_perf_find(&world.perf, "/cg/x", 0, 0)->running_nsec = 10 * NSEC_PER_SEC + 1;
    timer_world_round(&world, 100); /* until then 250 */
    assert_int_equal(timer_world_counts(&world).n_interrupts, 2500);
    timer_world_close(&world);
}

static void test_rate_of_zero(void **state)
{
    struct source_options options = {0};
    struct source source = {0};
    struct source_reason reason;

    (void)state;
    assert_int_equal(timer_new(&source, &options, &reason), -EINVAL);
    source_deinit(&source); /* an empty one is fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolves),
        cmocka_unit_test(test_every_register),
        cmocka_unit_test(test_foreign_is_not_decoded),
        cmocka_unit_test(test_unresolved),
        cmocka_unit_test(test_32bit_sample),
        cmocka_unit_test(test_unreadable_neighbours),
        cmocka_unit_test(test_instruction_across_pages),
        cmocka_unit_test(test_n_lost_is_the_rings),
        cmocka_unit_test(test_weight_follows_the_rate),
        cmocka_unit_test(test_describes_its_events),
        cmocka_unit_test(test_interrupts_are_the_events_time),
        cmocka_unit_test(test_rate_of_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
