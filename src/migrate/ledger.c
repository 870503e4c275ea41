#include "numabd/migrate.h"

void ledger_fail(struct ledger *ledger, int error, uint64_t n)
{
    unsigned i = 0;

    ledger->n_failed += n;
    while (i < ledger->n_errnos && ledger->failed[i].error != error)
        i++;
    if (i == LEDGER_ERRNOS) /* more kinds than the kernel has: count it with the last */
        i--;
    if (i == ledger->n_errnos) {
        ledger->failed[i].error = error;
        ledger->failed[i].n = 0;
        ledger->n_errnos++;
    }
    ledger->failed[i].n += n;
}

void ledger_merge(struct ledger *to, const struct ledger *from)
{
    to->n_tried += from->n_tried;
    to->n_moved += from->n_moved;
    to->n_asked += from->n_asked;
    to->n_absent += from->n_absent;
    for (unsigned i = 0; i < from->n_errnos; i++)
        ledger_fail(to, from->failed[i].error, from->failed[i].n);
}
