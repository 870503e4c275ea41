/*
 * One line of /proc/PID/numa_maps: address, policy, then tokens in any order:
 *
 *     7f474bfc4000 prefer:1 anon=102400 dirty=102400 N0=8704 N1=93696 kernelpagesize_kB=4
 *
 * The policy is the one field that can hold a blank ("prefer (many)=static:0", "weighted
 * interleave:0-1"); a name whose second word is not known here reads as POLICY_OTHER and a token
 * that is skipped. The page size stands last but scales the node counts, so their part of a line is
 * scanned twice: for the entry, which also proves that the line is sound, and for its nodes.
 */
#include "attribute/numa_maps.h"

#include <errno.h>

#include "numabd/topology.h"
#include "util/array.h"
#include "util/scan.h"

#define KIB UINT64_C(1024)

/* What a line says. */
struct numa_maps_line {
    struct numa_maps_entry entry;
    uint64_t max_node_pages;
    struct scan nodes; /* from the first token of a node to the last one, empty without any */
};

/* Mode and flags end with a list of nodes or with the field: "bind:0", "bind=static:0", "default".
 */
static bool scan_mode(struct scan *line, const char *name)
{
    struct scan after = *line;

    if (!scan_literal(&after, name))
        return false;
    if (!scan_at_end(&after) && *after.at != ' ' && *after.at != ':' && *after.at != '=')
        return false;
    *line = after;
    return true;
}

/* A mode that is not known: letters and "_", as all of the kernel's. */
static bool scan_unknown_mode(struct scan *line)
{
    const char *from = line->at;

    while (!scan_at_end(line) && ((*line->at >= 'a' && *line->at <= 'z') || *line->at == '_'))
        line->at++;
    return line->at > from && scan_mode(line, "");
}

static bool scan_policy(struct scan *line, enum policy *policyp)
{
    static const struct {
        const char *name;
        enum policy policy;
    } modes[] = {
        {"default", POLICY_DEFAULT},
        {"local", POLICY_DEFAULT},
        {"bind", POLICY_BIND},
        {"prefer (many)", POLICY_PREFER}, /* before its prefix */
        {"prefer", POLICY_PREFER},
        {"interleave", POLICY_INTERLEAVE},
        {"weighted interleave", POLICY_INTERLEAVE},
    };
    struct scan nodes;
    size_t i = 0;

    while (i < ARRAY_LENGTH(modes) && !scan_mode(line, modes[i].name))
        i++;
    if (i == ARRAY_LENGTH(modes) && !scan_unknown_mode(line))
        return false;
    (void)scan_word(line, &nodes);
    *policyp = i < ARRAY_LENGTH(modes) ? modes[i].policy : POLICY_OTHER;
    return true;
}

/* The rest of a token is its number. */
static bool token_number(struct scan token, uint64_t max, uint64_t *valuep)
{
    return scan_decimal(&token, max, valuep) && scan_at_end(&token);
}

/* "N0=8704"; a node that no kernel can have is not skipped, it makes the line malformed. */
static bool token_is_node(struct scan token)
{
    return scan_char(&token, 'N') && !scan_at_end(&token) &&
           (*token.at == '-' || (*token.at >= '0' && *token.at <= '9'));
}

static bool token_node(struct scan token, int *nodep, uint64_t *pagesp)
{
    uint64_t node;

    if (!scan_char(&token, 'N') || !scan_decimal(&token, TOPOLOGY_NODE_MAX - 1, &node) ||
        !scan_char(&token, '=') || !token_number(token, UINT64_MAX, pagesp))
        return false;
    *nodep = (int)node;
    return true;
}

static bool token_page_size(struct scan token, uint64_t *bytesp)
{
    uint64_t kib;

    if (!token_number(token, UINT64_MAX / KIB, &kib) || kib == 0)
        return false;
    *bytesp = kib * KIB;
    return true;
}

static bool line_add_node(struct numa_maps_line *line, struct scan token)
{
    uint64_t pages;
    int node;

    if (!token_node(token, &node, &pages))
        return false;
    if (pages > line->max_node_pages)
        line->max_node_pages = pages;
    if (!line->nodes.at)
        line->nodes.at = token.at;
    line->nodes.end = token.end;
    return true;
}

static bool line_add_token(struct numa_maps_line *line, struct scan token)
{
    struct numa_maps_entry *entry = &line->entry;

    if (token_is_node(token)) {
        return line_add_node(line, token);
    } else if (scan_literal(&token, "file=")) {
        entry->is_file = true;
    } else if (scan_literal(&token, "anon=")) {
        return token_number(token, UINT64_MAX, &entry->anon_pages);
    } else if (scan_literal(&token, "mapmax=")) {
        return token_number(token, UINT64_MAX, &entry->mapmax);
    } else if (scan_literal(&token, "kernelpagesize_kB=")) {
        return token_page_size(token, &entry->page_bytes);
    } else if (scan_literal(&token, "huge") && scan_at_end(&token)) {
        entry->huge = true;
    }
    return true;
}

static bool line_scan(struct scan *text, struct numa_maps_line *line)
{
    struct numa_maps_entry *entry = &line->entry;
    struct scan token;
    uint64_t bytes;

    if (!scan_hex(text, UINT64_MAX, &entry->start) || !scan_char(text, ' ') ||
        !scan_policy(text, &entry->policy))
        return false;
    while (scan_blanks(text) && scan_word(text, &token))
        if (!line_add_token(line, token))
            return false;
    return !__builtin_mul_overflow(line->max_node_pages, entry->page_bytes, &bytes);
}

static void tokens_visit_nodes(struct scan tokens,
                               void (*on_node)(void *userdata, int node, uint64_t pages),
                               void *userdata)
{
    struct scan token;
    uint64_t pages;
    int node;

    while (scan_word(&tokens, &token)) {
        if (token_is_node(token) && token_node(token, &node, &pages))
            on_node(userdata, node, pages);
        (void)scan_blanks(&tokens);
    }
}

int numa_maps_parse_line(const char **textp, const char *end, uint64_t default_page_bytes,
                         struct numa_maps_entry *entry,
                         void (*on_node)(void *userdata, int node, uint64_t pages), void *userdata)
{
    struct scan text = {.at = *textp, .end = end}, rest;
    struct numa_maps_line line = {.entry.page_bytes = default_page_bytes};
    bool complete;

    if (scan_at_end(&text))
        return NUMA_MAPS_END;
    complete = scan_line(&text, &rest);
    *textp = text.at;
    if (!complete || !line_scan(&rest, &line))
        return -EINVAL;
    *entry = line.entry;
    tokens_visit_nodes(line.nodes, on_node, userdata);
    return 0;
}
