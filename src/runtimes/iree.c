// SPDX-License-Identifier: Apache-2.0
/* IREE, followed in Python by wrapping its package. */
#include "runtimes/runtimes.h"

const struct runtime runtime_iree = {
    .name = "IREE",
    .package = "iree.runtime",
    .python = "iree.runtime (Python)",
    .module = "_runtime_libs/_runtime.",
};
