// SPDX-License-Identifier: Apache-2.0
/* All runtimes, each with a file of its own here: a new one is that file and one more row. */
#include "runtimes/runtimes.h"

#define RUNTIMES                                                                                   \
    ROW(ort)                                                                                       \
    ROW(iree)                                                                                      \
    ROW(llama)                                                                                     \
    ROW(openvino)

#define ROW(name) extern const struct runtime runtime_##name;
RUNTIMES
#undef ROW

#define ROW(name) &runtime_##name,
const struct runtime *const runtimes[] = { RUNTIMES NULL };
