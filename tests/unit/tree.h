#pragma once
/*
 * A tree of files in a temporary folder, to stand in for /proc and /sys. Failures fail the test.
 */
#include <stddef.h>

struct tree_file {
    const char *path;    /* below the root; folders are made */
    const char *content; /* NULL: an empty folder */
};

struct tree {
    char root[256];
};

void tree_init(struct tree *tree);
/* Removes everything. Takes a tree that was removed before. */
void tree_deinit(struct tree *tree);

void tree_add(struct tree *tree, const struct tree_file *files, size_t n);
void tree_write(struct tree *tree, const char *path, const char *content, size_t size);
/* A symbolic link; what was there goes. */
void tree_link(struct tree *tree, const char *path, const char *target);
void tree_remove(struct tree *tree, const char *path);
