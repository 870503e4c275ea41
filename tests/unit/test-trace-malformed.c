/*
 * The trace format: what is malformed is named with its line, what is not known is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/trace_read.h"
#include "util/array.h"
#include "util/cleanup.h"

#define VERSION "numabd-trace 1\n"

static void only_known_versions_are_read(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"numabd-trace 1\n", NULL},
        {"numabd-trace 2\n", "newer version"},
        {"numabd-trace 0\n", "not a trace"},
        {"numabd-trace 1", "not a trace"},
        {"numabd-trace 1 \n", "not a trace"},
        {"numabd-trace -1\n", "not a trace"},
        {"numabd-trace 4294967296\n", "not a trace"},
        {"\n", "not a trace"},
        {"", "not a trace"},
        {"\x7f"
         "ELF",
         "not a trace"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct trace_reader reader;
        int r = trace_reader_init(&reader, cases[i].text, strlen(cases[i].text));

        assert_int_equal(r, cases[i].what ? TRACE_BAD : 0);
        if (cases[i].what && !strstr(reader.what, cases[i].what))
            fail_msg("%s: %s", cases[i].text, reader.what);
    }
}

/* The first line after the version is the one that counts. */
static void assert_reads(const char *lines, int expected, const char *what, size_t line)
{
    CLEANUP(freep) char *text = NULL;
    struct trace_reader reader;
    struct trace_record record;
    int r;

    assert_true(asprintf(&text, VERSION "%s", lines) > 0);
    assert_int_equal(trace_reader_init(&reader, text, strlen(text)), 0);
    r = trace_read(&reader, &record);
    if (r != expected)
        fail_msg("%s: %d, not %d", lines, r, expected);
    if (expected == 0 || expected == TRACE_END)
        return;
    if (!strstr(reader.what, what) || reader.n_lines != line)
        fail_msg("%s: line %zu: %s", lines, reader.n_lines, reader.what);
    assert_int_equal(trace_read(&reader, &record), TRACE_END);
}

