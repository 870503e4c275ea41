/*
 * A sum of whole registers stays one under add and multiply. Cutting it to fewer bits works where
 * one term is left, whose low bits depend on some low bits of the register only:
 *
 *     low 32 bits of 8 * (reg + 3)  =  8 * low 29 bits of (reg + 3)
 *     low 10 bits of reg >> 12      =  low 22 bits of reg, >> 12
 */
#include "sample/timer/x86_value.h"

uint64_t x86_bits(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static uint64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
    uint64_t low = x86_bits(value, bits), sign = UINT64_C(1) << (bits - 1);

    return is_signed ? (low ^ sign) - sign : low;
}

static uint64_t shift_right(uint64_t value, unsigned shift, bool is_signed)
{
    return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

struct x86_value x86_value_constant(uint64_t constant)
{
    return (struct x86_value){.constant = constant};
}

struct x86_value x86_value_register(unsigned reg)
{
    return (struct x86_value){
        .terms[0] = {.scale = 1, .reg = (uint8_t)reg, .bits = 64},
        .n_terms = 1,
    };
}

static bool term_is_whole(const struct x86_term *term)
{
    return term->bits == 64 && term->shift == 0;
}

static bool term_is_like(const struct x86_term *a, const struct x86_term *b)
{
    return a->reg == b->reg && a->bits == b->bits && a->shift == b->shift &&
           a->is_signed == b->is_signed && a->add == b->add;
}

static bool value_add_term(struct x86_value *value, const struct x86_term *term)
{
    for (unsigned i = 0; i < value->n_terms; i++) {
        struct x86_term *known = &value->terms[i];

        if (!term_is_like(known, term))
            continue;
        if (__builtin_add_overflow(known->scale, term->scale, &known->scale))
            return false;
        if (known->scale == 0)
            *known = value->terms[--value->n_terms];
        return true;
    }
    if (value->n_terms == X86_TERMS_MAX)
        return false;
    value->terms[value->n_terms++] = *term;
    return true;
}

bool x86_value_add(struct x86_value *value, const struct x86_value *other)
{
    for (unsigned i = 0; i < other->n_terms; i++)
        if (!value_add_term(value, &other->terms[i]))
            return false;
    value->constant += other->constant;
    return true;
}

bool x86_value_scale(struct x86_value *value, int64_t factor)
{
    if (factor == 0)
        value->n_terms = 0;
    for (unsigned i = 0; i < value->n_terms; i++)
        if (__builtin_mul_overflow(value->terms[i].scale, factor, &value->terms[i].scale))
            return false;
    value->constant *= (uint64_t)factor;
    return true;
}

/* The number of zero bits below a power of two; -1 for other numbers. */
static int scale_zeros(int32_t scale)
{
    return scale > 0 && (scale & (scale - 1)) == 0 ? __builtin_ctz((unsigned)scale) : -1;
}

/* Whether the one term is all of the value and fits already. */
static bool value_fits(const struct x86_value *value, unsigned bits, bool is_signed)
{
    const struct x86_term *term = &value->terms[0];
    unsigned used = term->bits - term->shift + (unsigned)scale_zeros(term->scale);

    if (value->constant != 0)
        return false;
    if (term->is_signed)
        return is_signed && used <= bits;
    return used + is_signed <= bits;
}

bool x86_value_narrow(struct x86_value *value, unsigned bits, bool is_signed)
{
    struct x86_term *term = &value->terms[0];
    int zeros;

    if (bits >= 64)
        return true;
    if (value->n_terms == 0) {
        value->constant = extend(value->constant, bits, is_signed);
        return true;
    }
    zeros = scale_zeros(term->scale);
    if (value->n_terms > 1 || zeros < 0)
        return false;
    if (value_fits(value, bits, is_signed))
        return true;
    if (term->bits - term->shift + (unsigned)zeros < bits || (unsigned)zeros >= bits)
        return false;
    if (term->shift > 0 ? value->constant != 0 : x86_bits(value->constant, (unsigned)zeros) != 0)
        return false;
    term->add += shift_right(value->constant, (unsigned)zeros, true);
    term->bits = (uint8_t)(term->shift + bits - (unsigned)zeros);
    term->is_signed = is_signed;
    value->constant = 0;
    return true;
}

bool x86_value_as_term(const struct x86_value *value, struct x86_term *term)
{
    *term = value->terms[0];
    if (value->n_terms != 1 || term->scale != 1)
        return false;
    if (term_is_whole(term))
        term->add = value->constant;
    else if (value->constant != 0)
        return false;
    return true;
}

bool x86_value_shift_right(struct x86_value *value, unsigned shift, bool is_signed)
{
    struct x86_term term;

    if (shift == 0)
        return true;
    if (value->n_terms == 0) {
        value->constant = shift_right(value->constant, shift, is_signed);
        return true;
    }
    if (!x86_value_as_term(value, &term) || term.shift + shift >= term.bits)
        return false;
    if (term_is_whole(&term))
        term.is_signed = is_signed;
    else if (term.is_signed && !is_signed)
        return false;
    term.shift += (uint8_t)shift;
    value->terms[0] = term;
    value->constant = 0;
    return true;
}

static uint64_t register_value(unsigned reg, const struct x86_state *state)
{
    return reg == X86_REG_IP ? state->ip : state->gpr[reg];
}

uint64_t x86_term_evaluate(const struct x86_term *term, const struct x86_state *state)
{
    uint64_t value =
        extend(register_value(term->reg, state) + term->add, term->bits, term->is_signed);

    return shift_right(value, term->shift, term->is_signed) * (uint64_t)(int64_t)term->scale;
}

uint64_t x86_value_evaluate(const struct x86_value *value, const struct x86_state *state)
{
    uint64_t sum = value->constant;

    for (unsigned i = 0; i < value->n_terms; i++)
        sum += x86_term_evaluate(&value->terms[i], state);
    return sum;
}
