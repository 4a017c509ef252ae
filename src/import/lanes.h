// SPDX-License-Identifier: Apache-2.0
/*
 * Zones of one thread that overlap without nesting, put into lanes in which they nest.
 *
 * A thread of a program cannot leave a zone before it leaves what lies inside; the threads of a
 * foreign file often stand for something else (a stream of a device, requests of a server) and can.
 * Whoever reads a trace relies on nesting, so each lane is written as a thread of its own, with the
 * same number and name.
 */
#ifndef IFG_IMPORT_LANES_H
#define IFG_IMPORT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "import/store.h"

#define LANES_MAX    256u /* of one thread; what fits into none of them stays in the last */
#define LANES_NOBODY UINT64_MAX

struct lanes {
    uint32_t *order; /* the records, lane by lane, in each as they were */
    size_t *first;   /* where each lane begins in order, and one more */
    unsigned count;  /* 1: everything nests */
    uint64_t moved;  /* zones that are not in the first lane */
};

/* Ends get the number of their begin as their start, begins that of their end; LANES_NOBODY where
 * there is none. Returns how many ends have no begin. */
uint64_t lanes_match(struct record *records, size_t count);

/* The records are sorted and matched. */
enum ifg_status lanes_split(const struct record *records, size_t count, unsigned most,
                            struct lanes *out_lanes, struct ifg_error *err) IFG_MUST_CHECK;
void lanes_fini(struct lanes *lanes);

/* When a zone began; false if the record is no zone (or a begin that has an end). */
bool lanes_zone(const struct record *records, size_t index, uint64_t *out_start, uint64_t *out_end);

#endif
