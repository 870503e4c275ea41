#pragma once
/*
 * Fault window: the faults of one process between a clear and the end of the second behind it, and
 * the accesses that they become.
 */
#include <stddef.h>
#include <stdint.h>

#include "numabd/sample.h"
#include "sample/fault/fault_record.h"

/* 512 KiB; a fault a page of 64 MiB. Beyond that every second one is kept, then every fourth... */
#define FAULT_WINDOW_FAULTS_MAX ((size_t)16384)

/*
 * A fault says that the thread wrote to the page, not how often: it counts for no more than a tenth
 * of a window. With huge pages a thread has few faults, and each stands for all its work on 2 MiB;
 * at 4 ms, one timer sample, such memory never seemed worth a move.
 */
#define FAULT_WEIGHT_MAX_SEC 0.1

/* All zero is an empty one. */
struct fault_window {
    struct fault *faults; /* owned */
    size_t n_faults, cap;
    uint64_t n_seen; /* those that were not kept included */
    uint64_t stride; /* one in so many is kept; 0: not yet used */
};

void fault_window_deinit(struct fault_window *window);

/* Empties it and keeps its memory. */
void fault_window_reset(struct fault_window *window);

/* Return: 0 or -ENOMEM. */
int fault_window_add(struct fault_window *window, const struct fault *fault);

/*
 * The faults within [begin, end) as accesses, by thread, then by time. Each fault of a thread
 * stands for its share of the window among the kept faults of that thread, at most
 * FAULT_WEIGHT_MAX_SEC for each fault that it represents; all together never for more than the
 * process's CPU time in the window.
 * Return: 0 or -ENOMEM; the caller frees *accessesp.
 */
int fault_window_accesses(struct fault_window *window, pid_t pid, uint64_t begin, uint64_t end,
                          double cpu_sec, struct access **accessesp, size_t *np);
