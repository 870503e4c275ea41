/*
 * What is carried over instructions, compared with what this CPU makes of them: random sequences of
 * address arithmetic are run with random registers, and every register that is said to be known
 * must hold what its value says. `-s SEED` repeats one run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sample/timer/x86_carry.h"

#define SEQUENCES 20000
#define LENGTH_MAX 12
#define FUNCTION_START 16
#define REG_SAVED 15 /* points to the registers' values; it and SP stay out of the sequences */

struct code {
    uint8_t *bytes;
    size_t n;
};

static void put(struct code *code, unsigned byte)
{
    code->bytes[code->n++] = (uint8_t)byte;
}

static void put_imm32(struct code *code, uint32_t value)
{
    memcpy(code->bytes + code->n, &value, sizeof value);
    code->n += sizeof value;
}

/* xorshift64 (Marsaglia 2003) */
static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static unsigned random_below(uint64_t *seed, unsigned n)
{
    return (unsigned)(random_next(seed) >> 33) % n;
}

static unsigned random_reg(uint64_t *seed)
{
    unsigned reg = random_below(seed, 14);

    return reg + (reg >= X86_REG_SP); /* 0-14 without 4 */
}

/* Instructions with a ModRM byte that names two registers, or one and an opcode's extension. */
struct form {
    const char *name;
    uint8_t opcode[2]; /* the second is 0 when there is none */
    int extension;     /* -1: a second register */
    unsigned imm_bytes;
    unsigned shapes; /* of SHAPE_* */
};

enum {
    SHAPE_64 = 1,
    SHAPE_32 = 2,
    SHAPE_16 = 4,
    SHAPE_ANY = 7
};

static const struct form forms[] = {
    {"mov", {0x89}, -1, 0, SHAPE_ANY},
    {"mov", {0x8b}, -1, 0, SHAPE_ANY},
    {"movb", {0x88}, -1, 0, SHAPE_64},
    {"add", {0x01}, -1, 0, SHAPE_ANY},
    {"sub", {0x29}, -1, 0, SHAPE_ANY},
    {"xor", {0x31}, -1, 0, SHAPE_ANY},
    {"and", {0x21}, -1, 0, SHAPE_ANY},
    {"add imm", {0x81}, 0, 4, SHAPE_64 | SHAPE_32},
    {"add imm8", {0x83}, 0, 1, SHAPE_ANY},
    {"sub imm", {0x81}, 5, 4, SHAPE_64 | SHAPE_32},
    {"sub imm8", {0x83}, 5, 1, SHAPE_ANY},
    {"and imm", {0x81}, 4, 4, SHAPE_64 | SHAPE_32},
    {"and imm8", {0x83}, 4, 1, SHAPE_ANY},
    {"mov imm", {0xc7}, 0, 4, SHAPE_64 | SHAPE_32},
    {"inc", {0xff}, 0, 0, SHAPE_ANY},
    {"dec", {0xff}, 1, 0, SHAPE_ANY},
    {"not", {0xf7}, 2, 0, SHAPE_ANY},
    {"neg", {0xf7}, 3, 0, SHAPE_ANY},
    {"shl", {0xc1}, 4, 1, SHAPE_ANY},
    {"shr", {0xc1}, 5, 1, SHAPE_ANY},
    {"sar", {0xc1}, 7, 1, SHAPE_ANY},
    {"shl 1", {0xd1}, 4, 0, SHAPE_64 | SHAPE_32},
    {"shl cl", {0xd3}, 4, 0, SHAPE_64},
    {"movzb", {0x0f, 0xb6}, -1, 0, SHAPE_64 | SHAPE_32},
    {"movzw", {0x0f, 0xb7}, -1, 0, SHAPE_64},
    {"movsb", {0x0f, 0xbe}, -1, 0, SHAPE_64 | SHAPE_32},
    {"movsw", {0x0f, 0xbf}, -1, 0, SHAPE_64},
    {"movslq", {0x63}, -1, 0, SHAPE_64 | SHAPE_32},
    {"imul imm", {0x69}, -1, 4, SHAPE_64 | SHAPE_32},
    {"imul imm8", {0x6b}, -1, 1, SHAPE_ANY},
    {"xchg", {0x87}, -1, 0, SHAPE_ANY},
    {"cmovz", {0x0f, 0x44}, -1, 0, SHAPE_64},
    {"mul", {0xf7}, 4, 0, SHAPE_64},
};
#define N_FORMS (sizeof forms / sizeof forms[0])

