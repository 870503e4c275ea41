#pragma once
/*
 * One instruction: what it accesses and where the flow goes on. Together with x86_insn.c and
 * x86_carry.[ch] the only place that knows Zydis.
 */
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/timer/x86_address.h"

struct x86_insn {
    int64_t offset; /* from the IP */
    ZydisDecodedInstruction info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* What is known of the registers at one instruction. */
struct x86_known {
    struct x86_value gpr[16];
    unsigned lost; /* bit per gpr[]: its value is not known */
};

void x86_decoder_init(ZydisDecoder *decoder, bool is_32bit);

/* Return: whether the bytes there are a whole instruction within the code. */
bool x86_insn_decode(struct x86_insn *insn, const ZydisDecoder *decoder,
                     const struct x86_code *code, int64_t offset);

/* The length alone, which is much cheaper; 0 when they are none. */
unsigned x86_insn_length(const ZydisDecoder *decoder, const struct x86_code *code, int64_t offset);

/* The next instruction is always, or when a condition fails, the one behind it. */
bool x86_insn_falls_through(const struct x86_insn *insn);
bool x86_insn_is_branch(const struct x86_insn *insn);
/* A branch or call to a place that stands in the instruction, told by its offset from the IP. */
bool x86_insn_target(const struct x86_insn *insn, int64_t *offsetp);

/* The gpr[] that holds a register, -1 for all others. */
int x86_insn_register(const struct x86_insn *insn, ZydisRegister reg);

/*
 * The value of a register before the instruction (NONE is 0), and the address that an operand
 * names; right in their low bits, as many as the register or the address has. Return: whether
 * known.
 */
bool x86_insn_value(const struct x86_insn *insn, const struct x86_known *known, ZydisRegister reg,
                    struct x86_value *value);
bool x86_insn_address(const struct x86_insn *insn, const struct x86_known *known,
                      const ZydisDecodedOperand *operand, struct x86_value *value);

int64_t x86_insn_slot_bytes(const struct x86_insn *insn); /* of its stack slot, 0 without one */

/*
 * Steps *indexp to the next operand that accesses memory at an address that `known` gives (before
 * the instruction), and past it. Return: false when there is none.
 */
bool x86_insn_next_operand(const struct x86_insn *insn, const struct x86_known *known,
                           size_t *indexp, struct x86_operand *operand);
