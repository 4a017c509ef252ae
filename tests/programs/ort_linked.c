// SPDX-License-Identifier: Apache-2.0
/* ONNX Runtime as a library that the program was linked with; --ort says nothing new then. */
#include "ort_min.h"

const struct ort_base *OrtGetApiBase(void);

const struct ort_base *ort_get_base(const char *library)
{
    (void)library;
    return OrtGetApiBase();
}
