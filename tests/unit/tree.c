#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_all(const char *path)
{
    assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* "ROOT/PATH", to be freed, with all folders above it made. */
static char *make_parents(const struct tree *tree, const char *path)
{
    char *full;

    assert_true(asprintf(&full, "%s/%s", tree->root, path) > 0);
    for (char *slash = full + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    return full;
}

void tree_init(struct tree *tree)
{
    const char *folder = getenv("TMPDIR");

    snprintf(tree->root, sizeof tree->root, "%s/numabd-tree-XXXXXX", folder ? folder : "/tmp");
    assert_non_null(mkdtemp(tree->root));
}

void tree_deinit(struct tree *tree)
{
    if (tree->root[0])
        remove_all(tree->root);
    tree->root[0] = '\0';
}

void tree_write(struct tree *tree, const char *path, const char *content, size_t size)
{
    CLEANUP(freep) char *full = make_parents(tree, path);
    FILE *file = fopen(full, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void tree_add_one(struct tree *tree, const struct tree_file *file)
{
    CLEANUP(freep) char *full = NULL;

    if (file->content) {
        tree_write(tree, file->path, file->content, strlen(file->content));
        return;
    }
    full = make_parents(tree, file->path);
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

void tree_add(struct tree *tree, const struct tree_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tree_add_one(tree, &files[i]);
}

void tree_link(struct tree *tree, const char *path, const char *target)
{
    CLEANUP(freep) char *full = make_parents(tree, path);

    assert_true(unlink(full) == 0 || errno == ENOENT);
    assert_int_equal(symlink(target, full), 0);
}

void tree_remove(struct tree *tree, const char *path)
{
    CLEANUP(freep) char *full = make_parents(tree, path);

    remove_all(full);
}
