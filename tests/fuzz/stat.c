/*
 * stat and status of a process: what is accepted lies within limits, and stat reads the same when
 * it is printed again.
 */
#include <ctype.h>
#include <unistd.h>

#include "discover/proc_text.h"
#include "fuzz.h"
#include "util/cleanup.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

static char *print(const struct process *process)
{
    char *text = NULL;

    FUZZ_CHECK(asprintf(&text,
                        "1 (%s) S 1 1 1 0 -1 %u 0 0 0 0 0 0 -9223372036854775808 0 20 0 %u 0 %lu "
                        "0 %lu 18446744073709551615\n",
                        process->comm, process->kernel_thread ? PF_KTHREAD : 0, process->n_threads,
                        process->start_ticks,
                        process->rss_bytes / (uint64_t)sysconf(_SC_PAGESIZE)) > 0);
    return text;
}

static void check_stat(const char *text)
{
    struct process process = {0}, again = {0};
    CLEANUP(freep) char *printed = NULL;

    if (proc_text_stat(text, &process))
        return;
    FUZZ_CHECK(memchr(process.comm, '\0', sizeof process.comm));
    FUZZ_CHECK(!strncmp(process.comm, strchr(text, '(') + 1, strlen(process.comm)));
    FUZZ_CHECK(process.rss_bytes <= INT64_MAX); /* traces have no room for more */
    printed = print(&process);
    FUZZ_CHECK(proc_text_stat(printed, &again) == 0);
    FUZZ_CHECK(!strcmp(again.comm, process.comm));
    FUZZ_CHECK(again.start_ticks == process.start_ticks && again.rss_bytes == process.rss_bytes);
    FUZZ_CHECK(again.n_threads == process.n_threads);
    FUZZ_CHECK(again.kernel_thread == process.kernel_thread);
}

/* Both numbers stand on the line of that name. */
static void check_euid(const char *text)
{
    uid_t uid = 77;
    const char *line = strstr(text, "\nUid:");
    unsigned long long effective;
    int end = 0;

    if (proc_text_euid(text, &uid)) {
        FUZZ_CHECK(uid == 77);
        return;
    }
    FUZZ_CHECK(line);
    FUZZ_CHECK(sscanf(line + 5, "%*[0-9 \t]%n", &end) == 0 && end > 0);
    FUZZ_CHECK(sscanf(line + 5, "%*u%llu", &effective) == 1 && effective == uid);
}

static void check_mems(const char *text)
{
    CLEANUP(freep) char *list = NULL;

    if (proc_text_mems_allowed(text, &list))
        FUZZ_CHECK(!list);
    else
        FUZZ_CHECK(strstr(text, list) && !strchr(list, '\n'));
}

static void check_cut(char *text)
{
    size_t size = strlen(text);

    proc_text_cut_deleted(text);
    FUZZ_CHECK(strlen(text) == size || strlen(text) == size - strlen(" (deleted)"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(freep) char *text = fuzz_string(data, size);

    check_stat(text);
    check_euid(text);
    check_mems(text);
    check_cut(text);
    return 0;
}
