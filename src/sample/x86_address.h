#pragma once
/*
 * Effective addresses: which memory the instructions around a sampled IP access, computed from the
 * sampled registers. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"

#define X86_INSTRUCTIONS_MAX 24 /* looked at from the IP on */
#define X86_ACCESSES_MAX 32     /* addresses of one sample */
#define X86_BEFORE_BYTES 32     /* wanted before the IP: enough to fall into step with the code */
#define X86_AFTER_BYTES 224     /* wanted from the IP on: 24 instructions of 9 bytes */

/* Readable code; the sampled IP is in [start, start + size). */
struct x86_code {
    const uint8_t *bytes;
    size_t size;
    uint64_t start;
};

/* The registers at the sample; gpr[] in encoding order: ax cx dx bx sp bp si di r8-r15. */
struct x86_state {
    uint64_t ip;
    uint64_t gpr[16];
    bool is_32bit;
};

struct x86_access {
    uint64_t addr;
    unsigned size; /* bytes of one access */
    enum access_kind kind;
    bool backward; /* of the instruction before the IP */
};

/*
 * Fills accesses[] with one address per 64-byte line. `backward` also looks at the instruction
 * before the IP; leave it off where samples fall on the start of basic blocks (emulators).
 * Return: how many.
 */
size_t x86_address_resolve(const struct x86_code *code, const struct x86_state *state,
                           bool backward, struct x86_access accesses[X86_ACCESSES_MAX]);
