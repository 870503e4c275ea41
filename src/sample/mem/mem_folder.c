/*
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events,caps}. All files are a
 * line of at most a few dozen bytes.
 */
#include "sample/mem/mem_folder.h"

#include <stdio.h>
#include <string.h>

#include "sample/mem/mem_terms.h"
#include "util/cleanup.h"

#define LINE_BYTES 256

int mem_folder_read(const struct mem_folder *folder, const char *file, char *text, size_t text_size)
{
    CLEANUP(freep) char *buf = NULL;
    size_t size = 0;
    char path[160];

    snprintf(path, sizeof path, MEM_FOLDER_DEVICES "/%s/%s", folder->name, file);
    if (folder->host->ops->read_file(folder->host->self, path, text_size - 1, &buf, &size))
        return MEM_FOLDER_NO_FILE;
    snprintf(text, text_size, "%.*s", (int)strcspn(buf, "\n"), buf);
    return 0;
}

bool mem_folder_has(const struct mem_folder *folder, const char *file)
{
    char text[LINE_BYTES];

    return mem_folder_read(folder, file, text, sizeof text) == 0;
}

int mem_folder_read_number(const struct mem_folder *folder, const char *file, uint64_t max,
                           uint64_t *valuep)
{
    char text[LINE_BYTES];
    struct scan scan;

    if (mem_folder_read(folder, file, text, sizeof text))
        return MEM_FOLDER_NO_FILE;
    scan = (struct scan){text, text + strlen(text)};
    return scan_decimal(&scan, max, valuep) ? 0 : MEM_FOLDER_NO_FILE;
}

int mem_folder_apply(const struct mem_folder *folder, struct perf_event_attr *attr,
                     const char *name, uint64_t value)
{
    char path[48], format[LINE_BYTES];

    snprintf(path, sizeof path, "format/%s", name);
    if (mem_folder_read(folder, path, format, sizeof format) ||
        mem_terms_apply(attr, format, value))
        return MEM_FOLDER_UNEXPLAINED;
    return 0;
}

static int encode_terms(const struct mem_folder *folder, struct scan terms, unsigned ldlat_cycles,
                        struct perf_event_attr *attr)
{
    struct mem_term term;

    while (!scan_at_end(&terms)) {
        if (!mem_terms_next(&terms, &term))
            return MEM_FOLDER_UNEXPLAINED;
        if (strcmp(term.name, "ldlat") == 0)
            term.value = ldlat_cycles;
        if (mem_folder_apply(folder, attr, term.name, term.value))
            return MEM_FOLDER_UNEXPLAINED;
    }
    return 0;
}

int mem_folder_encode(const struct mem_folder *folder, const char *event, unsigned ldlat_cycles,
                      struct perf_event_attr *attr, struct source_reason *reason)
{
    char path[48], text[LINE_BYTES];

    snprintf(path, sizeof path, "events/%s", event);
    if (mem_folder_read(folder, path, text, sizeof text))
        return MEM_FOLDER_NO_FILE;
    if (!encode_terms(folder, (struct scan){text, text + strlen(text)}, ldlat_cycles, attr))
        return 0;
    snprintf(reason->text, sizeof reason->text,
             "%s: its events/%s says %.64s, which its format/ does not explain", folder->name,
             event, text);
    return MEM_FOLDER_UNEXPLAINED;
}
