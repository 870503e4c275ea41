/*
 * /proc/PID/maps: an accepted line lies within limits and reads the same when it is printed again;
 * the list of VMAs is sorted and disjoint, whatever the text says.
 */
#include <errno.h>

#include "attribute/vmas.h"
#include "fuzz.h"
#include "util/cleanup.h"
#include "util/maps.h"

static void check_entry(const struct maps_entry *entry, const char *from, const char *to)
{
    FUZZ_CHECK(entry->start < entry->end);
    FUZZ_CHECK(entry->perms < 16);
    FUZZ_CHECK(entry->name > from && entry->name + entry->name_size == to - 1);
    FUZZ_CHECK(!memchr(entry->name, '\n', entry->name_size));
}

/* Prints as the kernel does. */
static char *print(const struct maps_entry *entry, size_t *sizep)
{
    char *line = NULL;
    FILE *file = open_memstream(&line, sizep);

    FUZZ_CHECK(file);
    fprintf(file, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu ", entry->start, entry->end,
            entry->perms & MAPS_READ ? 'r' : '-', entry->perms & MAPS_WRITE ? 'w' : '-',
            entry->perms & MAPS_EXEC ? 'x' : '-', entry->perms & MAPS_SHARED ? 's' : 'p',
            entry->offset, entry->dev_major, entry->dev_minor, entry->inode);
    fwrite(entry->name, 1, entry->name_size, file);
    fputc('\n', file);
    fclose(file);
    return line;
}

static void check_stable(const struct maps_entry *entry)
{
    size_t size = 0;
    CLEANUP(freep) char *line = print(entry, &size);
    const char *text = line;
    struct maps_entry again;

    FUZZ_CHECK(maps_parse_line(&text, line + size, &again) == 0 && text == line + size);
    FUZZ_CHECK(again.start == entry->start && again.end == entry->end);
    FUZZ_CHECK(again.perms == entry->perms && again.offset == entry->offset);
    FUZZ_CHECK(again.dev_major == entry->dev_major && again.dev_minor == entry->dev_minor);
    FUZZ_CHECK(again.inode == entry->inode && again.name_size == entry->name_size);
    FUZZ_CHECK(!memcmp(again.name, entry->name, entry->name_size));
}

static size_t check_lines(const char *text, size_t size)
{
    const char *end = text + size, *from = text;
    struct maps_entry entry = {.start = 77};
    size_t n_good = 0;
    int r;

    while ((r = maps_parse_line(&text, end, &entry)) != MAPS_END) {
        FUZZ_CHECK(text > from && text <= end);
        FUZZ_CHECK(r == 0 || (r == -EINVAL && entry.start == 77));
        if (r == 0) {
            check_entry(&entry, from, text);
            check_stable(&entry);
            n_good++;
        }
        entry.start = 77;
        from = text;
    }
    FUZZ_CHECK(text == end);
    return n_good;
}

static void check_list(const char *text, size_t size, size_t n_good)
{
    CLEANUP(vma_list_deinit) struct vma_list list = {0};
    uint64_t last = 0;

    FUZZ_CHECK(vma_list_parse(&list, text, size) == 0);
    FUZZ_CHECK(list.n_items <= n_good && (list.n_items > 0) == (n_good > 0));
    for (size_t i = 0; i < list.n_items; i++) {
        const struct vma *vma = &list.items[i];

        FUZZ_CHECK(vma->start >= last && vma->start < vma->end);
        FUZZ_CHECK(vma_list_find(&list, vma->start) == vma);
        FUZZ_CHECK(vma_list_find(&list, vma->end - 1) == vma);
        FUZZ_CHECK(vma->start == last || !vma_list_find(&list, vma->start - 1));
        last = vma->end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    check_list(text, size, check_lines(text, size));
    return 0;
}
