#include "decide/budget.h"

#define HEADROOM_MIN_DIVISOR 100
#define HEADROOM_MAX_DIVISOR 16
#define STEP_DIVISOR 4

uint64_t budget_headroom(const struct config *config, const struct node *node)
{
    uint64_t least = node->total_bytes / HEADROOM_MIN_DIVISOR;
    uint64_t most = node->total_bytes / HEADROOM_MAX_DIVISOR;
    uint64_t headroom = config->headroom_bytes > least ? config->headroom_bytes : least;

    return headroom < most ? headroom : most;
}

uint64_t budget_room(const struct config *config, const struct node *node, bool pressed)
{
    uint64_t headroom = budget_headroom(config, node);
    uint64_t kept = node->reserve_bytes + headroom;
    uint64_t have = node->free_bytes, room, step;

    if (config->use_page_cache && !pressed)
        have += node->inactive_file_bytes;
    if (have <= kept)
        return 0;
    room = have - kept;
    step = (room > headroom ? room : headroom) / STEP_DIVISOR;
    return room < step ? room : step;
}
