#pragma once
/*
 * Memory folder: the files by which a PMU describes itself,
 * sys/bus/event_source/devices/NAME/{type,cpus,caps,format,events}.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "numabd/host.h"
#include "numabd/sample.h"

#define MEM_FOLDER_DEVICES "sys/bus/event_source/devices"

struct mem_folder {
    const struct host *host;
    const char *name;
};

enum {
    MEM_FOLDER_NO_FILE = 1, /* or it cannot be read, or holds something else */
    MEM_FOLDER_UNEXPLAINED, /* a term without a format that it fits in */
};

/* The first line of a file, at most text_size - 1 bytes. Return: 0 or MEM_FOLDER_NO_FILE. */
int mem_folder_read(const struct mem_folder *folder, const char *file, char *text,
                    size_t text_size);
bool mem_folder_has(const struct mem_folder *folder, const char *file);

/* A decimal number, at most max. Return: 0 or MEM_FOLDER_NO_FILE (*valuep untouched). */
int mem_folder_read_number(const struct mem_folder *folder, const char *file, uint64_t max,
                           uint64_t *valuep);

/* Puts a value into the field format/NAME. Return: 0 or MEM_FOLDER_UNEXPLAINED. */
int mem_folder_apply(const struct mem_folder *folder, struct perf_event_attr *attr,
                     const char *name, uint64_t value);

/*
 * Puts all terms of events/EVENT into attr; ldlat, where it is among them, becomes ldlat_cycles.
 * Return: 0, MEM_FOLDER_NO_FILE, or MEM_FOLDER_UNEXPLAINED with the reason.
 */
int mem_folder_encode(const struct mem_folder *folder, const char *event, unsigned ldlat_cycles,
                      struct perf_event_attr *attr, struct source_reason *reason);
