#pragma once
/*
 * Values in terms of the sampled registers: sums of up to three terms and a constant, modulo 2^64.
 * A term is a register plus a constant, cut to some low bits, shifted right and multiplied; that is
 * what address arithmetic is made of. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#define X86_REG_SP 4
#define X86_REG_BP 5
#define X86_REG_IP 16 /* counts as a register, so that code means the same wherever it lies */
#define X86_REGS 17
#define X86_TERMS_MAX 3 /* base and index of a lea, and the index of the load through it */

/* The registers at the sample; gpr[] in encoding order: ax cx dx bx sp bp si di r8-r15. */
struct x86_state {
    uint64_t ip;
    uint64_t gpr[16];
};

/* scale * (low bits of (register + add), extended >> shift) */
struct x86_term {
    uint64_t add;   /* 0 where bits == 64 and shift == 0: it is part of the value's constant then */
    int32_t scale;  /* never 0 */
    uint8_t reg;    /* below X86_REGS */
    uint8_t bits;   /* 1-64 */
    uint8_t shift;  /* below bits */
    bool is_signed; /* by the top one of `bits`, else by zeros; false where bits == 64 and
                       shift == 0 */
};

struct x86_value {
    struct x86_term terms[X86_TERMS_MAX];
    uint64_t constant;
    unsigned n_terms;
};

uint64_t x86_bits(uint64_t value, unsigned bits); /* the low ones; bits <= 64 */

struct x86_value x86_value_constant(uint64_t constant);
struct x86_value x86_value_register(unsigned reg);

/*
 * Each changes *value and returns true, or returns false where the result is no such sum; *value
 * means nothing then.
 */
bool x86_value_add(struct x86_value *value, const struct x86_value *other);
bool x86_value_scale(struct x86_value *value, int64_t factor);
/* Its low bits alone, extended. */
bool x86_value_narrow(struct x86_value *value, unsigned bits, bool is_signed);
bool x86_value_shift_right(struct x86_value *value, unsigned shift, bool is_signed);

/* The value as one term without a constant. */
bool x86_value_as_term(const struct x86_value *value, struct x86_term *term);

uint64_t x86_term_evaluate(const struct x86_term *term, const struct x86_state *state);
uint64_t x86_value_evaluate(const struct x86_value *value, const struct x86_state *state);
