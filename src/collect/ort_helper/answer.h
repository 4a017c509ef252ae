// SPDX-License-Identifier: Apache-2.0
/*
 * The text that inferogram-ort-helper prints and that is kept in the cache, written and read.
 *
 *     inferogram-ort-helper 1
 *     version 1.20.1
 *     build-id HEX
 *     frame OFFSET ...           functions from the operator outwards; for people
 *     execute_kernel OFFSET PROBE argument 3 checked 12
 *     node_names argument 2 offsets 0 264 0 8 40 checked 14
 *     run OFFSET PROBE argument 2 checked 3
 *     load_path OFFSET PROBE argument 2 path 3 checked 1
 *     missing execute_kernel: SENTENCE
 *     end
 *
 *     inferogram-ort-helper 1
 *     run ok | run failed SENTENCE
 *     node INDEX PARENT NAME TYPE PROVIDER     texts escaped as tell_text does, % = empty
 *     other INDEX PARENT NAME TYPE PROVIDER    the same, of an attempt that failed before
 *     end
 *
 * A failure is one line "error SENTENCE" instead.
 */
#ifndef IFG_COLLECT_ORT_HELPER_ANSWER_H
#define IFG_COLLECT_ORT_HELPER_ANSWER_H

#include "base/bytes.h"
#include "collect/ort_helper/ort_helper.h"

#define ANSWER_FIRST_LINE "inferogram-ort-helper 1"

void answer_put(struct ifg_bytes *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void answer_put_text(struct ifg_bytes *out, const char *text); /* a blank, then escaped */

void answer_put_backtrace(struct ifg_bytes *out, const struct ort_backtrace *backtrace);

/* IFG_CORRUPT: it is no whole answer. The helper's own failure becomes IFG_UNSUPPORTED with its
 * sentence. */
enum ifg_status answer_read_backtrace(const char *text, size_t bytes,
                                      struct ort_backtrace *out_backtrace,
                                      struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status answer_read_nodes(const char *text, size_t bytes, struct ort_nodes *out_nodes,
                                  struct ifg_error *err) IFG_MUST_CHECK;

#endif
