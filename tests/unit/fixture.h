#pragma once
/*
 * Captures of real machines, kept outside the project: in $NUMABD_SHARED/fixtures, by default
 * ../shared/fixtures. Where they are missing, tests that need them skip.
 */
#include <stdbool.h>
#include <stddef.h>

#include "tree.h"

/* Prints one line and returns false when there are none. */
bool fixture_available(void);

/* The text behind the leading "# " lines, to be freed; NULL for a name that is not there. */
char *fixture_read(const char *name, size_t *sizep);

/*
 * Unpacks a tree fixture: "== PATH" begins a file, the lines up to the next one are its content,
 * \x00 stands for a NUL byte. Symbolic links ("-> PATH TARGET") are left out.
 */
void fixture_unpack(struct tree *tree, const char *name);

/* Calls visit for each fixture whose name matches the glob. Return: how many. */
size_t fixture_each(const char *pattern, void (*visit)(const char *name));
