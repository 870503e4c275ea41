/* What numabd changed outside itself is put back, whatever ended it, and nothing else is touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fake_host.h"
#include "migrate/undo.h"
#include "util/array.h"
#include "util/procfs.h"

#define SYSCTL "proc/sys/kernel/numa_balancing"

struct bed {
    char folder[64], path[96];
    struct fake_host host;
    struct undo *undo;
    struct undo_reason reason;
    char said[512];
    bool in_journal; /* when the kernel's value was written */
};

static void bed_say(void *userdata, const char *line)
{
    struct bed *bed = userdata;
    size_t used = strlen(bed->said);

    snprintf(bed->said + used, sizeof bed->said - used, "%s\n", line);
}

static void bed_init(struct bed *bed, const char *value)
{
    *bed = (struct bed){.folder = "/tmp/numabd-undo-XXXXXX"};
    assert_non_null(mkdtemp(bed->folder));
    snprintf(bed->path, sizeof bed->path, "%s/undo", bed->folder);
    fake_host_init(&bed->host);
    fake_host_set_file(&bed->host, SYSCTL, value);
}

static int bed_open(struct bed *bed)
{
    bed->undo = undo_free(bed->undo);
    bed->said[0] = '\0';
    return undo_new(&bed->undo, bed->path, &bed->host.host, &bed->reason);
}

static void bed_deinit(struct bed *bed)
{
    undo_free(bed->undo);
    fake_host_deinit(&bed->host);
    unlink(bed->path);
    assert_int_equal(rmdir(bed->folder), 0); /* no other file is left there */
}

static unsigned long long bed_value(const struct bed *bed)
{
    unsigned long long value = 99;

    assert_int_equal(undo_get(bed->undo, UNDO_NUMA_BALANCING, &value), 0);
    return value;
}

static bool bed_has_journal(const struct bed *bed)
{
    return access(bed->path, F_OK) == 0;
}

static void bed_write_journal(const struct bed *bed, const char *text)
{
    FILE *file = fopen(bed->path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(bed->path, 0600);
}

static void look_for_journal(void *userdata)
{
    struct bed *bed = userdata;

    bed->in_journal = bed_has_journal(bed);
}

static void it_is_in_the_journal_before_it_is_done(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    bed.host.on_write = look_for_journal;
    bed.host.on_write_userdata = &bed;
    assert_int_equal(bed_open(&bed), 0);
    assert_false(bed_has_journal(&bed)); /* nothing changed: no file */
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), 0);
    assert_true(bed.in_journal);
    assert_int_equal(bed_value(&bed), 0);
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_string_equal(bed.said, "kernel.numa_balancing: put back from 0 to 1\n");
    assert_int_equal(bed_value(&bed), 1);
    assert_false(bed_has_journal(&bed));
    bed_deinit(&bed);
}

static void what_a_killed_numabd_left_is_put_back_by_the_next(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "3\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 3, 2, &bed.reason), 0);
    assert_int_equal(bed_open(&bed), 0); /* another one: nothing but the file is known */
    assert_int_equal(undo_n(bed.undo), 1);
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_int_equal(bed_value(&bed), 3);
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_n(bed.undo), 0);
    bed_deinit(&bed);
}

static void killed_between_journal_and_change(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    bed_write_journal(&bed, "numabd-undo 1\nsysctl kernel.numa_balancing 1 0\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_string_equal(bed.said, "kernel.numa_balancing: is 1 already, as it was\n");
    assert_false(bed_has_journal(&bed));
    bed_deinit(&bed);
}

static void what_others_set_since_stays(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), 0);
    fake_host_set_file(&bed.host, SYSCTL, "2\n");
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_string_equal(bed.said,
                        "kernel.numa_balancing: somebody else set it to 2 since: it stays\n");
    assert_int_equal(bed_value(&bed), 2);
    bed_deinit(&bed);
}

static void the_oldest_value_is_the_one_to_put_back(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "3\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 3, 2, &bed.reason), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 2, 0, &bed.reason), 0);
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_int_equal(bed_value(&bed), 3);
    bed_deinit(&bed);
}

static void without_a_journal_nothing_is_changed(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(rmdir(bed.folder), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), UNDO_REFUSED);
    assert_non_null(strstr(bed.reason.text, "cannot write "));
    assert_int_equal(bed_value(&bed), 1);
    assert_int_equal(undo_n(bed.undo), 0);
    assert_int_equal(mkdir(bed.folder, 0700), 0);
    bed_deinit(&bed);
}

static void a_refused_change_leaves_no_entry(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    assert_int_equal(bed_open(&bed), 0);
    bed.host.write_result = PROCFS_DENIED;
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), UNDO_REFUSED);
    assert_string_equal(bed.reason.text, "cannot set kernel.numa_balancing: Permission denied");
    assert_int_equal(undo_n(bed.undo), 0);
    assert_false(bed_has_journal(&bed));
    bed_deinit(&bed);
}

