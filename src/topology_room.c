/*
 * Room: what a node can take in without its kswapd starting to work.
 *
 *     Node 0, zone   Normal
 *       pages free     18553
 *             high     16508
 *             managed  1310720
 *             protection: (0, 0, 0, 3904, 3904)
 *
 * The kernel gives a page of a zone away while its free pages exceed a watermark plus the
 * protection against the kind of allocation that asks. Above `high` kswapd sleeps. protection has
 * one number for each highest zone that an allocation may use, from DMA up to Movable and Device; a
 * number never is below the one before it. Pages of processes, and those that move_pages allocates,
 * may use every zone up to Movable, so that the largest number is theirs.
 *
 * A zone that is below its reserve gives nothing and takes nothing from the others: its reserve
 * counts at most its free pages. (A Normal zone of 4 GiB below a Movable zone of 1 TiB is protected
 * by 32 GiB: nothing of it can be used, all of the Movable zone can.)
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "numabd/topology.h"
#include "topology_meminfo.h"
#include "util/procfs.h"
#include "util/scan.h"

enum zone_kind {
    ZONE_OTHER, /* Device: not for allocation */
    ZONE_LOW,   /* DMA, DMA32: kept for devices, unless the node has nothing else */
    ZONE_MAIN,  /* Normal, Movable */
};

struct zone {
    int node;
    enum zone_kind kind;
    uint64_t free_pages, high_pages, protection_pages, managed_pages;
};

/* What the zones of one node add up to. */
struct room {
    bool main; /* there is a main zone with pages: low zones do not count */
    uint64_t free_pages, reserve_pages;
};

static enum zone_kind scan_zone_kind(struct scan *line)
{
    if (scan_literal(line, "Normal") || scan_literal(line, "Movable"))
        return ZONE_MAIN;
    return scan_literal(line, "DMA") ? ZONE_LOW : ZONE_OTHER;
}

/* "Node 0, zone   Normal" */
static bool scan_zone(struct scan *line, struct zone *zone)
{
    uint64_t node;

    if (!scan_literal(line, "Node ") || !scan_decimal(line, TOPOLOGY_NODE_MAX - 1, &node) ||
        !scan_literal(line, ", zone") || !scan_blanks(line))
        return false;
    *zone = (struct zone){.node = (int)node, .kind = scan_zone_kind(line)};
    return true;
}

/* "(0, 2877, 7826, 7826, 7826)": the largest number */
static uint64_t scan_protection(struct scan *line)
{
    uint64_t pages, largest = 0;

    if (!scan_char(line, '('))
        return 0;
    while (scan_decimal(line, UINT32_MAX, &pages)) {
        largest = pages > largest ? pages : largest;
        (void)scan_literal(line, ", ");
    }
    return largest;
}

/* "high" is a watermark, "high:" belongs to the lists of one CPU. */
static void zone_add_field(struct zone *zone, struct scan *line)
{
    uint64_t *pagesp = NULL;

    (void)scan_blanks(line);
    if (scan_literal(line, "pages free "))
        pagesp = &zone->free_pages;
    else if (scan_literal(line, "high "))
        pagesp = &zone->high_pages;
    else if (scan_literal(line, "managed "))
        pagesp = &zone->managed_pages;
    else if (scan_literal(line, "protection: "))
        zone->protection_pages = scan_protection(line);
    (void)scan_blanks(line);
    if (pagesp)
        (void)scan_decimal(line, UINT64_MAX / 2, pagesp);
}

/* Low zones come first in the file, so that the first main zone displaces them. */
static void room_add_zone(struct room *room, const struct zone *zone)
{
    uint64_t reserve_pages = zone->high_pages + zone->protection_pages;

    if (zone->kind == ZONE_OTHER || zone->managed_pages == 0 ||
        (zone->kind == ZONE_LOW && room->main))
        return;
    if (zone->kind == ZONE_MAIN && !room->main)
        *room = (struct room){.main = true};
    room->free_pages += zone->free_pages;
    room->reserve_pages += reserve_pages < zone->free_pages ? reserve_pages : zone->free_pages;
}

static void rooms_add_zoneinfo(struct room *rooms, int n_rooms, const char *text, size_t size)
{
    struct scan rest = {.at = text, .end = text + size}, line;
    struct zone zone = {.kind = ZONE_OTHER}, next;

    while (!scan_at_end(&rest)) {
        (void)scan_line(&rest, &line);
        if (!scan_zone(&line, &next)) {
            zone_add_field(&zone, &line);
            continue;
        }
        if (zone.node < n_rooms)
            room_add_zone(&rooms[zone.node], &zone);
        zone = next;
    }
    if (zone.node < n_rooms)
        room_add_zone(&rooms[zone.node], &zone);
}

static void topology_set_room(struct topology *topology, const struct room *rooms)
{
    /* Of this host: the root of a host with other pages gives sizes in proportion. */
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

    for (int node = 0; node < topology->n_node_ids; node++) {
        topology->nodes[node].free_bytes = rooms[node].free_pages * page_bytes;
        topology->nodes[node].reserve_bytes = rooms[node].reserve_pages * page_bytes;
    }
}

/* Without zoneinfo there is no room, so that nothing is moved blindly. */
static int topology_read_zones(struct topology *topology, const char *root)
{
    CLEANUP(freep) struct room *rooms = NULL;
    CLEANUP(freep) char *text = NULL;
    size_t size;
    int r;

    rooms = calloc((size_t)topology->n_node_ids, sizeof *rooms);
    if (!rooms)
        return -ENOMEM;
    r = procfs_read(root, "proc/zoneinfo", &text, &size);
    if (r < 0)
        return r;
    if (r == 0)
        rooms_add_zoneinfo(rooms, topology->n_node_ids, text, size);
    topology_set_room(topology, rooms);
    return 0;
}

static int node_read_page_cache(struct topology *topology, const char *root, int node)
{
    CLEANUP(freep) char *text = NULL;
    uint64_t inactive_bytes, unclean_bytes;
    size_t size;
    int r;

    topology->nodes[node].inactive_file_bytes = 0;
    r = meminfo_read(topology, root, node, &text, &size);
    if (r)
        return r < 0 ? r : 0;
    inactive_bytes = meminfo_bytes(text, size, "Inactive(file)");
    unclean_bytes = meminfo_bytes(text, size, "Dirty") + meminfo_bytes(text, size, "Writeback");
    if (inactive_bytes > unclean_bytes)
        topology->nodes[node].inactive_file_bytes = inactive_bytes - unclean_bytes;
    return 0;
}

int topology_read_room(struct topology *topology, const char *root)
{
    int r;

    r = topology_read_zones(topology, root);
    for (int node = 0; node < topology->n_node_ids && r == 0; node++)
        if (topology->nodes[node].online)
            r = node_read_page_cache(topology, root, node);
    return r;
}
