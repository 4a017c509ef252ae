// SPDX-License-Identifier: Apache-2.0
/* What the files that make a mailed page share. */
#ifndef IFG_SERVER_SNAPSHOT_INTERNAL_H
#define IFG_SERVER_SNAPSHOT_INTERNAL_H

#include "base/bytes.h"
#include "base/json.h"
#include "server/handler.h"
#include "server/snapshot.h"
#include "server/trace.h"

/* How much of a trace goes into the columns. */
struct snapshot_detail {
    bool exact;     /* every slice */
    double px;      /* else: so many pixels for the whole trace */
    size_t slowest; /* and so many of the slowest inferences with all that is in them */
};

/* The columns of a page, one section each, and the document that tells what is where. */
struct snapshot_columns {
    struct ifg_bytes gap, duration, location, depth; /* exact: slices, thread by thread */
    struct ifg_bytes ids;                            /* exact: those of the other tracks */
    struct ifg_bytes item_start, item_duration, item_location, item_count, item_id, item_flags;
    struct ifg_bytes value_time, value; /* counters */
    struct ifg_bytes index;             /* JSON */
    uint64_t slices_kept;
};

void snapshot_columns_init(struct snapshot_columns *columns);
void snapshot_columns_fini(struct snapshot_columns *columns);

/* Fills them; notes are part of the index. */
enum ifg_status snapshot_columns_fill(struct server_trace *trace,
                                      const struct snapshot_detail *detail,
                                      struct snapshot_columns *out,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* The documents, as one: {"meta": ..., "stats?by=zone&mode=instrumentation": ...}. The code of the
 * hottest functions is the largest part of them, if it is wanted. */
enum ifg_status snapshot_documents(struct server_trace *trace, struct traces *traces, bool code,
                                   struct ifg_bytes *out, struct ifg_error *err) IFG_MUST_CHECK;

/* Inferences (without any: outermost zones) by duration, longest first; those that are a large part
 * of the trace are no inference that could be kept whole. The caller frees *out_ids. */
enum ifg_status snapshot_slowest(const struct server_trace *trace, size_t most, uint32_t **out_ids,
                                 size_t *out_count) IFG_MUST_CHECK;

#endif
