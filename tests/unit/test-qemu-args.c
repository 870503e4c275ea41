/* QEMU command lines, good and odd: options, sizes, backends and guest nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "sample/kvm/qemu_args.h"
#include "sample/kvm/qemu_option.h"
#include "util/array.h"
#include "util/cleanup.h"

#define GIB (UINT64_C(1) << 30)
#define RAM(id, size) "-object\0memory-backend-ram,id=" id ",size=" size "\0"
#define PARSE(args, text) assert_int_equal(qemu_args_parse(args, text, sizeof(text) - 1), 0)

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t unit, bytes; /* 0: none */
    } cases[] = {
        {"4096", 1, 4096},
        {"4096", 1 << 20, 4 * GIB},
        {"4G", 1, 4 * GIB},
        {"4g", 1 << 20, 4 * GIB},
        {"16777216k", 1 << 20, 16 * GIB},
        {"1.5G", 1, GIB + GIB / 2},
        {"0x40000000", 1, GIB},
        {"100b", 1 << 20, 100},
        {"1T", 1, 1024 * GIB},
        {"15E", 1, UINT64_C(15) << 60},
        {"", 1, 0},
        {"0", 1, 0},
        {"G", 1, 0},
        {"-1", 1, 0},
        {"+1G", 1, 0},
        {" 1G", 1, 0},
        {"4X", 1, 0},
        {"4GiB", 1, 0},
        {"4G ", 1, 0},
        {"1e3", 1, 0}, /* no exponent: E is exa, and something follows */
        {"16E", 1, 0}, /* 2^64 */
        {"99999999999999999999", 1, 0},
        {"99999999999T", 1, 0},
        {"4..5G", 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint64_t bytes = 0;
        bool is = qemu_size_parse(cases[i].text, cases[i].unit, &bytes);

        if (bytes != cases[i].bytes || is != (cases[i].bytes > 0))
            fail_msg("%s: %llu", cases[i].text, (unsigned long long)bytes);
    }
}

/* Options as "[key=value]..." */
static void spell(const char *argument, char *text, size_t size)
{
    struct qemu_options options = qemu_options_of(argument);
    static struct qemu_option option;
    size_t used = 0;

    text[0] = '\0';
    while (qemu_option_next(&options, &option))
        used += (size_t)snprintf(text + used, size - used, "[%s=%s]", option.key, option.value);
    assert_false(qemu_option_next(&options, &option)); /* the end stays the end */
}

