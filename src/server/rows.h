// SPDX-License-Identifier: Apache-2.0
/*
 * Rows for slices of several threads in one track: what lies inside another keeps its depth, what
 * happens at the same time on different threads takes rows of its own.
 */
#ifndef IFG_SERVER_ROWS_H
#define IFG_SERVER_ROWS_H

#include "base/status.h"
#include "server/trace.h"

enum rows_pick {
    ROWS_NO,
    ROWS_YES,
    ROWS_OUTLINE, /* only when nothing picked lies inside: an inference without operators */
};

/* picks[p] tells what is taken of location p: of those slices, and of all async spans. */
enum ifg_status rows_create(struct server_trace *trace, const struct id_list *from,
                            const uint8_t *picks, struct lod **out_lod) IFG_MUST_CHECK;

/* Spans by their ids, which are sorted by start: as few rows as can be. */
enum ifg_status rows_pack(struct server_trace *trace, const uint32_t *ids, size_t count,
                          struct lod **out_lod) IFG_MUST_CHECK;

#endif
