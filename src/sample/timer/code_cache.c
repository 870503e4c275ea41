/*
 * The hash of the first bytes from the IP on chooses a set of four entries, the one used last in
 * front; the last is given up for a new one. An entry counts only when all bytes are the same.
 */
#include "sample/timer/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 4
#define SETS (CODE_CACHE_ENTRIES / WAYS)
#define HASH_BYTES 48 /* some ten instructions tell one place from most others */

struct key {
    size_t size, ip;
    bool is_32bit, backward;
};

struct entry {
    struct key key;
    uint8_t bytes[X86_BEFORE_BYTES + X86_AFTER_BYTES];
    size_t n;
    struct x86_operand operands[];
};

struct code_cache {
    struct entry *sets[SETS][WAYS]; /* owned; used last in front, NULL behind */
    struct code_cache_counts counts;
};

int code_cache_new(struct code_cache **cachep)
{
    *cachep = calloc(1, sizeof **cachep);
    return *cachep ? 0 : -ENOMEM;
}

struct code_cache *code_cache_free(struct code_cache *cache)
{
    if (!cache)
        return NULL;
    for (size_t set = 0; set < SETS; set++)
        for (size_t way = 0; way < WAYS; way++)
            free(cache->sets[set][way]);
    free(cache);
    return NULL;
}

static struct key key_of_code(const struct x86_code *code, bool backward)
{
    return (struct key){
        .size = code->size,
        .ip = code->ip,
        .is_32bit = code->is_32bit,
        .backward = backward,
    };
}

static bool entry_matches(const struct entry *entry, const struct key *key, const uint8_t *bytes)
{
    return entry->key.size == key->size && entry->key.ip == key->ip &&
           entry->key.is_32bit == key->is_32bit && entry->key.backward == key->backward &&
           memcmp(entry->bytes, bytes, key->size) == 0;
}

/* By multiplication (Knuth): the upper bits depend on all of the word. */
static uint64_t hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static size_t hash_code(const struct x86_code *code)
{
    const uint8_t *at = code->bytes + code->ip;
    size_t n = code->size - code->ip;
    uint64_t hash = 0;

    if (n > HASH_BYTES)
        n = HASH_BYTES;
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, at + i, n - i < sizeof word ? n - i : sizeof word);
        hash = hash_step(hash, word);
    }
    return hash % SETS;
}

static int entry_new(struct entry **entryp, const struct x86_code *code, const struct key *key)
{
    struct x86_line line;
    struct entry *entry;

    x86_line_decode(&line, code, key->backward);
    entry = malloc(sizeof *entry + line.n * sizeof *line.operands);
    if (!entry)
        return -ENOMEM;
    entry->key = *key;
    entry->n = line.n;
    memcpy(entry->bytes, code->bytes, code->size);
    memcpy(entry->operands, line.operands, line.n * sizeof *line.operands);
    *entryp = entry;
    return 0;
}

/* Moves the entries before `way` back by one. */
static void set_put_first(struct entry **set, size_t way, struct entry *entry)
{
    memmove(set + 1, set, way * sizeof *set);
    set[0] = entry;
}

static int set_find(struct code_cache *cache, struct entry **set, const struct x86_code *code,
                    const struct key *key)
{
    struct entry *entry;
    size_t way = 0;
    int r;

    while (way < WAYS && set[way] && !entry_matches(set[way], key, code->bytes))
        way++;
    if (way < WAYS && set[way]) {
        cache->counts.n_hits++;
        set_put_first(set, way, set[way]);
        return 0;
    }
    cache->counts.n_misses++;
    r = entry_new(&entry, code, key);
    if (r < 0)
        return r;
    if (way == WAYS)
        free(set[--way]);
    set_put_first(set, way, entry);
    return 0;
}

long code_cache_get(struct code_cache *cache, const struct x86_code *code, bool backward,
                    const struct x86_operand **operandsp)
{
    struct key key = key_of_code(code, backward);
    struct entry **set = cache->sets[hash_code(code)];
    int r = set_find(cache, set, code, &key);

    if (r < 0)
        return r;
    *operandsp = set[0]->operands;
    return (long)set[0]->n;
}

const struct code_cache_counts *code_cache_counts(const struct code_cache *cache)
{
    return &cache->counts;
}

struct code_shelf {
    unsigned n_refs;          /* atomic */
    struct code_cache *cache; /* atomic */
};

struct code_shelf *code_shelf_new(void)
{
    struct code_shelf *shelf = calloc(1, sizeof *shelf);

    return shelf ? code_shelf_ref(shelf) : NULL;
}

struct code_shelf *code_shelf_ref(struct code_shelf *shelf)
{
    __atomic_add_fetch(&shelf->n_refs, 1, __ATOMIC_RELAXED);
    return shelf;
}

struct code_shelf *code_shelf_unref(struct code_shelf *shelf)
{
    if (shelf && __atomic_sub_fetch(&shelf->n_refs, 1, __ATOMIC_ACQ_REL) == 0) {
        code_cache_free(shelf->cache);
        free(shelf);
    }
    return NULL;
}

int code_shelf_take(struct code_shelf *shelf, struct code_cache **cachep)
{
    *cachep = __atomic_exchange_n(&shelf->cache, NULL, __ATOMIC_ACQUIRE);
    return *cachep ? 0 : code_cache_new(cachep);
}

void code_shelf_give(struct code_shelf *shelf, struct code_cache *cache)
{
    code_cache_free(__atomic_exchange_n(&shelf->cache, cache, __ATOMIC_ACQ_REL));
}
