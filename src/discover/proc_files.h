#pragma once
/*
 * Files of ROOT/proc/PID that both ways of reading processes share.
 */
#include "numabd/discover.h"

/* The cheap facts of one process. Return: 0, DISCOVER_GONE, or a negative errno. */
int proc_files_stat(const char *root, pid_t pid, struct process *process);

/* The command name, byte for byte. Return: 0, DISCOVER_GONE, DISCOVER_DENIED, or a negative errno.
 */
int proc_files_comm(const char *root, pid_t pid, struct process *process);

/* Return: the same. */
int proc_files_mems_allowed(const char *root, pid_t pid, char **textp);
int proc_files_uid(const char *root, pid_t pid, struct process *process);
int proc_files_cgroup(const char *root, pid_t pid, char **pathp);

/* The target of the link exe. Return: the same. */
int proc_files_exe(const char *root, pid_t pid, char **pathp);
