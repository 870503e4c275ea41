/*
 * fed_watchdog MILLISECONDS PROGRAM ARGS...: runs a program as systemd does with WatchdogSec=. On
 * SIGTERM it passes the signal on; when the program has ended it prints "fed N times, longest gap M
 * ms". Exit status: the program's, or 1 when a gap was longer than that.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ending;

static void on_term(int signal)
{
    (void)signal;
    ending = 1;
}

static long now_msec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int listen_at(struct sockaddr_un *address)
{
    struct timeval patience = {.tv_usec = 100000};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof address->sun_path, "/tmp/watchdog.%d", getpid());
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return -1;
    return fd;
}

static pid_t start(char **argv, const char *address, long limit_msec)
{
    pid_t pid = fork();
    char usec[32];

    if (pid)
        return pid;
    snprintf(usec, sizeof usec, "%ld000", limit_msec);
    setenv("NOTIFY_SOCKET", address, 1);
    setenv("WATCHDOG_USEC", usec, 1);
    execvp(argv[0], argv);
    _exit(127);
}

/* Return: was it a feeding? */
static int receive(int fd)
{
    char message[4096];
    ssize_t n = recv(fd, message, sizeof message - 1, 0);

    if (n <= 0)
        return 0;
    message[n] = '\0';
    return strstr(message, "WATCHDOG=1") != NULL;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {0};
    struct sigaction action = {.sa_handler = on_term};
    long limit = argc > 2 ? atol(argv[1]) : 0, last, longest = 0;
    unsigned long n_fed = 0;
    int fd = listen_at(&address), status = 0;
    pid_t pid;

    if (limit <= 0 || fd < 0)
        return 2;
    sigaction(SIGTERM, &action, NULL);
    pid = start(&argv[2], address.sun_path, limit);
    last = now_msec();
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int fed = receive(fd);
        long gap = now_msec() - last;

        longest = gap > longest && !ending ? gap : longest;
        last = fed ? now_msec() : last;
        n_fed += (unsigned long)fed;
        if (ending == 1) {
            kill(pid, SIGTERM);
            ending = 2;
        }
    }
    unlink(address.sun_path);
    printf("fed %lu times, longest gap %ld ms\n", n_fed, longest);
    return longest > limit ? 1 : WEXITSTATUS(status);
}
