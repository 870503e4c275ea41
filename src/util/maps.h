#pragma once
/*
 * /proc/PID/maps: buffer in, records out.
 */
#include <stddef.h>
#include <stdint.h>

enum maps_perm {
    MAPS_READ = 1 << 0,
    MAPS_WRITE = 1 << 1,
    MAPS_EXEC = 1 << 2,
    MAPS_SHARED = 1 << 3,
};

/* One line. `name` points into the buffer, is not terminated, and still has \012 for newlines. */
struct maps_entry {
    uint64_t start, end; /* [start, end) */
    unsigned perms;      /* enum maps_perm */
    uint64_t offset;     /* bytes into the object */
    unsigned dev_major, dev_minor;
    uint64_t inode;
    const char *name;
    size_t name_size;
};

/*
 * Parses the next line from *textp (which ends at `end`) and steps *textp past it.
 * Return: 0, MAPS_END at the end of the text, or -EINVAL with the line skipped (a last line without
 * a newline was cut and counts as malformed).
 */
enum {
    MAPS_END = 1
};
int maps_parse_line(const char **textp, const char *end, struct maps_entry *entry);
