#include "sample/trace/trace.h"

const char *const trace_kind_names[TRACE_KIND_COUNT] = {
    [TRACE_MACHINE] = "machine",   [TRACE_NODE] = "node",   [TRACE_CPUS] = "cpus",
    [TRACE_ISOLATED] = "isolated", [TRACE_ROOM] = "room",   [TRACE_PROCESS] = "process",
    [TRACE_DETAIL] = "detail",     [TRACE_MEMS] = "mems",   [TRACE_GONE] = "gone",
    [TRACE_FILE] = "file",         [TRACE_PAGES] = "pages", [TRACE_MOVE] = "move",
    [TRACE_ACCESS] = "a",          [TRACE_LATE] = "late",   [TRACE_RETURNED] = "returned",
    [TRACE_LOST] = "lost",         [TRACE_ROUND] = "round",
};

const char *const trace_access_kinds[ACCESS_TOUCH + 1] = {[ACCESS_READ] = "r",
                                                          [ACCESS_WRITE] = "w",
                                                          [ACCESS_READ_WRITE] = "rw",
                                                          [ACCESS_TOUCH] = "touch"};

const char *const trace_access_sources[ACCESS_SOURCE_COUNT] = {
    [ACCESS_SOURCE_MEM_EVENTS] = "mem_events",
    [ACCESS_SOURCE_TIMER] = "timer",
    [ACCESS_SOURCE_WRITE_FAULT] = "write_fault",
    [ACCESS_SOURCE_IDLE_PAGE] = "idle_page",
    [ACCESS_SOURCE_KVM] = "kvm",
    [ACCESS_SOURCE_REPLAY] = "replay",
};

const char *const trace_localities[ACCESS_LOCALITY_REMOTE + 1] = {
    [ACCESS_LOCALITY_UNKNOWN] = "unknown",
    [ACCESS_LOCALITY_CACHE] = "cache",
    [ACCESS_LOCALITY_LOCAL] = "local",
    [ACCESS_LOCALITY_REMOTE] = "remote",
};
