/*
 * hold_perf_keys: keeps events of its own open until it is killed. The kernel patches its scheduler
 * and its page fault handler when the first event of a kind opens and when the last one closes;
 * emulated CPUs that run there just then can crash the guest (Oops: int3). Prints "held".
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    static const unsigned kinds[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN};

    for (int i = 0; i < 2; i++) {
        struct perf_event_attr attr = {
            .type = PERF_TYPE_SOFTWARE,
            .size = sizeof attr,
            .config = kinds[i],
            .disabled = 1,
        };

        if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
            perror("perf_event_open");
            return 1;
        }
    }
    printf("held\n");
    fflush(stdout);
    pause();
    return 0;
}
