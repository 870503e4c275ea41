#include "sim/scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SEED 1

void sim_note(struct sim_play *play, const char *format, ...)
{
    size_t used = strlen(play->note);
    va_list args;

    used += (size_t)snprintf(play->note + used, sizeof play->note - used, used ? ", " : ": ");
    if (used >= sizeof play->note)
        return;
    va_start(args, format);
    vsnprintf(play->note + used, sizeof play->note - used, format, args);
    va_end(args);
}

void sim_fail(struct sim_play *play, const char *file, int line, const char *format, ...)
{
    va_list args;

    play->failed = true;
    printf("# %s:%d: not so: ", file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

struct choice {
    uint64_t seed;
    bool is_long;
    bool lists; /* names, and plays nothing */
    char **names;
    int n_names;
};

static bool is_chosen(const struct choice *choice, const struct sim_scenario *scenario)
{
    if (!choice->n_names)
        return scenario->is_long == choice->is_long;
    for (int i = 0; i < choice->n_names; i++)
        if (!strcmp(choice->names[i], scenario->name))
            return true;
    return false;
}

/* Return: did it pass? */
static bool scenario_play(const struct sim_scenario *scenario, uint64_t seed)
{
    struct sim_play play = {.seed = seed};

    scenario->play(&play);
    printf("%s - sim %s%s (seed %llu)\n", play.failed ? "not ok" : "ok", scenario->name, play.note,
           (unsigned long long)seed);
    fflush(stdout);
    return !play.failed;
}

static bool is_known(const char *name, const struct sim_scenario *scenarios, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, scenarios[i].name))
            return true;
    fprintf(stderr, "there is no scenario %s; there are:", name);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %s", scenarios[i].name);
    fprintf(stderr, "\n");
    return false;
}

/* Return: false for wrong usage, which is then said. */
static bool choice_parse(struct choice *choice, int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "lns:")) != -1) {
        if (option == 'l')
            choice->is_long = true;
        else if (option == 'n')
            choice->lists = true;
        else if (option == 's')
            choice->seed = strtoull(optarg, NULL, 10);
        else
            return false;
    }
    choice->names = argv + optind;
    choice->n_names = argc - optind;
    return true;
}

int sim_main(int argc, char **argv, const struct sim_scenario *scenarios, size_t n)
{
    struct choice choice = {.seed = DEFAULT_SEED};
    int status = 0;

    if (!choice_parse(&choice, argc, argv))
        return 2;
    for (int i = 0; i < choice.n_names; i++)
        if (!is_known(choice.names[i], scenarios, n))
            return 2;
    for (size_t i = 0; i < n; i++) {
        if (!is_chosen(&choice, &scenarios[i]))
            continue;
        if (choice.lists)
            printf("%s\n", scenarios[i].name);
        else if (!scenario_play(&scenarios[i], choice.seed))
            status = 1;
    }
    return status;
}
