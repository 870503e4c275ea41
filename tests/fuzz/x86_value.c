/*
 * Values of registers: after each step of arithmetic that a value allows, it evaluates to what the
 * same step makes of the number that it evaluated to before.
 *
 * Of the input the first bytes are the registers, then come steps of three bytes.
 */
#include "sample/timer/x86_value.h"
#include "fuzz.h"

struct step {
    uint8_t kind, by, is_signed;
};

static uint64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);

    value = x86_bits(value, bits);
    return is_signed && value & sign ? value | -sign : value;
}

static uint64_t shift_right(uint64_t value, unsigned shift, bool is_signed)
{
    return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

static void check_terms(const struct x86_value *value)
{
    FUZZ_CHECK(value->n_terms <= X86_TERMS_MAX);
    for (unsigned i = 0; i < value->n_terms; i++) {
        const struct x86_term *term = &value->terms[i];

        FUZZ_CHECK(term->scale != 0 && term->reg < X86_REGS);
        FUZZ_CHECK(term->bits >= 1 && term->bits <= 64 && term->shift < term->bits);
        FUZZ_CHECK(term->bits < 64 || term->shift > 0 || (term->add == 0 && !term->is_signed));
    }
}

/* Does the step to *value and to the number. Return: whether the value allows it. */
static bool take_step(struct x86_value *value, uint64_t *numberp, const struct step *step,
                      const struct x86_state *state)
{
    const struct x86_value other =
        step->is_signed ? x86_value_register(step->by % X86_REGS) : x86_value_constant(step->by);
    const struct x86_value itself = *value;
    unsigned bits = step->by % 64 + 1;

    switch (step->kind % 5) {
    case 0:
        *numberp += x86_value_evaluate(&other, state);
        return x86_value_add(value, &other);
    case 1:
        *numberp *= (uint64_t)(int64_t)(int8_t)step->by;
        return x86_value_scale(value, (int8_t)step->by);
    case 2:
        *numberp = extend(*numberp, bits, step->is_signed & 1);
        return x86_value_narrow(value, bits, step->is_signed & 1);
    case 3:
        *numberp = shift_right(*numberp, step->by % 64, step->is_signed & 1);
        return x86_value_shift_right(value, step->by % 64, step->is_signed & 1);
    default:
        *numberp += *numberp;
        return x86_value_add(value, &itself);
    }
}

static void check_as_term(const struct x86_value *value, const struct x86_state *state)
{
    struct x86_term term;

    if (x86_value_as_term(value, &term))
        FUZZ_CHECK(x86_term_evaluate(&term, state) == x86_value_evaluate(value, state));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct x86_state state;
    struct x86_value value = x86_value_register(0);
    uint64_t number;

    fuzz_take(&data, &size, &state, sizeof state);
    number = x86_value_evaluate(&value, &state);
    while (size > 0) {
        struct step step;

        fuzz_take(&data, &size, &step, sizeof step);
        if (!take_step(&value, &number, &step, &state))
            break;
        check_terms(&value);
        FUZZ_CHECK(x86_value_evaluate(&value, &state) == number);
        check_as_term(&value, &state);
    }
    return 0;
}
