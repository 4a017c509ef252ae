// SPDX-License-Identifier: Apache-2.0
/* What the files of the ITT collector share: collect.c, objects.c, tasks.c, counters.c. */
#ifndef IFG_HOOKS_ITT_H
#define IFG_HOOKS_ITT_H

#include <errno.h>

#include "hooks/annotations/annotations.h"
#include "hooks/itt/itt_abi.h"

typedef void itt_function(void);

/* One function of ours, and that of a collector that was configured before. */
struct itt_binding {
    const char *name;
    itt_function *ours;
    itt_function *next;
};

#define ITT_BIND(name, function)                                                                   \
    {                                                                                              \
        "__itt_" #name, (itt_function *)(function), NULL                                           \
    }

/* Lists that end with a name of NULL. */
extern struct itt_binding itt_object_functions[];
extern struct itt_binding itt_task_functions[];
extern struct itt_binding itt_counter_functions[];

/* The next one's function at a place of a list, or NULL. */
#define ITT_NEXT(variable, list, index)                                                            \
    ((__typeof__(variable))__atomic_load_n(&(list)[index].next, __ATOMIC_ACQUIRE))
#define ITT_HAS_NEXT(list, index) (__atomic_load_n(&(list)[index].next, __ATOMIC_ACQUIRE) != NULL)

/* Between __itt_pause() and __itt_resume(): nothing new is recorded. */
extern bool itt_is_paused;

static inline bool itt_is_recording(void)
{
    return ifg_is_recording() && !__atomic_load_n(&itt_is_paused, __ATOMIC_RELAXED);
}

/* objects.c: ours for a domain of the program; NULL: not wanted. */
const struct annotations_domain *itt_domain(const struct itt_domain *domain);
/* The same, for a collector that comes when the program has some already. */
void itt_domain_seen(struct itt_domain *domain);

/* The location of a name in a domain. */
ifg_location *itt_location(const struct annotations_domain *domain, uint32_t kind,
                           const struct itt_string *name, struct annotations_text *text);

/* One number for three; never 0 for an id that a program made. */
uint64_t itt_id_number(const struct itt_id *id);

#endif
