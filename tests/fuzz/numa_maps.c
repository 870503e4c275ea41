/*
 * /proc/PID/numa_maps: an accepted line names nodes and bytes within limits and reads the same when
 * what was learned from it is printed again; a refused line passes nothing on.
 */
#include <errno.h>

#include "attribute/numa_maps.h"
#include "fuzz.h"
#include "numabd/topology.h"
#include "util/cleanup.h"

#define PAGE_BYTES UINT64_C(4096)

static const char *const policies[] = {
    [POLICY_DEFAULT] = "default",        [POLICY_BIND] = "bind:0",
    [POLICY_PREFER] = "prefer (many):0", [POLICY_INTERLEAVE] = "weighted interleave:0",
    [POLICY_OTHER] = "unheard_of",
};

/* What on_node was told, printed as the kernel does. */
struct pages {
    const struct numa_maps_entry *entry;
    char text[2048];
    size_t size, n;
};

static void on_node(void *userdata, int node, uint64_t n)
{
    struct pages *pages = userdata;

    FUZZ_CHECK(node >= 0 && node < TOPOLOGY_NODE_MAX);
    FUZZ_CHECK(pages->entry->page_bytes >= 1024 && n <= UINT64_MAX / pages->entry->page_bytes);
    pages->n++;
    if (pages->size < sizeof pages->text)
        pages->size += (size_t)snprintf(pages->text + pages->size, sizeof pages->text - pages->size,
                                        " N%d=%lu", node, n);
}

static int parse(const char **textp, const char *end, struct numa_maps_entry *entry,
                 struct pages *pages)
{
    pages->entry = entry;
    pages->size = pages->n = 0;
    pages->text[0] = '\0';
    return numa_maps_parse_line(textp, end, PAGE_BYTES, entry, on_node, pages);
}

static char *print(const struct numa_maps_entry *entry, const char *nodes)
{
    char *line = NULL;

    FUZZ_CHECK(entry->policy <= POLICY_OTHER);
    FUZZ_CHECK(asprintf(&line, "%08lx %s%s%s anon=%lu mapmax=%lu%s kernelpagesize_kB=%lu\n",
                        entry->start, policies[entry->policy], entry->is_file ? " file=/a" : "",
                        entry->huge ? " huge" : "", entry->anon_pages, entry->mapmax, nodes,
                        entry->page_bytes / 1024) > 0);
    return line;
}

static void check_stable(const struct numa_maps_entry *entry, const struct pages *pages)
{
    CLEANUP(freep) char *line = print(entry, pages->text);
    const char *text = line, *end = line + strlen(line);
    struct numa_maps_entry again;
    struct pages pages_again;

    FUZZ_CHECK(parse(&text, end, &again, &pages_again) == 0 && text == end);
    FUZZ_CHECK(again.start == entry->start && again.policy == entry->policy);
    FUZZ_CHECK(again.huge == entry->huge && again.is_file == entry->is_file);
    FUZZ_CHECK(again.page_bytes == entry->page_bytes);
    FUZZ_CHECK(again.anon_pages == entry->anon_pages && again.mapmax == entry->mapmax);
    FUZZ_CHECK(pages_again.n == pages->n && !strcmp(pages_again.text, pages->text));
}

/* Every token that begins as a node's does is one, in a line that was accepted. */
static size_t count_nodes(const char *from, const char *to)
{
    size_t n = 0;

    for (; to - from > 2; from++)
        n += from[0] == ' ' && from[1] == 'N' && from[2] >= '0' && from[2] <= '9';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size, *from = text;
    int r = 0;

    while (r != NUMA_MAPS_END) {
        struct numa_maps_entry entry = {.start = 77};
        struct pages pages;

        r = parse(&text, end, &entry, &pages);
        FUZZ_CHECK(r == NUMA_MAPS_END ? text == end : text > from && text <= end);
        FUZZ_CHECK(r == 0 || (entry.start == 77 && pages.n == 0));
        FUZZ_CHECK(r == 0 || r == NUMA_MAPS_END || r == -EINVAL);
        FUZZ_CHECK(r != 0 || pages.n == count_nodes(from, text));
        if (r == 0 && pages.size < sizeof pages.text)
            check_stable(&entry, &pages);
        from = text;
    }
    return 0;
}
