// SPDX-License-Identifier: Apache-2.0
/* Writing the inputs of inferences: see inputs.h and docs/trace-format.md. */
#include "trace/inputs.h"

#include "trace/writer_internal.h"

void trace_writer_input_bytes(struct trace_writer *writer, uint32_t number, uint32_t tensor,
                              uint64_t offset, const void *data, size_t bytes)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_INPUT_BYTES,
                                     .stream = number,
                                     .count = 1 };
    struct ifg_bytes numbers;

    ifg_bytes_init(&numbers, 64);
    ifg_bytes_put_varint(&numbers, tensor);
    ifg_bytes_put_varint(&numbers, offset);
    if (numbers.failed)
        trace_writer_no_memory(writer, "inputs");
    else
        trace_writer_emit(
            writer, &head,
            (struct trace_column[]){ { numbers.data, numbers.size }, { data, bytes } },
            INPUT_BYTES_COLUMNS);
    ifg_bytes_fini(&numbers);
}

static void put_tensor(struct ifg_bytes *numbers, struct ifg_bytes *names,
                       const struct trace_input_tensor *tensor)
{
    ifg_bytes_put_varint(numbers, tensor->type);
    ifg_bytes_put_varint(numbers, tensor->rank);
    for (uint32_t i = 0; i < tensor->rank; i++)
        ifg_bytes_put_varint(numbers, (uint64_t)tensor->dims[i]);
    ifg_bytes_put_varint(numbers, tensor->bytes);
    ifg_bytes_put_string(names, tensor->name, strlen(tensor->name));
}

void trace_writer_inputs(struct trace_writer *writer, const struct trace_inputs *inputs)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_INPUTS,
                                     .stream = inputs->number,
                                     .count = 1 };
    struct ifg_bytes numbers;
    struct ifg_bytes names;

    ifg_bytes_init(&numbers, TRACE_PAYLOAD_MAX / 4);
    ifg_bytes_init(&names, TRACE_PAYLOAD_MAX / 2);
    ifg_bytes_put_varint(&numbers, inputs->process);
    ifg_bytes_put_varint(&numbers, inputs->tid);
    ifg_bytes_put_varint(&numbers, inputs->location);
    ifg_bytes_put_varint(&numbers, inputs->start);
    ifg_bytes_put_varint(&numbers, inputs->failed);
    ifg_bytes_put_varint(&numbers, inputs->tensor_count);
    for (size_t i = 0; i < inputs->tensor_count; i++)
        put_tensor(&numbers, &names, &inputs->tensors[i]);
    if (numbers.failed || names.failed)
        trace_writer_no_memory(writer, "inputs");
    else
        trace_writer_emit(
            writer, &head,
            (struct trace_column[]){ { numbers.data, numbers.size }, { names.data, names.size } },
            INPUTS_COLUMNS);
    ifg_bytes_fini(&numbers);
    ifg_bytes_fini(&names);
}