/* Each malformed line stands beside the sound one that it is nearest to. */
static void malformed_lines_are_named(void **state)
{
    static const struct {
        const char *sound, *malformed;
    } cases[] = {
        {"machine 77 4096 0 2 4\n", "machine 77 4096 0 2\n"},
        {"machine 77 4096 0 1024 4\n", "machine 77 4096 0 1025 4\n"},
        {"machine 77 4096 0 1 4\n", "machine 77 4096 0 0 4\n"},
        {"machine 77 4096 0 2 65536\n", "machine 77 4096 0 2 65537\n"},
        {"machine 77 4096 0 2 4\n", "machine 77 4097 0 2 4\n"},
        {"machine 77 512 0 2 4\n", "machine 77 256 0 2 4\n"},
        {"machine 77 4096 0 2 4\n", "machine 0 4096 0 2 4\n"},
        {"node 0 1 10 255\n", "node 0 1 10 256\n"},
        {"node 0 1 10 1\n", "node 0 1 10 0\n"},
        {"node 1023 1 10\n", "node 1024 1 10\n"},
        {"node 0 1 10\n", "node 0 1\n"},
        {"cpus 0 0-3 8\n", "cpus 0 3-0\n"},
        {"cpus 0 65535\n", "cpus 0 65536\n"},
        {"cpus 0\n", "cpus\n"},
        {"cpus 0 1\n", "cpus 0 1,2\n"},
        {"isolated 1-2\n", "isolated 1-\n"},
        {"room 0 1 2 3\n", "room 0 1 2\n"},
        {"process 1 0 0 1 1 a\n", "process 1 0 0 1 2 a\n"},
        {"process 1 0 0 1 1 \\x41\n", "process 1 0 0 1 1 \\x4\n"},
        {"process 1 0 0 1 1 \\e\n", "process 1 0 0 1 1 \\n\n"},
        {"process 1 0 0 1 1 \\e\n", "process 1 0 0 1 1 \\e\\e\n"},
        {"process 2147483647 0 0 1 1 a\n", "process 2147483648 0 0 1 1 a\n"},
        {"detail 1 - a - -\n", "detail 1 - a -\n"},
        {"detail 1 4294967295 a - -\n", "detail 1 4294967296 a - -\n"},
        {"mems 1 0-1\n", "mems 1\n"},
        {"gone 1\n", "gone 0\n"},
        {"gone 1\n", "gone 1x\n"},
        {"file proc/1/maps same 1 0\n", "file proc/1/maps reads 1 0\n"},
        {"file proc/1/maps -4095 1 0\n", "file proc/1/maps -4096 1 0\n"},
        {"file proc/1/maps -1 1 0\n", "file proc/1/maps 1 1 0\n"},
        {"file proc/1/maps read 1 0\n", "file proc/\\x31/maps read 1 0\n"},
        {"file proc/1/maps read 1 0\n", "file proc/1/m\xe4ps read 1 0\n"},
        {"file proc/1/maps read 1 0\n", "file proc/1/ma\tps read 1 0\n"},
        {"file -- read 1 0\n", "file - read 1 0\n"},
        {"pages 1 0 0 1000=0\n", "pages 1 0 0 1000=1024\n"},
        {"pages 1 0 0 1000=-4095\n", "pages 1 0 0 1000=-4096\n"},
        {"pages 1 0 0 1000*4096/2=0\n", "pages 1 0 0 1000*4097/2=0\n"},
        {"pages 1 0 0 1000*1=0\n", "pages 1 0 0 1000*0=0\n"},
        {"pages 1 0 0 1000/1=0\n", "pages 1 0 0 1000/0=0\n"},
        {"pages 1 0 0 1000/4294967295=0\n", "pages 1 0 0 1000/4294967296=0\n"},
        {"pages 1 0 0 1000=0\n", "pages 1 0 0 1000\n"},
        {"pages 1 0 0 1000=0\n", "pages 1 0 0 1000>1=0\n"},
        {"move 1 0 0 1000>1=0\n", "move 1 0 0 1000=0\n"},
        {"move 1 -1 0 1000>1=?\n", "move 1 -1 0 1000>1=\n"},
        {"a 1 7f00\n", "a 1\n"},
        {"a -1 7f00\n", "a --1 7f00\n"},
        {"a 1 ffffffffffffffff\n", "a 1 10000000000000000\n"},
        {"a 1 7f00 w86400\n", "a 1 7f00 w86401\n"},
        {"a 1 7f00 w0.5\n", "a 1 7f00 w-0.5\n"},
        {"a 1 7f00 w0.5\n", "a 1 7f00 wnan\n"},
        {"a 1 7f00 w0.5\n", "a 1 7f00 w\n"},
        {"a 1 7f00 p1\n", "a 1 7f00 p-1\n"},
        {"a 1 7f00 c-1\n", "a 1 7f00 c1x\n"},
        {"late 1 maps\n", "late 1\n"},
        {"lost 65535\n", "lost 65536\n"},
        {"round 1\n", "round\n"},
        {"round 18446744073709551615\n", "round 18446744073709551616\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_reads(cases[i].sound, 0, NULL, 0);
        assert_reads(cases[i].malformed, TRACE_BAD, "malformed", 2);
    }
}

static void texts_have_the_size_they_say(void **state)
{
    static const struct {
        const char *lines;
        int r;
        const char *what;
        size_t line;
    } cases[] = {
        {"file proc/1/maps read 1 2\n\ta\nround 1\n", 0, NULL, 0},
        {"file proc/1/maps read 1 1\n\ta\\c\nround 1\n", 0, NULL, 0},
        {"file proc/1/maps read 1 3\n\ta\nround 1\n", TRACE_BAD, "missing", 3},
        {"file proc/1/maps read 1 1\n\ta\nround 1\n", TRACE_BAD, "too much", 3},
        {"file proc/1/maps read 1 3\n\ta\n", TRACE_CUT, "middle of a file", 3},
        {"file proc/1/maps read 1 3\n", TRACE_CUT, "middle of a file", 2},
        {"file proc/1/maps read 1 3\n\ta", TRACE_CUT, "middle of a line", 3},
        {"file proc/1/maps read 1 3\n\ta\\y\nround 1\n", TRACE_BAD, "malformed text", 3},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_reads(cases[i].lines, cases[i].r, cases[i].what, cases[i].line);
}

/* Kinds, fields, letters and names of a later numabd with the same version. */
static void what_is_not_known_is_skipped(void **state)
{
    static const char text[] = VERSION "\n"
                                       "# a comment\n"
                                       "future 1 2 3\n"
                                       "\tits text\n"
                                       "\tmore \\q\n"
                                       "gone 1 and more\n"
                                       "pages_by_node 7\n"
                                       "a 5 7f00 p1 t2 z99 kexec smagic lfar\n"
                                       "round 9 x\n";
    struct trace_reader reader;
    struct trace_record record;

    (void)state;
    assert_int_equal(trace_reader_init(&reader, text, strlen(text)), 0);
    assert_int_equal(trace_read(&reader, &record), 0);
    assert_int_equal(record.kind, TRACE_GONE);
    assert_int_equal(reader.n_lines, 7);
    assert_int_equal(trace_read(&reader, &record), 0);
    assert_int_equal(record.access.tid, 2);
    assert_true(record.access.addr == 0x7f00 && record.access.when_nsec == 5);
    assert_int_equal(record.access.kind, ACCESS_READ);
    assert_int_equal(record.access.source, ACCESS_SOURCE_REPLAY);
    assert_int_equal(record.access.locality, ACCESS_LOCALITY_UNKNOWN);
    assert_int_equal(trace_read(&reader, &record), 0);
    assert_int_equal(record.now_nsec, 9);
    assert_int_equal(trace_read(&reader, &record), TRACE_END);
}

static void lines_have_a_limit(void **state)
{
    CLEANUP(freep) char *lines = malloc(TRACE_LINE_MAX + 16);

    (void)state;
    assert_non_null(lines);
    memset(lines, 'x', TRACE_LINE_MAX);
    memcpy(&lines[TRACE_LINE_MAX], "\ngone 1\n", 9);
    assert_reads(lines, 0, NULL, 0); /* a kind that is not known */
    memcpy(&lines[TRACE_LINE_MAX], "x\ngone 1\n", 10);
    assert_reads(lines, TRACE_BAD, "too long", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_known_versions_are_read),
        cmocka_unit_test(malformed_lines_are_named),
        cmocka_unit_test(texts_have_the_size_they_say),
        cmocka_unit_test(what_is_not_known_is_skipped),
        cmocka_unit_test(lines_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
