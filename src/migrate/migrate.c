/*
 * From plan to requests: moves of one process to one node travel together, up to
 * MIGRATE_BATCH_PAGES pages a request; each node has its own lane, so that a slow node holds up no
 * other.
 */
#include "numabd/migrate.h"

#include <errno.h>

#include "attribute/slabs.h"
#include "migrate/move_request.h"
#include "util/nsec.h"

/*
 * The learned cost is CPU time over bytes of the last moves, so that a request of one page, which
 * is all fixed cost, weighs as little as it moved. It starts as if 256 MiB had been moved at the
 * first guess: a few requests on a contended machine must not stop all moves. Old moves lose half
 * their weight with each 4 GiB.
 */
#define COST_PRIOR_BYTES ((double)(256 << 20))
#define COST_HALF_LIFE_BYTES ((double)((uint64_t)4 << 30))

struct migrate {
    struct migrate_options options;
    struct migrate_counts counts;
    uint64_t *queued_bytes; /* [n_node_ids] planned and not done */
    unsigned *n_queued;     /* [n_node_ids] requests */
    double cost_sec, cost_bytes;
    size_t *lane; /* [n_node_ids] lanes are dense, ids are not */
};

int migrate_new(struct migrate **migratep, const struct migrate_options *options)
{
    CLEANUP(migrate_freep) struct migrate *migrate = calloc(1, sizeof *migrate);
    size_t n_nodes = (size_t)options->topology->n_node_ids;

    if (!migrate)
        return -ENOMEM;
    migrate->options = *options;
    migrate->cost_bytes = COST_PRIOR_BYTES;
    migrate->cost_sec = COST_PRIOR_BYTES * DECIDE_SEC_PER_BYTE;
    migrate->counts.sec_per_byte = DECIDE_SEC_PER_BYTE;
    migrate->queued_bytes = calloc(n_nodes, sizeof *migrate->queued_bytes);
    migrate->n_queued = calloc(n_nodes, sizeof *migrate->n_queued);
    migrate->lane = calloc(n_nodes, sizeof *migrate->lane);
    if (!migrate->queued_bytes || !migrate->n_queued || !migrate->lane)
        return -ENOMEM;
    for (size_t node = 1; node < n_nodes; node++)
        migrate->lane[node] =
            migrate->lane[node - 1] + topology_has_memory(options->topology, (int)node - 1);
    *migratep = TAKE(migrate);
    return 0;
}

struct migrate *migrate_free(struct migrate *migrate)
{
    if (!migrate)
        return NULL;
    free(migrate->queued_bytes);
    free(migrate->n_queued);
    free(migrate->lane);
    free(migrate);
    return NULL;
}

const struct migrate_counts *migrate_counts(const struct migrate *migrate)
{
    return &migrate->counts;
}

void migrate_allowance(const struct migrate *migrate, const struct config *config,
                       uint64_t *rate_bytes)
{
    double round = nsec_to_sec(config->interval_nsec);
    uint64_t rate = (uint64_t)((double)config->migration_rate_bytes * round);

    /* A batch always fits into an empty queue, however short the round. */
    if (rate < MIGRATE_BATCH_PAGES * migrate->options.host->page_bytes)
        rate = MIGRATE_BATCH_PAGES * migrate->options.host->page_bytes;
    for (int node = 0; node < migrate->options.topology->n_node_ids; node++) {
        uint64_t queued = migrate->queued_bytes[node];
        bool full = migrate->n_queued[node] >= MIGRATE_QUEUE_MAX;

        rate_bytes[node] = full || queued >= rate ? 0 : rate - queued;
    }
}

static void migrate_learn_cost(struct migrate *migrate, const struct outcome *outcome,
                               uint64_t bytes)
{
    if (!bytes)
        return;
    if (migrate->cost_bytes > COST_HALF_LIFE_BYTES) {
        migrate->cost_bytes /= 2;
        migrate->cost_sec /= 2;
    }
    migrate->cost_bytes += (double)bytes;
    migrate->cost_sec += nsec_to_sec(outcome->cpu_nsec);
    migrate->counts.sec_per_byte = migrate->cost_sec / migrate->cost_bytes;
}

/* A request no longer waits. */
static void migrate_unqueue(struct migrate *migrate, const struct move_request *request)
{
    migrate->queued_bytes[request->outcome.node] -= request->planned_bytes;
    migrate->n_queued[request->outcome.node]--;
}

static void on_move(struct work *work)
{
    struct move_request *request = (struct move_request *)work;
    struct migrate *migrate = work->owner;
    struct outcome *outcome = &request->outcome;
    uint64_t bytes = outcome->ledger.n_moved * migrate->options.host->page_bytes;

    migrate_unqueue(migrate, request);
    ledger_merge(&migrate->counts.ledger, &outcome->ledger);
    migrate->counts.moved_bytes += bytes;
    migrate->counts.cpu_nsec += outcome->cpu_nsec;
    migrate_learn_cost(migrate, outcome, bytes);
    migrate->options.on_outcome(migrate->options.userdata, outcome);
    move_request_free(work);
}

