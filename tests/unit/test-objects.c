/* Shared memory: which mappings show one object, and how long what is learned about it lasts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/tally.h"
#include "object_rig.h"
#include "util/procfs.h"

#define A 100
#define B 200
#define AT_A 0x10000000
#define AT_B 0x50000000
#define MAPS_A "10000000-11000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define MAPS_B "50000000-51000000 rw-s 00000000 00:01 77 /dev/zero (deleted)\n"
#define OTHER "10000000-11000000 rw-p 00000000 00:00 0 \n"

static void evidence_of_two_processes_is_one(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_map(&rig, B, MAPS_B);
    object = object_rig_at(&rig, A, AT_A);
    assert_ptr_equal(object_rig_at(&rig, B, AT_B), object);
    object_rig_add(&rig, A, 0, AT_A + 4 * M, 3);
    object_rig_add(&rig, B, 1, AT_B + 4 * M, 5);
    assert_true(tally_n(&object_rig_range(object, 4 * M)->window, 0) == 3);
    assert_true(tally_n(&object_rig_range(object, 4 * M)->window, 1) == 5);
    assert_int_equal(object_rig_range(object, 4 * M)->user_pid, B);
    object_rig_deinit(&rig);
}

/* A file may be mapped from any offset on; a JVM maps its heap three times. */
static void windows_show_the_same_memory_at_any_address(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A,
                   "10000000-10800000 rw-s 00800000 00:05 9 /memfd:java_heap (deleted)\n"
                   "20000000-21000000 rw-s 00000000 00:05 9 /memfd:java_heap (deleted)\n");
    object = object_rig_at(&rig, A, 0x10000000);
    object_rig_add(&rig, A, 0, 0x10000000, 2);
    object_rig_add(&rig, A, 0, 0x20800000, 2);
    assert_int_equal(HASH_COUNT(object->memory->ranges), 1);
    assert_true(tally_n(&object_rig_range(object, 8 * M)->window, 0) == 4);
    assert_ptr_equal(object_find_window(object, A, 2 * M, 4 * M)->vma->start, 0x20000000);
    assert_null(object_find_window(object, A, 16 * M, 18 * M));
    assert_null(object_find_window(object, B, 0, 2 * M));
    object_rig_deinit(&rig);
}

static void evidence_outlives_the_process_that_gave_it(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_map(&rig, B, MAPS_B);
    object_rig_add(&rig, A, 0, AT_A, 3);
    object_rig_drop(&rig, A);
    object = object_rig_at(&rig, B, AT_B);
    assert_true(tally_n(&object_rig_range(object, 0)->window, 0) == 3);
    assert_null(object_find_window(object, A, 0, 2 * M));
    assert_int_equal(rig.n_forgotten, 0);
    object_rig_deinit(&rig);
}

/* An inode number is given to other memory when the last one with it has gone. */
static void nothing_passes_to_the_next_owner_of_an_inode(void **state)
{
    struct object_rig rig;
    uint64_t id;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_add(&rig, A, 0, AT_A, 3);
    id = object_rig_at(&rig, A, AT_A)->id;
    object_rig_map(&rig, A, OTHER);
    assert_int_equal(rig.n_forgotten, 1);
    assert_null(objects_find_id(rig.objects, id));
    object_rig_map(&rig, A, MAPS_A);
    assert_int_not_equal(object_rig_at(&rig, A, AT_A)->id, id);
    assert_null(object_rig_at(&rig, A, AT_A)->memory);
    object_rig_deinit(&rig);
}

static void evidence_stays_when_the_mapping_goes_elsewhere(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_add(&rig, A, 0, AT_A + 2 * M, 3);
    object = object_rig_at(&rig, A, AT_A);
    object_rig_map(&rig, A, MAPS_B);
    assert_ptr_equal(object_rig_at(&rig, A, AT_B), object);
    assert_true(tally_n(&object_rig_range(object, 2 * M)->window, 0) == 3);
    assert_int_equal(object_find_window(object, A, 0, 2 * M)->vma->start, AT_B);
    object_rig_deinit(&rig);
}

static void segment_that_grows_keeps_what_is_known(void **state)
{
    struct object_rig rig;
    struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, "10000000-10300000 rw-s 00000000 00:01 77 /dev/shm/x\n");
    object_rig_add(&rig, A, 0, AT_A + 2 * M, 3);
    object = object_rig_at(&rig, A, AT_A);
    assert_true(object_rig_range(object, 2 * M)->end == 3 * M);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_add(&rig, A, 0, AT_A + 3 * M, 3);
    assert_true(object_rig_range(object, 2 * M)->end == 4 * M);
    assert_true(tally_n(&object_rig_range(object, 2 * M)->window, 0) == 6);
    object_rig_deinit(&rig);
}

/* Text and data that are only read are the page cache's, until somebody may write to them. */
static void file_that_nobody_writes_to_is_left_to_the_page_cache(void **state)
{
    struct object_rig rig;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, "10000000-11000000 r--s 00000000 fe:01 77 /srv/data\n");
    assert_int_equal(object_rig_add(&rig, A, 0, AT_A, 1), SPACE_UNMOVABLE);
    assert_null(object_rig_at(&rig, A, AT_A)->memory);
    object_rig_map(&rig, B, "50000000-51000000 rw-s 00000000 fe:01 77 /srv/data\n");
    assert_int_equal(object_rig_add(&rig, A, 0, AT_A, 1), 0);
    object_rig_drop(&rig, B);
    assert_int_equal(object_rig_add(&rig, A, 0, AT_A, 1), SPACE_UNMOVABLE);
    object_rig_deinit(&rig);
}

