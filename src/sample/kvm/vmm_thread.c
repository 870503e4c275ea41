/*
 * Names that monitors give to their vCPU threads (%d is the guest's CPU):
 *
 *     CPU %d/KVM      QEMU with debug-threads=on, as libvirt starts it; StratoVirt
 *     vcpu%d          Cloud Hypervisor
 *     fc_vcpu %d      Firecracker
 *     crosvm_vcpu%d   crosvm
 *     kvm-vcpu-%d     kvmtool
 *
 * Without debug-threads QEMU's threads all have the name of the program: then a vCPU is a thread
 * that has time in a guest, and which one it is stays unknown.
 */
#include "sample/kvm/vmm_thread.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "util/array.h"
#include "util/scan.h"

/* Fields of stat by their number in proc_pid_stat(5). */
enum {
    STAT_STATE = 3,
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_START = 22,
    STAT_CPU = 39,
    STAT_GUEST = 43,
};

static const struct {
    const char *before, *after;
} vcpu_names[] = {
    {"CPU ", "/KVM"}, {"vcpu", ""}, {"fc_vcpu ", ""}, {"crosvm_vcpu", ""}, {"kvm-vcpu-", ""},
};

static int name_index(struct scan name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(vcpu_names); i++) {
        struct scan at = name;
        uint64_t index;

        if (scan_literal(&at, vcpu_names[i].before) && scan_decimal(&at, INT_MAX, &index) &&
            scan_literal(&at, vcpu_names[i].after) && scan_at_end(&at))
            return (int)index;
    }
    return -1;
}

/* "123 (any ( bytes\n) here) S ...": the name ends at the last parenthesis of the file. */
static bool stat_name(struct scan *text, struct scan *name)
{
    const char *begin = strchr(text->at, '('), *end = strrchr(text->at, ')');

    if (!begin || !end || end < begin)
        return false;
    *name = (struct scan){.at = begin + 1, .end = end};
    text->at = end + 1;
    return true;
}

static void thread_take(struct vmm_thread *thread, int field, struct scan word)
{
    uint64_t number;

    if (!scan_decimal(&word, UINT64_MAX, &number))
        return;
    if (field == STAT_UTIME || field == STAT_STIME)
        thread->cpu_ticks += number;
    else if (field == STAT_START)
        thread->start_ticks = number;
    else if (field == STAT_CPU)
        thread->cpu = number <= INT_MAX ? (int)number : -1;
    else if (field == STAT_GUEST)
        thread->guest_ticks = number;
}

int vmm_thread_parse(const char *text, struct vmm_thread *thread)
{
    struct scan stat = {.at = text, .end = text + strlen(text)}, name, word;
    struct vmm_thread read = {.cpu = -1};
    uint64_t tid;

    if (!scan_decimal(&stat, INT_MAX, &tid) || !stat_name(&stat, &name))
        return VMM_THREAD_MALFORMED;
    read.tid = (pid_t)tid;
    read.index = name_index(name);
    for (int field = STAT_STATE; field <= STAT_GUEST; field++) {
        if (!scan_blanks(&stat) || !scan_word(&stat, &word))
            return VMM_THREAD_MALFORMED;
        thread_take(&read, field, word);
    }
    *thread = read;
    return 0;
}

bool vmm_thread_is_vcpu(const struct vmm_thread *thread)
{
    return thread->index >= 0 || thread->guest_ticks > 0;
}

static uint64_t grown(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

uint64_t vmm_thread_ran(const struct vmm_thread *before, const struct vmm_thread *after)
{
    if (before->tid != after->tid || before->start_ticks != after->start_ticks)
        return 0;
    return after->guest_ticks > 0 ? grown(before->guest_ticks, after->guest_ticks)
                                  : grown(before->cpu_ticks, after->cpu_ticks);
}
