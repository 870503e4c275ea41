/*
 * Registers that an instruction writes are lost, except where it computes them from values that are
 * known. That is tried for what compilers use to compute addresses; a write to a part of a register
 * (8 or 16 bits) loses it.
 *
 * A result is right in its low bits, as many as the instruction's operands have. A 32-bit write
 * clears the upper half of a 64-bit register, so it is cut; in 32-bit code nobody sees the upper
 * half.
 */
#include "sample/timer/x86_carry.h"

void x86_known_init(struct x86_known *known)
{
    for (unsigned i = 0; i < 16; i++)
        known->gpr[i] = x86_value_register(i);
    known->lost = 0;
}

static bool operand_value(const struct x86_insn *insn, const struct x86_known *known,
                          const ZydisDecodedOperand *operand, struct x86_value *value)
{
    switch (operand->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return x86_insn_value(insn, known, operand->reg.value, value);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        *value = x86_value_constant(operand->imm.value.u);
        return true;
    default:
        return false;
    }
}

static bool is_same_register(const struct x86_insn *insn)
{
    const ZydisDecodedOperand *a = &insn->operands[0], *b = &insn->operands[1];

    return a->type == ZYDIS_OPERAND_TYPE_REGISTER && b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           a->reg.value == b->reg.value;
}

/* to + factor * from */
static bool carry_sum(const struct x86_insn *insn, const struct x86_known *known, int64_t factor,
                      struct x86_value *value)
{
    struct x86_value from;

    return operand_value(insn, known, &insn->operands[0], value) &&
           operand_value(insn, known, &insn->operands[1], &from) &&
           x86_value_scale(&from, factor) && x86_value_add(value, &from);
}

/* factor * to + constant: inc, dec, neg, not */
static bool carry_linear(const struct x86_insn *insn, const struct x86_known *known, int64_t factor,
                         int64_t constant, struct x86_value *value)
{
    if (!operand_value(insn, known, &insn->operands[0], value) || !x86_value_scale(value, factor))
        return false;
    value->constant += (uint64_t)constant;
    return true;
}

static bool carry_extended(const struct x86_insn *insn, const struct x86_known *known,
                           bool is_signed, struct x86_value *value)
{
    return operand_value(insn, known, &insn->operands[1], value) &&
           x86_value_narrow(value, insn->operands[1].size, is_signed);
}

