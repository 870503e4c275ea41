#pragma once
/*
 * /proc/PID/numa_maps: buffer in, records out.
 *
 * Forms seen since 2.6.17 (all are read): policies "default", "local", "bind:0-1", "bind=static:0",
 * "bind=static|balancing:0", "bind=balancing:0-1,3", "prefer:1", "prefer (many):0-1",
 * "prefer (many)=static:0", "interleave:0-3", "interleave=static:0-1", "interleave=0-7" (2006),
 * "weighted interleave:0-1", "weighted interleave=relative:0"; tokens file=, anon=, dirty=,
 * mapped=, mapmax=, swapcache=, active=, writeback=, heap, stack, huge, kernelpagesize_kB=,
 * N<node>=<pages>; unknown tokens are skipped; file= escapes blank, tab, newline and "=" as \040
 * \011 \012 \075.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy {
    POLICY_DEFAULT, /* "default" and "local": says little on 5.12 to 6.13, where bind with the
                       balancing flag prints "default" too */
    POLICY_BIND,
    POLICY_PREFER,
    POLICY_INTERLEAVE, /* plain and weighted */
    POLICY_OTHER,      /* a word that numabd does not know */
};

struct numa_maps_entry {
    uint64_t start; /* address */
    enum policy policy;
    bool huge;           /* hugetlb */
    bool is_file;        /* has file= */
    uint64_t page_bytes; /* kernelpagesize_kB, or `default_page_bytes` */
    uint64_t anon_pages, mapmax;
};

enum {
    NUMA_MAPS_END = 1
};

/*
 * Parses the next line from *textp (which ends at `end`) and steps *textp past it; calls
 * on_node(userdata, node, pages) for each N<node>=<pages> in units of entry->page_bytes (known
 * before the first call: kernelpagesize_kB is looked for first). node is below TOPOLOGY_NODE_MAX,
 * and pages * page_bytes fits in 64 bits.
 *
 * Return: 0, NUMA_MAPS_END, or -EINVAL with the line skipped (nothing was passed to on_node; a last
 * line without a newline was cut and counts as malformed).
 */
int numa_maps_parse_line(const char **textp, const char *end, uint64_t default_page_bytes,
                         struct numa_maps_entry *entry,
                         void (*on_node)(void *userdata, int node, uint64_t pages), void *userdata);
