/*
 * Zydis lists every operand of an instruction, hidden ones too: the stack slot of a push, the
 * registers that cpuid writes. Four addresses are not what its base and index say:
 *   - a push or call writes below the SP that it starts with;
 *   - pop to an SP-relative place computes it with the SP after the pop;
 *   - xlat adds al;
 *   - bt and its kin with a bit number in a register reach beyond their operand.
 */
#include "sample/timer/x86_insn.h"

#define REG_CX 1

void x86_decoder_init(ZydisDecoder *decoder, bool is_32bit)
{
    ZydisDecoderInit(decoder,
                     is_32bit ? ZYDIS_MACHINE_MODE_LONG_COMPAT_32 : ZYDIS_MACHINE_MODE_LONG_64,
                     is_32bit ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_64);
}

bool x86_insn_decode(struct x86_insn *insn, const ZydisDecoder *decoder,
                     const struct x86_code *code, int64_t offset)
{
    uint64_t at = code->ip + (uint64_t)offset;

    if (at >= code->size)
        return false;
    insn->offset = offset;
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code->bytes + at, code->size - at,
                                               &insn->info, insn->operands));
}

unsigned x86_insn_length(const ZydisDecoder *decoder, const struct x86_code *code, int64_t offset)
{
    uint64_t at = code->ip + (uint64_t)offset;
    ZydisDecodedInstruction info;

    if (at >= code->size || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
                                decoder, NULL, code->bytes + at, code->size - at, &info)))
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

bool x86_insn_target(const struct x86_insn *insn, int64_t *offsetp)
{
    const ZydisDecodedOperand *operand = &insn->operands[0];

    if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.is_relative)
        return false;
    *offsetp = insn->offset + insn->info.length + operand->imm.value.s;
    return true;
}

int x86_insn_register(const struct x86_insn *insn, ZydisRegister reg)
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

bool x86_insn_value(const struct x86_insn *insn, const struct x86_known *known, ZydisRegister reg,
                    struct x86_value *value)
{
    int number = x86_insn_register(insn, reg);

    if (reg == ZYDIS_REGISTER_NONE) {
        *value = x86_value_constant(0);
    } else if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) {
        *value = x86_value_register(X86_REG_IP);
        value->constant = insn->offset + insn->info.length;
    } else {
        if (number < 0 || known->lost & 1u << number || is_high_byte(reg))
            return false;
        *value = known->gpr[number];
    }
    return true;
}

bool x86_insn_address(const struct x86_insn *insn, const struct x86_known *known,
                      const ZydisDecodedOperand *operand, struct x86_value *value)
{
    struct x86_value index;
    int64_t scale = operand->mem.scale ? operand->mem.scale : 1;

    if (!x86_insn_value(insn, known, operand->mem.base, value) ||
        !x86_insn_value(insn, known, operand->mem.index, &index) ||
        !x86_value_scale(&index, scale) || !x86_value_add(value, &index))
        return false;
    value->constant += (uint64_t)operand->mem.disp.value;
    return true;
}

/* The stack slot of push, pop, call, ret and enter. */
static bool operand_is_stack(const struct x86_insn *insn, const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           x86_insn_register(insn, operand->mem.base) == X86_REG_SP;
}

int64_t x86_insn_slot_bytes(const struct x86_insn *insn)
{
    for (size_t i = 0; i < insn->info.operand_count; i++)
        if (operand_is_stack(insn, &insn->operands[i]))
            return insn->operands[i].size / 8;
    return 0;
}

/*
 * Hints and cache control name memory that they do not wait for. A prefetch may point anywhere, and
 * the load that it was meant for shows by itself.
 */
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

/* The count of a repeated string instruction: with 0 it accesses nothing. */
static bool insn_count(const struct x86_insn *insn, const struct x86_known *known,
                       struct x86_value *count)
{
    const uint64_t repeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;

    if (!(insn->info.attributes & repeats) || known->lost & 1u << REG_CX)
        return false;
    *count = known->gpr[REG_CX];
    return x86_value_narrow(count, insn->info.address_width, false);
}

