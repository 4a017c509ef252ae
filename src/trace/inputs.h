// SPDX-License-Identifier: Apache-2.0
/*
 * The inputs of single inferences (record --capture-inputs). Their bytes come first, in blocks of
 * at most TRACE_INPUTS_PART; what they are comes last, in a block of its own: where that one is,
 * all is there. A reader that knows neither loses nothing else.
 */
#ifndef IFG_TRACE_INPUTS_H
#define IFG_TRACE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct trace_reader;
struct trace_writer;

#define TRACE_INPUTS_MAX         (1u << 16) /* inferences of a trace with inputs */
#define TRACE_INPUTS_TENSORS_MAX 1024u
#define TRACE_INPUTS_RANK_MAX    16u
#define TRACE_INPUTS_PART        (1u << 20)

struct trace_input_tensor {
    const char *name;
    uint32_t type; /* of an element, as ONNX numbers them: 1 float32, 7 int64, ... */
    uint32_t rank;
    int64_t dims[TRACE_INPUTS_RANK_MAX];
    uint64_t bytes;
};

/* The inputs of one inference: the slice of this process, location and start. */
struct trace_inputs {
    uint32_t number; /* from 1, in the order in which they were written */
    uint32_t process;
    uint32_t tid; /* as the process knows it: may differ from its thread's in the trace */
    uint32_t location;
    uint64_t start; /* ticks */
    bool failed;    /* the inference returned an error */
    const struct trace_input_tensor *tensors;
    size_t tensor_count;
};

/* At most TRACE_INPUTS_PART bytes of one tensor; tensors and offsets in rising order. */
void trace_writer_input_bytes(struct trace_writer *writer, uint32_t number, uint32_t tensor,
                              uint64_t offset, const void *data, size_t bytes);
/* After all of their bytes. */
void trace_writer_inputs(struct trace_writer *writer, const struct trace_inputs *inputs);

/* All of a trace, without their bytes. Names are valid UTF-8. */
struct trace_input_list {
    struct trace_inputs *items; /* by number, which none has twice */
    size_t count;
    uint64_t damaged; /* that made no sense, and are left out */
    void *memory;     /* the decoder's own */
};

enum ifg_status trace_inputs_read(const struct trace_reader *reader,
                                  struct trace_input_list *out_list,
                                  struct ifg_error *err) IFG_MUST_CHECK;
void trace_inputs_fini(struct trace_input_list *list);

/* Calls `take` for all bytes of an inference's inputs, tensor by tensor, each from its beginning;
 * a tensor without bytes is not told of. IFG_CORRUPT if they are not all there. What `take` returns
 * ends it, unless it is IFG_OK. */
typedef enum ifg_status trace_inputs_take(size_t tensor, const void *data, size_t bytes, void *user,
                                          struct ifg_error *err);
enum ifg_status trace_inputs_each_part(const struct trace_reader *reader,
                                       const struct trace_inputs *inputs, trace_inputs_take *take,
                                       void *user, struct ifg_error *err) IFG_MUST_CHECK;

#endif
