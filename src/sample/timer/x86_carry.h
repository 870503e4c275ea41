#pragma once
/*
 * Carrying the values of registers over an instruction.
 */
#include "sample/timer/x86_insn.h"

void x86_known_init(struct x86_known *known); /* as sampled */

/* From before the instruction to after it: what it computes from known values stays known. */
void x86_known_apply(struct x86_known *known, const struct x86_insn *insn);

/*
 * From the sample, taken just after the instruction, to before it: registers that it does not
 * change, or by a constant.
 */
void x86_known_before(struct x86_known *known, const struct x86_insn *insn);