static unsigned random_shape(uint64_t *seed, unsigned shapes)
{
    unsigned shape;

    do
        shape = 1u << random_below(seed, 3);
    while (!(shape & shapes));
    return shape;
}

/* Masks and offsets as compilers use them, and anything. */
static uint32_t random_immediate(uint64_t *seed)
{
    uint32_t ones = (UINT32_C(2) << random_below(seed, 31)) - 1;

    switch (random_below(seed, 4)) {
    case 0:
        return ones;
    case 1:
        return ~ones;
    case 2:
        return ones << random_below(seed, 8);
    default:
        return (uint32_t)random_next(seed);
    }
}

static void put_form(struct code *code, uint64_t *seed)
{
    const struct form *form = &forms[random_below(seed, N_FORMS)];
    unsigned shape = random_shape(seed, form->shapes), rm = random_reg(seed);
    unsigned reg = form->extension >= 0 ? (unsigned)form->extension : random_reg(seed);

    if (form->extension < 0 && random_below(seed, 6) == 0)
        rm = reg;
    if (shape == SHAPE_16)
        put(code, 0x66);
    put(code, 0x40u | (shape == SHAPE_64) << 3 | (reg >> 3) << 2 | rm >> 3);
    put(code, form->opcode[0]);
    if (form->opcode[0] == 0x0f)
        put(code, form->opcode[1]);
    put(code, 0xc0u | (reg & 7) << 3 | (rm & 7));
    if (form->imm_bytes == 4)
        put_imm32(code, random_immediate(seed));
    else if (form->imm_bytes == 1)
        put(code, random_immediate(seed) & 0xff);
}

/* lea disp32(base,index,scale) */
static void put_lea(struct code *code, uint64_t *seed)
{
    unsigned reg = random_reg(seed), base = random_reg(seed), index = random_reg(seed);

    if (random_below(seed, 4) == 0)
        put(code, 0x67);
    put(code, 0x40u | random_below(seed, 2) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3);
    put(code, 0x8d);
    put(code, 0x84u | (reg & 7) << 3);
    put(code, random_below(seed, 4) << 6 | (index & 7) << 3 | (base & 7));
    put_imm32(code, random_immediate(seed));
}

static void put_random(struct code *code, uint64_t *seed)
{
    switch (random_below(seed, 16)) {
    case 0:
        put(code, 0x48); /* cltq */
        put(code, 0x98);
        break;
    case 1:
    case 2:
    case 3:
        put_lea(code, seed);
        break;
    default:
        put_form(code, seed);
    }
}

/* mov to or from 8 * reg(%r15), for all registers of the sequences */
static void put_moves(struct code *code, unsigned opcode)
{
    for (unsigned reg = 0; reg < REG_SAVED; reg++) {
        if (reg == X86_REG_SP)
            continue;
        put(code, 0x49u | (reg >> 3) << 2);
        put(code, opcode);
        put(code, 0x47u | (reg & 7) << 3);
        put(code, 8 * reg);
    }
}

/* push and pop of what a function must leave as it was: rbx rbp r12-r15 */
static void put_saved(struct code *code, bool pop)
{
    static const uint8_t registers[6] = {3, 5, 12, 13, 14, 15};

    for (unsigned i = 0; i < 6; i++) {
        unsigned reg = registers[pop ? 5 - i : i];

        if (reg >= 8)
            put(code, 0x41);
        put(code, (pop ? 0x58u : 0x50u) | (reg & 7));
    }
}

struct sequence {
    uint8_t
        *page; /* executable; its first bytes stay 0, for checkers that look before a function */
    size_t start, end;
};

static void sequence_make(struct sequence *sequence, uint64_t *seed)
{
    struct code code = {.bytes = sequence->page, .n = FUNCTION_START};
    unsigned length = 1 + random_below(seed, LENGTH_MAX);

    put_saved(&code, false);
    put(&code, 0x49); /* mov %rdi,%r15 */
    put(&code, 0x89);
    put(&code, 0xff);
    put_moves(&code, 0x8b);
    sequence->start = code.n;
    for (unsigned i = 0; i < length; i++)
        put_random(&code, seed);
    sequence->end = code.n;
    put_moves(&code, 0x89);
    put_saved(&code, true);
    put(&code, 0xc3);
}

