#include "attribute/mapper_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "attribute/numa_maps.h"
#include "attribute/requests.h"
#include "util/array.h"
#include "util/nsec.h"
#include "util/procfs.h"
#include "util/scan.h"

/* 10,000 processes take about a second; one of them may be slow to answer. */
#define SEARCH_TIMEOUT (30 * NSEC_PER_SEC)

static int by_inode(const void *left, const void *right)
{
    const struct search_key *a = left, *b = right;

    return a->key.inode < b->key.inode ? -1 : a->key.inode > b->key.inode;
}

static int by_value(const void *left, const void *right)
{
    pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;

    return a < b ? -1 : a > b;
}

static int search_take_keys(struct search_request *search, const struct objects *objects)
{
    struct object *object, *next;

    search->keys = calloc(HASH_CNT(learned, objects->learned) + 1, sizeof *search->keys);
    if (!search->keys)
        return -ENOMEM;
    HASH_ITER (learned, objects->learned, object, next) {
        if (object->wanted)
            search->keys[search->n_keys++] =
                (struct search_key){.key = object->key, .id = object->id};
    }
    qsort(search->keys, search->n_keys, sizeof *search->keys, by_inode);
    return 0;
}

static int search_take_known(struct search_request *search, const struct space *spaces)
{
    search->known = calloc(HASH_COUNT(spaces) + 1, sizeof *search->known);
    if (!search->known)
        return -ENOMEM;
    for (const struct space *space = spaces; space; space = space->hh.next)
        if (space->maps_known)
            search->known[search->n_known++] = space->pid;
    qsort(search->known, search->n_known, sizeof *search->known, by_value);
    return 0;
}

int search_request_new(struct search_request **requestp, const struct objects *objects,
                       const struct space *spaces, uint64_t now, const struct work_ops *ops,
                       void *owner)
{
    struct search_request *search = calloc(1, sizeof *search);

    if (!search)
        return -ENOMEM;
    search->work = (struct work){.ops = ops, .owner = owner, .timeout_nsec = SEARCH_TIMEOUT};
    search->host = *objects->options.host;
    search->asked_nsec = now;
    if (search_take_keys(search, objects) < 0 || search_take_known(search, spaces) < 0) {
        search_request_free(&search->work);
        return -ENOMEM;
    }
    *requestp = search;
    return 0;
}

/* The key that a VMA shows, whatever kind of mapping it is; NULL: none. */
static const struct search_key *find_key(const struct search_request *search, const struct vma *vma)
{
    const struct search_key wanted = {.key = {.inode = vma->inode}};
    const struct search_key *key =
        bsearch(&wanted, search->keys, search->n_keys, sizeof *search->keys, by_inode);
    const struct search_key *end = &search->keys[search->n_keys];

    if (!key)
        return NULL;
    while (key > search->keys && key[-1].key.inode == vma->inode)
        key--;
    for (; key < end && key->key.inode == vma->inode; key++)
        if (key->key.dev_major == vma->dev_major && key->key.dev_minor == vma->dev_minor &&
            key->key.ipc_ns == vma->ipc_ns)
            return key;
    return NULL;
}

static int search_add_hit(struct search_request *search, uint64_t id, pid_t pid)
{
    for (size_t i = search->n_hits; i-- > 0 && search->hits[i].pid == pid;)
        if (search->hits[i].id == id)
            return 0;
    if (ARRAY_RESERVE(search->hits, search->hits_cap, search->n_hits + 1) < 0)
        return -ENOMEM;
    search->hits[search->n_hits++] = (struct search_hit){.id = id, .pid = pid};
    return 0;
}

static int search_add_policy(struct search_request *search, const struct vma *vma,
                             enum reason reason)
{
    const struct search_key *key = find_key(search, vma);

    if (!key || reason == REASON_NONE || !vma_shows_object(vma))
        return 0;
    if (ARRAY_RESERVE(search->policies, search->policies_cap, search->n_policies + 1) < 0)
        return -ENOMEM;
    search->policies[search->n_policies++] =
        (struct search_policy){.id = key->id,
                               .start = vma->offset,
                               .end = vma->offset + (vma->end - vma->start),
                               .reason = reason};
    return 0;
}

