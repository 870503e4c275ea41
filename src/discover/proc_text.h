#pragma once
/*
 * The texts of /proc/PID: buffer in, facts out.
 */
#include <stddef.h>

#include "numabd/discover.h"

enum {
    PROC_TEXT_MALFORMED = 1,
};

/* Of stat, all cheap facts except the pid. Return: 0 or PROC_TEXT_MALFORMED. */
int proc_text_stat(const char *text, struct process *process);

/* Of status, the effective uid. Return: 0 or PROC_TEXT_MALFORMED. */
int proc_text_euid(const char *text, uid_t *uidp);

/* Of status, Mems_allowed_list as a new string. Return: 0, PROC_TEXT_MALFORMED or -ENOMEM. */
int proc_text_mems_allowed(const char *text, char **listp);

/*
 * Of cgroup, the path as a new string: where there is a v1 hierarchy of systemd, its path there,
 * else the one of v2. Return: 0, PROC_TEXT_MALFORMED or -ENOMEM.
 */
int proc_text_cgroup(const char *text, char **pathp);

/* Cuts the " (deleted)" that the kernel appends to the paths of exe and cgroup. */
void proc_text_cut_deleted(char *path);
