/*
 * Zydis lists every operand of an instruction, hidden ones too: the stack slot of a push, the
 * registers that cpuid writes. Four addresses are not what its base and index say:
 *   - a push or call writes below the SP that it starts with;
 *   - pop to an SP-relative place computes it with the SP after the pop;
 *   - xlat adds al;
 *   - bt and its kin with a bit number in a register reach beyond their operand.
 */
#include "sample/x86_insn.h"

#define REG_AX 0
#define REG_CX 1
#define REG_SP 4

void x86_decoder_init(ZydisDecoder *decoder, bool is_32bit)
{
    ZydisDecoderInit(decoder,
                     is_32bit ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32 : ZYDIS_MACHINE_MODE_LONG_64,
                     is_32bit ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
}

bool x86_insn_decode(struct x86_insn *insn, const ZydisDecoder *decoder,
                     const struct x86_code *code, uint64_t address)
{
    uint64_t offset = address - code->start;

    if (offset >= code->size)
        return false;
    insn->address = address;
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code->bytes + offset, code->size - offset,
                                               &insn->info, insn->operands));
}

unsigned x86_insn_length(const ZydisDecoder *decoder, const struct x86_code *code, uint64_t address)
{
    uint64_t offset = address - code->start;
    ZydisDecodedInstruction info;

    if (offset >= code->size ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code->bytes + offset,
                                                    code->size - offset, &info)))
        return 0;
    return info.length;
}

bool x86_insn_falls_through(const struct x86_insn *insn)
{
    switch (insn->info.meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
        return false;
    default:
        break;
    }
    switch (insn->info.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UIRET:
        return false;
    default:
        return true;
    }
}

bool x86_insn_is_branch(const struct x86_insn *insn)
{
    return insn->info.meta.category == ZYDIS_CATEGORY_COND_BR || !x86_insn_falls_through(insn);
}

bool x86_insn_target(const struct x86_insn *insn, uint64_t *targetp)
{
    const ZydisDecodedOperand *operand = &insn->operands[0];
    uint64_t target;

    if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.is_relative)
        return false;
    target = insn->address + insn->info.length + operand->imm.value.u;
    *targetp = insn->info.machine_mode == ZYDIS_MACHINE_MODE_LONG_64 ? target : (uint32_t)target;
    return true;
}

/* The gpr[] that holds a register, -1 for all others. */
static int reg_number(const struct x86_insn *insn, ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(insn->info.machine_mode, reg);

    switch (ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return ZydisRegisterGetId(whole);
    default:
        return -1;
    }
}

static bool is_high_byte(ZydisRegister reg)
{
    return reg == ZYDIS_REGISTER_AH || reg == ZYDIS_REGISTER_CH || reg == ZYDIS_REGISTER_DH ||
           reg == ZYDIS_REGISTER_BH;
}

static uint64_t value_truncate(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* The value of a register as an address part; NONE is 0. */
static bool reg_value(const struct x86_insn *insn, const struct x86_known *known, ZydisRegister reg,
                      uint64_t *valuep)
{
    int number = reg_number(insn, reg);
    uint64_t value = 0;

    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) {
        value = insn->address + insn->info.length;
    } else if (reg != ZYDIS_REGISTER_NONE) {
        if (number < 0 || known->written & 1u << number || is_high_byte(reg))
            return false;
        value = known->state->gpr[number];
        if (number == REG_SP)
            value += (uint64_t)known->stack_bytes;
        value = value_truncate(value, ZydisRegisterGetWidth(insn->info.machine_mode, reg));
    }
    *valuep = value;
    return true;
}

/* The stack slot of push, pop, call, ret and enter. */
static bool operand_is_stack(const struct x86_insn *insn, const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           reg_number(insn, operand->mem.base) == REG_SP;
}

static int64_t stack_slot_bytes(const struct x86_insn *insn)
{
    for (size_t i = 0; i < insn->info.operand_count; i++)
        if (operand_is_stack(insn, &insn->operands[i]))
            return insn->operands[i].size / 8;
    return 0;
}

/* SP changed by a constant in the instruction: add, sub, lea. */
static bool stack_adjustment(const struct x86_insn *insn, int64_t *bytesp)
{
    const ZydisDecodedOperand *to = &insn->operands[0], *from = &insn->operands[1];

    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || reg_number(insn, to->reg.value) != REG_SP ||
        to->size != insn->info.stack_width)
        return false;
    switch (insn->info.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
        *bytesp = from->imm.value.s;
        return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_SUB:
        *bytesp = -from->imm.value.s;
        return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_LEA:
        *bytesp = from->mem.disp.value;
        return reg_number(insn, from->mem.base) == REG_SP &&
               from->mem.index == ZYDIS_REGISTER_NONE &&
               insn->info.address_width == insn->info.stack_width;
    default:
        return false;
    }
}

