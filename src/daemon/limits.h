#pragma once
/*
 * Limits of the daemon's own process.
 */

/*
 * Raises the soft limit of open files to the hard one: perf needs a file for each CPU, and each
 * process that is balanced a pidfd. Where the kernel refuses, the first file too many says so.
 */
void limits_raise(void);

/*
 * Memory goes back to the kernel when it is freed. By default glibc keeps up to 64 MiB for the next
 * buffer of the size of the last one: with maps of 65,530 VMAs read now and then 52 MiB were seen
 * for good, and so 21 MiB at most and 12 MiB in between.
 */
void limits_return_memory(void);
