/*
 * The text is read once and whole, from a regular file of a sane size: a FIFO would block the
 * daemon in a reload, and a NUL byte would hide the rest of its line from every string function.
 */
#include "config_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/error.h"
#include "util/procfs.h"

struct config_source config_source_of(const char *path, struct config_error *error)
{
    const char *slash = strrchr(path, '/');

    return (struct config_source){
        .path = path, .name = slash && slash[1] ? slash + 1 : path, .error = error};
}

/* The message quotes the file, which may hold anything, and must stay one line of a log. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

int config_source_fail(const struct config_source *source, unsigned line, const char *format, ...)
{
    char what[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(source->error->message, sizeof(source->error->message), "%.80s:%u: %s", source->name,
             line, what);
    make_printable(source->error->message);
    return CONFIG_INVALID;
}

/* Somebody who wrote a file, or a link to one, did not mean the defaults. */
static bool source_exists(const struct config_source *source)
{
    struct stat status;

    return lstat(source->path, &status) == 0 || errno != ENOENT;
}

static int source_unreadable(const struct config_source *source, int error)
{
    if (error == ENOMEM || error == EMFILE || error == ENFILE)
        return -error;
    snprintf(source->error->message, sizeof(source->error->message), "%.400s: %s", source->path,
             strerror(error));
    make_printable(source->error->message);
    return error == ENOENT && !source_exists(source) ? CONFIG_MISSING : CONFIG_INVALID;
}

static int check_kind(const struct config_source *source, int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_errno();
    if (!S_ISREG(status.st_mode))
        return config_source_fail(source, 1, "not a regular file");
    if (status.st_size > (off_t)CONFIG_FILE_MAX)
        return config_source_fail(source, 1, "file is larger than 1 MiB");
    return 0;
}

static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

int config_source_read(const struct config_source *source, char **textp)
{
    CLEANUP(fd_closep) int fd = open(source->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    CLEANUP(freep) char *text = NULL;
    const char *nul;
    size_t size;
    int r;

    if (fd < 0)
        return source_unreadable(source, errno);
    if ((r = check_kind(source, fd)))
        return r;
    r = procfs_read_fd(fd, CONFIG_FILE_MAX, &text, &size);
    if (r)
        return source_unreadable(source, r < 0 ? -r : EACCES);
    nul = memchr(text, '\0', size);
    if (nul)
        return config_source_fail(source, line_of(text, nul), "NUL byte");
    *textp = TAKE(text);
    return 0;
}
