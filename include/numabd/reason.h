#pragma once
/*
 * Reason codes: why a process, a VMA or a range of memory was not touched. They are counted, shown
 * by `numabctl status` under these names, and never renumbered by meaning: a new reason is a new
 * row.
 */
#include <stddef.h>
#include <stdint.h>

/* X(constant, name shown to users, what it means) */
#define REASONS(X)                                                                                 \
    X(NONE, "none", "nothing stands against it")                                                   \
    /* processes */                                                                                \
    X(EXCLUDED, "excluded", "an [exclude] rule matches or what it asks for is unknown")            \
    X(NOT_INCLUDED, "not_included", "there is an [include] list and no rule of it matches")        \
    X(TOO_SMALL, "too_small", "resident memory is below min_rss")                                  \
    X(KERNEL_THREAD, "kernel_thread", "has no memory of its own")                                  \
    X(INIT, "init", "pid 1 is never managed")                                                      \
    X(SELF, "self", "numabd never manages itself")                                                 \
    X(SINGLE_NODE, "single_node", "its cpuset allows one memory node")                             \
    X(STUCK, "stuck", "a request to it did not return in time")                                    \
    X(NO_PERMISSION, "no_permission", "the kernel refused access to it")                           \
    X(OBSERVED, "observed", "decided and reported, not moved")                                     \
    X(GONE, "gone", "it ended or executed another program")                                        \
    /* VMAs */                                                                                     \
    X(SPECIAL, "special", "kernel or device mapping that cannot migrate")                          \
    X(SHARED_RO, "shared_ro", "read-only file mapping")                                            \
    X(SHARED_MAPPING, "shared_mapping", "MAP_SHARED memory")                                       \
    X(INACCESSIBLE, "inaccessible", "PROT_NONE")                                                   \
    X(HUGETLB, "hugetlb", "hugetlb pages come from a fixed pool")                                  \
    X(BIND, "bind", "its owner bound it to nodes")                                                 \
    X(PREFER, "prefer", "its owner prefers a node")                                                \
    X(INTERLEAVE, "interleave", "its owner interleaves it")                                        \
    X(OTHER_POLICY, "other_policy", "its owner set a policy unknown to numabd")                    \
    X(POLICY_UNKNOWN, "policy_unknown", "its memory policy was not read yet")                      \
    /* ranges */                                                                                   \
    X(FEW_SAMPLES, "few_samples", "too little evidence yet")                                       \
    X(UNCONFIRMED, "unconfirmed", "waits for fresh samples to agree")                              \
    X(SHARED, "shared", "used from several nodes alike")                                           \
    X(LOCAL, "local", "already where its threads run")                                             \
    X(RESIDENCY_UNKNOWN, "residency_unknown", "where its pages lie was not read yet")              \
    X(NO_GAIN, "no_gain", "moving costs more than it gains")                                       \
    X(NO_BENEFIT, "no_benefit", "moving its memory did the process no good")                       \
    X(NO_ROOM, "no_room", "the target node has no room above its headroom")                        \
    X(COOL_DOWN, "cool_down", "moved a few rounds ago")                                            \
    X(RATE_LIMIT, "rate_limit", "the migration rate of the target node is spent")                  \
    X(THREAD_POLICY, "thread_policy", "used by a thread with a memory policy of its own")          \
    X(NOT_ALLOWED, "not_allowed", "the target node is outside its cpuset")                         \
    X(REFUSED, "refused", "the kernel refused its pages lately")                                   \
    X(SHARED_OUT_OF_SCOPE, "shared_out_of_scope", "a process that must be left alone maps it too") \
    X(MAPPERS_UNKNOWN, "mappers_unknown", "which other processes map it was not read yet")

enum reason {
#define X(constant, name, text) REASON_##constant,
    REASONS(X)
#undef X
    REASON_COUNT
};

/* Counters by reason. */
struct reason_counts {
    uint64_t n[REASON_COUNT];
};

/* The name and the meaning; static strings, "unknown" outside the range. */
const char *reason_name(enum reason reason);
const char *reason_text(enum reason reason);
