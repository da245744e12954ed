/* Physical allocations and multicast objects: what mapping.c and multicast.c share. */
#ifndef HEDDLE_RUNTIME_MAPPING_H
#define HEDDLE_RUNTIME_MAPPING_H
#include "runtime/internal.h"

struct multicast;
struct rt_mapping {                            /* a physical allocation, or a multicast object */
    struct object object;
    struct device *device;
    uint64_t bytes;
    int fd;                                    /* -1: multicast */
    unsigned maps, handles;                    /* maps: views and bindings of it; handles: as often as it must be released */
    bool host;                                 /* of the host's memory, not the device's */
    bool compressed, shared, imported;         /* may be exported; another process's, which is charged for it */
    struct multicast *multicast;
};

struct rt_mapping *mapping_new(struct device *d, uint64_t bytes, int fd);      /* the file is its own from now on; NULL: no memory, and it is closed */
/* The rest under the.memory. */
void mapping_drop(struct rt_mapping *m);       /* where nobody has it any more */
struct rt_mapping *mapping_at(uint64_t address, uint64_t bytes, uint64_t *offset);     /* the allocation mapped there, in one piece; NULL: there is none */

void multicast_drop(struct rt_mapping *m);
bool multicast_complete(const struct rt_mapping *m);                           /* all devices are in */
enum status multicast_show(struct rt_mapping *m, uint64_t at, uint64_t bytes, uint64_t offset);        /* to multimem instructions */

#endif
