#include "numabd/autonuma.h"

void autonuma_add(struct autonuma *to, const struct autonuma *more)
{
    to->n_pte_updates += more->n_pte_updates;
    to->n_hint_faults += more->n_hint_faults;
    to->n_local += more->n_local;
    to->n_migrated += more->n_migrated;
}

double autonuma_cost(const struct autonuma *counts)
{
    return AUTONUMA_COST_PTE_UPDATE * (double)counts->n_pte_updates +
           AUTONUMA_COST_HINT_FAULT * (double)counts->n_hint_faults +
           AUTONUMA_COST_MIGRATION * (double)counts->n_migrated;
}
