// SPDX-License-Identifier: Apache-2.0
/*
 * The page with a trace inside, as one file that can be mailed: docs/report-html.md.
 *
 * Documents are what the server's own handlers answer, kept by the address that the page would ask
 * them at; slices, samples and values come as columns, and the page computes the level of detail
 * from them by the same rules as the server (lod.h). A trace whose columns are too large gets a
 * level of detail for the whole, and its slowest inferences with everything that is in them.
 */
#ifndef IFG_SERVER_SNAPSHOT_H
#define IFG_SERVER_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

#define SNAPSHOT_BYTES    ((size_t)8000000) /* of a file, unless told otherwise */
#define SNAPSHOT_NOTES    6u
#define SNAPSHOT_NOTE_MAX 240u

struct snapshot_result {
    uint64_t slices;      /* of the trace */
    uint64_t slices_kept; /* those of them that are in the file one by one */
    size_t note_count;    /* sentences about what was left out */
    char notes[SNAPSHOT_NOTES][SNAPSHOT_NOTE_MAX];
};

/* Loads the trace and writes the page into out, at most max_bytes unless the smallest possible page
 * is larger. IFG_UNSUPPORTED if the program was built without its page; IFG_CORRUPT and IFG_IO for
 * a trace that cannot be read. */
enum ifg_status snapshot_trace(const char *path, size_t max_bytes, struct ifg_bytes *out,
                               struct snapshot_result *out_result,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* The page with one JSON document inside: "bench" (a result file) or "compare" (of diff). */
enum ifg_status snapshot_document(const char *kind, const char *title, const void *json,
                                  size_t size, struct ifg_bytes *out,
                                  struct ifg_error *err) IFG_MUST_CHECK;

#endif
