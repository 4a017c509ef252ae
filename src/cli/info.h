// SPDX-License-Identifier: Apache-2.0
/* The two faces of `inferogram info`: a page for people, a document for scripts. */
#ifndef IFG_CLI_INFO_H
#define IFG_CLI_INFO_H

#include "base/bytes.h"
#include "analyze/stats.h"
#include "merge/merge.h"
#include "timeline/timeline.h"

struct ifg_json;

struct info_request {
    const char *path;
    size_t top;
    bool json;
    const struct trace_reader *reader;
    const struct timeline *timeline;
    const struct stats *stats; /* by zone */
    struct merge_part *parts;  /* of a merged trace */
    size_t part_count;
};

void info_write_text(const struct info_request *request, struct ifg_bytes *out);
void info_write_json(const struct info_request *request, struct ifg_bytes *out);

/* The traces in a merged one, and how their times were put beside each other: a row for each, and
 * JSON. */
void info_write_parts(struct ifg_bytes *out, const struct merge_part *parts, size_t count,
                      size_t indent);
void info_write_part_json(struct ifg_json *json, const struct merge_part *part);

/* Of a trace that was merged. */
void info_write_merged(const struct info_request *request, struct ifg_bytes *out);
void info_write_merged_json(struct ifg_json *json, const struct info_request *request);

/* The trace that a process came with; NULL: the trace was not merged. */
const struct merge_part *info_part_of(const struct info_request *request, size_t process);

/* How many zones and stages, ML events, and operators have ended. */
struct info_counts {
    uint64_t zones;
    uint64_t ml;
    uint64_t ops;
    uint64_t device; /* work of devices, */
    uint64_t waits;  /* waits for them, */
    uint64_t memory; /* their memory, taken and given back */
    uint64_t driver; /* calls of their drivers */
};

/* What was sampled and how well, from the facts and samples of a trace. NAN: not known. */
struct info_sampling {
    double hz;
    double samples;
    double lost;
    double rooted_share;
    double inferred_share;
    double unwind_us;          /* per sample */
    double overhead_pct;       /* slow-down, measured */
    double overhead_error_pct; /* of that */
    double estimate_pct;       /* from what samples took by themselves */
    double on_share;           /* of the time, in which samples were taken */
};

/* False: the trace has no samples. */
size_t info_clock_threads(const struct trace_tables *tables, uint32_t clock); /* timed by it */
bool info_sampling(const struct info_request *request, struct info_sampling *out);

struct info_counts info_count(const struct info_request *request);

bool info_is_machine(const struct trace_process_entry *process);
bool info_is_known_later(const struct trace_tables *tables, size_t index);
bool info_is_resources(const struct trace_thread_entry *thread);

/* Shared by both: "2026-11-15T08:12:01Z" (24 bytes), and how long the recording lasted. */
void info_start_time(const struct info_request *request, char *out, size_t size);
double info_seconds(const struct info_request *request);
const char *info_fate(const struct trace_process_entry *process, char *out, size_t size);

#endif
