#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/procfs.h"

static void fixture_path(char *path, size_t size, const char *name)
{
    const char *folder = getenv("NUMABD_SHARED");

    snprintf(path, size, "%s/fixtures/%s", folder ? folder : "../shared", name);
}

bool fixture_available(void)
{
    char path[512];

    fixture_path(path, sizeof path, "");
    if (access(path, R_OK) == 0)
        return true;
    print_message("no fixtures in %s: skipped\n", path);
    return false;
}

char *fixture_read(const char *name, size_t *sizep)
{
    CLEANUP(freep) char *text = NULL;
    char path[512], *from;
    size_t size;

    fixture_path(path, sizeof path, name);
    if (procfs_read(path[0] == '/' ? "" : ".", path, &text, &size))
        return NULL;
    for (from = text; strncmp(from, "# ", 2) == 0 && strchr(from, '\n');)
        from = strchr(from, '\n') + 1;
    *sizep = size - (size_t)(from - text);
    memmove(text, from, *sizep + 1);
    return TAKE(text);
}

/* In place. Return: the new size. */
static size_t unescape_nul(char *text, size_t size)
{
    size_t to = 0;

    for (size_t from = 0; from < size; to++) {
        bool nul = size - from >= 4 && memcmp(text + from, "\\x00", 4) == 0;

        text[to] = nul ? '\0' : text[from];
        from += nul ? 4 : 1;
    }
    return to;
}

/* The start of the next file or link at or behind `at`, else the end. */
static char *next_entry(char *at)
{
    while (*at && strncmp(at, "== ", 3) != 0 && strncmp(at, "-> ", 3) != 0) {
        char *newline = strchr(at, '\n');

        at = newline ? newline + 1 : at + strlen(at);
    }
    return at;
}

void fixture_unpack(struct tree *tree, const char *name)
{
    size_t size;
    CLEANUP(freep) char *text = fixture_read(name, &size);

    assert_non_null(text);
    for (char *at = next_entry(text); *at;) {
        char *path = at + 3, *content = strchr(at, '\n');
        bool is_file = at[0] == '=';

        assert_non_null(content);
        *content++ = '\0';
        at = next_entry(content);
        if (!is_file)
            continue;
        assert_null(strstr(path, "..")); /* stays in the tree */
        tree_write(tree, path, content, unescape_nul(content, (size_t)(at - content)));
    }
}

size_t fixture_each(const char *pattern, void (*visit)(const char *name))
{
    char path[512];
    glob_t found;
    size_t n;

    fixture_path(path, sizeof path, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return 0;
    n = found.gl_pathc;
    for (size_t i = 0; i < n; i++)
        visit(strrchr(found.gl_pathv[i], '/') + 1);
    globfree(&found);
    return n;
}
