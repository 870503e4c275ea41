/*
 * A guest's memory in maps. Addresses: 7fff... is above all, the interpreter lies at 7f80 0000
 * 0000; 40000000 is 1 GiB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "sample/kvm/vmm_memory.h"
#include "util/array.h"
#include "util/cleanup.h"

#define LD "7f8000000000-7f8000001000 r--p 00000000 fe:01 77 /usr/lib/ld-linux-x86-64.so.2\n"
#define STACK "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]\n"
#define RAM(id, size) "-object memory-backend-ram,id=" id ",size=" size " "
#define MEMFD(id, size) "-object memory-backend-memfd,id=" id ",size=" size " "
#define FILES(id, size, path)                                                                      \
    "-object memory-backend-file,id=" id ",mem-path=" path ",size=" size " "
#define NODES "-numa node,cpus=0,memdev=m0 -numa node,cpus=1,memdev=m1 "

/* "start+MiB@node", the start as in maps. */
static void spell(const struct vmm_memory *memory, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < memory->n_ranges; i++)
        used += (size_t)snprintf(
            text + used, size - used, "%s%llx+%llu@%d", i ? " " : "",
            (unsigned long long)memory->ranges[i].start,
            (unsigned long long)(memory->ranges[i].end - memory->ranges[i].start) >> 20,
            memory->ranges[i].node);
}

static void find(const char *words, const char *maps, char *found, size_t size)
{
    CLEANUP(vmm_memory_deinit) struct vmm_memory memory = {0};
    CLEANUP(qemu_args_deinit) struct qemu_args args = {0};
    CLEANUP(freep) char *text = strdup(words);
    size_t length = strlen(words);

    for (size_t i = 0; i < length; i++)
        text[i] = text[i] == ' ' ? '\0' : text[i];
    assert_int_equal(qemu_args_parse(&args, text, length), 0);
    assert_int_equal(vmm_memory_find(&memory, &args, maps, strlen(maps)), 0);
    spell(&memory, found, size);
}

struct find_case {
    const char *name, *words, *maps, *found;
};

static void run_cases(const struct find_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char found[512];

        print_message("  %s\n", cases[i].name);
        find(cases[i].words, cases[i].maps, found, sizeof found);
        assert_string_equal(found, cases[i].found);
    }
}

