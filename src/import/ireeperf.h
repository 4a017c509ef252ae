// SPDX-License-Identifier: Apache-2.0
/*
 * IREE's device profiles, as `iree-profile export --format=ireeperf-jsonl` writes them: one record
 * per line. Each becomes an event like those of a Chrome trace, and goes the way of those.
 */
#ifndef IFG_IMPORT_IREEPERF_H
#define IFG_IMPORT_IREEPERF_H

#include <stdbool.h>
#include <stddef.h>

#include "import/import_internal.h"
#include "import/lines.h"

#define IREEPERF_LOOK_BYTES 128u /* enough to know the format by */

struct ireeperf;

/* Does a file that begins like this have that format? */
bool ireeperf_begins(const char *text, size_t bytes);

/* IFG_CORRUPT, with what to do, if it is IREE's own file, which has to be exported first. */
enum ifg_status ireeperf_refuse_binary(const char *text, size_t bytes,
                                       struct ifg_error *err) IFG_MUST_CHECK;

enum ifg_status ireeperf_create(struct importer *importer, struct ireeperf **out_profile,
                                struct ifg_error *err) IFG_MUST_CHECK;
void ireeperf_destroy(struct ireeperf *profile);

/* One line. importer->offset is its number. IFG_CORRUPT: the file is not what it has to be. */
enum ifg_status ireeperf_line(struct ireeperf *profile, const struct line *line) IFG_MUST_CHECK;

/* After the last: what happened on devices gets its time now that all clock relations are known. */
enum ifg_status ireeperf_finish(struct ireeperf *profile) IFG_MUST_CHECK;

/* What a dispatch, or anything else, is; the event was made here. */
void ireeperf_understand(const struct event *event, struct meaning *out_meaning);

#endif