static void what_cannot_be_put_back_stays_in_the_journal(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), 0);
    bed.host.write_result = PROCFS_DENIED;
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 1);
    assert_non_null(strstr(bed.said, "1 cannot be put back: Permission denied"));
    assert_true(bed_has_journal(&bed));
    bed.host.write_result = 0;
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_int_equal(bed_value(&bed), 1);
    bed_deinit(&bed);
}

static void what_became_somebody_elses_is_forgotten(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    assert_int_equal(bed_open(&bed), 0);
    assert_int_equal(undo_set(bed.undo, UNDO_NUMA_BALANCING, 1, 0, &bed.reason), 0);
    undo_forget(bed.undo, UNDO_NUMA_BALANCING);
    undo_forget(bed.undo, UNDO_NUMA_BALANCING); /* once more does nothing */
    assert_int_equal(undo_restore(bed.undo, bed_say, &bed), 0);
    assert_int_equal(bed_value(&bed), 0);
    bed_deinit(&bed);
}

static const char *const bad_journals[] = {
    "",
    "\n",
    "numabd-undo 1",
    "numabd-undo 2\n",
    "numabd-undo 1 \n",
    "numabd-undo 1\n\n",
    "numabd-undo 1\nsysctl kernel.numa_balancing 1\n",
    "numabd-undo 1\nsysctl kernel.numa_balancing 1 0",
    "numabd-undo 1\nsysctl kernel.numa_balancing 1 0 0\n",
    "numabd-undo 1\nsysctl kernel.numa_balancing -1 0\n",
    "numabd-undo 1\nsysctl kernel.numa_balancing 1 18446744073709551616\n",
    "numabd-undo 1\nsysctl kernel.core_pattern 1 0\n",
    "numabd-undo 1\nsysctl ../../etc/passwd 1 0\n",
    "numabd-undo 1\nsysctl kernel.numa_balancing 1 0\nsysctl kernel.numa_balancing 1 0\n",
    "numabd-undo 1\naffinity 1 2 3\n",
};

static void assert_refused(struct bed *bed, const char *why)
{
    assert_int_equal(bed_open(bed), UNDO_REFUSED);
    if (!strstr(bed->reason.text, why))
        fail_msg("\"%s\" has no \"%s\"", bed->reason.text, why);
    assert_true(bed_has_journal(bed));
}

static void what_is_no_journal_is_neither_used_nor_lost(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "1\n");
    for (size_t i = 0; i < ARRAY_LENGTH(bad_journals); i++) {
        print_message("  \"%s\"\n", bad_journals[i]);
        bed_write_journal(&bed, bad_journals[i]);
        assert_refused(&bed, "it is no undo journal of this version");
    }
    bed_write_journal(&bed, "numabd-undo 1\nsysctl kernel.numa_balancing 1 0\n");
    assert_int_equal(bed_open(&bed), 0);
    bed_deinit(&bed);
}

static void a_journal_that_others_can_write_to_is_not_trusted(void **state)
{
    struct bed bed;

    (void)state;
    bed_init(&bed, "0\n");
    bed_write_journal(&bed, "numabd-undo 1\nsysctl kernel.numa_balancing 1 0\n");
    assert_int_equal(chmod(bed.path, 0622), 0);
    assert_refused(&bed, "others can write to it");
    assert_int_equal(unlink(bed.path), 0);
    assert_int_equal(symlink("/dev/zero", bed.path), 0);
    assert_int_equal(bed_open(&bed), UNDO_REFUSED);
    assert_int_equal(unlink(bed.path), 0);
    assert_int_equal(mkfifo(bed.path, 0600), 0); /* it would wait for a writer */
    assert_refused(&bed, "it is no regular file");
    bed_deinit(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_in_the_journal_before_it_is_done),
        cmocka_unit_test(what_a_killed_numabd_left_is_put_back_by_the_next),
        cmocka_unit_test(killed_between_journal_and_change),
        cmocka_unit_test(what_others_set_since_stays),
        cmocka_unit_test(the_oldest_value_is_the_one_to_put_back),
        cmocka_unit_test(without_a_journal_nothing_is_changed),
        cmocka_unit_test(a_refused_change_leaves_no_entry),
        cmocka_unit_test(what_cannot_be_put_back_stays_in_the_journal),
        cmocka_unit_test(what_became_somebody_elses_is_forgotten),
        cmocka_unit_test(what_is_no_journal_is_neither_used_nor_lost),
        cmocka_unit_test(a_journal_that_others_can_write_to_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
