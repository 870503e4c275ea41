#include "discover/proc_text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/scan.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */
#define DELETED " (deleted)"

/* Fields of stat by their number in proc_pid_stat(5). */
enum {
    STAT_STATE = 3,
    STAT_FLAGS = 9,
    STAT_THREADS = 20,
    STAT_START = 22,
    STAT_RSS = 24,
};

/* 123 (any ( bytes\n) here) S 1 ...: the command name ends at the last parenthesis of the file. */
static const char *stat_comm(const char *text, struct process *process)
{
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    size_t size;

    if (!begin || !end || end < begin)
        return NULL;
    size = (size_t)(end - begin - 1);
    if (size >= sizeof(process->comm))
        size = sizeof(process->comm) - 1;
    memcpy(process->comm, begin + 1, size);
    process->comm[size] = '\0';
    return end + 1;
}

/* A whole field of digits, with a minus only where the kernel prints one. */
static bool is_number(const char *text, bool is_signed)
{
    size_t size;

    if (is_signed && *text == '-')
        text++;
    size = strspn(text, "0123456789");
    return size > 0 && strchr(" \n", text[size]);
}

/* Bytes of that many pages; 0 for a number that no memory has, as for a negative one. */
static uint64_t bytes_of_pages(long long pages)
{
    long long page_bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && pages <= INT64_MAX / page_bytes ? (uint64_t)(pages * page_bytes) : 0;
}

/* Return: whether the field is what it should be. */
static bool stat_take(struct process *process, int field, const char *text)
{
    long long number = strtoll(text, NULL, 10);

    switch (field) {
    case STAT_FLAGS:
        process->kernel_thread = strtoull(text, NULL, 10) & PF_KTHREAD;
        return is_number(text, false);
    case STAT_THREADS:
        process->n_threads = number > 0 && number <= UINT_MAX ? (unsigned)number : 0;
        return is_number(text, true);
    case STAT_START:
        process->start_ticks = strtoull(text, NULL, 10);
        return is_number(text, false);
    case STAT_RSS:
        process->rss_bytes = bytes_of_pages(number);
        return is_number(text, true);
    default:
        return true;
    }
}

int proc_text_stat(const char *text, struct process *process)
{
    text = stat_comm(text, process);
    if (!text)
        return PROC_TEXT_MALFORMED;
    for (int field = STAT_STATE; field <= STAT_RSS; field++) {
        text += strspn(text, " ");
        if (!*text || *text == '\n')
            return PROC_TEXT_MALFORMED;
        if (!stat_take(process, field, text))
            return PROC_TEXT_MALFORMED;
        text += strcspn(text, " \n");
    }
    return 0;
}

/* The text behind "\nKEY", without leading blanks. A newline in Name is escaped, so none is faked.
 */
static const char *status_field(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " \t");
}

int proc_text_euid(const char *text, uid_t *uidp)
{
    const char *at = status_field(text, "\nUid:");
    struct scan line;
    uint64_t real, effective;

    if (!at)
        return PROC_TEXT_MALFORMED;
    line = (struct scan){.at = at, .end = at + strcspn(at, "\n")};
    if (!scan_decimal(&line, UINT_MAX, &real) || !scan_char(&line, '\t') ||
        !scan_decimal(&line, UINT_MAX, &effective))
        return PROC_TEXT_MALFORMED;
    *uidp = (uid_t)effective;
    return 0;
}

static int copy_line(const char *at, char **linep)
{
    char *line = strndup(at, strcspn(at, "\n"));

    if (!line)
        return -ENOMEM;
    *linep = line;
    return 0;
}

int proc_text_mems_allowed(const char *text, char **listp)
{
    const char *at = status_field(text, "\nMems_allowed_list:");

    return at ? copy_line(at, listp) : PROC_TEXT_MALFORMED;
}

/* "4:cpuset:/path": is the middle part the one meant? Return: the path, or NULL. */
static const char *cgroup_path(const char *line, const char *controllers)
{
    size_t size = strlen(controllers);

    line += strspn(line, "0123456789");
    if (*line != ':' || strncmp(line + 1, controllers, size) || line[1 + size] != ':')
        return NULL;
    line += 1 + size + 1;
    return *line == '/' ? line : NULL;
}

int proc_text_cgroup(const char *text, char **pathp)
{
    const char *found = NULL;
    int r;

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *v1 = cgroup_path(line, "name=systemd"), *v2 = cgroup_path(line, "");

        if (v1 || (v2 && !found))
            found = v1 ? v1 : v2;
        if (v1)
            break;
    }
    if (!found)
        return PROC_TEXT_MALFORMED;
    if ((r = copy_line(found, pathp)) < 0)
        return r;
    proc_text_cut_deleted(*pathp);
    return 0;
}

void proc_text_cut_deleted(char *path)
{
    size_t size = strlen(path), cut = strlen(DELETED);

    if (size > cut && !strcmp(path + size - cut, DELETED))
        path[size - cut] = '\0';
}
