/*
 * exec_in_the_middle ARGS...: works over 48 MiB for three seconds, then becomes numabench ARGS.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BYTES ((size_t)48 << 20)

int main(int argc, char **argv)
{
    volatile char *memory = malloc(BYTES);
    time_t end = time(NULL) + 3;

    (void)argc;
    while (memory && time(NULL) < end)
        for (size_t i = 0; i < BYTES; i += 64)
            memory[i]++;
    argv[0] = (char *)"numabench";
    execvp(argv[0], argv);
    return 1;
}
