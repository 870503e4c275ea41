#include "sample/sources.h"

#include "util/array.h"

const struct source_kind *source_kinds(size_t *n)
{
    static const struct source_kind kinds[] = {
        {.name = "mem_events",
         .make = mem_events_new,
         .sees_who = true,
         .n_events = 7, /* hybrid Intel: loads, stores and leaders of both PMUs, two counters */
         .sees = "loads and stores, by which thread, and whether they were local",
         .blind = "work that stays in caches; tested against constructed data only, never on "
                  "hardware"},
        {.name = "timer",
         .make = timer_new,
         .sees_who = true,
         .is_spare = true,
         .n_events = 1,
         .sees = "reads and writes, by which thread",
         .blind =
             "vector gathers, and operands whose registers were overwritten; shares inside one "
             "range are rough; x86-64 only"},
        {.name = "write_fault",
         .make = write_fault_new,
         .sees_who = true,
         .by_rule = true,
         .n_events = 1,
         .sees = "the first write to each page, by which thread, of processes that [write_fault] "
                 "names",
         .blind = "reads; writes after the first to a page; writes by the kernel (O_DIRECT, RDMA); "
                  "one fault per 2 MiB with huge pages",
         .only = "processes that [write_fault] names"},
        {.name = "idle_page",
         .make = idle_page_new,
         .sees = "which memory is touched, reads and writes",
         .blind = "who touched it; tail pages; hot huge pages can look idle"},
        {.name = "kvm",
         .make = kvm_new,
         .sees_who = true,
         .sees = "the nodes that a guest's virtual CPUs run on",
         .blind = "which guest memory is used: CPU time stands for it; never tested on hardware",
         .only = "virtual machines"},
    };

    *n = ARRAY_LENGTH(kinds);
    return kinds;
}
