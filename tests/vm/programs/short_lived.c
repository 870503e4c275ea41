/*
 * short_lived RATE SECONDS: RATE processes a second, each touching 1 MiB for some milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 20)

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void live(void)
{
    volatile char *memory = malloc(BYTES);
    double end = now() + 0.01;

    while (memory && now() < end)
        for (size_t i = 0; i < BYTES; i += 64)
            memory[i]++;
    _exit(0);
}

int main(int argc, char **argv)
{
    double start = now(), seconds, rate;
    long n = 0;

    if (argc != 3)
        return 2;
    rate = atof(argv[1]);
    seconds = atof(argv[2]);
    while (now() < start + seconds) {
        pid_t pid = fork();

        if (pid == 0)
            live();
        n += pid > 0;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        while (now() < start + (double)n / rate)
            usleep(1000);
    }
    while (wait(NULL) > 0)
        ;
    printf("%ld processes in %.1f s\n", n, now() - start);
    return 0;
}
