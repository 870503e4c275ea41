#pragma once
/*
 * One instruction: what it does to memory, to the registers and to the flow, in terms of the
 * registers that are still known. Together with x86_insn.c the only place that knows Zydis.
 */
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/x86_address.h"

struct x86_insn {
    uint64_t address;
    ZydisDecodedInstruction info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* What is known of the registers at one instruction. */
struct x86_known {
    const struct x86_state *state;
    unsigned written;    /* bit per gpr[]: no longer (or not yet) the sampled value */
    int64_t stack_bytes; /* SP is its sampled value plus this, while its bit is clear */
};

void x86_decoder_init(ZydisDecoder *decoder, bool is_32bit);

/* Return: whether the bytes at `address` are a whole instruction within the code. */
bool x86_insn_decode(struct x86_insn *insn, const ZydisDecoder *decoder,
                     const struct x86_code *code, uint64_t address);

/* The length alone, which is much cheaper; 0 when they are none. */
unsigned x86_insn_length(const ZydisDecoder *decoder, const struct x86_code *code,
                         uint64_t address);

/* The next instruction is always, or when a condition fails, the one behind it. */
bool x86_insn_falls_through(const struct x86_insn *insn);
bool x86_insn_is_branch(const struct x86_insn *insn);
/* A branch or call to an address that stands in the instruction. */
bool x86_insn_target(const struct x86_insn *insn, uint64_t *targetp);

/* Takes what it writes off `known`, and follows constant changes of SP. */
void x86_insn_apply(const struct x86_insn *insn, struct x86_known *known);

/*
 * Steps *indexp to the next operand that accesses memory at an address that `known` gives (before
 * the instruction), and past it. Return: false when there is none.
 */
bool x86_insn_next_access(const struct x86_insn *insn, const struct x86_known *known,
                          size_t *indexp, struct x86_access *access);