/* How SP changes; false when it is not by a constant. */
static bool stack_change(const struct x86_insn *insn, int64_t *bytesp)
{
    const ZydisDecodedOperand *first = &insn->operands[0];

    switch (insn->info.meta.category) {
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_CALL:
        *bytesp = -stack_slot_bytes(insn);
        return true;
    case ZYDIS_CATEGORY_POP:
        *bytesp = stack_slot_bytes(insn);
        return first->type != ZYDIS_OPERAND_TYPE_REGISTER ||
               first->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
               reg_number(insn, first->reg.value) != REG_SP;
    default:
        return stack_adjustment(insn, bytesp);
    }
}

void x86_insn_apply(const struct x86_insn *insn, struct x86_known *known)
{
    int64_t stack_bytes = 0;
    bool stack_is_known = stack_change(insn, &stack_bytes);

    for (size_t i = 0; i < insn->info.operand_count; i++) {
        const ZydisDecodedOperand *operand = &insn->operands[i];
        int number;

        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        number = reg_number(insn, operand->reg.value);
        if (number >= 0 && !(number == REG_SP && stack_is_known))
            known->written |= 1u << number;
    }
    if (stack_is_known)
        known->stack_bytes += stack_bytes;
}

/* Hints and cache control name memory that they do not access. */
static bool insn_is_hint(const struct x86_insn *insn)
{
    switch (insn->info.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    default:
        break;
    }
    switch (insn->info.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
        return true;
    default:
        return false;
    }
}

/* A repeated string instruction whose count has run out accesses nothing. */
static bool insn_repeats_never(const struct x86_insn *insn, const struct x86_known *known)
{
    const uint64_t repeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

    return (insn->info.attributes & repeats) && !(known->written & 1u << REG_CX) &&
           value_truncate(known->state->gpr[REG_CX], insn->info.address_width) == 0;
}

static bool operand_accesses(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operand->mem.type == ZYDIS_MEMOP_TYPE_MEM && operand->actions &&
           operand->mem.segment != ZYDIS_REGISTER_FS && operand->mem.segment != ZYDIS_REGISTER_GS;
}

/* What the odd four add to base, index and displacement (see the top). */
static bool address_correction(const struct x86_insn *insn, const struct x86_known *known,
                               const ZydisDecodedOperand *operand, uint64_t *bytesp)
{
    const ZydisDecodedOperand *bit = &insn->operands[1];
    uint64_t value = 0;
    bool is_known = true;

    if (operand_is_stack(insn, operand)) {
        if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            value = -(uint64_t)(operand->size / 8);
    } else if (insn->info.meta.category == ZYDIS_CATEGORY_POP) {
        if (reg_number(insn, operand->mem.base) == REG_SP)
            value = (uint64_t)stack_slot_bytes(insn);
    } else if (insn->info.mnemonic == ZYDIS_MNEMONIC_XLAT) {
        if (operand->mem.index == ZYDIS_REGISTER_NONE)
            is_known = reg_value(insn, known, ZYDIS_REGISTER_AL, &value);
    } else if (insn->info.meta.category == ZYDIS_CATEGORY_BITBYTE && operand == insn->operands &&
               bit->type == ZYDIS_OPERAND_TYPE_REGISTER && insn->info.operand_count_visible == 2) {
        unsigned shift = 64 - operand->size;

        is_known = reg_value(insn, known, bit->reg.value, &value);
        value = (uint64_t)((int64_t)(value << shift) >> shift); /* the bit number is signed */
        value = (uint64_t)((int64_t)value >> __builtin_ctz(operand->size)) * (operand->size / 8);
    }
    *bytesp = value;
    return is_known;
}

static bool operand_address(const struct x86_insn *insn, const struct x86_known *known,
                            const ZydisDecodedOperand *operand, uint64_t *addrp)
{
    uint64_t base, index, correction;

    if (!reg_value(insn, known, operand->mem.base, &base) ||
        !reg_value(insn, known, operand->mem.index, &index) ||
        !address_correction(insn, known, operand, &correction))
        return false;
    *addrp = value_truncate(base + index * operand->mem.scale + (uint64_t)operand->mem.disp.value +
                                correction,
                            insn->info.address_width);
    return true;
}

static enum access_kind kind_of_actions(ZydisOperandActions actions)
{
    if (!(actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return ACCESS_READ;
    return actions & ZYDIS_OPERAND_ACTION_MASK_READ ? ACCESS_READ_WRITE : ACCESS_WRITE;
}

bool x86_insn_next_access(const struct x86_insn *insn, const struct x86_known *known,
                          size_t *indexp, struct x86_access *access)
{
    if (insn_is_hint(insn) || insn_repeats_never(insn, known))
        return false;
    while (*indexp < insn->info.operand_count) {
        const ZydisDecodedOperand *operand = &insn->operands[(*indexp)++];

        if (!operand_accesses(operand) || !operand_address(insn, known, operand, &access->addr))
            continue;
        access->size = operand->size / 8;
        access->kind = kind_of_actions(operand->actions);
        return true;
    }
    return false;
}
