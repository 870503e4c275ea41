/*
 * The code cache: what counts as the same code, and who has the cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sample/timer/code_cache.h"

#define BYTES (X86_BEFORE_BYTES + X86_AFTER_BYTES)
#define IP X86_BEFORE_BYTES

/* nop ...; | mov (%rdi),%rax; mov 0x1000(%rip),%rcx; nop ... */
static struct x86_code code_fill(uint8_t bytes[BYTES])
{
    static const uint8_t two[] = {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x0d, 0x00, 0x10, 0x00, 0x00};

    memset(bytes, 0x90, BYTES);
    memcpy(bytes + IP, two, sizeof two);
    return (struct x86_code){.bytes = bytes, .size = BYTES, .ip = IP};
}

static bool was_hit(struct code_cache *cache, const struct x86_code *code, bool backward)
{
    uint64_t n_hits = code_cache_counts(cache)->n_hits;
    const struct x86_operand *operands;

    assert_true(code_cache_get(cache, code, backward, &operands) >= 0);
    return code_cache_counts(cache)->n_hits > n_hits;
}

static void test_second_look_is_a_hit(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    const struct x86_operand *operands;
    uint8_t here[BYTES], there[BYTES];
    struct x86_code code = code_fill(here), again = code_fill(there);
    const struct x86_state registers = {.ip = 0x400000, .gpr = {[7] = 0xd1000}};
    struct x86_line line;

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    x86_line_decode(&line, &code, false);
    assert_int_equal(line.n, 2);
    for (int look = 0; look < 3; look++) {
        assert_int_equal(code_cache_get(cache, look ? &again : &code, false, &operands), 2);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(x86_value_evaluate(&operands[i].address, &registers),
                             x86_value_evaluate(&line.operands[i].address, &registers));
            assert_int_equal(operands[i].offset, line.operands[i].offset);
        }
    }
    assert_int_equal(code_cache_counts(cache)->n_misses, 1);
    assert_int_equal(code_cache_counts(cache)->n_hits, 2);
}

/* The same program at two addresses: one entry, addresses of their own. */
static void test_place_of_the_code_does_not_matter(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    const struct x86_operand *operands;
    struct x86_access found[X86_ACCESSES_MAX];
    uint8_t bytes[BYTES];
    struct x86_code code = code_fill(bytes);

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    for (uint64_t ip = 0x400000; ip < 0x1000000; ip += 0x400000) {
        struct x86_state registers = {.ip = ip, .gpr = {[7] = ip * 2}};
        long n = code_cache_get(cache, &code, false, &operands);

        assert_int_equal(x86_operands_evaluate(operands, (size_t)n, &registers, found), 2);
        assert_int_equal(found[0].addr, ip * 2);
        assert_int_equal(found[1].addr, ip + 10 + 0x1000);
    }
    assert_int_equal(code_cache_counts(cache)->n_misses, 1);
}

static void test_any_changed_byte_is_other_code(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    uint8_t bytes[BYTES];
    struct x86_code code = code_fill(bytes);

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    assert_false(was_hit(cache, &code, false));
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] ^= 1;
        assert_false(was_hit(cache, &code, false));
        bytes[i] ^= 1;
        assert_true(was_hit(cache, &code, false));
    }
}

static void test_same_bytes_decoded_otherwise_are_other_code(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    uint8_t bytes[BYTES];
    struct x86_code code = code_fill(bytes), other;

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    assert_false(was_hit(cache, &code, false));
    assert_false(was_hit(cache, &code, true));
    other = code;
    other.is_32bit = true;
    assert_false(was_hit(cache, &other, false));
    other = code;
    other.size--;
    assert_false(was_hit(cache, &other, false));
    other = code;
    other.ip++;
    assert_false(was_hit(cache, &other, false));
    assert_true(was_hit(cache, &code, false));
    assert_true(was_hit(cache, &code, true));
}

/* Twice as many places as there are entries: the cache stays as large, what is used stays in it. */
static void test_what_is_used_stays(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    uint8_t hot[BYTES], cold[BYTES];
    struct x86_code hot_code = code_fill(hot), cold_code = code_fill(cold);

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    (void)was_hit(cache, &hot_code, false);
    for (uint32_t i = 1; i <= 2 * CODE_CACHE_ENTRIES; i++) {
        memcpy(cold + IP + 6, &i, sizeof i);
        if (i == 0x1000)
            continue; /* the hot one */
        assert_false(was_hit(cache, &cold_code, false));
        assert_true(was_hit(cache, &hot_code, false));
    }
    cold[IP + 6] = 1;
    memset(cold + IP + 7, 0, 3);
    assert_false(was_hit(cache, &cold_code, false)); /* the first of them had to go */
}

/* The end of the readable code is near; a sanitizer sees a read beyond it. */
static void test_one_byte_of_code(void **state)
{
    CLEANUP(code_cache_freep) struct code_cache *cache = NULL;
    CLEANUP(freep) uint8_t *bytes = calloc(1, 1);
    struct x86_code code = {.bytes = bytes, .size = 1};

    (void)state;
    assert_int_equal(code_cache_new(&cache), 0);
    bytes[0] = 0xac; /* lodsb */
    assert_false(was_hit(cache, &code, true));
    assert_true(was_hit(cache, &code, true));
}

static void test_shelf_lends_to_one(void **state)
{
    struct code_shelf *shelf = code_shelf_new();
    struct code_cache *first = NULL, *second = NULL, *again = NULL;

    (void)state;
    assert_int_equal(code_shelf_take(shelf, &first), 0);
    assert_int_equal(code_shelf_take(shelf, &second), 0); /* the first is lost with its worker */
    assert_ptr_not_equal(first, second);
    code_shelf_give(shelf, second);
    assert_int_equal(code_shelf_take(shelf, &again), 0);
    assert_ptr_equal(again, second);
    code_shelf_give(shelf, again);
    code_shelf_give(shelf, first); /* it comes back after all: one of them is freed */
    code_shelf_unref(code_shelf_ref(shelf));
    code_shelf_unref(shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_look_is_a_hit),
        cmocka_unit_test(test_place_of_the_code_does_not_matter),
        cmocka_unit_test(test_any_changed_byte_is_other_code),
        cmocka_unit_test(test_same_bytes_decoded_otherwise_are_other_code),
        cmocka_unit_test(test_what_is_used_stays),
        cmocka_unit_test(test_one_byte_of_code),
        cmocka_unit_test(test_shelf_lends_to_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
