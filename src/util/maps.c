/*
 * One line of /proc/PID/maps, as the kernel's show_map_vma() writes it:
 *
 *     7fb6d722b000-7fb6d722c000 rw-s 0043c000 00:01 47618   /memfd:doublemapper (deleted)
 *     start        end          perms offset  dev   inode   name
 *
 * Addresses, offset and device are hexadecimal, the inode is decimal. Names may hold anything but a
 * newline, blanks at their end included; they begin with "/", "[" or a word, so that the padding
 * before them is no part of them.
 */
#include "util/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "util/scan.h"

static bool scan_range(struct scan *line, struct maps_entry *entry)
{
    return scan_hex(line, UINT64_MAX, &entry->start) && scan_char(line, '-') &&
           scan_hex(line, UINT64_MAX, &entry->end) && entry->start < entry->end;
}

/* One character: `set` gives the bit, `clear` does not, anything else is no permission. */
static bool scan_perm(struct scan *line, char set, char clear, unsigned bit, unsigned *permsp)
{
    if (scan_char(line, set)) {
        *permsp |= bit;
        return true;
    }
    return scan_char(line, clear);
}

static bool scan_perms(struct scan *line, unsigned *permsp)
{
    return scan_perm(line, 'r', '-', MAPS_READ, permsp) &&
           scan_perm(line, 'w', '-', MAPS_WRITE, permsp) &&
           scan_perm(line, 'x', '-', MAPS_EXEC, permsp) &&
           scan_perm(line, 's', 'p', MAPS_SHARED, permsp);
}

static bool scan_device(struct scan *line, struct maps_entry *entry)
{
    uint64_t major, minor;

    if (!scan_hex(line, UINT_MAX, &major) || !scan_char(line, ':') ||
        !scan_hex(line, UINT_MAX, &minor))
        return false;
    entry->dev_major = (unsigned)major;
    entry->dev_minor = (unsigned)minor;
    return true;
}

static bool scan_name(struct scan *line, struct maps_entry *entry)
{
    if (!scan_at_end(line) && !scan_blanks(line))
        return false;
    entry->name = line->at;
    entry->name_size = (size_t)(line->end - line->at);
    return true;
}

static bool scan_entry(struct scan *line, struct maps_entry *entry)
{
    return scan_range(line, entry) && scan_char(line, ' ') && scan_perms(line, &entry->perms) &&
           scan_char(line, ' ') && scan_hex(line, UINT64_MAX, &entry->offset) &&
           scan_char(line, ' ') && scan_device(line, entry) && scan_char(line, ' ') &&
           scan_decimal(line, UINT64_MAX, &entry->inode) && scan_name(line, entry);
}

int maps_parse_line(const char **textp, const char *end, struct maps_entry *entry)
{
    struct scan text = {.at = *textp, .end = end}, line;
    struct maps_entry scanned = {0};
    bool complete;

    if (scan_at_end(&text))
        return MAPS_END;
    complete = scan_line(&text, &line);
    *textp = text.at;
    if (!complete || !scan_entry(&line, &scanned))
        return -EINVAL;
    *entry = scanned;
    return 0;
}
