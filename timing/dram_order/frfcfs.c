/* First ready, first come first served: the oldest request to the open row, else the oldest (Rixner et al., ISCA 2000). */
#include "timing/dram.h"

static uint32_t choose(const struct dram *d, uint32_t bank, const struct dram_list *list)
{
    uint32_t row = d->banks[bank].row;
    if (d->open >> bank & 1)
        for (uint32_t i = list->first; i != DRAM_NONE; i = d->nodes[i].next)
            if (d->nodes[i].row == row)
                return i;
    return list->first;
}

const struct dram_order dram_frfcfs = {"frfcfs", choose};
