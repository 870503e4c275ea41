#pragma once
/*
 * The kvm source on a tree of /proc files, with an inline pool, and what the sink got.
 */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "numabd/sample.h"
#include "util/nsec.h"

#define KVM_PID 4711
#define KVM_START 5000 /* ticks, of all processes and threads here */
#define KVM_BASE UINT64_C(0x7f0000000000)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

struct kvm_world {
    struct tree tree;
    struct host host;
    struct worker_pool *pool;
    struct source source;
    struct sample_target targets[64];
    size_t n_targets;
    uint64_t now;
    pid_t unwanted;
    bool held; /* requests wait */
    struct access accesses[16384];
    size_t n_accesses;
};

/* With KVM_PID as the only target, and no files of it yet. */
void kvm_world_open(struct kvm_world *world);
void kvm_world_close(struct kvm_world *world);
/* A new source, on the host as it is now. */
void kvm_world_restart(struct kvm_world *world);

/* /proc/PID/stat and n descriptors of vCPUs, after those of /dev/kvm and the machine. */
void kvm_world_process(struct kvm_world *world, pid_t pid, unsigned n_vcpu_fds);
/* A thread's stat; times in ticks of 10 ms, as sysconf says here. */
void kvm_world_thread(struct kvm_world *world, pid_t pid, pid_t tid, const char *name,
                      unsigned cpu_ticks, unsigned guest_ticks, int cpu);
/* Blanks become NULs. */
void kvm_world_cmdline(struct kvm_world *world, pid_t pid, const char *words);
void kvm_world_maps(struct kvm_world *world, pid_t pid, const char *text);
void kvm_world_remove(struct kvm_world *world, pid_t pid, const char *path);

/* A round `sec` after the last one, its requests, and only its accesses. */
void kvm_world_round(struct kvm_world *world, unsigned sec);
void kvm_world_dispatch(struct kvm_world *world);

/* Is what describe() says. */
bool kvm_world_is(const struct kvm_world *world, const char *text);

/* Of the accesses in [start, end): how many, and their weight, of a thread (0: any). */
size_t kvm_world_count(const struct kvm_world *world, pid_t tid, uint64_t start, uint64_t end);
double kvm_world_sec(const struct kvm_world *world, pid_t tid, uint64_t start, uint64_t end);
