/*
 * Mutated traces: whatever is in them, the replay ends, in order. With "-s SEED" others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/replay.h"
#include "mutate.h"

#define N_TRACES 1500

/* One misplaced process that is seen, sampled and moved; each kind of record at least once. */
static const char head[] = "numabd-trace 1\n"
                           "machine 2 4096 1000000000000 2 4\n"
                           "node 0 1073741824 10 21\n"
                           "cpus 0 0-1\n"
                           "node 1 1073741824 21 10\n"
                           "cpus 1 2-3\n"
                           "isolated 1\n"
                           "process 100 1000 67108864 2 0 load\\x20x\n"
                           "detail 100 1000 load /usr/bin/load /system.slice/load.service\n"
                           "mems 100 0-7\n"
                           "room 0 1006632960 65536 0\n"
                           "room 1 1073741824 65536 0\n"
                           "round 1001000000000\n"
                           "a 1001004000000 7f0000001000 p100 t100 c2 w0.004 stimer\n"
                           "file proc/100/maps read 58837 55\n"
                           "\t7f0000000000-7f0000400000 rw-p 00000000 00:00 0 [heap]\n";

static const char tail[] = "late 100 maps\n"
                           "returned 100\n"
                           "lost 1\n"
                           "process 200 1100 1234 1 0 other\n"
                           "gone 200\n"
                           "round 1010000000000\n"
                           "file proc/100/maps gone 5 0\n"
                           "pages 100 -1 5\n"
                           "round 1011000000000\n";

static void put_round(FILE *file, unsigned round)
{
    static const char policy[] = "\t7f0000000000 default N0=1024 kernelpagesize_kB=4\n";

    for (unsigned i = 0; i < 60; i++)
        fprintf(file, "a %s 7f0000%06x t%u c%u\n", i % 7 ? "4000000" : "-900", i * 0x11000,
                100 + i % 2, 2 + i % 2);
    fprintf(file, "round %llu\n", 1002000000000ULL + round * 1000000000ULL);
    if (round == 0)
        fprintf(file, "file proc/100/numa_maps read 68802 49\n%s", policy);
    else
        fprintf(file, "file proc/100/numa_maps same 68802 0\n");
    for (int tid = 100; tid <= 101; tid++)
        fprintf(file, "file proc/100/task/%d/numa_maps read 9 49\n%s", tid, policy);
    fprintf(file, "pages 100 0 6400 7f0000000000*16/64=%d 7f0000010000=-2\n", round > 3);
    if (round == 3)
        fprintf(file, "move 100 3 145776 7f0000000000*512>1=1 7f0000200000*512>1=?\n");
}

static char *make_trace(void)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    fputs(head, file);
    for (unsigned round = 0; round < 6; round++)
        put_round(file, round);
    fputs(tail, file);
    fclose(file);
    return text;
}

static char *replay_out(const char *text, size_t size, struct replay_end *end)
{
    char *out = NULL;
    size_t out_size;
    FILE *file = open_memstream(&out, &out_size);
    struct replay_options options = {.text = text, .size = size, .out = file};

    assert_non_null(file);
    assert_int_equal(config_new_default(&options.config), 0);
    assert_int_equal(replay(&options, end), 0);
    fclose(file);
    return out;
}

/* Else the mutations would try nothing. */
static void the_sound_trace_moves(void **state)
{
    struct replay_end end;
    char *text = make_trace(), *out = replay_out(text, strlen(text), &end);

    (void)state;
    assert_string_equal(end.message, "");
    assert_non_null(strstr(out, "round 3: 100 7f0000000000-7f0000200000 2 MiB node 0 -> 1\n"));
    assert_non_null(strstr(out, "round 7: process 100 is stuck: maps did not return in time"));
    free(out);
    free(text);
}

static void mutated_traces_end(void **state)
{
    struct mutate *mutate = *state;
    char *text = make_trace();
    size_t n_whole = 0;

    for (unsigned i = 0; i < N_TRACES; i++) {
        struct replay_end end;
        size_t size;
        char *trace = mutate_copy(mutate, text, &size);

        free(replay_out(trace, size, &end));
        if (end.message[0])
            assert_true(end.line > 0);
        n_whole += !end.message[0];
        free(trace);
    }
    print_message("%zu of %d traces were replayed to their end\n", n_whole, N_TRACES);
    assert_true(n_whole > 0 && n_whole < N_TRACES);
    free(text);
}

/* Its bytes are not text, or not any more. */
static void hostile_traces_end(void **state)
{
    static const struct {
        const char *lines, *what;
    } cases[] = {
        {"round 1\n", "no machine"},
        {"machine 1 4096 0 2 4\nround 1\n", "no machine"},
        {"machine 1 4096 0 2 4\nnode 0 0 10 20\nround 1\n", "no machine"},
        {"node 0 1 10\n", "does not fit"},
        {"machine 1 4096 0 1 1\nmachine 1 4096 0 1 1\n", "does not fit"},
        {"machine 1 4096 0 1 1\nnode 1 1 10\n", "does not fit"},
        {"machine 1 4096 0 2 1\nnode 1 1 10\n", "does not fit"},
        {"machine 1 4096 0 1 1\nnode 0 1 10\nnode 0 1 10\n", "does not fit"},
        {"machine 1 4096 0 1 1\nnode 0 1 10\ncpus 0 1\n", "does not fit"},
        {"machine 1 4096 0 2 1\nnode 0 1 10 20\ncpus 1 0\n", "does not fit"},
        {"machine 1 4096 0 1 1\nisolated 1\n", "does not fit"},
        {"machine 1 4096 0 1 1\nroom 0 1 1 1\n", "does not fit"},
        {"machine 1 4096 9 1 1\nnode 0 1 10\nround 8\n", "earlier"},
        {"machine 1 4096 9 1 1\nnode 0 1 10\nround 9\nround 8\n", "earlier"},
        {"machine 1 4096 9 1 1\nnode 0 1 10\nround 18446744073709551615\n", ""},
        {"pages 1 0 0 1000=0\nmove 1 0 0 1000>1=1\nfile proc/1/maps gone 0 0\na 1 2\n", "no round"},
        {"late 1 x\nreturned 2\nlost 3\ngone 4\nmems 5 0\ndetail 6 - - - -\n", "no round"},
        {"", "no round"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct replay_end end;
        char *text = NULL;

        assert_true(asprintf(&text, "numabd-trace 1\n%s", cases[i].lines) > 0);
        free(replay_out(text, strlen(text), &end));
        if (!strstr(end.message, cases[i].what) || !end.message[0] != !cases[i].what[0])
            fail_msg("%s: %s", cases[i].lines, end.message);
        free(text);
    }
}

int main(int argc, char **argv)
{
    struct mutate mutate = mutate_init(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sound_trace_moves),
        cmocka_unit_test_prestate(mutated_traces_end, &mutate),
        cmocka_unit_test(hostile_traces_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
