// SPDX-License-Identifier: Apache-2.0
/*
 * Cuts the text of a Chrome trace into pieces without understanding them: the elements of the array
 * of events, and the other members of the object around it.
 *
 * Strings with unescaped quotes (ONNX Runtime 1.20 wrote names as they were, 1.31 escapes them)
 * make the end of an event hard to find. They come one event per line, so a line that looks whole
 * is offered as a piece even if its quotes do not add up; whoever cannot use it asks for a wider or
 * a later cut.
 */
#ifndef IFG_IMPORT_SPLITTER_H
#define IFG_IMPORT_SPLITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "import/source.h"

#define SPLITTER_EVENT_MAX  (16u << 20)
#define SPLITTER_MEMBER_MAX (1u << 20)

enum piece_kind {
    PIECE_END,
    PIECE_EVENT,     /* an object of the array */
    PIECE_OTHER,     /* something else in the array */
    PIECE_MEMBER,    /* a member of the outer object; key and value */
    PIECE_CUT,       /* the text ended inside it */
    PIECE_TOO_LARGE, /* skipped */
};

struct piece {
    enum piece_kind kind;
    const char *text; /* valid until the next call */
    size_t bytes;
    const char *key; /* of members, with its quotes */
    size_t key_bytes;
    uint64_t offset; /* in the text */
    bool by_line;    /* ended where its line ended, against its quotes and brackets */
};

struct splitter;

enum ifg_status splitter_create(struct source *source, struct splitter **out_splitter,
                                struct ifg_error *err) IFG_MUST_CHECK;
void splitter_destroy(struct splitter *splitter);

/* IFG_CORRUPT if the text does not begin like a trace. */
enum ifg_status splitter_next(struct splitter *splitter, struct piece *out_piece,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* The last piece, which was by_line, again, now up to where its brackets say. */
enum ifg_status splitter_widen(struct splitter *splitter, struct piece *out_piece,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* The last piece was no good: go on at what looks like the next event inside it. */
void splitter_resync(struct splitter *splitter, const struct piece *piece);

uint64_t splitter_offset(const struct splitter *splitter);
bool splitter_closed(const struct splitter *splitter); /* the closing brackets were there */

#endif
