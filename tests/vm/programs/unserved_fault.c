/*
 * unserved_fault SECONDS: works on 64 MiB with code that lies at the end of a page; the page behind
 * it belongs to a userfaultfd that nobody serves, and so do 64 MiB of data. Who reads on from the
 * sampled instruction, or reads that data, waits for ever.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BYTES ((size_t)64 << 20)

/* Reads each line of [rdi, rsi): mov (%rdi),%rax; add $64,%rdi; cmp %rsi,%rdi; jb; ret */
static const uint8_t code[] = {0x48, 0x8b, 0x07, 0x48, 0x83, 0xc7, 0x40,
                               0x48, 0x39, 0xf7, 0x72, 0xf4, 0xc3};

typedef void (*reader)(const char *start, const char *end);

static char *map(size_t bytes, int protection)
{
    char *memory = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static int leave_unserved(int fd, char *start, size_t bytes)
{
    struct uffdio_register range = {.range = {.start = (uintptr_t)start, .len = bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};

    return ioctl(fd, UFFDIO_REGISTER, &range);
}

int main(int argc, char **argv)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct uffdio_api api = {.api = UFFD_API};
    char *memory = map(BYTES, PROT_READ | PROT_WRITE), *hole = map(BYTES, PROT_READ | PROT_WRITE);
    char *text = map(2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    time_t end;
    reader read_all;

    if (argc != 2 || !memory || !hole || !text)
        return 2;
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || leave_unserved(fd, text + page, page) < 0 ||
        leave_unserved(fd, hole, BYTES) < 0) {
        perror("userfaultfd");
        return 1;
    }
    memcpy(text + page - sizeof code, code, sizeof code);
    read_all = (reader)(uintptr_t)(text + page - sizeof code);
    memset(memory, 1, BYTES);
    printf("ready\n");
    fflush(stdout);
    end = time(NULL) + atoi(argv[1]);
    while (time(NULL) < end)
        read_all(memory, memory + BYTES);
    return 0;
}
