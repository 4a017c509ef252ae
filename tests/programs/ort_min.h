// SPDX-License-Identifier: Apache-2.0
/* What the test programs that call ONNX Runtime share; its functions are those of ort_abi. */
#ifndef ORT_MIN_H
#define ORT_MIN_H

#include <stddef.h>
#include <stdint.h>

#include "ort_abi/api.h"

enum { ORT_FLOAT = 1, ORT_INT64 = 7, ORT_BOOL = 9 };

/* Where the program gets ONNX Runtime from: ort_dlopen.c or ort_linked.c. NULL: message printed. */
const struct ort_base *ort_get_base(const char *library);

#endif
