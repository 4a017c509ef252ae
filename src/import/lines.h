// SPDX-License-Identifier: Apache-2.0
/* Cuts text into its lines: for formats that have one JSON object in each. */
#ifndef IFG_IMPORT_LINES_H
#define IFG_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "import/source.h"

#define LINE_MAX_BYTES (16u << 20)

struct lines {
    struct source *source;
    struct ifg_bytes text;
    size_t at;
    bool is_over;
    uint64_t number; /* of lines so far */
    uint64_t bytes;  /* of text so far */
};

struct line {
    const char *text; /* valid until the next call; without its end */
    size_t bytes;
    bool is_too_long; /* the text is its beginning */
    bool is_cut;      /* the text ended without a line break */
};

void lines_init(struct lines *lines, struct source *source);
void lines_fini(struct lines *lines);

/* *out_has_line false: there is none any more. */
enum ifg_status lines_next(struct lines *lines, struct line *out_line, bool *out_has_line,
                           struct ifg_error *err) IFG_MUST_CHECK;

#endif
