// SPDX-License-Identifier: Apache-2.0
/* What the writers of results share. */
#ifndef IFG_BENCH_RESULT_INTERNAL_H
#define IFG_BENCH_RESULT_INTERNAL_H

#include "base/json.h"
#include "bench/result/result.h"

/* The row whose numbers stand at the top of a document; NULL if there are no rows. */
const struct bench_row *result_top_row(const struct bench_result *result);

/* "" for NULL. */
const char *result_text_or_empty(const char *text);

enum ifg_status result_written(const struct ifg_bytes *out, struct ifg_error *err) IFG_MUST_CHECK;

#endif
