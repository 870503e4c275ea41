#include "fake_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/procfs.h"

static struct fake_file *find_file(struct fake_host *fake, const char *path)
{
    for (size_t i = 0; i < fake->n_files; i++)
        if (strcmp(fake->files[i].path, path) == 0)
            return &fake->files[i];
    return NULL;
}

static struct fake_file *get_file(struct fake_host *fake, const char *path)
{
    struct fake_file *file = find_file(fake, path);

    if (file)
        return file;
    assert_int_equal(ARRAY_RESERVE(fake->files, fake->files_cap, fake->n_files + 1), 0);
    file = &fake->files[fake->n_files++];
    *file = (struct fake_file){.path = strdup(path), .text = NULL};
    return file;
}

void fake_host_set_file(struct fake_host *fake, const char *path, const char *text)
{
    struct fake_file *file = get_file(fake, path);

    free(file->text);
    file->text = strdup(text);
    file->r = 0;
}

void fake_host_set_result(struct fake_host *fake, const char *path, int r)
{
    get_file(fake, path)->r = r;
}

void fake_host_exec(struct fake_host *fake)
{
    fake->epoch++;
}

void fake_host_place(struct fake_host *fake, uint64_t start, uint64_t end, int status)
{
    assert_int_equal(ARRAY_RESERVE(fake->places, fake->places_cap, fake->n_places + 1), 0);
    fake->places[fake->n_places++] =
        (struct fake_place){.start = start, .end = end, .status = status};
}

void fake_host_clear_log(struct fake_host *fake)
{
    fake->log[0] = '\0';
}

static void log_call(struct fake_host *fake, const char *word)
{
    size_t used = strlen(fake->log);

    snprintf(fake->log + used, sizeof fake->log - used, "%s%s", used ? " " : "", word);
}

static int give(struct fake_host *fake, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    const struct fake_file *file = find_file(fake, path);
    size_t size;

    if (!file || file->r)
        return file ? file->r : PROCFS_GONE;
    size = strnlen(file->text, limit);
    *bufp = malloc(size + 1);
    assert_non_null(*bufp);
    memcpy(*bufp, file->text, size);
    (*bufp)[size] = '\0';
    *sizep = size;
    return 0;
}

static int fake_read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    struct fake_host *fake = self;

    log_call(fake, strstr(path, "/task/") ? "task" : "numa_maps");
    fake->n_files_read++;
    fake->last_limit = limit;
    return give(fake, path, limit, bufp, sizep);
}

/* The file holds the epoch, so that copies of its fd tell it too. */
static int open_epoch(unsigned epoch)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &epoch, sizeof epoch, 0), sizeof epoch);
    return fd;
}

static unsigned read_epoch(int fd)
{
    unsigned epoch;

    assert_int_equal(pread(fd, &epoch, sizeof epoch, 0), sizeof epoch);
    return epoch;
}

static int fake_read_maps(void *self, pid_t pid, int *fdp, char **bufp, size_t *sizep)
{
    struct fake_host *fake = self;
    char path[64];

    log_call(fake, "maps");
    fake->n_maps++;
    if (*fdp < 0)
        *fdp = open_epoch(fake->epoch);
    if (read_epoch(*fdp) != fake->epoch)
        return PROCFS_GONE;
    snprintf(path, sizeof path, "proc/%d/maps", pid);
    return give(fake, path, SIZE_MAX, bufp, sizep);
}

static int status_of(const struct fake_host *fake, uint64_t addr)
{
    for (size_t i = fake->n_places; i-- > 0;)
        if (addr >= fake->places[i].start && addr < fake->places[i].end)
            return fake->places[i].status;
    return -ENOENT;
}

/* "proc": the processes that have a file "proc/PID/maps". */
static int fake_list_folder(void *self, const char *path, size_t limit,
                            bool (*visit)(void *userdata, const char *name), void *userdata)
{
    struct fake_host *fake = self;
    char name[16], maps[32];
    int pid;

    if (fake->list_r)
        return fake->list_r;
    assert_string_equal(path, "proc");
    assert_true(visit(userdata, "self") && visit(userdata, "12ab"));
    for (size_t i = 0; i < fake->n_files && i < limit; i++) {
        if (sscanf(fake->files[i].path, "proc/%d/maps", &pid) != 1)
            continue;
        snprintf(maps, sizeof maps, "proc/%d/maps", pid);
        snprintf(name, sizeof name, "%d", pid);
        if (!strcmp(fake->files[i].path, maps) && !visit(userdata, name))
            break;
    }
    return 0;
}

