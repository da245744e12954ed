/* First come, first served: a bank takes a request only when none anywhere is older. */
#include "timing/dram.h"

static uint32_t choose(const struct dram *d, uint32_t bank, const struct dram_list *list)
{
    (void)bank;
    uint64_t oldest = d->queued[list->first].order;
    for (uint32_t i = 0; i < d->spec.banks; i++)
        for (int w = 0; w < 2; w++) {
            const struct dram_list *l = &d->banks[i].waiting[w];
            if (l->n && d->queued[l->first].order < oldest)
                return DRAM_NONE;
        }
    return list->first;
}

const struct dram_order dram_fcfs = {"fcfs", choose};
