/*
 * Terms of events and bit fields of formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "sample/mem/mem_terms.h"
#include "util/array.h"

static const struct {
    const char *name, *text;
    size_t n;
    const char *last;
    uint64_t value;
} term_cases[] = {
    {"one, hexadecimal", "event=0xcd", 1, "event", 0xcd},
    {"decimal", "ldlat=3", 1, "ldlat", 3},
    {"three", "event=0xcd,umask=0x1,ldlat=3", 3, "ldlat", 3},
    {"a name alone is 1", "event=0xc0,in_tx", 2, "in_tx", 1},
    {"64 bits", "event=0xffffffffffffffff", 1, "event", UINT64_MAX},
    {"nothing", "", 0, "", 0},
    {"no value", "event=", 0, "", 0},
    {"no digits", "event=0x", 0, "", 0},
    {"65 bits", "event=0x10000000000000000", 0, "", 0},
    {"no name", "=1", 0, "", 0},
    {"another separator", "event=1;umask=2", 0, "", 0},
    {"a blank", "event=1 ", 0, "", 0},
    {"a placeholder", "event=?", 0, "", 0},
    {"a name of 32", "abcdefghijklmnopqrstuvwxyz012345=1", 0, "", 0},
    {"good before bad", "event=1,umask=x", 1, "event", 1},
};

static void test_terms(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(term_cases); i++) {
        const char *text = term_cases[i].text;
        struct scan scan = {text, text + strlen(text)};
        struct mem_term term = {0};
        size_t n = 0;

        print_message("%s\n", term_cases[i].name);
        while (mem_terms_next(&scan, &term))
            n++;
        assert_int_equal(n, term_cases[i].n);
        assert_string_equal(term.name, term_cases[i].last);
        assert_true(term.value == term_cases[i].value);
    }
}

static const struct {
    const char *name, *format;
    uint64_t value;
    uint64_t config, config1, config2; /* expected; all ones before: what is not named stays */
    int r;
} format_cases[] = {
    {"low byte", "config:0-7", 0xcd, ~UINT64_C(0x32), ~UINT64_C(0), ~UINT64_C(0), 0},
    {"with newline", "config:8-15\n", 0x1, ~UINT64_C(0xfe00), ~UINT64_C(0), ~UINT64_C(0), 0},
    {"one bit", "config:21", 0, ~(UINT64_C(1) << 21), ~UINT64_C(0), ~UINT64_C(0), 0},
    {"config1", "config1:0-15", 30, ~UINT64_C(0), ~UINT64_C(0xffe1), ~UINT64_C(0), 0},
    {"config2", "config2:0", 0, ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(1), 0},
    {"whole word", "config:0-63", 5, 5, ~UINT64_C(0), ~UINT64_C(0), 0},
    {"pieces", "config:0-7,32-35", 0x1cd, 0xfffffff1ffffffcd, ~UINT64_C(0), ~UINT64_C(0), 0},
    {"fits exactly", "config:0-1", 3, ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), 0},
    {"one too large", "config:0-1", 4, 0, 0, 0, MEM_TERMS_MISFIT},
    {"too large for the pieces", "config:0-7,32-35", 0x1000, 0, 0, 0, MEM_TERMS_MISFIT},
    {"a word that is unknown here", "config3:0-7", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"bit 64", "config:0-64", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"backwards", "config:7-0", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"no bits", "config:", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"trailing comma", "config:0-7,", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"something behind", "config:0-7x", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"nine pieces", "config:0,1,2,3,4,5,6,7,8", 1, 0, 0, 0, MEM_TERMS_MISFIT},
    {"empty", "", 1, 0, 0, 0, MEM_TERMS_MISFIT},
};

static void test_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(format_cases); i++) {
        struct perf_event_attr attr = {
            .config = UINT64_MAX, .config1 = UINT64_MAX, .config2 = UINT64_MAX};
        const bool misfits = format_cases[i].r != 0;
        int r = mem_terms_apply(&attr, format_cases[i].format, format_cases[i].value);

        print_message("%s\n", format_cases[i].name);
        assert_int_equal(r, format_cases[i].r);
        assert_true(attr.config == (misfits ? UINT64_MAX : format_cases[i].config));
        assert_true(attr.config1 == (misfits ? UINT64_MAX : format_cases[i].config1));
        assert_true(attr.config2 == (misfits ? UINT64_MAX : format_cases[i].config2));
    }
}

static void test_random_text(void **state)
{
    struct mutate *mutate = *state;

    for (unsigned i = 0; i < 20000; i++) {
        struct perf_event_attr attr = {0};
        struct mem_term term;
        size_t size;
        char *text = mutate_copy(mutate, "event=0xcd,umask=0x1,ldlat=3", &size);
        struct scan scan = {text, text + size};

        while (mem_terms_next(&scan, &term))
            assert_in_range(strlen(term.name), 1, sizeof term.name - 1);
        free(text);
        text = mutate_copy(mutate, "config:0-7,32-35\n", &size);
        text = realloc(text, size + 1);
        text[size] = '\0';
        mem_terms_apply(&attr, text, mutate_below(mutate, 4096));
        free(text);
    }
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_formats),
        cmocka_unit_test_prestate(test_random_text, &mutate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
