#pragma once
/*
 * Sample cost: what a timer sample takes of the thread that it interrupts.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Measured in this thread: it reads the clock without pause for 30 ms while a cpu-clock event
 * samples it, and takes the gaps. Return: nanoseconds, or 0 where nothing could be measured.
 */
uint64_t sample_cost_measure(void);

/*
 * The cost in n times of a clock that was read without pause (scratch is overwritten): the median
 * of those n_samples steps that are largest, less the median of all. Pure; 0 when there are too
 * few.
 */
uint64_t sample_cost_of(const uint64_t *times, size_t n, size_t n_samples, uint64_t *scratch);