static void test_backends_by_size(void **state)
{
    static const struct find_case cases[] = {
        {"the machine's memory, and not the heap beside it", "-m 1G ",
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1050000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1"},
        {"two nodes of different size", RAM("m0", "1G") RAM("m1", "2G") NODES,
         "7f0000000000-7f0080000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f1000000000+1024@0 7f0000000000+2048@1"},
        {"memory that madvise cut in three", RAM("m0", "1G") RAM("m1", "2G") NODES,
         "7f0000000000-7f0010000000 rw-p 00000000 00:00 0 \n"
         "7f0010000000-7f0020000000 rw-p 00000000 00:00 0 \n"
         "7f0020000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1080000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@0 7f1000000000+2048@1"},
        {"a thread's stack right below the memory", RAM("m0", "1G"),
         "7effff800000-7f0000000000 rw-p 00000000 00:00 0 \n"
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1"},
        {"a mapping right behind the memory", RAM("m0", "1G"),
         "7f0000000000-7f0010000000 rw-p 00000000 00:00 0 \n"
         "7f0010000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f0040000000-7f0040800000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1"},
        {"what is one backend's is no part of another's", RAM("m0", "1G") RAM("m1", "3G") NODES,
         "7f0000000000-7f0080000000 rw-p 00000000 00:00 0 \n"
         "7f0080000000-7f00c0000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+2048@-1 7f0080000000+1024@-1"},
        {"memory that cannot be written is none", RAM("m0", "1G"),
         "7f0000000000-7f0040000000 r--p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f1000000000+1024@-1"},
        {"a page too small: what looks like it is taken, as nobody's own",
         RAM("m0", "1G") RAM("m1", "2G") NODES,
         "7f0000000000-7f003ffff000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1080000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1023@-1 7f1000000000+2048@-1"},
        {"a DIMM beside two nodes is of all",
         RAM("m0", "1G") RAM("m1", "2G") RAM("dimm", "3G") NODES,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1080000000 rw-p 00000000 00:00 0 \n"
         "7f2000000000-7f20c0000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@0 7f1000000000+2048@1 7f2000000000+3072@-1"},
        {"an NVDIMM on a device that is not to be found",
         RAM("m0", "1G") RAM("m1", "2G") FILES("nv", "4G", "/dev/dax0.0") NODES,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1080000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@0 7f1000000000+2048@1"},
        {"who has which CPU is vague: all of it is of all",
         RAM("m0", "1G") RAM("m1", "2G") NODES "-numa cpu,node-id=0,socket-id=0 ",
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1080000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1 7f1000000000+2048@-1"},
        {"shared memory of a memfd", MEMFD("m0", "1G"),
         "7f0000000000-7f0040000000 rw-s 00000000 00:01 5 /memfd:memory-backend-memfd (deleted)\n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1"},
        {"an object that is named twice has one place only", RAM("m0", "1G") RAM("m0", "1G"),
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n" LD, "7f0000000000+1024@-1"},
    };

    (void)state;
    run_cases(cases, ARRAY_LENGTH(cases));
}

static void test_backends_of_equal_size(void **state)
{
#define EQUAL RAM("m0", "1G") RAM("m1", "1G") NODES
    static const struct find_case cases[] = {
        {"below the interpreter the first is the highest", EQUAL,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" LD STACK,
         "7f1000000000+1024@0 7f0000000000+1024@1"},
        {"above it (legacy layout) the first is the lowest", EQUAL,
         LD "7fa000000000-7fa040000000 rw-p 00000000 00:00 0 \n"
            "7fb000000000-7fb040000000 rw-p 00000000 00:00 0 \n" STACK,
         "7fa000000000+1024@0 7fb000000000+1024@1"},
        {"on both sides of it: not certain", EQUAL,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n" LD
         "7fb000000000-7fb040000000 rw-p 00000000 00:00 0 \n" STACK,
         "7f0000000000+1024@-1 7fb000000000+1024@-1"},
        {"no interpreter: not certain", EQUAL,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n" STACK,
         "7f0000000000+1024@-1 7f1000000000+1024@-1"},
        {"a third of the size: not certain", EQUAL,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n"
         "7f2000000000-7f2040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1 7f1000000000+1024@-1 7f2000000000+1024@-1"},
        {"one is missing", EQUAL, "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+1024@-1"},
        {"the kind tells them apart", RAM("m0", "1G") FILES("m1", "1G", "/dev/shm/b") NODES,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-s 00000000 00:02 6 /dev/shm/b\n" LD,
         "7f0000000000+1024@0 7f1000000000+1024@1"},
        {"ram may be a memfd, and which it is stays open", RAM("m0", "1G") MEMFD("m1", "1G") NODES,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-s 00000000 00:01 5 /memfd:memory-backend-memfd "
         "(deleted)\n" LD,
         "7f0000000000+1024@-1 7f1000000000+1024@-1"},
        {"four in order", RAM("a", "1G") RAM("m0", "1G") RAM("m1", "1G") RAM("b", "1G") NODES,
         "7f0000000000-7f0040000000 rw-p 00000000 00:00 0 \n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:00 0 \n"
         "7f2000000000-7f2040000000 rw-p 00000000 00:00 0 \n"
         "7f3000000000-7f3040000000 rw-p 00000000 00:00 0 \n" LD,
         "7f3000000000+1024@-1 7f2000000000+1024@0 7f1000000000+1024@1 7f0000000000+1024@-1"},
    };

    (void)state;
    run_cases(cases, ARRAY_LENGTH(cases));
}

static void test_files_by_path(void **state)
{
#define HUGE_FILES                                                                                 \
    FILES("m0", "1G", "/dev/hugepages/libvirt/qemu/1-g")                                           \
    FILES("m1", "1G", "/dev/hugepages/libvirt/qemu/1-g/") NODES
    static const struct find_case cases[] = {
        {"QEMU's files have the object's id", HUGE_FILES,
         "7f0000000000-7f0040000000 rw-s 00000000 00:1a 8 "
         "/dev/hugepages/libvirt/qemu/1-g/qemu_back_mem.m0.gBpdgn (deleted)\n"
         "7f1000000000-7f1040000000 rw-s 00000000 00:1a 9 "
         "/dev/hugepages/libvirt/qemu/1-g/qemu_back_mem._objects_m1.Xx01ab (deleted)\n" LD,
         "7f0000000000+1024@0 7f1000000000+1024@1"},
        {"an id that another one begins with",
         FILES("m0", "1G", "/dev/hugepages")
             FILES("m01", "1G", "/dev/hugepages") "-numa node,cpus=0,memdev=m0 ",
         "7f0000000000-7f0040000000 rw-p 00000000 00:1a 8 /dev/hugepages/qemu_back_mem.m01.a\n"
         "7f1000000000-7f1040000000 rw-p 00000000 00:1a 9 /dev/hugepages/qemu_back_mem.m0.a\n" LD,
         "7f1000000000+1024@0 7f0000000000+1024@-1"},
        {"a folder whose name goes on is another", FILES("m0", "1G", "/dev/hugepages"),
         "7f0000000000-7f0040000000 rw-s 00000000 00:1a 8 /dev/hugepages1G/x\n"
         "7f1000000000-7f1040000000 rw-s 00000000 00:1a 9 /dev/hugepages/x\n" LD,
         "7f1000000000+1024@-1"},
        {"without a path nothing fits, and the rule for others holds",
         "-object memory-backend-file,id=m0,size=1G ",
         "7f0000000000-7f0040000000 rw-s 00000000 00:1a 8 /dev/hugepages/x\n" LD,
         "7f0000000000+1024@-1"},
    };

    (void)state;
    run_cases(cases, ARRAY_LENGTH(cases));
}

static void test_without_a_command_line(void **state)
{
    static const struct find_case cases[] = {
        {"Cloud Hypervisor: 3 GiB below the hole, 5 above",
         "cloud-hypervisor --memory size=8G --cpus boot=4 ",
         "7f0000000000-7f0140000000 rw-s c0000000 00:01 5 /memfd:ch_ram (deleted)\n"
         "7f1000000000-7f10c0000000 rw-s 00000000 00:01 5 /memfd:ch_ram (deleted)\n"
         "7f2000000000-7f2000800000 rw-p 00000000 00:00 0 \n" LD STACK,
         "7f0000000000+5120@-1 7f1000000000+3072@-1"},
        {"Firecracker: anonymous, beside an arena that is in use a little", "firecracker --id x ",
         "7e0000000000-7e0000021000 rw-p 00000000 00:00 0 \n"
         "7f0000000000-7f0008000000 rw-p 00000000 00:00 0 \n" LD,
         "7f0000000000+128@-1"},
        {"a disk image, the heap, the stack and code are none", "crosvm run ",
         "550000000000-550040000000 rw-p 00000000 00:00 0 [heap]\n"
         "7d0000000000-7d0040000000 rw-s 00000000 fe:01 9 /var/lib/images/disk.raw\n"
         "7e0000000000-7e0040000000 rw-p 00000000 fe:01 9 /dev/shm/private\n"
         "7f0000000000-7f0040000000 rw-s 00000000 00:01 5 /memfd:crosvm_guest (deleted)\n"
         "7f1000000000-7f1040000000 r-xp 00000000 fe:01 9 /usr/bin/crosvm\n"
         "7ffd00000000-7ffd40000000 rw-p 00000000 00:00 0 [stack]\n",
         "7f0000000000+1024@-1"},
        {"nothing", "", "", ""},
        {"nothing large enough", "", "7f0000000000-7f0001fff000 rw-p 00000000 00:00 0 \n", ""},
        {"32 MiB are enough", "", "7f0000000000-7f0002000000 rw-p 00000000 00:00 0 \n",
         "7f0000000000+32@-1"},
        {"what is small beside the largest", "",
         "7e0000000000-7e0004000000 rw-p 00000000 00:00 0 \n"
         "7f0000000000-7f0200000000 rw-p 00000000 00:00 0 \n",
         "7f0000000000+8192@-1"},
    };

    (void)state;
    run_cases(cases, ARRAY_LENGTH(cases));
}

static struct mutate mutate;

/* Ranges stay in order within themselves, whatever maps and command line hold. */
static void test_mutated_maps(void **state)
{
    static const char maps[] =
        "7f0000000000-7f0010000000 rw-p 00000000 00:00 0 \n"
        "7f0010000000-7f0040000000 rw-p 00000000 00:00 0 \n"
        "7f1000000000-7f1040000000 rw-s 00000000 00:01 5 /memfd:m (deleted)\n" LD;
    static const char words[] = EQUAL FILES("f", "1G", "/dev/hugepages") MEMFD("g", "1G");

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        size_t maps_size = sizeof maps - 1, words_size = sizeof words - 1;
        CLEANUP(freep) char *odd_maps = mutate_copy(&mutate, maps, &maps_size);
        CLEANUP(freep) char *odd_words = mutate_copy(&mutate, words, &words_size);
        CLEANUP(vmm_memory_deinit) struct vmm_memory memory = {0};
        CLEANUP(qemu_args_deinit) struct qemu_args args = {0};

        for (size_t j = 0; j < words_size; j++)
            odd_words[j] = odd_words[j] == ' ' ? '\0' : odd_words[j];
        assert_int_equal(qemu_args_parse(&args, odd_words, words_size), 0);
        assert_int_equal(vmm_memory_find(&memory, &args, odd_maps, maps_size), 0);
        for (size_t j = 0; j < memory.n_ranges; j++)
            assert_true(memory.ranges[j].start < memory.ranges[j].end &&
                        memory.ranges[j].node < QEMU_NODES_MAX);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends_by_size), cmocka_unit_test(test_backends_of_equal_size),
        cmocka_unit_test(test_files_by_path),    cmocka_unit_test(test_without_a_command_line),
        cmocka_unit_test(test_mutated_maps),
    };

    mutate = mutate_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
