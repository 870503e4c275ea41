#include "config_names.h"

#include <stdio.h>
#include <string.h>

#define BLANKS " \t\n\v\f\r"

const char *const names_of_sources[] = {"mem_events", "timer", "write_fault",
                                        "idle_page",  "kvm",   NULL};
const char *const names_of_filters[] = {"numabd", "none", "rfc4", "kernel", NULL};
const char *const names_of_scopes[] = {"auto", "cgroup", "thread", "system", NULL};
const char *const names_of_wishes[] = {"pause", "leave", NULL};

static int find(const char *const *names, const char *text, size_t size, unsigned *indexp)
{
    for (unsigned i = 0; names[i]; i++)
        if (strlen(names[i]) == size && !memcmp(names[i], text, size)) {
            *indexp = i;
            return 0;
        }
    return NAMES_UNKNOWN;
}

int names_parse_one(const char *const *names, const char *text, uint64_t *valuep)
{
    unsigned index = 0;
    int r = find(names, text, strlen(text), &index);

    if (!r)
        *valuep = index;
    return r;
}

int names_parse_list(const char *const *names, const char *text, uint64_t *maskp)
{
    uint64_t mask = 0;

    for (const char *end;; text = end + 1) {
        unsigned index = 0;
        size_t size;

        text += strspn(text, BLANKS);
        end = text + strcspn(text, ",");
        for (size = (size_t)(end - text); size && strchr(BLANKS, text[size - 1]);)
            size--;
        if (find(names, text, size, &index) || mask & (UINT64_C(1) << index))
            return NAMES_UNKNOWN;
        mask |= UINT64_C(1) << index;
        if (!*end)
            break;
    }
    *maskp = mask;
    return 0;
}

void names_print(const char *const *names, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; names[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}
