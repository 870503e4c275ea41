/*
 * numabd: options, start, run.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "numabd/config.h"

enum {
    EXIT_USAGE = 2,
};

static const char help[] =
    "usage: numabd [--observe] [--config FILE] [--root DIR]\n"
    "Balances the memory of processes over the nodes of a NUMA machine.\n"
    "\n"
    "  --observe      decide and report, move nothing\n"
    "  --config FILE  read FILE instead of " CONFIG_PATH "\n"
    "  --root DIR     read DIR/proc and DIR/sys; nothing is sampled or moved\n"
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
    fprintf(stderr, "numabd: %s%s (try --help)\n", what, argument);
    return OPTIONS_BAD;
}

static enum verdict print(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) ? OPTIONS_BAD : OPTIONS_DONE;
}

static enum verdict parse_options(struct daemon_options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"observe", no_argument, NULL, 'o'},    {"config", required_argument, NULL, 'c'},
        {"root", required_argument, NULL, 'r'}, {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},       {0},
    };
    int option;

    while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
        switch (option) {
        case 'o':
            options->observe = true;
            break;
        case 'c':
            options->config_path = optarg;
            options->config_is_given = true;
            break;
        case 'r':
            options->root = optarg;
            break;
        case 'v':
            return print("numabd " NUMABD_VERSION "\n");
        case 'h':
            return print(help);
        case ':':
            return usage_error("argument missing after ", argv[optind - 1]);
        default:
            return usage_error("unknown option ", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return usage_error("unknown argument ", argv[optind]);
    return OPTIONS_RUN;
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
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct daemon_options options = {.config_path = CONFIG_PATH, .root = "/"};

    switch (parse_options(&options, argc, argv)) {
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_BAD:
        return EXIT_USAGE;
    default:
        return run(&options);
    }
}
