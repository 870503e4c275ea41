#include "sample/trace/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "sample/trace/recorder_state.h"
#include "util/error.h"

/* 64k accesses a second of 32 bytes each fill it twice a second. */
#define BUFFER_BYTES ((size_t)1 << 20)
/* Texts of files that were not read for so many rounds are forgotten, which costs one more copy. */
#define FILE_ROUNDS 1024

uint64_t recorder_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static int open_new(const char *path, FILE **filep)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_errno();
    *filep = fdopen(fd, "w");
    if (!*filep)
        return error_errno();
    fd = -1;
    (void)setvbuf(*filep, NULL, _IOFBF, BUFFER_BYTES);
    return 0;
}

int recorder_new(struct recorder **recorderp, const char *path)
{
    CLEANUP(recorder_freep) struct recorder *recorder = calloc(1, sizeof *recorder);
    int r;

    if (!recorder)
        return -ENOMEM;
    pthread_mutex_init(&recorder->mutex, NULL);
    r = open_new(path, &recorder->writer.file);
    if (r < 0)
        return r;
    trace_write_version(&recorder->writer);
    *recorderp = TAKE(recorder);
    return 0;
}

static void free_tables(struct recorder *recorder)
{
    struct recorded_file *file, *next_file;
    struct recorded_process *process, *next_process;

    HASH_ITER (hh, recorder->files, file, next_file) {
        HASH_DEL(recorder->files, file);
        free(file);
    }
    HASH_ITER (hh, recorder->processes, process, next_process) {
        HASH_DEL(recorder->processes, process);
        free(process);
    }
    free(TAKE(recorder->room));
}

void recorder_stop(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    recorder->stopped = true;
    if (recorder->writer.file)
        fclose(TAKE(recorder->writer.file));
    pthread_mutex_unlock(&recorder->mutex);
}

struct recorder *recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return NULL;
    recorder_stop(recorder);
    free_tables(recorder);
    pthread_mutex_destroy(&recorder->mutex);
    free(recorder);
    return NULL;
}

bool recorder_begin(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    if (!recorder->stopped && !recorder->error)
        return true;
    pthread_mutex_unlock(&recorder->mutex);
    return false;
}

void recorder_end(struct recorder *recorder)
{
    if (ferror(recorder->writer.file))
        recorder->error = errno > 0 ? errno : EIO;
    pthread_mutex_unlock(&recorder->mutex);
}

void recorder_start(struct recorder *recorder, const struct topology *topology, size_t page_bytes,
                    pid_t self_pid, uint64_t now)
{
    if (!recorder_begin(recorder))
        return;
    trace_write_machine(&recorder->writer, topology, page_bytes, self_pid, now);
    recorder_end(recorder);
}

static void sink_push(void *userdata, const struct access *accesses, size_t n)
{
    struct recorder *recorder = userdata;

    if (recorder_begin(recorder)) {
        for (size_t i = 0; i < n; i++)
            trace_write_access(&recorder->writer, &accesses[i]);
        recorder_end(recorder);
    }
    recorder->sink.push(recorder->sink.userdata, accesses, n);
}

/* A trace has no such thing: it is what replay's own pipeline makes of it. */
static void sink_work(void *userdata, pid_t pid, const struct access_work *work)
{
    const struct recorder *recorder = userdata;

    access_sink_work(&recorder->sink, pid, work);
}

struct access_sink recorder_sink(struct recorder *recorder, struct access_sink sink)
{
    recorder->sink = sink;
    return (struct access_sink){.push = sink_push, .work = sink_work, .userdata = recorder};
}

void recorder_on_late(struct recorder *recorder, pid_t pid, const char *name)
{
    if (!recorder_begin(recorder))
        return;
    trace_write_late(&recorder->writer, pid, name);
    recorder_end(recorder);
}

void recorder_on_returned(struct recorder *recorder, pid_t pid)
{
    if (!recorder_begin(recorder))
        return;
    trace_write_returned(&recorder->writer, pid);
    recorder_end(recorder);
}

void recorder_on_lost(struct recorder *recorder, size_t n_lost)
{
    if (n_lost == recorder->n_lost || !recorder_begin(recorder))
        return;
    recorder->n_lost = n_lost;
    trace_write_lost(&recorder->writer, (unsigned)n_lost);
    recorder_end(recorder);
}

static void forget_files(struct recorder *recorder)
{
    struct recorded_file *file, *next;

    HASH_ITER (hh, recorder->files, file, next) {
        if (file->round + FILE_ROUNDS > recorder->n_rounds)
            continue;
        HASH_DEL(recorder->files, file);
        free(file);
    }
}

static bool same_room(const struct node *a, const struct node *b)
{
    return a->free_bytes == b->free_bytes && a->reserve_bytes == b->reserve_bytes &&
           a->inactive_file_bytes == b->inactive_file_bytes;
}

/* Only what has changed. */
static void write_room(struct recorder *recorder, const struct topology *topology)
{
    if (!recorder->room)
        recorder->room = calloc((size_t)topology->n_node_ids, sizeof *recorder->room);
    for (int id = 0; id < topology->n_node_ids; id++) {
        const struct node *node = &topology->nodes[id];

        if (!node->online || (recorder->room && same_room(&recorder->room[id], node)))
            continue;
        trace_write_room(&recorder->writer, id, node);
        if (recorder->room)
            recorder->room[id] = *node;
    }
}

/* Return: the errno that stopped it when that is news, else 0. */
static int take_stop(struct recorder *recorder)
{
    int error;

    pthread_mutex_lock(&recorder->mutex);
    error = recorder->stop_told ? 0 : recorder->error;
    pthread_mutex_unlock(&recorder->mutex);
    recorder->stop_told |= error != 0;
    return error;
}

int recorder_round(struct recorder *recorder, const struct topology *topology, uint64_t now)
{
    int error;

    if (recorder_begin(recorder)) {
        write_room(recorder, topology);
        trace_write_round(&recorder->writer, now);
        if (++recorder->n_rounds % FILE_ROUNDS == 0)
            forget_files(recorder);
        /* So that a crash takes at most one round with it. */
        (void)fflush(recorder->writer.file);
        recorder_end(recorder);
    }
    error = take_stop(recorder);
    errno = error;
    return error ? RECORDER_STOPPED : 0;
}