/* The distance of a shift, cut as the CPU does; -1: not a constant. */
static int shift_distance(const struct x86_insn *insn)
{
    const ZydisDecodedOperand *by = &insn->operands[1];

    if (by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return -1;
    return (int)(by->imm.value.u & (insn->operands[0].size == 64 ? 63 : 31));
}

static bool carry_shift_left(const struct x86_insn *insn, const struct x86_known *known,
                             struct x86_value *value)
{
    int distance = shift_distance(insn);

    return distance >= 0 && operand_value(insn, known, &insn->operands[0], value) &&
           x86_value_scale(value, (int64_t)(UINT64_C(1) << distance));
}

static bool carry_shift_right(const struct x86_insn *insn, const struct x86_known *known,
                              bool is_signed, struct x86_value *value)
{
    int distance = shift_distance(insn);

    return distance >= 0 && operand_value(insn, known, &insn->operands[0], value) &&
           x86_value_narrow(value, insn->operands[0].size, is_signed) &&
           x86_value_shift_right(value, (unsigned)distance, is_signed);
}

/* A mask of ones in one piece: cut above, shift out what lies below, and back. */
static bool carry_mask(const struct x86_insn *insn, const struct x86_known *known,
                       struct x86_value *value)
{
    const ZydisDecodedOperand *by = &insn->operands[1];
    uint64_t mask = x86_bits(by->imm.value.u, insn->operands[0].size), ones;
    unsigned zeros;

    if (by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || mask == 0)
        return false;
    zeros = (unsigned)__builtin_ctzll(mask);
    ones = mask >> zeros;
    return (ones & (ones + 1)) == 0 && operand_value(insn, known, &insn->operands[0], value) &&
           x86_value_narrow(value, 64 - (unsigned)__builtin_clzll(mask), false) &&
           x86_value_shift_right(value, zeros, false) &&
           x86_value_scale(value, (int64_t)(UINT64_C(1) << zeros));
}

static bool carry_product(const struct x86_insn *insn, const struct x86_known *known,
                          struct x86_value *value)
{
    return insn->info.operand_count_visible == 3 &&
           insn->operands[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
           operand_value(insn, known, &insn->operands[1], value) &&
           x86_value_scale(value, insn->operands[2].imm.value.s);
}

static bool carry_address(const struct x86_insn *insn, const struct x86_known *known,
                          struct x86_value *value)
{
    return x86_insn_address(insn, known, &insn->operands[1], value) &&
           (insn->info.address_width >= insn->operands[0].size ||
            x86_value_narrow(value, insn->info.address_width, false));
}

/* rax from eax */
static bool carry_cdqe(const struct x86_insn *insn, const struct x86_known *known,
                       struct x86_value *value)
{
    return x86_insn_value(insn, known, ZYDIS_REGISTER_EAX, value) &&
           x86_value_narrow(value, 32, true);
}

/* What the first operand becomes. */
static bool carry_result(const struct x86_insn *insn, const struct x86_known *known,
                         struct x86_value *value)
{
    switch (insn->info.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return operand_value(insn, known, &insn->operands[1], value);
    case ZYDIS_MNEMONIC_MOVZX:
        return carry_extended(insn, known, false, value);
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        return carry_extended(insn, known, true, value);
    case ZYDIS_MNEMONIC_CDQE:
        return carry_cdqe(insn, known, value);
    case ZYDIS_MNEMONIC_LEA:
        return carry_address(insn, known, value);
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
        *value = x86_value_constant(0);
        return is_same_register(insn) ||
               (insn->info.mnemonic == ZYDIS_MNEMONIC_SUB && carry_sum(insn, known, -1, value));
    case ZYDIS_MNEMONIC_ADD:
        return carry_sum(insn, known, 1, value);
    case ZYDIS_MNEMONIC_INC:
        return carry_linear(insn, known, 1, 1, value);
    case ZYDIS_MNEMONIC_DEC:
        return carry_linear(insn, known, 1, -1, value);
    case ZYDIS_MNEMONIC_NEG:
        return carry_linear(insn, known, -1, 0, value);
    case ZYDIS_MNEMONIC_NOT:
        return carry_linear(insn, known, -1, -1, value);
    case ZYDIS_MNEMONIC_SHL:
        return carry_shift_left(insn, known, value);
    case ZYDIS_MNEMONIC_SHR:
        return carry_shift_right(insn, known, false, value);
    case ZYDIS_MNEMONIC_SAR:
        return carry_shift_right(insn, known, true, value);
    case ZYDIS_MNEMONIC_AND:
        return carry_mask(insn, known, value);
    case ZYDIS_MNEMONIC_IMUL:
        return carry_product(insn, known, value);
    default:
        return false;
    }
}

/* Cuts a result to what its register holds. Return: whether it is known. */
static bool result_finish(const struct x86_insn *insn, const ZydisDecodedOperand *to,
                          struct x86_value *value)
{
    unsigned width = insn->info.machine_mode == ZYDIS_MACHINE_MODE_LONG_64 ? 64 : 32;

    if (to->size == width)
        return true;
    return to->size == 32 && x86_value_narrow(value, 32, false);
}

/* A register that stays known. */
struct result {
    int number; /* -1: none */
    struct x86_value value;
};

static void result_of_first(const struct x86_insn *insn, const struct x86_known *known,
                            struct result *result)
{
    const ZydisDecodedOperand *to = &insn->operands[0];

    if (to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
        carry_result(insn, known, &result->value) && result_finish(insn, to, &result->value))
        result->number = x86_insn_register(insn, to->reg.value);
}

/* xchg of two registers. */
static void results_of_exchange(const struct x86_insn *insn, const struct x86_known *known,
                                struct result results[2])
{
    for (unsigned i = 0; i < 2; i++) {
        const ZydisDecodedOperand *to = &insn->operands[i], *from = &insn->operands[!i];

        if (to->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            operand_value(insn, known, from, &results[i].value) &&
            result_finish(insn, to, &results[i].value))
            results[i].number = x86_insn_register(insn, to->reg.value);
    }
}

static bool pops_stack_register(const struct x86_insn *insn)
{
    const ZydisDecodedOperand *first = &insn->operands[0];

    return first->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           first->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           x86_insn_register(insn, first->reg.value) == X86_REG_SP;
}

/* SP behind push, pop and leave. */
static void result_of_stack(const struct x86_insn *insn, const struct x86_known *known,
                            struct result *result)
{
    ZydisInstructionCategory category = insn->info.meta.category;
    int64_t bytes = x86_insn_slot_bytes(insn);
    unsigned from = X86_REG_SP;

    if (insn->info.mnemonic == ZYDIS_MNEMONIC_LEAVE && insn->info.operand_width != 16) {
        from = X86_REG_BP;
        bytes = insn->info.stack_width / 8;
    } else if (category == ZYDIS_CATEGORY_PUSH) {
        bytes = -bytes;
    } else if (category != ZYDIS_CATEGORY_POP || pops_stack_register(insn)) {
        return;
    }
    if (known->lost & 1u << from)
        return;
    result->value = known->gpr[from];
    result->value.constant += (uint64_t)bytes;
    result->number = X86_REG_SP;
}

static void known_forget(struct x86_known *known, const struct x86_insn *insn)
{
    for (size_t i = 0; i < insn->info.operand_count; i++) {
        const ZydisDecodedOperand *operand = &insn->operands[i];
        int number;

        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        number = x86_insn_register(insn, operand->reg.value);
        if (number >= 0)
            known->lost |= 1u << number;
    }
}

void x86_known_apply(struct x86_known *known, const struct x86_insn *insn)
{
    struct result results[3] = {{.number = -1}, {.number = -1}, {.number = -1}};

    if (insn->info.mnemonic == ZYDIS_MNEMONIC_XCHG)
        results_of_exchange(insn, known, results);
    else
        result_of_first(insn, known, &results[0]);
    result_of_stack(insn, known, &results[2]);
    known_forget(known, insn);
    for (unsigned i = 0; i < 3; i++)
        if (results[i].number >= 0) {
            known->gpr[results[i].number] = results[i].value;
            known->lost &= ~(1u << results[i].number);
        }
}

void x86_known_before(struct x86_known *known, const struct x86_insn *insn)
{
    x86_known_init(known);
    x86_known_apply(known, insn);
    for (unsigned i = 0; i < 16; i++) {
        struct x86_value before = x86_value_register(i), rest = known->gpr[i];

        x86_value_scale(&before, -1);
        if (known->lost & 1u << i || !x86_value_add(&rest, &before) || rest.n_terms > 0) {
            known->lost |= 1u << i;
            continue;
        }
        known->gpr[i] = x86_value_register(i);
        known->gpr[i].constant = -rest.constant;
    }
}
