// SPDX-License-Identifier: Apache-2.0
/*
 * Events on their way: 32 bytes each in memory, thread by thread, until everything was read and
 * they can be sorted; their details in a temporary file that has no name.
 */
#ifndef IFG_IMPORT_STORE_H
#define IFG_IMPORT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The order is the order of records that end at the same time, X only: inner ones first. */
enum record_kind {
    RECORD_BEGIN = 1,
    RECORD_END,
    RECORD_MESSAGE,
    RECORD_COUNTER,
    RECORD_ASYNC_BEGIN,
    RECORD_ASYNC_END,
    RECORD_FLOW_BEGIN,
    RECORD_FLOW_STEP,
    RECORD_FLOW_END,
    RECORD_INNER_ZONE, /* an operator */
    RECORD_ZONE,
    RECORD_OUTER_ZONE, /* an ML event */
};

struct record {
    uint64_t end;      /* when it ended or happened */
    uint64_t start;    /* zones; bits of a counter's value; id of an async span or a flow */
    uint64_t details;  /* where its details are in the temporary file (flows: enum
                        * trace_flow_flag), times 256, plus the kind */
    uint32_t location; /* or the level of a message */
    uint32_t sequence; /* its place in the file */
};

static inline enum record_kind record_kind(const struct record *record)
{
    return (enum record_kind)(record->details & 0xff);
}

struct store;

/* The temporary file is made, when needed, in the directory of beside. */
enum ifg_status store_create(const char *beside, struct store **out_store,
                             struct ifg_error *err) IFG_MUST_CHECK;
void store_destroy(struct store *store);

enum ifg_status store_add(struct store *store, uint32_t thread, const struct record *record,
                          struct ifg_error *err) IFG_MUST_CHECK;

/* Puts details away; *out_offset is never 0. */
enum ifg_status store_put_details(struct store *store, const void *bytes, size_t size,
                                  uint64_t *out_offset, struct ifg_error *err) IFG_MUST_CHECK;

/* The records of a thread, sorted; they are the caller's (ifg_free) and gone from the store. */
enum ifg_status store_take_sorted(struct store *store, uint32_t thread, struct record **out_records,
                                  size_t *out_count, struct ifg_error *err) IFG_MUST_CHECK;

/* Valid until the next call. */
enum ifg_status store_get_details(struct store *store, uint64_t offset, const uint8_t **out_bytes,
                                  size_t *out_size, struct ifg_error *err) IFG_MUST_CHECK;

/* In place, for tests. */
void store_sort_records(struct record *records, size_t count);

#endif
