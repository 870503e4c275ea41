/*
 * refuse_moves ERRNO PROGRAM ARGS...: runs a program for which each move_pages that would move
 * something fails; queries (nodes == NULL) go through.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_ARGUMENT offsetof(struct seccomp_data, args[3])

int main(int argc, char **argv)
{
    unsigned error = argc > 1 ? (unsigned)atoi(argv[1]) & SECCOMP_RET_DATA : 0;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NODES_ARGUMENT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NODES_ARGUMENT + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};

    if (argc < 3 || !error)
        return 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("seccomp");
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
