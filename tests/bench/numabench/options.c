#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct workload workloads[] = {
    {.name = "numa01", .n_processes = 2, .shared = true},
    {.name = "numa01_threadlocal", .n_processes = 2},
    {.name = "numa02", .n_processes = 1},
    {.name = "numa02_smt", .n_processes = 1, .every_second = true},
};

enum {
    OPT_HELP = 256,
    OPT_SIZE,
    OPT_SECONDS,
    OPT_PASSES,
    OPT_ACCESS,
    OPT_PAGES,
    OPT_PIN,
    OPT_FREE,
    OPT_PLACEMENT,
    OPT_THREADS,
    OPT_LABEL,
    OPT_QUIET,
    OPT_VERIFY,
    OPT_HOLD_PAGE,
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"size", required_argument, NULL, OPT_SIZE},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"passes", required_argument, NULL, OPT_PASSES},
    {"access", required_argument, NULL, OPT_ACCESS},
    {"pages", required_argument, NULL, OPT_PAGES},
    {"pin", no_argument, NULL, OPT_PIN},
    {"free", no_argument, NULL, OPT_FREE},
    {"placement", required_argument, NULL, OPT_PLACEMENT},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"label", required_argument, NULL, OPT_LABEL},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"hold-page", no_argument, NULL, OPT_HOLD_PAGE},
    {0},
};

static void help(void)
{
    puts("usage: numabench WORKLOAD [OPTION]...\n"
         "\n"
         "numa01              2 processes, half the CPUs' threads each, all memory shared by them\n"
         "numa01_threadlocal  the same, each thread in its own slice\n"
         "numa02              1 process, a thread for each CPU, own slices\n"
         "numa02_smt          1 process, a thread for every second CPU of a node, own slices\n"
         "\n"
         "--size MiB          memory of all processes together (256)\n"
         "--seconds N         end after N seconds (default: run until SIGTERM or SIGINT)\n"
         "--passes N          end when each thread has swept its memory N times\n"
         "--access KIND       read, write or mixed (mixed)\n"
         "--pages SIZE        4k or huge (4k)\n"
         "--pin, --free       each thread on a CPU of its own, or left to the scheduler (free)\n"
         "--placement WHERE   first-touch (default), node:N, hard-bind or inverse-bind;\n"
         "                    the last two pin\n"
         "--threads N         threads of each process\n"
         "--label NAME        repeated in the RESULT line\n"
         "--verify            check the value of every word\n"
         "--hold-page         keep the middle page of the first slice from being moved\n"
         "--quiet             only the RESULT line\n"
         "\n"
         "SIGUSR1 prints a line at once. Exit status: 0 ok, 1 failure or wrong data, 2 usage.");
    exit(0);
}

__attribute__((noreturn, format(printf, 1, 2))) static void usage(const char *format, ...)
{
    va_list arguments;

    fputs("numabench: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs(" (--help lists the options)\n", stderr);
    exit(2);
}

static unsigned long parse_number(const char *option, const char *text, unsigned long max)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0 || value > max)
        usage("%s wants a whole number from 1 to %lu, not '%s'", option, max, text);
    return value;
}

static double parse_seconds(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value <= 0)
        usage("--seconds wants a number above 0, not '%s'", text);
    return value;
}

static enum access_kind parse_access(const char *text)
{
    static const char *const names[] = {
        [ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_MIXED] = "mixed"};

    for (enum access_kind kind = ACCESS_READ; kind <= ACCESS_MIXED; kind++)
        if (strcmp(text, names[kind]) == 0)
            return kind;
    usage("--access wants read, write or mixed, not '%s'", text);
}

static bool parse_pages(const char *text)
{
    if (strcmp(text, "4k") != 0 && strcmp(text, "huge") != 0)
        usage("--pages wants 4k or huge, not '%s'", text);
    return strcmp(text, "huge") == 0;
}

static int parse_node(const char *text)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || value > INT_MAX)
        usage("--placement node:N wants the number of a node, not '%s'", text);
    return (int)value;
}

static void parse_placement(struct options *options, const char *text)
{
    if (strcmp(text, "first-touch") == 0) {
        options->placement = PLACEMENT_FIRST_TOUCH;
    } else if (strncmp(text, "node:", 5) == 0) {
        options->placement = PLACEMENT_NODE;
        options->node = parse_node(text + 5);
    } else if (strcmp(text, "hard-bind") == 0) {
        options->placement = PLACEMENT_HARD_BIND;
    } else if (strcmp(text, "inverse-bind") == 0) {
        options->placement = PLACEMENT_INVERSE_BIND;
    } else {
        usage("--placement wants first-touch, node:N, hard-bind or inverse-bind, not '%s'", text);
    }
}

static const char *parse_label(const char *text)
{
    if (text[0] == '\0' || strpbrk(text, " \t\n=") != NULL)
        usage("--label wants a name without spaces and '=', not '%s'", text);
    return text;
}

static const struct workload *parse_workload(const char *text)
{
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
        if (strcmp(text, workloads[i].name) == 0)
            return &workloads[i];
    usage("unknown workload '%s'", text);
}

static void parse_option(struct options *options, int option, bool *freep)
{
    switch (option) {
    case OPT_HELP:
        help();
        break;
    case OPT_SIZE:
        options->size_bytes = parse_number("--size", optarg, SIZE_MAX >> 21) << 20;
        break;
    case OPT_SECONDS:
        options->seconds = parse_seconds(optarg);
        break;
    case OPT_PASSES:
        options->passes = parse_number("--passes", optarg, ULONG_MAX / 2);
        break;
    case OPT_ACCESS:
        options->access = parse_access(optarg);
        break;
    case OPT_PAGES:
        options->huge = parse_pages(optarg);
        break;
    case OPT_PIN:
        options->pin = true;
        break;
    case OPT_FREE:
        *freep = true;
        break;
    case OPT_PLACEMENT:
        parse_placement(options, optarg);
        break;
    case OPT_THREADS:
        options->threads = (unsigned int)parse_number("--threads", optarg, 4096);
        break;
    case OPT_LABEL:
        options->label = parse_label(optarg);
        break;
    case OPT_QUIET:
        options->quiet = true;
        break;
    case OPT_VERIFY:
        options->verify = true;
        break;
    case OPT_HOLD_PAGE:
        options->hold_page = true;
        break;
    }
}

void options_parse(struct options *options, int argc, char **argv)
{
    bool free_threads = false;
    int option;

    *options =
        (struct options){.size_bytes = (size_t)256 << 20, .access = ACCESS_MIXED, .label = "-"};
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option == ':')
            usage("%s wants a value", argv[optind - 1]);
        if (option == '?')
            usage("unknown option '%s'", argv[optind - 1]);
        parse_option(options, option, &free_threads);
    }
    if (optind >= argc)
        usage("which workload?");
    if (optind + 1 < argc)
        usage("one workload, not '%s' as well", argv[optind + 1]);
    options->workload = parse_workload(argv[optind]);
    if (options->pin && free_threads)
        usage("--pin and --free exclude each other");
    if (options->placement == PLACEMENT_HARD_BIND || options->placement == PLACEMENT_INVERSE_BIND) {
        if (free_threads)
            usage("hard-bind and inverse-bind pin threads: not with --free");
        options->pin = true;
    }
}
