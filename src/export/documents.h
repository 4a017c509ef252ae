// SPDX-License-Identifier: Apache-2.0
/*
 * Documents for scripts and for the page: what `report --json` and `diff --json` print and the
 * server answers. Described in docs/json.md, stable within a schema number. Each is a whole JSON
 * document with a newline behind it; parts that several documents have follow.
 */
#ifndef IFG_EXPORT_DOCUMENTS_H
#define IFG_EXPORT_DOCUMENTS_H

#include "analyze/device_use.h"
#include "analyze/diff.h"
#include "analyze/heap.h"
#include "analyze/hot.h"
#include "analyze/memory.h"
#include "analyze/recordings.h"
#include "analyze/report.h"
#include "analyze/waiting.h"
#include "base/bytes.h"
#include "base/json.h"

/* limit: of models, and of operators of each; SIZE_MAX: all. */
void document_report(const struct report *report, size_t limit, struct ifg_bytes *out);

struct diff_document {
    const char *paths[DIFF_SIDES];
    const struct timeline *timelines[DIFF_SIDES];
    double threshold;
    const struct diff *diff;
};
void document_diff(const struct diff_document *document, struct ifg_bytes *out);

/* ---- parts ---- */

/* Keys of an object that is open: how near something comes to the roofs of its device. */
void document_roofline_point(struct ifg_json *json, const struct roofline_point *point);

/* The same: work of devices by name, at most so many rows. */
void document_kernels(struct ifg_json *json, const struct device_kernels *kernels, size_t rows);

/* The same: means over the slices that are summed up, in milliseconds. */
void document_device_time(struct ifg_json *json, const struct device_time *time);

/* "memory": of the report; nothing if none is known. */
void document_memory(struct ifg_json *json, const struct report *report);

/* One function by samples, with at most so many lines and addresses. samples: what shares refer
 * to. */
void document_function_row(struct ifg_json *json, const struct hot_row *row, uint64_t samples,
                           size_t details);

/* The values of one thread, inside its object; times in nanoseconds. */
void document_thread_values(struct ifg_json *json, const struct timeline_profile *profile,
                            const struct waiting_thread *from, bool has_wakers);

/* Keys of an object that is open. Times are since begin_ns. */
void memory_json_span(struct ifg_json *json, const struct memory_span *span, uint64_t begin_ns);
void memory_json_looks(struct ifg_json *json, const struct memory *memory);
void memory_json_sums(struct ifg_json *json, const struct ml_input *input); /* of the heap */

/* Whole objects. */
void memory_json_phase(struct ifg_json *json, const struct ml_input *input,
                       const struct memory_phase *phase);
void memory_json_heap(struct ifg_json *json, const struct ml_input *input, size_t rows);
void memory_json_holder(struct ifg_json *json, const struct ml_input *input,
                        const struct heap_row *row, bool is_function);

/* "det inference (first)", "zone resize", "process node (4711)" */
/* "polled every 275 ms": why a value is not known; NULL if it is. */
const char *memory_unknown(const struct memory_phase *phase, double value, char out[48]);
const char *memory_phase_label(const struct ml_input *input, const struct memory_phase *phase,
                               char *out, size_t size);

#endif
