#pragma once
/*
 * `numabd --undo`: puts back what a numabd that has ended changed.
 */

/*
 * Lines about what was done go to stdout, errors to stderr. Without a journal there is nothing to
 * do, which is a success. Return: an exit status: 0, or 1 when something could not be put back or
 * a numabd runs there (which undoes by itself, or on `numabctl undo`).
 */
int undo_command(const char *directory);
