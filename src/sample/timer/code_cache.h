#pragma once
/*
 * Code cache: what decoding the code around an IP gave, found again by the bytes themselves. So it
 * is right for code that is rewritten (JIT), too, and processes that run the same program share it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/timer/x86_address.h"
#include "util/cleanup.h"

/*
 * Hot IPs of a machine, rather than all of them: a program spends its time in some hundreds. An
 * entry has the bytes (352) and 80 per operand, 0.7 kB for a typical 4 and 4.4 kB at most: 1.4 MB,
 * at most 9 MB.
 */
#define CODE_CACHE_ENTRIES 2048

struct code_cache_counts {
    uint64_t n_hits, n_misses; /* look-ups; a miss is decoded */
};

struct code_cache;

int code_cache_new(struct code_cache **cachep); /* 0 or -ENOMEM */
struct code_cache *code_cache_free(struct code_cache *cache);
CLEANUP_DEFINE(struct code_cache *, code_cache_free)

/*
 * The operands as x86_line_decode gives them, valid until the next call; code->size at most
 * X86_BEFORE_BYTES + X86_AFTER_BYTES.
 * Return: how many, or -ENOMEM.
 */
long code_cache_get(struct code_cache *cache, const struct x86_code *code, bool backward,
                    const struct x86_operand **operandsp);

const struct code_cache_counts *code_cache_counts(const struct code_cache *cache);

/*
 * A place for one cache that several threads use in turn, without locks: who takes it has it alone.
 * Who finds none, because a worker that is lost took it and may never give it back, starts anew; of
 * two that come back one is kept. It is counted, since a lost worker may come back last of all.
 */
struct code_shelf;

struct code_shelf *code_shelf_new(void); /* empty, with one reference; NULL without memory */
struct code_shelf *code_shelf_ref(struct code_shelf *shelf);
struct code_shelf *code_shelf_unref(struct code_shelf *shelf); /* NULL is allowed */

int code_shelf_take(struct code_shelf *shelf, struct code_cache **cachep); /* 0 or -ENOMEM */
void code_shelf_give(struct code_shelf *shelf, struct code_cache *cache);  /* takes it over */