static void ignore_node(void *userdata, int node, uint64_t pages)
{
    (void)userdata, (void)node, (void)pages;
}

/* Policies of the VMAs that show a key. */
static int search_take_policies(struct search_request *search, const struct vma_list *vmas,
                                const char *text, size_t size)
{
    const char *end = text + size;
    struct numa_maps_entry entry;
    int r = 0, parsed = 0;

    while (!r && parsed != NUMA_MAPS_END) {
        const struct vma *vma;

        parsed =
            numa_maps_parse_line(&text, end, search->host.page_bytes, &entry, ignore_node, NULL);
        vma = parsed ? NULL : vma_list_find(vmas, entry.start);
        if (vma)
            r = search_add_policy(search, vma, policy_reason(&entry));
    }
    return r;
}

static int search_read_policies(struct search_request *search, pid_t pid,
                                const struct vma_list *vmas)
{
    const struct host *host = &search->host;
    CLEANUP(freep) char *text = NULL;
    char path[64];
    size_t size;
    int r;

    snprintf(path, sizeof path, "proc/%d/numa_maps", pid);
    r = host->ops->read_file(host->self, path, SIZE_MAX / 4, &text, &size);
    return r ? r : search_take_policies(search, vmas, text, size);
}

/* Which keys the VMAs show. *showsp: some VMA does, and its policy may matter. */
static int search_match(struct search_request *search, pid_t pid, const struct vma_list *vmas,
                        bool *showsp)
{
    int r = 0;

    for (size_t i = 0; i < vmas->n_items && !r; i++) {
        const struct search_key *key = find_key(search, &vmas->items[i]);

        if (!key)
            continue;
        *showsp |= vma_shows_object(&vmas->items[i]);
        r = search_add_hit(search, key->id, pid);
    }
    return r;
}

static int search_read_vmas(const struct search_request *search, pid_t pid, struct vma_list *vmas)
{
    const struct host *host = &search->host;
    CLEANUP(freep) char *text = NULL;
    CLEANUP(fd_closep) int fd = -1;
    size_t size = 0;
    int r = host->ops->read_maps(host->self, pid, &fd, &text, &size);

    if (!r)
        r = vma_list_parse(vmas, text, size);
    if (!r)
        vma_list_set_ipc_ns(vmas, host, pid);
    return r;
}

/* Return: 0, a condition of reading (what was found of the process then counts), or negative. */
static int search_process(struct search_request *search, pid_t pid)
{
    CLEANUP(vma_list_deinit) struct vma_list vmas = {0};
    bool shows = false;
    int r = search_read_vmas(search, pid, &vmas);

    if (!r)
        r = search_match(search, pid, &vmas, &shows);
    if (!r && shows)
        r = search_read_policies(search, pid, &vmas);
    return r;
}

bool search_knows(const struct search_request *search, pid_t pid)
{
    return bsearch(&pid, search->known, search->n_known, sizeof pid, by_value) != NULL;
}

/* A folder of /proc. Kernel threads and zombies read as gone: they map nothing. */
static bool search_visit(void *userdata, const char *name)
{
    struct search_request *search = userdata;
    struct scan scan = {.at = name, .end = name + strlen(name)};
    uint64_t pid;
    int r;

    if (!scan_decimal(&scan, INT_MAX, &pid) || !scan_at_end(&scan) ||
        search_knows(search, (pid_t)pid))
        return true;
    r = search_process(search, (pid_t)pid);
    if (r && r != PROCFS_GONE)
        search->unread = true;
    return true;
}

void search_request_run(struct work *work)
{
    struct search_request *search = (struct search_request *)work;
    const struct host *host = &search->host;
    uint64_t cpu = host_cpu_nsec(host);

    if (!host->ops->list_folder ||
        host->ops->list_folder(host->self, "proc", SIZE_MAX, search_visit, search))
        search->unread = true;
    search->cpu_nsec = host_cpu_nsec(host) - cpu;
}

void search_request_free(struct work *work)
{
    struct search_request *search = (struct search_request *)work;

    free(search->hits);
    free(search->policies);
    free(search->keys);
    free(search->known);
    free(search);
}
