/*
 * The kernel takes and gives whole words only. Zero bits of what is written change nothing, so that
 * words can be shared with other users of the bitmap.
 */
#include "sample/idle/idle_bitmap.h"

#include <errno.h>

#include "util/cleanup.h"

void idle_bitmap_deinit(struct idle_bitmap *bitmap)
{
    fd_close(bitmap->read_fd);
    fd_close(bitmap->write_fd);
    *bitmap = IDLE_BITMAP_NULL;
}

int idle_bitmap_read(const struct host *host, struct idle_bitmap *bitmap, uint64_t word,
                     uint64_t *bitsp)
{
    uint64_t bits = 0;
    ssize_t got;

    got = host_pread(host, IDLE_BITMAP_PATH, &bitmap->read_fd, word * sizeof bits, &bits,
                     sizeof bits);
    if (got < 0)
        return (int)got;
    *bitsp = got == sizeof bits ? bits : 0;
    return 0;
}

int idle_bitmap_arm(const struct host *host, struct idle_bitmap *bitmap, uint64_t word,
                    uint64_t mask, uint64_t *setp)
{
    uint64_t bits = 0;
    ssize_t done;
    int r;

    *setp = 0;
    done = host_pwrite(host, IDLE_BITMAP_PATH, &bitmap->write_fd, word * sizeof mask, &mask,
                       sizeof mask);
    if (done == -ENXIO) /* beyond the end of memory: a device's */
        return 0;
    if (done < 0)
        return (int)done;
    r = idle_bitmap_read(host, bitmap, word, &bits);
    if (r < 0)
        return r;
    *setp = bits & mask;
    return 0;
}
