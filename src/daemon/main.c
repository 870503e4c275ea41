/*
 * numabd: options, start, run.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control_socket.h"
#include "daemon/daemon.h"
#include "daemon/replay.h"
#include "daemon/undo_command.h"
#include "numabd/config.h"
#include "report/text.h"

enum {
    EXIT_USAGE = 2,
};

/* Above all characters, so that optopt tells a short option that does not exist from a long one. */
enum {
    OPTION_OBSERVE = 256,
    OPTION_CONFIG,
    OPTION_ROOT,
    OPTION_RECORD,
    OPTION_REPLAY,
    OPTION_UNDO,
    OPTION_VERSION,
    OPTION_HELP,
};

static const char help[] =
    "usage: numabd [--observe] [--config FILE] [--root DIR] [--record FILE]\n"
    "       numabd [--observe] [--config FILE] --replay FILE\n"
    "       numabd --undo\n"
    "Balances the memory of processes over the nodes of a NUMA machine.\n"
    "\n"
    "  --observe      decide and report, move nothing\n"
    "  --config FILE  read FILE instead of " CONFIG_PATH "\n"
    "  --root DIR     read DIR/proc and DIR/sys; nothing is sampled or moved\n"
    "  --record FILE  also write what it sees and asks to FILE, which must not exist\n"
    "  --replay FILE  decide again what FILE recorded; nothing of this machine is touched\n"
    "  --undo         put back what a numabd that was killed had changed outside itself\n"
    "  --version      print the version\n"
    "  --help         print this\n"
    "\n"
    "See numabd(8), numabctl(1), numabd.conf(5).\n";

enum verdict {
    OPTIONS_RUN,
    OPTIONS_DONE,
    OPTIONS_BAD,
};

static enum verdict usage_error(const char *what, const char *argument)
{
    char text[256];

    text_escape(text, sizeof text, argument);
    fprintf(stderr, "numabd: %s%s (try --help)\n", what, text);
    return OPTIONS_BAD;
}

/* Inside "-xy" the word before optind is not yet the one that is wrong. */
static enum verdict unknown_option(const char *word)
{
    char name[] = {'-', (char)optopt, '\0'};

    return usage_error("unknown option ", optopt > 0 && optopt < OPTION_OBSERVE ? name : word);
}

static enum verdict print(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) ? OPTIONS_BAD : OPTIONS_DONE;
}

struct options {
    struct daemon_options daemon;
    const char *replay_path; /* NULL: run as a daemon */
    bool undo;
};

/* A replay has a world of its own. */
static enum verdict check_options(const struct options *options)
{
    if (options->undo && (options->replay_path || options->daemon.record_path))
        return usage_error("--undo does not go with ",
                           options->replay_path ? "--replay" : "--record");
    if (options->undo && strcmp(options->daemon.root, "/") != 0)
        return usage_error("--undo does not go with ", "--root");
    if (!options->replay_path)
        return OPTIONS_RUN;
    if (options->daemon.record_path)
        return usage_error("--replay does not go with ", "--record");
    if (strcmp(options->daemon.root, "/") != 0)
        return usage_error("--replay does not go with ", "--root");
    return OPTIONS_RUN;
}

static enum verdict parse_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"observe", no_argument, NULL, OPTION_OBSERVE},
        {"config", required_argument, NULL, OPTION_CONFIG},
        {"root", required_argument, NULL, OPTION_ROOT},
        {"record", required_argument, NULL, OPTION_RECORD},
        {"replay", required_argument, NULL, OPTION_REPLAY},
        {"undo", no_argument, NULL, OPTION_UNDO},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"help", no_argument, NULL, OPTION_HELP},
        {0},
    };
    int option;

    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        switch (option) {
        case OPTION_OBSERVE:
            options->daemon.observe = true;
            break;
        case OPTION_CONFIG:
            options->daemon.config_path = optarg;
            options->daemon.config_is_given = true;
            break;
        case OPTION_ROOT:
            options->daemon.root = optarg;
            break;
        case OPTION_RECORD:
            options->daemon.record_path = optarg;
            break;
        case OPTION_REPLAY:
            options->replay_path = optarg;
            break;
        case OPTION_UNDO:
            options->undo = true;
            break;
        case OPTION_VERSION:
            return print("numabd " NUMABD_VERSION "\n");
        case OPTION_HELP:
            return print(help);
        case ':':
            return usage_error("argument missing after ", argv[optind - 1]);
        default:
            return unknown_option(argv[optind - 1]);
        }
    }
    if (optind < argc)
        return usage_error("unknown argument ", argv[optind]);
    return check_options(options);
}

static int run(const struct daemon_options *options)
{
    CLEANUP(daemon_freep) struct daemon *daemon = NULL;
    int r;

    r = daemon_new(&daemon, options);
    if (r == DAEMON_BAD_CONFIG)
        return EXIT_USAGE;
    if (!r)
        r = daemon_run(daemon);
    return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_replay(const struct options *options)
{
    switch (replay_file(options->replay_path, &options->daemon)) {
    case 0:
        return EXIT_SUCCESS;
    case REPLAY_BAD_CONFIG:
        return EXIT_USAGE;
    default:
        return EXIT_FAILURE;
    }
}

/* Closed standard files would be given to sockets and logs by their numbers. */
static void open_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    fd_close(fd);
}

/* A reload at once after the start must not end it, nor a reader of stderr that has gone. */
static void hold_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    struct options options = {.daemon = {.config_path = CONFIG_PATH, .root = "/"}};

    open_standard_files();
    hold_signals();

    switch (parse_options(&options, argc, argv)) {
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    default:
        if (options.undo)
            return undo_command(control_directory());
        return options.replay_path ? run_replay(&options) : run(&options.daemon);
    }
}