static bool operand_accesses(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operand->mem.type == ZYDIS_MEMOP_TYPE_MEM && operand->actions &&
           operand->mem.segment != ZYDIS_REGISTER_FS && operand->mem.segment != ZYDIS_REGISTER_GS;
}

/* The element of a bit string: the signed bit number / bits of an element * its bytes. */
static bool bit_offset(const struct x86_insn *insn, const struct x86_known *known,
                       const ZydisDecodedOperand *operand, struct x86_value *bytes)
{
    unsigned bits = operand->size;

    return x86_insn_value(insn, known, insn->operands[1].reg.value, bytes) &&
           x86_value_narrow(bytes, bits, true) &&
           x86_value_shift_right(bytes, (unsigned)__builtin_ctz(bits), true) &&
           x86_value_scale(bytes, bits / 8);
}

static bool is_bit_string(const struct x86_insn *insn, const ZydisDecodedOperand *operand)
{
    return insn->info.meta.category == ZYDIS_CATEGORY_BITBYTE && operand == insn->operands &&
           insn->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           insn->info.operand_count_visible == 2;
}

/* What the odd four add to base, index and displacement (see the top). */
static bool address_correction(const struct x86_insn *insn, const struct x86_known *known,
                               const ZydisDecodedOperand *operand, struct x86_value *bytes)
{
    *bytes = x86_value_constant(0);
    if (operand_is_stack(insn, operand)) {
        if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            bytes->constant = -(uint64_t)(operand->size / 8);
    } else if (insn->info.meta.category == ZYDIS_CATEGORY_POP) {
        if (x86_insn_register(insn, operand->mem.base) == X86_REG_SP)
            bytes->constant = (uint64_t)x86_insn_slot_bytes(insn);
    } else if (insn->info.mnemonic == ZYDIS_MNEMONIC_XLAT) {
        return x86_insn_value(insn, known, ZYDIS_REGISTER_AL, bytes) &&
               x86_value_narrow(bytes, 8, false);
    } else if (is_bit_string(insn, operand)) {
        return bit_offset(insn, known, operand, bytes);
    }
    return true;
}

static bool operand_address(const struct x86_insn *insn, const struct x86_known *known,
                            const ZydisDecodedOperand *operand, struct x86_value *value)
{
    ZydisDecodedOperand memory = *operand;
    struct x86_value bytes;

    if (insn->info.mnemonic == ZYDIS_MNEMONIC_XLAT)
        memory.mem.index = ZYDIS_REGISTER_NONE;
    return x86_insn_address(insn, known, &memory, value) &&
           address_correction(insn, known, operand, &bytes) && x86_value_add(value, &bytes);
}

static enum access_kind kind_of_actions(ZydisOperandActions actions)
{
    if (!(actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        return ACCESS_READ;
    return actions & ZYDIS_OPERAND_ACTION_MASK_READ ? ACCESS_READ_WRITE : ACCESS_WRITE;
}

bool x86_insn_next_operand(const struct x86_insn *insn, const struct x86_known *known,
                           size_t *indexp, struct x86_operand *operand)
{
    struct x86_value count;
    bool is_counted = insn_count(insn, known, &count);

    if (insn_is_hint(insn) || (is_counted && count.n_terms == 0 && count.constant == 0))
        return false;
    while (*indexp < insn->info.operand_count) {
        const ZydisDecodedOperand *memory = &insn->operands[(*indexp)++];

        *operand = (struct x86_operand){.offset = (int16_t)insn->offset};
        if (!operand_accesses(memory) || !operand_address(insn, known, memory, &operand->address))
            continue;
        operand->address_bits = insn->info.address_width;
        operand->size = (uint16_t)(memory->size / 8);
        operand->kind = kind_of_actions(memory->actions);
        operand->is_counted = is_counted && x86_value_as_term(&count, &operand->count);
        return true;
    }
    return false;
}
