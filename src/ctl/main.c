/*
 * numabctl: shows what numabd does and why.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/verbs.h"
#include "report/text.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/nsec.h"

/* Above all characters, so that optopt tells a short option that does not exist from a long one. */
enum {
    OPTION_BUS = 256,
    OPTION_ALL,
    OPTION_JSON,
    OPTION_LOCAL,
    OPTION_WATCH,
    OPTION_VERSION,
    OPTION_HELP,
};

static const char help[] =
    "Usage: numabctl [OPTION]... VERB\n"
    "Shows what numabd, the NUMA balancing daemon, does and why.\n"
    "\n"
    "Verbs:\n"
    "  status         state, effect, cost, and what is left alone for which reason\n"
    "  ps             processes: where their memory lies and what was moved\n"
    "  vmas PID       its mappings: where they lie, who uses them, and what becomes of them\n"
    "  doctor         what works here, what is missing, and what to change\n"
    "  reload         makes numabd read its configuration again (root only)\n"
    "  pause          nothing is moved until resume (root only)\n"
    "  resume         ends pause and undo (root only)\n"
    "  undo           pauses, and puts back what numabd changed outside itself (root only)\n"
    "  help           this text\n"
    "\n"
    "Options:\n"
    "  --json         prints JSON (status, ps, vmas and doctor)\n"
    "  --all          vmas: also mappings that were never sampled, one by one\n"
    "  --local        doctor: looks for itself, also when numabd is running\n"
    "  --watch S      ps: again every S seconds (0.1 to 3600), memory per node over time\n"
    "  --bus PATH     socket of the daemon (default " CLIENT_BUS_PATH ")\n"
    "  --version      prints the version\n"
    "  --help         this text\n"
    "\n"
    "Exit codes: 0 success, 1 failure (doctor: balancing is not possible), 2 usage,\n"
    "3 numabd is not running, 4 refused.\n";

static int verb_help(const struct ctl_options *options)
{
    (void)options;
    fputs(help, stdout);
    return EXIT_SUCCESS;
}

struct verb {
    const char *name;
    int (*run)(const struct ctl_options *options);
    bool takes_json, takes_watch, takes_local, takes_pid;
};

static const struct verb verbs[] = {
    {.name = "status", .run = verb_status, .takes_json = true},
    {.name = "ps", .run = verb_ps, .takes_json = true, .takes_watch = true},
    {.name = "vmas", .run = verb_vmas, .takes_json = true, .takes_pid = true},
    {.name = "doctor", .run = verb_doctor, .takes_json = true, .takes_local = true},
    {.name = "reload", .run = verb_reload},
    {.name = "pause", .run = verb_pause},
    {.name = "resume", .run = verb_resume},
    {.name = "undo", .run = verb_undo},
    {.name = "help", .run = verb_help},
};

__attribute__((format(printf, 1, 2))) static int fail_usage(const char *format, ...)
{
    char what[256], text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fprintf(stderr, "numabctl: %s (see numabctl --help)\n", text_escape(text, sizeof text, what));
    return EXIT_USAGE;
}

/* Inside "-xy" the word before optind is not yet the one that is wrong. */
static int fail_option(const char *word)
{
    if (optopt > 0 && optopt < OPTION_BUS)
        return fail_usage("unknown option -%c", optopt);
    return fail_usage("unknown option %s", word);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static int parse_watch(struct ctl_options *options, const char *text)
{
    char *end;
    double sec = strtod(text, &end);

    /* Written so that NaN fails too. */
    if (end == text || *end || !(sec >= 0.1 && sec <= 3600))
        return fail_usage("--watch takes 0.1 to 3600 seconds");
    options->watch_nsec = (uint64_t)(sec * (double)NSEC_PER_SEC);
    return 0;
}

static int parse_pid(struct ctl_options *options, const char *text)
{
    char *end;
    long pid;

    errno = 0;
    pid = strtol(text, &end, 10);
    if (end == text || *end || errno || pid < 1 || pid > INT_MAX)
        return fail_usage("%s is no process id", text);
    options->pid = (pid_t)pid;
    return 0;
}

/* What stands behind the verb. */
static int parse_operands(const struct verb *verb, int n, char **operands,
                          struct ctl_options *options)
{
    if (!verb->takes_pid)
        return n ? fail_usage("%s takes no arguments", verb->name) : 0;
    if (n != 1)
        return fail_usage("%s takes one process id", verb->name);
    return parse_pid(options, operands[0]);
}

static int print_version(void)
{
    puts("numabctl " NUMABD_VERSION);
    return EXIT_SUCCESS;
}

static int run_verb(int argc, char **argv, struct ctl_options *options)
{
    const struct verb *verb;

    if (optind == argc)
        return fail_usage("no verb given");
    verb = find_verb(argv[optind]);
    if (!verb)
        return fail_usage("unknown verb %s", argv[optind]);
    if (parse_operands(verb, argc - optind - 1, &argv[optind + 1], options) != 0)
        return EXIT_USAGE;
    if (options->all && !verb->takes_pid)
        return fail_usage("--all does not go with %s", verb->name);
    if (options->json && !verb->takes_json)
        return fail_usage("--json does not go with %s", verb->name);
    if (options->watch_nsec && !verb->takes_watch)
        return fail_usage("--watch does not go with %s", verb->name);
    if (options->local && !verb->takes_local)
        return fail_usage("--local does not go with %s", verb->name);
    return verb->run(options);
}

static int run(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"all", no_argument, NULL, OPTION_ALL},
        {"bus", required_argument, NULL, OPTION_BUS},
        {"json", no_argument, NULL, OPTION_JSON},
        {"local", no_argument, NULL, OPTION_LOCAL},
        {"watch", required_argument, NULL, OPTION_WATCH},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"help", no_argument, NULL, OPTION_HELP},
        {0},
    };
    struct ctl_options options = {.bus = CLIENT_BUS_PATH};
    int option;

    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option == OPTION_BUS)
            options.bus = optarg;
        else if (option == OPTION_ALL)
            options.all = true;
        else if (option == OPTION_JSON)
            options.json = true;
        else if (option == OPTION_LOCAL)
            options.local = true;
        else if (option == OPTION_WATCH && parse_watch(&options, optarg) != 0)
            return EXIT_USAGE;
        else if (option == OPTION_VERSION)
            return print_version();
        else if (option == OPTION_HELP)
            return verb_help(&options);
        else if (option == ':')
            return fail_usage("%s needs a value", argv[optind - 1]);
        else if (option == '?')
            return fail_option(argv[optind - 1]);
    }
    return run_verb(argc, argv, &options);
}

/*
 * The socket would take the number of a closed standard file, and what is printed go to numabd.
 * Writing to the stand-in fails, as to a closed file.
 */
static void hold_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    fd_close(fd);
}

static bool end_output(void)
{
    bool failed = ferror(stdout);

    return fflush(stdout) == 0 && !failed;
}

int main(int argc, char **argv)
{
    int r;

    hold_standard_files();
    signal(SIGPIPE, SIG_DFL); /* `numabctl ps --watch 1 | head` ends silently */
    r = run(argc, argv);
    if (!end_output()) {
        perror("numabctl: cannot write");
        r = r == EXIT_SUCCESS ? EXIT_FAILURE : r;
    }
    return r;
}
