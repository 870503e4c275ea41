#include "sample/fault/soft_dirty.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/nsec.h"

static int refuse_call(const char *call, int r, struct source_reason *reason)
{
    const char *fix = "see the kernel's log";

    if (r == -EROFS)
        fix = "/proc is read-only here: ProtectKernelTunables= must not be set";
    else if (r == -EACCES || r == -EPERM)
        fix = "a security module or sandbox forbids it";
    else if (r == -ENOENT)
        fix = "use a kernel with CONFIG_PROC_PAGE_MONITOR, and mount /proc";
    snprintf(reason->text, sizeof reason->text, "%s: %s: %s", call, strerrordesc_np(-r), fix);
    return SOURCE_UNAVAILABLE;
}

static int refuse_bit(bool is_dirty, unsigned round, struct source_reason *reason)
{
    /* Without the option clear_refs takes the 4 all the same, and the bit is never set. */
    if (!is_dirty && round == 0)
        snprintf(reason->text, sizeof reason->text,
                 "soft-dirty: a written page reads as unwritten: this kernel has no "
                 "CONFIG_MEM_SOFT_DIRTY");
    else
        snprintf(reason->text, sizeof reason->text,
                 "soft-dirty: %s in round %u of the self-test: the bits of this machine cannot be "
                 "trusted",
                 is_dirty ? "an unwritten page reads as written"
                          : "a written page reads as unwritten",
                 round);
    return SOURCE_UNAVAILABLE;
}

static int expect(const struct soft_dirty_pages *pages, size_t page, bool is_written,
                  unsigned round, struct source_reason *reason)
{
    bool is_dirty = false;
    int r = pages->ops->read(pages->self, page, &is_dirty);

    if (r)
        return refuse_call("/proc/self/pagemap", r, reason);
    return is_dirty == is_written ? 0 : refuse_bit(is_dirty, round, reason);
}

static void write_every(const struct soft_dirty_pages *pages, size_t first, size_t step)
{
    for (size_t page = first; page < pages->n_pages; page += step)
        pages->ops->write(pages->self, page);
}

/* Every page is written, then cleared, then every second one is written again. */
static int test_round(const struct soft_dirty_pages *pages, unsigned round, uint64_t *fault_nsecp,
                      struct source_reason *reason)
{
    size_t first = round % 2;
    uint64_t begin;
    int r;

    write_every(pages, 0, 1);
    for (size_t page = 0; page < pages->n_pages; page++)
        if ((r = expect(pages, page, true, round, reason)))
            return r;
    r = pages->ops->clear(pages->self);
    if (r)
        return refuse_call("write of 4 to /proc/self/clear_refs", r, reason);
    for (size_t page = 0; page < pages->n_pages; page++)
        if ((r = expect(pages, page, false, round, reason)))
            return r;
    begin = pages->ops->cpu_nsec(pages->self);
    write_every(pages, first, 2);
    *fault_nsecp += pages->ops->cpu_nsec(pages->self) - begin;
    for (size_t page = 0; page < pages->n_pages; page++)
        if ((r = expect(pages, page, page % 2 == first, round, reason)))
            return r;
    return 0;
}

int soft_dirty_test(const struct soft_dirty_pages *pages, double *fault_secp,
                    struct source_reason *reason)
{
    uint64_t fault_nsec = 0;
    double n_faults = (double)(SOFT_DIRTY_ROUNDS / 2 * pages->n_pages);

    for (unsigned round = 0; round < SOFT_DIRTY_ROUNDS; round++) {
        int r = test_round(pages, round, &fault_nsec, reason);

        if (r)
            return r;
    }
    *fault_secp = nsec_to_sec(fault_nsec) / n_faults;
    return 0;
}
