#pragma once
/*
 * Effective addresses: which memory the instructions around a sampled IP access. Decoding gives
 * operands in terms of the sampled registers, which depends on nothing but the code; evaluating
 * them with the registers of a sample gives addresses. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"
#include "sample/timer/x86_value.h"

#define X86_INSTRUCTIONS_MAX 24 /* looked at from the IP on */
#define X86_OPERANDS_MAX 50     /* two of each (movs, push of memory), and the one before the IP */
#define X86_ACCESSES_MAX 32     /* addresses of one sample */
#define X86_BEFORE_BYTES 128    /* wanted before the IP: loops of 24 instructions of 5 bytes */
#define X86_AFTER_BYTES 224     /* wanted from the IP on: 24 instructions of 9 bytes */

/* Readable code around the IP, which is at bytes[ip], ip < size. */
struct x86_code {
    const uint8_t *bytes;
    size_t size, ip;
    bool is_32bit;
};

/* Memory that an instruction accesses. */
struct x86_operand {
    struct x86_value address;
    struct x86_term count; /* where is_counted: an access only if it is not 0 (rep) */
    enum access_kind kind;
    int16_t offset; /* of the instruction, from the IP */
    uint16_t size;  /* bytes of one access */
    uint8_t address_bits;
    bool is_counted;
    bool backward; /* of the instruction before the IP */
};

struct x86_line {
    size_t n;
    struct x86_operand operands[X86_OPERANDS_MAX];
};

struct x86_access {
    uint64_t addr;
    unsigned size; /* bytes of one access */
    enum access_kind kind;
    bool backward; /* of the instruction before the IP */
};

/*
 * `backward` also looks at the instruction before the IP; leave it off where samples fall on the
 * start of basic blocks (emulators).
 */
void x86_line_decode(struct x86_line *line, const struct x86_code *code, bool backward);

/*
 * Fills accesses[] with one address per 64-byte line of memory, kernel addresses dropped; `state`
 * is 32-bit as the code was.
 * Return: how many.
 */
size_t x86_operands_evaluate(const struct x86_operand *operands, size_t n,
                             const struct x86_state *state,
                             struct x86_access accesses[X86_ACCESSES_MAX]);
