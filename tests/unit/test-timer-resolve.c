/*
 * Resolving samples of a process in memory: code that changes, programs that several processes run,
 * and one cache for all of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sample/timer/timer_resolve.h"

#define PAGE UINT64_C(4096)
#define IP (PAGE + 0x800)

/* mov (%rdi),%rax; hlt and mov %rax,(%rsi); hlt */
static const uint8_t load_rdi[] = {0x48, 0x8b, 0x07, 0xf4};
static const uint8_t store_rsi[] = {0x48, 0x89, 0x06, 0xf4};

/* Two readable pages of code at an address; the rest cannot be read. */
struct process {
    uint8_t code[2 * PAGE];
    uint64_t start;
    ssize_t refuse; /* negative: what reading answers */
    struct host host;
    struct host_ops ops;
    struct code_shelf *shelf;
    struct timer_result result;
};

static ssize_t process_read(void *self, pid_t pid, const struct iovec *local,
                            const struct iovec *remote, size_t n)
{
    struct process *process = self;
    ssize_t sum = 0;

    (void)pid;
    if (process->refuse)
        return process->refuse;
    for (size_t i = 0; i < n; i++) {
        uint64_t offset = (uint64_t)remote[i].iov_base - process->start;

        if (offset > sizeof process->code - remote[i].iov_len)
            return sum ? sum : -EFAULT;
        memcpy(local[i].iov_base, process->code + offset, remote[i].iov_len);
        sum += (ssize_t)remote[i].iov_len;
    }
    return sum;
}

static int process_setup(void **state)
{
    struct process *process = calloc(1, sizeof *process);

    if (!process || !(process->shelf = code_shelf_new()))
        return -1;
    memset(process->code, 0x90, sizeof process->code);
    process->ops.read_memory = process_read;
    process->host = (struct host){.ops = &process->ops, .self = process, .page_bytes = PAGE};
    *state = process;
    return 0;
}

static int process_teardown(void **state)
{
    struct process *process = *state;

    timer_result_deinit(&process->result);
    code_shelf_unref(process->shelf);
    free(process);
    return 0;
}

static struct timer_sample sample_at(uint64_t ip)
{
    return (struct timer_sample){
        .pid = 1,
        .tid = 1,
        .period_nsec = 4000000,
        .ip = ip,
        .abi = PERF_SAMPLE_REGS_ABI_64,
        .regs = {[TIMER_REG_DI] = 0xd1000, [TIMER_REG_SI] = 0x51000},
    };
}

/* The results of this call alone. */
static const struct timer_result *resolve(struct process *process,
                                          const struct timer_sample *samples, size_t n)
{
    timer_result_deinit(&process->result);
    assert_int_equal(
        timer_resolve(&process->host, 1, samples, n, false, process->shelf, &process->result), 0);
    return &process->result;
}

static void test_rewritten_code_is_decoded_anew(void **state)
{
    struct process *process = *state;
    struct timer_sample sample = sample_at(IP);
    const struct timer_result *result;

    memcpy(process->code + IP, load_rdi, sizeof load_rdi);
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_decoded, 1);
    assert_int_equal(result->accesses[0].addr, 0xd1000);
    memcpy(process->code + IP, store_rsi, sizeof store_rsi);
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_decoded, 1);
    assert_int_equal(result->n_accesses, 1);
    assert_int_equal(result->accesses[0].addr, 0x51000);
    assert_int_equal(result->accesses[0].kind, ACCESS_WRITE);
}

