#include "sim/object.h"

#include <string.h>

#include "sim/fail.h"

static uint64_t n_chunks(const struct sim_object *object)
{
    return (object->n_pages + SIM_CHUNK_PAGES - 1) / SIM_CHUNK_PAGES;
}

/* Pages of a chunk: the last one of an object may be short. */
static uint64_t chunk_size(const struct sim_object *object, uint64_t i)
{
    uint64_t left = object->n_pages - i * SIM_CHUNK_PAGES;

    return left < SIM_CHUNK_PAGES ? left : SIM_CHUNK_PAGES;
}

struct sim_object *sim_object_new(uint64_t id, uint64_t n_pages)
{
    struct sim_object *object = sim_calloc(1, sizeof *object);

    *object = (struct sim_object){.id = id, .inode = id, .n_pages = n_pages};
    object->chunks = sim_calloc(n_chunks(object), sizeof *object->chunks);
    for (uint64_t i = 0; i < n_chunks(object); i++)
        object->chunks[i].node = SIM_ABSENT;
    return object;
}

struct sim_object *sim_object_free(struct sim_object *object)
{
    if (!object)
        return NULL;
    for (uint64_t i = 0; i < n_chunks(object); i++)
        free(object->chunks[i].pages);
    free(object->chunks);
    free(object);
    return NULL;
}

int sim_object_node(const struct sim_object *object, uint64_t page)
{
    const struct sim_chunk *chunk = &object->chunks[page / SIM_CHUNK_PAGES];

    return chunk->pages ? chunk->pages[page % SIM_CHUNK_PAGES] : chunk->node;
}

uint64_t sim_object_n_present(const struct sim_object *object)
{
    uint64_t n = 0;

    for (int node = 0; node < SIM_NODES_MAX; node++)
        n += object->n_on[node];
    return n;
}

static void chunk_split(struct sim_chunk *chunk)
{
    if (chunk->pages)
        return;
    chunk->pages = sim_calloc(SIM_CHUNK_PAGES, sizeof *chunk->pages);
    for (size_t page = 0; page < SIM_CHUNK_PAGES; page++)
        chunk->pages[page] = chunk->node;
}

static void chunk_join(struct sim_chunk *chunk, uint64_t size)
{
    for (uint64_t page = 1; page < size; page++)
        if (chunk->pages[page] != chunk->pages[0])
            return;
    chunk->node = chunk->pages[0];
    free(chunk->pages);
    chunk->pages = NULL;
}

/* A part of one chunk that goes to a node. */
struct piece {
    struct sim_object *object;
    struct sim_node *nodes;
    struct sim_chunk *chunk;
    uint64_t size; /* of the chunk */
    uint64_t first, n;
    int node;
    bool with_absent;
};

static int piece_node(const struct piece *piece, uint64_t page)
{
    return piece->chunk->pages ? piece->chunk->pages[page] : piece->chunk->node;
}

static bool piece_wants(const struct piece *piece, int at)
{
    return at != piece->node && (at >= 0 || piece->with_absent);
}

static uint64_t piece_count(const struct piece *piece)
{
    uint64_t n = 0;

    if (!piece->chunk->pages)
        return piece_wants(piece, piece->chunk->node) ? piece->n : 0;
    for (uint64_t page = piece->first; page < piece->first + piece->n; page++)
        n += piece_wants(piece, piece->chunk->pages[page]);
    return n;
}

static void piece_release(const struct piece *piece, int at, uint64_t n)
{
    if (at < 0)
        return;
    sim_node_give(&piece->nodes[at], n);
    piece->object->n_on[at] -= n;
}

static void piece_put(const struct piece *piece)
{
    if (!piece->chunk->pages && piece->n == piece->size) {
        piece_release(piece, piece->chunk->node, piece->n);
        piece->chunk->node = (int16_t)piece->node;
        return;
    }
    chunk_split(piece->chunk);
    for (uint64_t page = piece->first; page < piece->first + piece->n; page++) {
        int at = piece_node(piece, page);

        if (!piece_wants(piece, at))
            continue;
        piece_release(piece, at, 1);
        piece->chunk->pages[page] = (int16_t)piece->node;
    }
    chunk_join(piece->chunk, piece->size);
}

static bool piece_go(const struct piece *piece)
{
    uint64_t n = piece_count(piece);

    if (!n)
        return true;
    if (!sim_node_take(&piece->nodes[piece->node], n))
        return false;
    piece_put(piece);
    piece->object->n_on[piece->node] += n;
    if (!piece->with_absent)
        piece->nodes[piece->node].n_arrived += n;
    return true;
}

static struct piece piece_of(struct sim_object *object, struct sim_node *nodes, uint64_t first,
                             uint64_t n, int node)
{
    uint64_t i = first / SIM_CHUNK_PAGES, within = first % SIM_CHUNK_PAGES;
    uint64_t size = chunk_size(object, i);

    return (struct piece){
        .object = object,
        .nodes = nodes,
        .chunk = &object->chunks[i],
        .size = size,
        .first = within,
        .n = n < size - within ? n : size - within,
        .node = node,
    };
}

bool sim_object_place(struct sim_object *object, struct sim_node *nodes, uint64_t first, uint64_t n,
                      int node)
{
    SIM_NEED(first + n <= object->n_pages);
    while (n) {
        struct piece piece = piece_of(object, nodes, first, n, node);

        piece.with_absent = true;
        if (!piece_go(&piece))
            return false;
        first += piece.n;
        n -= piece.n;
    }
    return true;
}

bool sim_object_move(struct sim_object *object, struct sim_node *nodes, uint64_t first, uint64_t n,
                     int node)
{
    struct piece piece = piece_of(object, nodes, first, n, node);

    if (object->huge) {
        piece.first = 0;
        piece.n = piece.size;
    }
    return piece_go(&piece);
}

void sim_object_spread(struct sim_object *object, struct sim_node *nodes, uint64_t stride, int from,
                       int n_nodes)
{
    int node = from;

    for (uint64_t page = 0; page < object->n_pages; page += stride) {
        uint64_t left = object->n_pages - page;

        SIM_NEED(sim_object_place(object, nodes, page, left < stride ? left : stride, node));
        node = (node + 1) % n_nodes;
    }
}

void sim_object_empty(struct sim_object *object, struct sim_node *nodes)
{
    for (int node = 0; node < SIM_NODES_MAX; node++)
        if (object->n_on[node])
            sim_node_give(&nodes[node], object->n_on[node]);
    memset(object->n_on, 0, sizeof object->n_on);
    for (uint64_t i = 0; i < n_chunks(object); i++) {
        free(object->chunks[i].pages);
        object->chunks[i] = (struct sim_chunk){.node = SIM_ABSENT};
    }
}

void sim_object_count(const struct sim_object *object, uint64_t first, uint64_t n, uint64_t *n_on)
{
    uint64_t end = first + n;

    SIM_NEED(end <= object->n_pages);
    while (first < end) {
        const struct sim_chunk *chunk = &object->chunks[first / SIM_CHUNK_PAGES];
        uint64_t next = (first / SIM_CHUNK_PAGES + 1) * SIM_CHUNK_PAGES;

        next = next < end ? next : end;
        if (!chunk->pages && chunk->node >= 0)
            n_on[chunk->node] += next - first;
        for (uint64_t page = first; chunk->pages && page < next; page++)
            if (chunk->pages[page % SIM_CHUNK_PAGES] >= 0)
                n_on[chunk->pages[page % SIM_CHUNK_PAGES]]++;
        first = next;
    }
}