static void test_options(void **state)
{
    static const struct {
        const char *argument, *options;
    } cases[] = {
        {"node,nodeid=1,cpus=0-3", "[=node][nodeid=1][cpus=0-3]"},
        {"size=4G,slots=2", "[size=4G][slots=2]"},
        {"a,id=x,,y,path=/a,,,b=c", "[=a][id=x,y][path=/a,][b=c]"},
        {"a,share,b=", "[=a][share=][b=]"},
        {"", ""},
        {",", "[=]"},
        {"a=b=c", "[a=b=c]"},
        {"{\"qom-type\":\"m\",\"id\":\"n\",\"size\":4096}", "[qom-type=m][id=n][size=4096]"},
        {" { \"a\" : 1 , \"b\" : true } ", "[a=1][b=true]"},
        {"{\"host-nodes\":[0,[1]],\"x\":{\"]\":\"}\"},\"size\":1}", "[host-nodes=][x=][size=1]"},
        {"{\"p\":\"a\\\"b\\\\c\\/d\"}", "[p=a\"b\\c/d]"},
        {"{}", ""},
        {"{", ""},
        {"{\"a\":1", "[a=1]"},
        {"{\"a\":1 \"b\":2}", "[a=1]"},
        {"{\"a\" 1}", ""},
        {"{\"a\":\"b", ""},
        {"{\"a\":\"b\\", ""},
        {"{\"a\":[1", ""},
        {"{\"a\":}", ""},
        {"{1:2}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[256];

        spell(cases[i].argument, text, sizeof text);
        assert_string_equal(text, cases[i].options);
    }
}

static void test_option_that_is_too_long_is_cut(void **state)
{
    CLEANUP(freep) char *argument = calloc(1, 20000);
    struct qemu_options options;
    static struct qemu_option option;

    (void)state;
    memset(argument, 'k', 200);
    argument[200] = '=';
    memset(argument + 201, 'v', 10000);
    strcpy(argument + 10201, ",next=1");
    options = qemu_options_of(argument);
    assert_true(qemu_option_next(&options, &option));
    assert_int_equal(strlen(option.key), sizeof option.key - 1);
    assert_int_equal(strlen(option.value), sizeof option.value - 1);
    assert_true(qemu_option_next(&options, &option));
    assert_string_equal(option.key, "next");
}

static void test_two_nodes(void **state)
{
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    (void)state;
    PARSE(&args, "qemu\0-m\0"
                 "8192\0" RAM("m0", "3G")
                     RAM("m1", "5G") "-numa\0node,nodeid=0,cpus=0-1,cpus=4,memdev=m0\0"
                                     "-numa\0node,cpus=2-3,memdev=m1,nodeid=7\0"
                                     "-numa\0dist,src=0,dst=7,val=21\0");
    assert_false(args.vague);
    assert_int_equal(args.n_backends, 2);
    assert_string_equal(args.backends[0].id, "m0");
    assert_int_equal(args.backends[0].bytes, 3 * GIB);
    assert_int_equal(args.backends[0].node, 0);
    assert_int_equal(args.backends[1].node, 7);
    assert_int_equal(qemu_args_cpu_node(&args, 1), 0);
    assert_int_equal(qemu_args_cpu_node(&args, 4), 0);
    assert_int_equal(qemu_args_cpu_node(&args, 3), 7);
    assert_int_equal(qemu_args_cpu_node(&args, 5), -1);
    assert_int_equal(qemu_args_cpu_node(&args, -1), -1);
}

/* libvirt 8 and later writes objects as JSON. */
static void test_libvirt_objects(void **state)
{
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    (void)state;
    PARSE(&args, "/usr/bin/qemu-system-x86_64\0-object\0"
                 "{\"qom-type\":\"memory-backend-memfd\",\"id\":\"ram-node0\",\"share\":true,"
                 "\"x-use-canonical-path-for-ramblock-id\":false,\"size\":1073741824}\0"
                 "-numa\0node,nodeid=0,cpus=0-1,memdev=ram-node0\0--object\0"
                 "{\"qom-type\":\"memory-backend-file\",\"id\":\"ram-node1\",\"mem-path\":"
                 "\"/dev/hugepages/libvirt/qemu/1-g\",\"host-nodes\":[1],\"size\":2147483648}\0"
                 "--numa\0node,nodeid=1,cpus=2-3,memdev=ram-node1\0"
                 "-object\0{\"qom-type\":\"rng-random\",\"id\":\"rng0\",\"size\":5}\0");
    assert_int_equal(args.n_backends, 2);
    assert_int_equal(args.backends[0].kind, QEMU_BACKEND_MEMFD);
    assert_int_equal(args.backends[1].kind, QEMU_BACKEND_FILE);
    assert_string_equal(args.backends[1].path, "/dev/hugepages/libvirt/qemu/1-g");
    assert_int_equal(args.backends[1].bytes, 2 * GIB);
    assert_int_equal(args.backends[1].node, 1);
    assert_false(args.vague);
}

static void test_the_machines_own_memory(void **state)
{
    static const struct {
        const char *m;
        uint64_t bytes;
    } cases[] = {
        {"4096", 4 * GIB},       {"4G", 4 * GIB},   {"size=4194304k,slots=16,maxmem=64G", 4 * GIB},
        {"4G,slots=2", 4 * GIB}, {"maxmem=64G", 0}, {"lots", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(qemu_args_deinit) struct qemu_args args = {0};
        char text[128];
        int size = snprintf(text, sizeof text, "qemu%c-m%c%s", 0, 0, cases[i].m);

        assert_int_equal(qemu_args_parse(&args, text, (size_t)size + 1), 0);
        assert_int_equal(args.n_backends, cases[i].bytes > 0);
        if (cases[i].bytes)
            assert_int_equal(args.backends[0].bytes, cases[i].bytes);
    }
}

/* What these leave open must not be guessed. */
static void test_vague_command_lines(void **state)
{
#define NODES(text) RAM("m0", "1G") RAM("m1", "1G") text
#define CASE(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
        CASE(NODES("-numa\0node,memdev=m0\0-numa\0node,memdev=m1\0")), /* no cpus */
        CASE(NODES("-numa\0node,cpus=0,memdev=m0\0-numa\0node,memdev=m1\0"
                   "-numa\0cpu,node-id=1,socket-id=1\0")),
        CASE(NODES("-numa\0node,cpus=0,mem=512\0-numa\0node,cpus=1,mem=512\0")),
        CASE(NODES("-numa\0node,nodeid=128,cpus=0,memdev=m0\0")),
        CASE(NODES("-numa\0node,nodeid=x,cpus=0,memdev=m0\0")),
        CASE(NODES("-numa\0node,cpus=3-1,memdev=m0\0")),
        CASE(NODES("-numa\0node,cpus=0-,memdev=m0\0")),
        CASE(NODES("-numa\0node,cpus=0-99999999999999999999,memdev=m0\0")),
        CASE(NODES("")),
        CASE(""),
        CASE("\0\0\0\0\0"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

        assert_int_equal(qemu_args_parse(&args, cases[i].text, cases[i].size), 0);
        if (!args.vague)
            fail_msg("case %zu is not vague", i);
    }
}

static void test_backends_that_say_nothing_are_left_out(void **state)
{
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    (void)state;
    PARSE(
        &args,
        RAM("m0", "lots") RAM("m1", "-1") RAM(
            "m2",
            "99999999999999999999T") "-object\0memory-backend-ram,size=1G\0"      /* no id */
                                     "-object\0memory-backend-epc,id=e,size=1G\0" /* another kind */
                                     "-object\0memory-backend-ramx,id=f,size=1G\0" RAM("good",
                                                                                       "1G"));
    assert_int_equal(args.n_backends, 1);
    assert_string_equal(args.backends[0].id, "good");
}

/* The last argument of a text without a NUL is cut. */
static void test_cut_argument_is_left_out(void **state)
{
    static const char text[] = RAM("m0", "1G") "-object\0memory-backend-ram,id=m1,size=16G";
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    (void)state;
    assert_int_equal(qemu_args_parse(&args, text, sizeof text - 2), 0);
    assert_int_equal(args.n_backends, 1);
}

static void test_nonsense_is_bounded(void **state)
{
    static const char item[] = "-numa\0node,cpus=1,cpus=2,memdev=x\0" RAM("x", "1G");
    size_t n = 100000, size = sizeof item - 1;
    CLEANUP(freep) char *text = malloc(n * size);
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

    (void)state;
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * size, item, size);
    assert_int_equal(qemu_args_parse(&args, text, n * size), 0);
    assert_int_equal(args.n_nodes, QEMU_NODES_MAX);
    assert_int_equal(args.n_backends, 4096);
    assert_true(args.vague);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_option_that_is_too_long_is_cut),
        cmocka_unit_test(test_two_nodes),
        cmocka_unit_test(test_libvirt_objects),
        cmocka_unit_test(test_the_machines_own_memory),
        cmocka_unit_test(test_vague_command_lines),
        cmocka_unit_test(test_backends_that_say_nothing_are_left_out),
        cmocka_unit_test(test_cut_argument_is_left_out),
        cmocka_unit_test(test_nonsense_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
