// SPDX-License-Identifier: Apache-2.0
/*
 * Level of detail: what of millions of slices can be told apart at so many nanoseconds a pixel.
 *
 * A lod is a set of rows. In a row nothing overlaps, and items are sorted by start; over their
 * durations lies a pyramid of maxima with fan-out 16, so that the next long one and the longest of
 * many are found without looking at all.
 *
 * Items are ids: below slice_count a slice of the timeline, from there on one of `spans`.
 *
 * Asked for a range, it gives every item of at least `least_ns`, and the others side by side up to
 * the next line of a fixed grid as one merged item. Lines of the grid do not depend on the range,
 * so that panning does not make merged items flicker.
 */
#ifndef IFG_SERVER_LOD_H
#define IFG_SERVER_LOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "timeline/timeline.h"

#define LOD_LEVELS     8u /* 16^8 items: more than a row can have */
#define LOD_MERGE_PX   3u
#define LOD_ITEMS_MOST 262144u /* of an answer: beyond it, more is merged */

enum lod_flag {
    LOD_UNFINISHED = 1,
    LOD_MERGED = 2,
    LOD_OUTLINE = 4,  /* an inference whose operators were not recorded */
    LOD_INFERRED = 8, /* from samples */
};

/* Something with a begin and an end that is no slice. */
struct lod_span {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint32_t location;
    uint32_t count; /* what it is made of; 1 */
    uint32_t row;   /* for those who build; the lod does not look at it */
    uint8_t flags;
};

struct lod_row {
    const uint32_t *items; /* ids by start */
    size_t count;
    uint32_t *levels[LOD_LEVELS]; /* [0] is NULL: durations themselves */
    unsigned level_count;         /* highest level + 1 */
};

struct lod {
    const struct timeline *timeline;
    size_t slice_count; /* ids below are slices */
    const struct lod_span *spans;
    struct lod_row *rows;
    size_t row_count;
    uint32_t *items; /* of all rows; owned */
    uint32_t *pyramid;
    bool outlines; /* ML events in it are inferences without operators */
};

/* One item of an answer. */
struct lod_item {
    uint64_t start_ns;
    uint64_t duration_ns;
    uint32_t location;
    uint32_t count;
    uint32_t id; /* of it, or of the longest */
    uint16_t row;
    uint8_t flags;
};

struct lod_items {
    struct lod_item *items;
    size_t count;
    size_t capacity;
    size_t most;
    bool full; /* there were more than most */
};

/* The slices of a thread, a row for each depth. */
enum ifg_status lod_create_thread(const struct timeline *timeline, uint32_t thread,
                                  struct lod **out_lod) IFG_MUST_CHECK;

/* From rows that are known: row_of[i] is the row of ids[i]; ids of a row come by start. */
enum ifg_status lod_create_rows(const struct timeline *timeline, size_t slice_count,
                                const struct lod_span *spans, const uint32_t *ids,
                                const uint16_t *row_of, size_t count,
                                struct lod **out_lod) IFG_MUST_CHECK;
void lod_destroy(struct lod *lod); /* accepts NULL */

size_t lod_count(const struct lod *lod);
size_t lod_bytes(const struct lod *lod);

/* What lies in [t0, t1), by row and start. Merges what is shorter than least_ns (never 0). */
enum ifg_status lod_query(const struct lod *lod, uint64_t t0_ns, uint64_t t1_ns, double least_ns,
                          struct lod_items *out) IFG_MUST_CHECK;

/* The same with px pixels for the range; up to three times the range if that is little. The range
 * that was answered comes back. */
enum ifg_status lod_view(const struct lod *lod, unsigned px, uint64_t *t0_ns, uint64_t *t1_ns,
                         struct lod_items *out) IFG_MUST_CHECK;

void lod_items_init(struct lod_items *items, size_t most);
void lod_items_fini(struct lod_items *items);
enum ifg_status lod_items_add(struct lod_items *items, const struct lod_item *item);

/* As the columns of docs/server.md. */
void lod_write(const struct timeline *timeline, const struct lod_items *items, size_t rows,
               uint64_t t0_ns, uint64_t t1_ns, struct ifg_bytes *out);

/* How wide the grid is for a least duration: at least that, and the same for nearly the same. */
uint64_t lod_grid_ns(double least_ns);

#endif
