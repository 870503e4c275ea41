/*
 * sleeper MIB SECONDS: an idle service: touches its memory once and sleeps. Prints "ready".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t bytes;
    char *memory;

    if (argc != 3)
        return 2;
    bytes = strtoul(argv[1], NULL, 10) << 20;
    memory = malloc(bytes);
    if (!memory)
        return 1;
    memset(memory, 1, bytes);
    printf("ready\n");
    fflush(stdout);
    sleep((unsigned)strtoul(argv[2], NULL, 10));
    return memory[bytes / 2] != 1;
}
