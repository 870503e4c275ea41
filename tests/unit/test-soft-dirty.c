/*
 * The self-test of soft-dirty: kernels that have it, that have not, and that get it wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sample/fault/soft_dirty.h"
#include "util/array.h"

#define N_PAGES 8

struct kernel {
    bool bits[N_PAGES];
    unsigned n_clears, n_writes, n_faults;
    /* what is wrong with it */
    bool has_no_option;   /* the bit is never set */
    bool never_clears;    /* clear_refs is taken and does nothing */
    bool clears_late;     /* a page that was written before reads as written until the next clear */
    bool whole_mapping;   /* one write marks all pages */
    unsigned wrong_round; /* from here on a write is not seen (1: the first clear), 0: never */
    int clear_r, read_r;
};

static int kernel_clear(void *self)
{
    struct kernel *kernel = self;

    kernel->n_clears++;
    for (size_t i = 0; i < N_PAGES && !kernel->never_clears; i++)
        kernel->bits[i] = kernel->clears_late && i == 0;
    return kernel->clear_r;
}

static void kernel_write(void *self, size_t page)
{
    struct kernel *kernel = self;

    kernel->n_writes++;
    if (kernel->has_no_option || (kernel->wrong_round && kernel->n_clears >= kernel->wrong_round))
        return;
    kernel->n_faults += !kernel->bits[page];
    kernel->bits[page] = true;
    if (kernel->whole_mapping)
        memset(kernel->bits, 1, sizeof kernel->bits);
}

static int kernel_read(void *self, size_t page, bool *is_dirtyp)
{
    const struct kernel *kernel = self;

    *is_dirtyp = kernel->bits[page];
    return kernel->read_r;
}

/* A write that faults takes 1 us. */
static uint64_t kernel_cpu_nsec(void *self)
{
    return ((struct kernel *)self)->n_faults * UINT64_C(1000);
}

static int try_kernel(struct kernel *kernel, double *fault_secp, struct source_reason *reason)
{
    static const struct soft_dirty_ops ops = {
        .clear = kernel_clear,
        .write = kernel_write,
        .read = kernel_read,
        .cpu_nsec = kernel_cpu_nsec,
    };
    const struct soft_dirty_pages pages = {.ops = &ops, .self = kernel, .n_pages = N_PAGES};

    return soft_dirty_test(&pages, fault_secp, reason);
}

static void test_good_kernel(void **state)
{
    struct kernel kernel = {0};
    struct source_reason reason;
    double fault_sec = 0;

    (void)state;
    assert_int_equal(try_kernel(&kernel, &fault_sec, &reason), 0);
    assert_int_equal(kernel.n_clears, SOFT_DIRTY_ROUNDS);
    assert_true(fault_sec > 0.999e-6 && fault_sec < 1.001e-6);
}

static void test_bad_kernels(void **state)
{
    static const struct {
        struct kernel kernel;
        const char *word;
    } cases[] = {
        {{.has_no_option = true}, "CONFIG_MEM_SOFT_DIRTY"},
        {{.never_clears = true}, "an unwritten page reads as written in round 0"},
        {{.clears_late = true}, "an unwritten page reads as written in round 0"},
        {{.whole_mapping = true}, "an unwritten page reads as written in round 0"},
        {{.wrong_round = 9}, "a written page reads as unwritten in round 8"},
        {{.clear_r = -EROFS}, "clear_refs: Read-only file system: /proc is read-only"},
        {{.clear_r = -EPERM}, "clear_refs: Operation not permitted: a security module"},
        {{.read_r = -ENOENT},
         "pagemap: No such file or directory: use a kernel with "
         "CONFIG_PROC_PAGE_MONITOR"},
        {{.read_r = -EIO}, "pagemap: Input/output error"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct kernel kernel = cases[i].kernel;
        struct source_reason reason = {.text = ""};
        double fault_sec;

        assert_int_equal(try_kernel(&kernel, &fault_sec, &reason), SOURCE_UNAVAILABLE);
        if (!strstr(reason.text, cases[i].word))
            fail_msg("case %zu: %s", i, reason.text);
    }
}

/* Whatever this kernel is, it is told in words or by a cost that can be. */
static void test_this_kernel(void **state)
{
    struct source_reason reason = {.text = ""};
    double fault_sec = 0;
    int r = soft_dirty_test_live(&fault_sec, &reason);

    (void)state;
    if (r == SOURCE_UNAVAILABLE) {
        print_message("soft-dirty is not here: %s\n", reason.text);
        assert_true(strlen(reason.text) > 0);
        return;
    }
    assert_int_equal(r, 0);
    print_message("a fault takes %.2f us\n", fault_sec * 1e6);
    assert_true(fault_sec > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_kernel),
        cmocka_unit_test(test_bad_kernels),
        cmocka_unit_test(test_this_kernel),
    };

    return cmocka_run_group_tests_name("soft-dirty", tests, NULL, NULL);
}
