// SPDX-License-Identifier: Apache-2.0
/* ONNX Runtime the way plugins and bindings of other languages get it: dlopen and dlsym. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ort_min.h"

const struct ort_base *ort_get_base(const char *library)
{
    const struct ort_base *(*get)(void) = NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "OrtGetApiBase") : NULL;

    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    memcpy(&get, &symbol, sizeof get);
    return get();
}