static const struct work_ops move_ops = {
    .name = "move_pages", .run = move_request_run, .done = on_move, .free = move_request_free};

static void on_recalled(struct work *work)
{
    struct move_request *request = (struct move_request *)work;
    struct migrate *migrate = work->owner;

    migrate_unqueue(migrate, request);
    request->outcome.recalled = true;
    migrate->options.on_outcome(migrate->options.userdata, &request->outcome);
    move_request_free(work);
}

void migrate_recall(struct migrate *migrate)
{
    for (int node = 0; node < migrate->options.topology->n_node_ids; node++)
        if (topology_has_memory(migrate->options.topology, node))
            worker_pool_recall(migrate->options.pool, 1 + migrate->lane[node], &move_ops,
                               on_recalled);
}

static void migrate_send(struct migrate *migrate, struct move_request *request)
{
    int node = request->outcome.node;

    migrate->queued_bytes[node] += request->planned_bytes;
    migrate->n_queued[node]++;
    request->work.ops = &move_ops;
    request->work.owner = migrate;
    worker_pool_submit(migrate->options.pool, 1 + migrate->lane[node], &request->work);
}

/* Return: this is new; the same is planned in each round while nothing moves. */
static bool migrate_observe(struct migrate *migrate, struct range *range, const struct move *move)
{
    if (range->observed_node == move->node)
        return false;
    range->observed_node = (int16_t)move->node;
    migrate->counts.n_observed += move->bytes / migrate->options.host->page_bytes;
    return true;
}

static uint64_t batch_bytes(const struct migrate *migrate)
{
    return MIGRATE_BATCH_PAGES * migrate->options.host->page_bytes;
}

static bool fits(const struct migrate *migrate, const struct move_request *request,
                 const struct move *move)
{
    uint64_t used = 0;

    if (request->outcome.pid != move->pid || request->outcome.node != move->node ||
        request->outcome.shared != (move->object != 0))
        return false;
    for (size_t i = 0; i < request->outcome.n_ranges; i++)
        used += request->outcome.ranges[i].end - request->outcome.ranges[i].start;
    return used + (move->end - move->start) <= batch_bytes(migrate);
}

/* Where moves are on their way into requests. */
struct submission {
    struct migrate *migrate;
    const struct target *target;
    struct space *space;
    struct range *range;
    struct move_request *open;
};

/* Adds one move to the open request, sending that first if it is full or for something else. */
static int submission_add(struct submission *submission, const struct move *move)
{
    struct migrate *migrate = submission->migrate;
    int r;

    if (submission->open && !fits(migrate, submission->open, move))
        migrate_send(migrate, TAKE(submission->open));
    if (!submission->open) {
        r = move_request_new(&submission->open, migrate->options.host, submission->target,
                             submission->space, move->node, move->object != 0);
        if (r < 0)
            return r;
    }
    r = move_request_add(submission->open, move);
    if (r < 0)
        return r;
    submission->open->planned_bytes += move->bytes;
    submission->range->moving++;
    return 0;
}

/*
 * A slab goes in pieces that fit into a request, each with its part of what was planned. Whose it
 * is is asked by the node that its threads run on, which may have no memory and not be the target.
 */
static int submission_add_slab(struct submission *submission, const struct move *move)
{
    uint64_t start = move->start, end;
    int r = 0, node = slab_node(submission->space, submission->range);

    while (!r && slab_next(submission->space, submission->range, node,
                           batch_bytes(submission->migrate), &start, &end)) {
        struct move piece = *move;

        piece.start = start;
        piece.end = end;
        piece.bytes = (uint64_t)((double)move->bytes * (double)(end - start) / (double)move->size);
        r = submission_add(submission, &piece);
        start = end;
    }
    return r;
}

static int migrate_submit_one(struct submission *submission, const struct move *move,
                              const struct discover *discover, struct attribute *attribute)
{
    struct space *space = attribute_find(attribute, move->pid);

    submission->target = discover_find(discover, move->pid);
    submission->space = space;
    submission->range = attribute_find_range(attribute, move->pid, move->object,
                                             move->object ? move->offset : move->start, move->rank);
    if (!submission->target || !space || !submission->range)
        return 0;
    if (move->observe) {
        space->n_planned += migrate_observe(submission->migrate, submission->range, move);
        return 0;
    }
    space->n_planned++;
    return move->rank ? submission_add_slab(submission, move) : submission_add(submission, move);
}

int migrate_submit(struct migrate *migrate, const struct plan *plan,
                   const struct discover *discover, struct attribute *attribute)
{
    struct submission submission = {.migrate = migrate};
    int r = 0;

    for (size_t i = 0; i < plan->n_moves && !r; i++)
        r = migrate_submit_one(&submission, &plan->moves[i], discover, attribute);
    if (submission.open)
        migrate_send(migrate, submission.open);
    return r;
}
