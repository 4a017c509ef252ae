// SPDX-License-Identifier: Apache-2.0
/* llama.cpp, followed through its C interface by probes/llama.probe. */
#include "runtimes/runtimes.h"

static const char *const libraries[] = { "libllama.", NULL };

const struct runtime runtime_llama = {
    .name = "llama.cpp",
    .libraries = libraries,
    .probes = "llama",
};
