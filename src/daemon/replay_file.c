#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "daemon/daemon.h"
#include "daemon/load.h"
#include "daemon/replay.h"
#include "report/text.h"
#include "util/error.h"

/* A file in memory; text NULL: not mapped. */
struct map {
    char *text;
    size_t size;
};

static void map_deinit(struct map *map)
{
    if (map->text)
        munmap(map->text, map->size);
}

/* An empty file stays NULL. Return: 0 or a negative errno. */
static int map_init(struct map *map, const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    void *text;

    if (fd < 0 || fstat(fd, &status) < 0)
        return error_errno();
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    if (status.st_size == 0)
        return 0;
    text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return error_errno();
    *map = (struct map){.text = text, .size = (size_t)status.st_size};
    return 0;
}

static int say(const char *path, size_t line, const char *what)
{
    char name[512];

    text_escape(name, sizeof name, path);
    if (line)
        fprintf(stderr, "numabd: %s:%zu: %s\n", name, line, what);
    else
        fprintf(stderr, "numabd: %s: %s\n", name, what);
    return REPLAY_FAILED;
}

static int replay_map(const char *path, const struct map *map, struct config *config)
{
    const struct replay_options options = {
        .text = map->text ? map->text : "", .size = map->size, .config = config, .out = stdout};
    struct replay_end end;
    int r = replay(&options, &end);

    if (fflush(stdout) && !r)
        r = error_errno();
    if (r < 0)
        return say(path, 0, strerror(-r));
    if (!end.message[0])
        return 0;
    (void)say(path, end.line, end.message);
    /* One that was being written when its writer ended is no mistake. */
    return end.cut ? 0 : REPLAY_FAILED;
}

int replay_file(const char *path, const struct daemon_options *options)
{
    CLEANUP(map_deinit) struct map map = {.text = NULL};
    struct config_error error = {""};
    struct config *config = NULL;
    int r = load_config(options, true, &config, &error);

    if (r) {
        fprintf(stderr, "numabd: %s\n", error.message);
        return r < 0 ? REPLAY_FAILED : REPLAY_BAD_CONFIG;
    }
    r = map_init(&map, path);
    if (r < 0) {
        config_free(config);
        return say(path, 0, r == -EINVAL ? "not a regular file" : strerror(-r));
    }
    return replay_map(path, &map, config);
}