static void sequence_carry(const struct sequence *sequence, struct x86_known *known)
{
    struct x86_code code = {
        .bytes = sequence->page + sequence->start,
        .size = sequence->end - sequence->start,
    };
    struct x86_insn insn;
    ZydisDecoder decoder;
    int64_t offset = 0;

    x86_decoder_init(&decoder, false);
    x86_known_init(known);
    while ((size_t)offset < code.size) {
        assert_true(x86_insn_decode(&insn, &decoder, &code, offset));
        x86_known_apply(known, &insn);
        offset += insn.info.length;
    }
}

static void sequence_print(const struct sequence *sequence, unsigned reg, uint64_t said,
                           uint64_t held)
{
    print_error("register %u: said 0x%llx, held 0x%llx after", reg, (unsigned long long)said,
                (unsigned long long)held);
    for (size_t i = sequence->start; i < sequence->end; i++)
        print_error(" %02x", sequence->page[i]);
    print_error("\n");
}

/* Return: how many registers are known although they changed. */
static unsigned sequence_check(const struct sequence *sequence, uint64_t *seed)
{
    void (*run)(uint64_t * values);
    uint8_t *function;
    struct x86_state state = {.ip = 0};
    struct x86_known known;
    uint64_t held[16];
    unsigned n_followed = 0;

    for (unsigned reg = 0; reg < 16; reg++)
        state.gpr[reg] = random_next(seed) >> random_below(seed, 64);
    memcpy(held, state.gpr, sizeof held);
    function = sequence->page + FUNCTION_START;
    memcpy(&run, &function, sizeof run);
    run(held);
    sequence_carry(sequence, &known);
    for (unsigned reg = 0; reg < REG_SAVED; reg++) {
        uint64_t said = x86_value_evaluate(&known.gpr[reg], &state);

        if (reg == X86_REG_SP || known.lost & 1u << reg)
            continue;
        if (said != held[reg])
            sequence_print(sequence, reg, said, held[reg]);
        assert_int_equal(said, held[reg]);
        n_followed += held[reg] != state.gpr[reg];
    }
    return n_followed;
}

static void test_carried_values_are_what_the_cpu_computes(void **state)
{
    struct sequence sequence;
    uint64_t seed = *(const uint64_t *)*state;
    unsigned n_followed = 0;

#ifndef __x86_64__
    print_message("skipped: this runs x86-64 code\n");
    skip();
#endif
    sequence.page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sequence.page == MAP_FAILED) {
        print_message("skipped: no memory that is writable and executable\n");
        skip();
    }
    for (unsigned i = 0; i < SEQUENCES; i++) {
        sequence_make(&sequence, &seed);
        n_followed += sequence_check(&sequence, &seed);
    }
    print_message("%u sequences, %u registers changed and known\n", SEQUENCES, n_followed);
    assert_true(n_followed > SEQUENCES); /* more than one each */
    munmap(sequence.page, 4096);
}

/* Whatever the bytes are, decoding stays within them and evaluating within its arrays. */
static void test_any_bytes_can_be_decoded(void **state)
{
    uint64_t seed = *(const uint64_t *)*state;
    struct x86_access found[X86_ACCESSES_MAX];
    struct x86_line line;
    size_t n_operands = 0;

    for (unsigned i = 0; i < SEQUENCES; i++) {
        size_t size = 1 + random_below(&seed, X86_BEFORE_BYTES + X86_AFTER_BYTES);
        uint8_t *bytes = malloc(size); /* of the very size, for the sanitizer */
        struct x86_code code = {.bytes = bytes, .size = size, .is_32bit = i & 1};
        struct x86_state registers = {.ip = random_next(&seed)};

        code.ip = random_below(&seed, (unsigned)size);
        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)random_below(&seed, 256);
        for (unsigned reg = 0; reg < 16; reg++)
            registers.gpr[reg] = random_next(&seed) >> random_below(&seed, 64);
        x86_line_decode(&line, &code, i & 2);
        assert_true(line.n <= X86_OPERANDS_MAX);
        n_operands += line.n;
        assert_true(x86_operands_evaluate(line.operands, line.n, &registers, found) <= line.n);
        free(bytes);
    }
    assert_true(n_operands > SEQUENCES / 2);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc == 3 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 0) : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_carried_values_are_what_the_cpu_computes, &seed),
        cmocka_unit_test_prestate(test_any_bytes_can_be_decoded, &seed),
    };

    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