/* A SysV segment shows its shmid for an inode: each container counts its own. */
static void segments_of_containers_are_told_apart(void **state)
{
    static const char maps[] = "10000000-11000000 rw-s 00000000 00:01 3 /SYSV0052e2c1 (deleted)\n";
    struct object_rig rig;

    (void)state;
    object_rig_init(&rig, NULL);
    fake_host_set_file(&rig.fake, "proc/100/ns/ipc", "ipc:[4026531839]");
    fake_host_set_file(&rig.fake, "proc/200/ns/ipc", "ipc:[4026532001]");
    fake_host_set_file(&rig.fake, "proc/300/ns/ipc", "ipc:[4026531839]");
    for (pid_t pid = 100; pid <= 300; pid += 100)
        object_rig_map(&rig, pid, maps);
    object_rig_map(&rig, 400, "10000000-11000000 rw-s 00000000 00:01 3 /memfd:x (deleted)\n");
    assert_ptr_equal(object_rig_at(&rig, 100, AT_A), object_rig_at(&rig, 300, AT_A));
    assert_ptr_not_equal(object_rig_at(&rig, 100, AT_A), object_rig_at(&rig, 200, AT_A));
    assert_ptr_not_equal(object_rig_at(&rig, 100, AT_A), object_rig_at(&rig, 400, AT_A));
    object_rig_deinit(&rig);
}

/* shmid 0 is as good as any; other memory without an inode cannot be known again. */
static void what_can_be_an_object(void **state)
{
    static const struct {
        const char *maps;
        bool is;
    } cases[] = {
        {"10000000-11000000 rw-s 00000000 00:01 0 /SYSV00000000 (deleted)\n", true},
        {"10000000-11000000 rw-s 00000000 00:01 5 /[aio] (deleted)\n", true},
        {"10000000-11000000 rw-s 00000000 00:1a 5 /dev/shm/x\n", true},
        {"10000000-11000000 rw-p 00000000 fe:01 5 /srv/data\n", false},
        {"10000000-11000000 ---s 00000000 00:01 5 /memfd:x\n", false},
        {"10000000-11000000 rw-s 00000000 00:0f 5 /anon_hugepage (deleted)\n", false},
        {"10000000-11000000 rw-s 00000000 00:05 5 /dev/dri/card0\n", false},
        {"10000000-11000000 rw-s 00000000 00:00 0 \n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object_rig rig;

        object_rig_init(&rig, NULL);
        object_rig_map(&rig, A, cases[i].maps);
        assert_int_equal(object_rig_at(&rig, A, AT_A) != NULL, cases[i].is);
        object_rig_deinit(&rig);
    }
}

/* A space that is dropped, by a reload that excludes it, still maps what it did. */
static void process_that_is_no_target_any_more_stays_a_mapper(void **state)
{
    struct object_rig rig;
    const struct object *object;

    (void)state;
    object_rig_init(&rig, NULL);
    object_rig_map(&rig, A, MAPS_A);
    object_rig_map(&rig, B, MAPS_B);
    object_rig_add(&rig, B, 0, AT_B, 1);
    object_rig_drop(&rig, A);
    object = object_rig_at(&rig, B, AT_B);
    assert_int_equal(object->n_strangers, 1);
    assert_int_equal(object->strangers[0].pid, A);
    assert_int_equal(object->strangers[0].start_ticks, SPACE_TICKS);
    object_rig_deinit(&rig);
}

/* The process's own remote share counts its accesses to shared memory too. */
static void remote_share_is_of_shared_memory_too(void **state)
{
    struct object_rig rig;
    struct object *object;
    struct space *space;

    (void)state;
    object_rig_init(&rig, NULL);
    space = object_rig_map(&rig, A, MAPS_A);
    object_rig_add(&rig, A, 0, AT_A, 1);
    object = object_rig_at(&rig, A, AT_A);
    assert_int_equal(tally_add(&object_rig_range(object, 0)->residency, 1, 16, 0), 0);
    object_rig_range(object, 0)->residency_nsec = rig.now;
    object_rig_add(&rig, A, 0, AT_A, 4);
    assert_true(space->round_n == 4);
    assert_true(space->round_remote_sec == space->round_sec);
    object_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_of_two_processes_is_one),
        cmocka_unit_test(windows_show_the_same_memory_at_any_address),
        cmocka_unit_test(evidence_outlives_the_process_that_gave_it),
        cmocka_unit_test(nothing_passes_to_the_next_owner_of_an_inode),
        cmocka_unit_test(evidence_stays_when_the_mapping_goes_elsewhere),
        cmocka_unit_test(segment_that_grows_keeps_what_is_known),
        cmocka_unit_test(file_that_nobody_writes_to_is_left_to_the_page_cache),
        cmocka_unit_test(segments_of_containers_are_told_apart),
        cmocka_unit_test(what_can_be_an_object),
        cmocka_unit_test(process_that_is_no_target_any_more_stays_a_mapper),
        cmocka_unit_test(remote_share_is_of_shared_memory_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
