// SPDX-License-Identifier: Apache-2.0
/* The smallest runtime: a name and a library. What extension.sh adds to the table. */
#include "runtimes/runtimes.h"

static const char *const libraries[] = { "libmade_runtime.so", NULL };

const struct runtime runtime_made = {
    .name = "Made Runtime",
    .libraries = libraries,
};