static int fake_read_link(void *self, const char *path, char *text, size_t size)
{
    const struct fake_file *file = find_file(self, path);

    if (!file || file->r)
        return file ? file->r : PROCFS_GONE;
    snprintf(text, size, "%s", file->text);
    return 0;
}

static long fake_move_pages(void *self, pid_t pid, size_t n, void *const *pages, const int *nodes,
                            int *status, int flags)
{
    struct fake_host *fake = self;

    (void)pid, (void)flags;
    assert_null(nodes); /* attribute only asks */
    log_call(fake, "pages");
    fake->n_calls++;
    fake->n_pages += n;
    if (fake->call_error && fake->n_calls >= fake->call_error_from)
        return fake->call_error;
    for (size_t i = 0; i < n; i++)
        status[i] = status_of(fake, (uintptr_t)pages[i]);
    return 0;
}

static uint64_t kinds_of(const struct fake_host *fake, uint64_t addr)
{
    int status = status_of(fake, addr);
    uint64_t kinds = 0;

    if (addr >= fake->swapped_start && addr < fake->swapped_end)
        return PAGE_SWAPPED;
    if (status >= 0)
        kinds = PAGE_PRESENT;
    else if (status == -EFAULT)
        kinds = PAGE_PRESENT | PAGE_ZERO;
    if (kinds && addr >= fake->huge_start && addr < fake->huge_end)
        kinds |= PAGE_HUGE;
    return kinds;
}

static long fake_scan_pages(void *self, pid_t pid, int *fdp, struct page_scan *scan)
{
    struct fake_host *fake = self;
    long n = 0;

    (void)pid, (void)fdp;
    fake->n_scan_tries++;
    if (!fake->scans || fake->scan_error)
        return fake->scan_error ? fake->scan_error : -ENOTTY;
    fake->n_scans++;
    fake->scanned_bytes += scan->end - scan->start;
    if (scan->end - scan->start > fake->longest_scan)
        fake->longest_scan = scan->end - scan->start;
    for (scan->reached = scan->start; scan->reached < scan->end; scan->reached += 4096) {
        uint64_t kinds = kinds_of(fake, scan->reached);
        struct page_run *last = n ? &scan->runs[n - 1] : NULL;

        if (kinds && last && last->end == scan->reached && last->kinds == kinds) {
            last->end += 4096;
        } else if (kinds) {
            if ((size_t)n == scan->n_runs_max)
                return n;
            scan->runs[n++] = (struct page_run){
                .start = scan->reached, .end = scan->reached + 4096, .kinds = kinds};
        }
    }
    return n;
}

static int fake_write_file(void *self, const char *path, const char *text,
                           bool (*check)(void *userdata), void *userdata)
{
    struct fake_host *fake = self;
    struct fake_file *file = find_file(fake, path);

    if (!file)
        return PROCFS_GONE;
    if (fake->on_write)
        fake->on_write(fake->on_write_userdata);
    if (fake->write_result)
        return fake->write_result;
    if (!check(userdata))
        return HOST_DECLINED;
    fake_host_set_file(fake, path, text);
    return 0;
}

void fake_host_init(struct fake_host *fake)
{
    static const struct host_ops ops = {
        .read_file = fake_read_file,
        .read_maps = fake_read_maps,
        .list_folder = fake_list_folder,
        .read_link = fake_read_link,
        .move_pages = fake_move_pages,
        .write_file = fake_write_file,
        .scan_pages = fake_scan_pages,
    };

    *fake = (struct fake_host){.epoch = 1};
    fake->host = (struct host){.ops = &ops, .self = fake, .page_bytes = 4096};
}

void fake_host_deinit(struct fake_host *fake)
{
    for (size_t i = 0; i < fake->n_files; i++) {
        free(fake->files[i].path);
        free(fake->files[i].text);
    }
    free(fake->files);
    free(fake->places);
    *fake = (struct fake_host){0};
}
