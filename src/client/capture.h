// SPDX-License-Identifier: Apache-2.0
/*
 * Handing the inputs of an inference to the recorder (record --capture-inputs): between libraries
 * of one version, not for programs. A hook asks once whether anybody wants inputs at all; then,
 * after each inference, whether those of this one; and puts them, or tells why it cannot. The
 * program still owns its inputs at that moment, and nothing of them is held in its memory.
 */
#ifndef IFG_CLIENT_CAPTURE_H
#define IFG_CLIENT_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <inferogram/inferogram.h>

#include "wire/capture.h"

struct ifg_capture_tensor {
    const char *name;
    const void *data; /* that cannot be read: counted, and nothing happens */
    const int64_t *dims;
    uint32_t rank;
    uint32_t type; /* ONNX's number */
};

/* Whether a recorder wants inputs. To be asked at the start: it maps the recorder's file. */
IFG_API int ifg_capture_open(void);

/* Whether those of this inference, which is over. If so, ifg_capture_put or _refuse must follow. */
IFG_API int ifg_capture_wants(ifg_model *model, uint64_t ticks, int failed);

IFG_API void ifg_capture_put(ifg_model *model, uint32_t location, uint64_t start, uint64_t ticks,
                             int failed, const struct ifg_capture_tensor *tensors, size_t count);
IFG_API void ifg_capture_refuse(int why); /* enum ifg_capture_why */

#endif
