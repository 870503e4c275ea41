#pragma once
/*
 * Tables of code bytes and the accesses that decoding and evaluating must find in them. The bytes
 * come from an assembler; each case starts with what it was given. Registers hold values far apart,
 * so that an address names the registers that made it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample/timer/x86_address.h"
#include "util/array.h"

#define IP UINT64_C(0x400000)
#define GPR(number) (UINT64_C(0x10000000000) + UINT64_C(0x100000000) * (number))
#define RAX GPR(0)
#define RCX GPR(1)
#define RDX GPR(2)
#define RBX GPR(3)
#define RSP GPR(4)
#define RBP GPR(5)
#define RSI GPR(6)
#define RDI GPR(7)
#define R8 GPR(8)
#define R9 GPR(9)
#define R11 GPR(11)
#define R12 GPR(12)
#define R13 GPR(13)
#define GPR32(number) (UINT64_C(0x10000000) + UINT64_C(0x1000000) * (number))
#define EBX GPR32(3)
#define ESP GPR32(4)
#define EDI GPR32(7)

enum {
    SET_RAX = 1,
    SET_RCX,
    SET_RDX,
    SET_RBX,
    SET_RSP,
    SET_RBP,
    SET_RSI,
    SET_RDI
};
#define SET(reg, value)                                                                            \
    {                                                                                              \
        SET_##reg, (value)                                                                         \
    }
#define CODE(text) .bytes = text, .size = sizeof(text) - 1
#define READ(addr, size)                                                                           \
    {                                                                                              \
        (addr), (size), ACCESS_READ, false                                                         \
    }
#define WRITE(addr, size)                                                                          \
    {                                                                                              \
        (addr), (size), ACCESS_WRITE, false                                                        \
    }
#define BOTH(addr, size)                                                                           \
    {                                                                                              \
        (addr), (size), ACCESS_READ_WRITE, false                                                   \
    }
#define BACK_READ(addr, size)                                                                      \
    {                                                                                              \
        (addr), (size), ACCESS_READ, true                                                          \
    }
#define BACK_WRITE(addr, size)                                                                     \
    {                                                                                              \
        (addr), (size), ACCESS_WRITE, true                                                         \
    }

struct x86_case {
    const char *name;
    const char *bytes;
    size_t size;
    size_t before; /* bytes before the IP */
    bool backward, is_32bit;
    struct {
        int reg; /* SET_*, 0 ends */
        uint64_t value;
    } set[3];
    struct x86_access expect[8]; /* size 0 ends */
};

static inline struct x86_state x86_case_state(const struct x86_case *test)
{
    struct x86_state state = {.ip = IP};

    for (unsigned i = 0; i < 16; i++)
        state.gpr[i] = test->is_32bit ? GPR32(i) : GPR(i);
    for (size_t i = 0; test->set[i].reg; i++)
        state.gpr[test->set[i].reg - 1] = test->set[i].value;
    return state;
}

static inline void x86_case_print(const char *word, const struct x86_access *access)
{
    print_error("  %s 0x%llx size %u kind %d%s\n", word, (unsigned long long)access->addr,
                access->size, (int)access->kind, access->backward ? " backward" : "");
}

static inline bool x86_access_equal(const struct x86_access *a, const struct x86_access *b)
{
    return a->addr == b->addr && a->size == b->size && a->kind == b->kind &&
           a->backward == b->backward;
}

static inline void x86_case_test(void **state_unused)
{
    const struct x86_case *test = *state_unused;
    struct x86_state state = x86_case_state(test);
    struct x86_access found[X86_ACCESSES_MAX];
    uint8_t *bytes = malloc(test->size); /* so that a read beyond it is seen */
    const struct x86_code code = {
        .bytes = bytes,
        .size = test->size,
        .ip = test->before,
        .is_32bit = test->is_32bit,
    };
    struct x86_line line;
    size_t n, n_expect = 0;
    bool same;

    memcpy(bytes, test->bytes, test->size);
    x86_line_decode(&line, &code, test->backward);
    free(bytes);
    n = x86_operands_evaluate(line.operands, line.n, &state, found);
    while (test->expect[n_expect].size)
        n_expect++;
    same = n == n_expect;
    for (size_t i = 0; same && i < n; i++)
        same = x86_access_equal(&found[i], &test->expect[i]);
    for (size_t i = 0; !same && i < n_expect; i++)
        x86_case_print("expected", &test->expect[i]);
    for (size_t i = 0; !same && i < n; i++)
        x86_case_print("found   ", &found[i]);
    assert_true(same);
}

static inline int x86_cases_run(const struct x86_case *cases, size_t n)
{
    CLEANUP(freep) struct CMUnitTest *tests = calloc(n, sizeof *tests);

    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].name,
            .test_func = x86_case_test,
            .initial_state = (void *)&cases[i],
        };
    return _cmocka_run_group_tests("x86 addresses", tests, n, NULL, NULL);
}
