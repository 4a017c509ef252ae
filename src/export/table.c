// SPDX-License-Identifier: Apache-2.0
/*
 * All formats in the order in which they are shown, each with a file of its own here: a new one is
 * that file and one more row.
 */
#include "export/export.h"

#define FORMATS                                                                                    \
    ROW(chrome)                                                                                    \
    ROW(perfetto)                                                                                  \
    ROW(csv)                                                                                       \
    ROW(tracy_csv)                                                                                 \
    ROW(aic_latency)                                                                               \
    ROW(speedscope)                                                                                \
    ROW(folded)                                                                                    \
    ROW(pprof)                                                                                     \
    ROW(npz)

#define ROW(name) extern const struct export_format export_format_##name;
FORMATS
#undef ROW

#define ROW(name) &export_format_##name,
const struct export_format *const export_formats[] = { FORMATS NULL };
