#pragma once
/*
 * Limits of the daemon's own process.
 */

/*
 * Raises the soft limit of open files to the hard one: perf needs a file for each CPU, and each
 * process that is balanced a pidfd. Where the kernel refuses, the first file too many says so.
 */
void limits_raise(void);
