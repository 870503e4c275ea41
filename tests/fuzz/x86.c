/*
 * Code bytes and registers: operands and addresses lie within limits, decoding does not depend on
 * where it is done or on a cache, and addresses name different lines of memory.
 *
 * Of the input the first byte has flags (1: 32 bits, 2: backward too, 4: with a cache, which costs
 * most of the time), the second is the IP within the code, then come the registers, then the code.
 */
#include "fuzz.h"
#include "sample/timer/code_cache.h"
#include "sample/timer/x86_address.h"
#include "util/cleanup.h"

#define LINE_BYTES 64

static void check_term(const struct x86_term *term)
{
    FUZZ_CHECK(term->scale != 0 && term->reg < X86_REGS);
    FUZZ_CHECK(term->bits >= 1 && term->bits <= 64 && term->shift < term->bits);
    FUZZ_CHECK(term->bits < 64 || term->shift > 0 || (term->add == 0 && !term->is_signed));
}

static void check_operand(const struct x86_operand *operand, const struct x86_code *code)
{
    FUZZ_CHECK(operand->kind <= ACCESS_READ_WRITE && operand->size > 0);
    FUZZ_CHECK(operand->address_bits == 16 || operand->address_bits == 32 ||
               operand->address_bits == 64);
    FUZZ_CHECK(operand->offset >= -(int64_t)code->ip);
    FUZZ_CHECK(operand->offset < (int64_t)(code->size - code->ip));
    FUZZ_CHECK(!operand->backward || operand->offset < 0);
    FUZZ_CHECK(operand->address.n_terms <= X86_TERMS_MAX);
    for (unsigned i = 0; i < operand->address.n_terms; i++)
        check_term(&operand->address.terms[i]);
}

static void check_accesses(const struct x86_line *line, const struct x86_state *state)
{
    struct x86_access accesses[X86_ACCESSES_MAX];
    size_t n = x86_operands_evaluate(line->operands, line->n, state, accesses);

    FUZZ_CHECK(n <= X86_ACCESSES_MAX && n <= line->n);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(accesses[i].addr >> 56 == 0 && accesses[i].size > 0);
        FUZZ_CHECK(accesses[i].kind <= ACCESS_READ_WRITE);
        for (size_t j = 0; j < i; j++)
            FUZZ_CHECK(accesses[i].addr / LINE_BYTES != accesses[j].addr / LINE_BYTES);
    }
}

static bool same_value(const struct x86_value *a, const struct x86_value *b)
{
    bool same = a->n_terms == b->n_terms && a->constant == b->constant;

    for (unsigned i = 0; same && i < a->n_terms; i++)
        same = a->terms[i].add == b->terms[i].add && a->terms[i].scale == b->terms[i].scale &&
               a->terms[i].reg == b->terms[i].reg && a->terms[i].bits == b->terms[i].bits &&
               a->terms[i].shift == b->terms[i].shift &&
               a->terms[i].is_signed == b->terms[i].is_signed;
    return same;
}

/* A cache gives what decoding gives, when it decodes and when it finds. */
static void check_cache(const struct x86_line *line, const struct x86_code *code, bool backward)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;

    FUZZ_CHECK(code_cache_new(&cache) == 0);
    for (int pass = 0; pass < 2; pass++) {
        const struct x86_operand *operands = NULL;

        FUZZ_CHECK(code_cache_get(cache, code, backward, &operands) == (long)line->n);
        for (size_t i = 0; i < line->n; i++) {
            FUZZ_CHECK(operands[i].offset == line->operands[i].offset);
            FUZZ_CHECK(operands[i].kind == line->operands[i].kind);
            FUZZ_CHECK(operands[i].size == line->operands[i].size);
            FUZZ_CHECK(same_value(&operands[i].address, &line->operands[i].address));
        }
    }
    FUZZ_CHECK(code_cache_counts(cache)->n_hits == 1 && code_cache_counts(cache)->n_misses == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t flags = fuzz_byte(&data, &size), ip = fuzz_byte(&data, &size);
    struct x86_state state;
    struct x86_line line;
    struct x86_code code = {.is_32bit = flags & 1};
    CLEANUP(freep) uint8_t *bytes = NULL;

    fuzz_take(&data, &size, &state, sizeof state);
    if (size == 0 || size > X86_BEFORE_BYTES + X86_AFTER_BYTES)
        return 0;
    code.bytes = bytes = (uint8_t *)fuzz_string(data, size);
    code.size = size;
    code.ip = ip % size;
    x86_line_decode(&line, &code, flags & 2);
    FUZZ_CHECK(line.n <= X86_OPERANDS_MAX);
    for (size_t i = 0; i < line.n; i++)
        check_operand(&line.operands[i], &code);
    check_accesses(&line, &state);
    if (flags & 4)
        check_cache(&line, &code, flags & 2);
    return 0;
}