static void test_known_code_takes_each_sample_s_registers(void **state)
{
    struct process *process = *state;
    struct timer_sample samples[3];
    const struct timer_result *result;

    memcpy(process->code + IP, load_rdi, sizeof load_rdi);
    for (uint64_t i = 0; i < 3; i++) {
        samples[i] = sample_at(IP);
        samples[i].regs[TIMER_REG_DI] = i << 12;
    }
    result = resolve(process, samples, 3);
    assert_int_equal(result->n_decoded, 1);
    assert_int_equal(result->n_accesses, 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(result->accesses[i].addr, i << 12);
    assert_int_equal(resolve(process, samples, 3)->n_decoded, 0);
}

/* Position-independent programs lie elsewhere in each process. */
static void test_moved_program_is_known(void **state)
{
    struct process *process = *state;
    struct timer_sample sample = sample_at(IP);
    const struct timer_result *result;
    /* mov 0x100(%rip),%rax; hlt */
    static const uint8_t code[] = {0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0xf4};

    memcpy(process->code + IP, code, sizeof code);
    assert_int_equal(resolve(process, &sample, 1)->accesses[0].addr, IP + 7 + 0x100);
    process->start = 0x7f0000000000;
    sample.ip += process->start;
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_decoded, 0);
    assert_int_equal(result->accesses[0].addr, sample.ip + 7 + 0x100);
}

/* 32-bit and 64-bit samples of one IP in one request. */
static void test_abi_decides_how_to_decode(void **state)
{
    struct process *process = *state;
    struct timer_sample samples[3] = {sample_at(IP), sample_at(IP), sample_at(IP)};
    /* inc %eax; mov (%edi),%ecx; hlt. As 64-bit code: a REX prefix and one load */
    static const uint8_t code[] = {0x40, 0x8b, 0x0f, 0xf4};
    const struct timer_result *result;

    memcpy(process->code + IP, code, sizeof code);
    for (size_t i = 0; i < 3; i++)
        samples[i].regs[TIMER_REG_DI] = 0x1000d1000;
    samples[1].abi = PERF_SAMPLE_REGS_ABI_32;
    samples[2].abi = PERF_SAMPLE_REGS_ABI_NONE;
    result = resolve(process, samples, 3);
    assert_int_equal(result->n_accesses, 2);
    assert_int_equal(result->accesses[0].addr, 0x1000d1000);
    assert_int_equal(result->accesses[1].addr, 0xd1000);
    assert_int_equal(result->n_unresolved, 1);
    assert_int_equal(result->n_decoded, 2);
}

/* The loop's start lies on the page before, which is part of the code or is not. */
static void test_loop_across_pages(void **state)
{
    struct process *process = *state;
    /* 1: mov (%rsi),%rax | dec %rcx; jne 1b */
    static const uint8_t code[] = {0x48, 0x8b, 0x06, 0x48, 0xff, 0xc9, 0x75, 0xf8};
    struct timer_sample sample = sample_at(PAGE);
    const struct timer_result *result;

    memcpy(process->code + PAGE - 3, code, sizeof code);
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_accesses, 1);
    assert_int_equal(result->accesses[0].addr, 0x51000);
    memcpy(process->code, process->code + PAGE, PAGE); /* now the page before is unreadable */
    sample.ip = process->start = 0x400000;
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_accesses, 0);
    assert_int_equal(result->n_unresolved, 1);
}

static void test_gone_process_leaves_the_cache(void **state)
{
    struct process *process = *state;
    struct timer_sample sample = sample_at(IP);
    const struct timer_result *result;

    memcpy(process->code + IP, load_rdi, sizeof load_rdi);
    resolve(process, &sample, 1);
    process->refuse = -ESRCH;
    result = resolve(process, &sample, 1);
    assert_int_equal(result->n_unresolved, 1);
    assert_int_equal(result->n_accesses + result->n_decoded, 0);
    process->refuse = 0;
    assert_int_equal(resolve(process, &sample, 1)->n_decoded, 0);
    assert_int_equal(process->result.n_accesses, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rewritten_code_is_decoded_anew, process_setup,
                                        process_teardown),
        cmocka_unit_test_setup_teardown(test_known_code_takes_each_sample_s_registers,
                                        process_setup, process_teardown),
        cmocka_unit_test_setup_teardown(test_moved_program_is_known, process_setup,
                                        process_teardown),
        cmocka_unit_test_setup_teardown(test_abi_decides_how_to_decode, process_setup,
                                        process_teardown),
        cmocka_unit_test_setup_teardown(test_loop_across_pages, process_setup, process_teardown),
        cmocka_unit_test_setup_teardown(test_gone_process_leaves_the_cache, process_setup,
                                        process_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
