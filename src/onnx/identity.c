// SPDX-License-Identifier: Apache-2.0
/* The identity of a model, from its contents: the same as hooks and recorders have of it. */
#include "onnx/onnx_internal.h"
#include "ort_abi/content.h"

static size_t read_piece(void *wire, uint64_t at, void *out, size_t bytes)
{
    return wire_read(wire, at, out, bytes);
}

uint64_t onnx_content_hash(struct wire *wire)
{
    return ort_content_hash(wire->bytes, read_piece, wire);
}
