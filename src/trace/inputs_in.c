// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the inputs of inferences. Blocks are hostile: one that contradicts itself is left out and
 * counted, and nothing is allocated for sizes that a file only claims.
 */
#include "trace/inputs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "trace/reader_internal.h"

struct memory {
    struct trace_arena arena;
    struct trace_input_tensor **tensors; /* of each, to be freed */
    size_t count, room, item_room;
};

static struct ifg_cursor column(const struct trace_unpacker *unpacker, size_t number)
{
    return number < unpacker->count
               ? ifg_cursor_over(unpacker->columns[number], unpacker->sizes[number])
               : ifg_cursor_over("", 0);
}

static uint32_t take_u32(struct ifg_cursor *cursor)
{
    uint64_t value = ifg_cursor_varint(cursor);

    if (value > UINT32_MAX)
        cursor->failed = true;
    return (uint32_t)value;
}

static void take_tensor(struct ifg_cursor *numbers, struct trace_input_tensor *out)
{
    out->type = take_u32(numbers);
    out->rank = take_u32(numbers);
    if (out->rank > TRACE_INPUTS_RANK_MAX)
        numbers->failed = true;
    for (uint32_t i = 0; !numbers->failed && i < out->rank; i++) {
        uint64_t size = ifg_cursor_varint(numbers);

        if (size > INT64_MAX)
            numbers->failed = true;
        out->dims[i] = (int64_t)size;
    }
    out->bytes = ifg_cursor_varint(numbers);
}

static bool keep_tensors(struct memory *memory, struct trace_input_tensor *tensors)
{
    if (!IFG_ARRAY_ROOM(memory->tensors, memory->room, memory->count + 1, TRACE_INPUTS_MAX))
        return false;
    memory->tensors[memory->count++] = tensors;
    return true;
}

/* IFG_CORRUPT: it makes no sense. */
static enum ifg_status read_one(struct memory *memory, const struct trace_unpacker *unpacker,
                                struct trace_inputs *out)
{
    struct ifg_cursor numbers = column(unpacker, INPUTS_NUMBERS);
    struct ifg_cursor names = column(unpacker, INPUTS_NAMES);
    struct trace_input_tensor *tensors;
    bool no_memory = false;
    uint64_t count;

    out->process = take_u32(&numbers);
    out->tid = take_u32(&numbers);
    out->location = take_u32(&numbers);
    out->start = ifg_cursor_varint(&numbers);
    out->failed = ifg_cursor_varint(&numbers) & 1;
    count = ifg_cursor_varint(&numbers);
    if (numbers.failed || count > TRACE_INPUTS_TENSORS_MAX)
        return IFG_CORRUPT;
    tensors = ifg_alloc((size_t)count + 1, sizeof *tensors);
    if (!tensors || !keep_tensors(memory, tensors)) {
        ifg_free(tensors);
        return IFG_NO_MEMORY;
    }
    for (size_t i = 0; i < count && !numbers.failed && !names.failed; i++) {
        take_tensor(&numbers, &tensors[i]);
        tensors[i].name = trace_arena_string(&memory->arena, &names, &no_memory);
    }
    out->tensors = tensors;
    out->tensor_count = (size_t)count;
    if (no_memory)
        return IFG_NO_MEMORY;
    if (!numbers.failed && !names.failed)
        return IFG_OK;
    ifg_free(tensors);
    memory->count--;
    return IFG_CORRUPT;
}

static int by_number(const void *left, const void *right)
{
    const struct trace_inputs *a = left;
    const struct trace_inputs *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

/* Numbers are given once: whoever has one that is taken already is not from a recorder. */
static void sort(struct trace_input_list *list)
{
    size_t kept = 0;

    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_number);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && list->items[kept - 1].number == list->items[i].number)
            list->damaged++;
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

enum ifg_status trace_inputs_read(const struct trace_reader *reader,
                                  struct trace_input_list *out_list, struct ifg_error *err)
{
    struct memory *memory = ifg_alloc(1, sizeof *memory);
    struct trace_unpacker unpacker = { 0 };
    enum ifg_status status = memory ? IFG_OK : IFG_NO_MEMORY;

    *out_list = (struct trace_input_list){ .memory = memory };
    for (size_t i = 0; status != IFG_NO_MEMORY && i < trace_reader_block_count(reader); i++) {
        struct trace_inputs inputs = { 0 };
        struct trace_block_head head = { 0 };

        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_INPUTS)
            continue;
        status = trace_open_block(reader, i, TRACE_BLOCK_INPUTS, &unpacker, &head, NULL);
        if (out_list->count == TRACE_INPUTS_MAX)
            status = IFG_CORRUPT;
        inputs.number = head.stream;
        if (!status)
            status = read_one(memory, &unpacker, &inputs);
        if (!status && !IFG_ARRAY_ROOM(out_list->items, memory->item_room, out_list->count + 1,
                                       TRACE_INPUTS_MAX))
            status = IFG_NO_MEMORY;
        if (!status)
            out_list->items[out_list->count++] = inputs;
        else
            out_list->damaged++;
    }
    trace_unpacker_fini(&unpacker);
    if (status == IFG_NO_MEMORY) {
        trace_inputs_fini(out_list);
        return ifg_fail_no_memory(err, "to read the inputs of %s", trace_reader_name(reader));
    }
    sort(out_list);
    return IFG_OK;
}

void trace_inputs_fini(struct trace_input_list *list)
{
    struct memory *memory = list->memory;

    for (size_t i = 0; memory && i < memory->count; i++)
        ifg_free(memory->tensors[i]);
    if (memory) {
        ifg_free(memory->tensors);
        trace_arena_fini(&memory->arena);
    }
    ifg_free(memory);
    ifg_free(list->items);
    *list = (struct trace_input_list){ 0 };
}

/* ---- their bytes ---- */

/* The next part must be here: so far in this tensor, none of the later ones. */
struct place {
    size_t tensor;
    uint64_t offset;
};

static void skip_full(const struct trace_inputs *inputs, struct place *place)
{
    while (place->tensor < inputs->tensor_count &&
           place->offset == inputs->tensors[place->tensor].bytes)
        *place = (struct place){ .tensor = place->tensor + 1 };
}

static enum ifg_status take_part(const struct trace_unpacker *unpacker,
                                 const struct trace_inputs *inputs, struct place *place,
                                 trace_inputs_take *take, void *user, struct ifg_error *err)
{
    struct ifg_cursor numbers = column(unpacker, INPUT_BYTES_NUMBERS);
    struct ifg_cursor data = column(unpacker, INPUT_BYTES_BYTES);
    uint64_t tensor = ifg_cursor_varint(&numbers);
    uint64_t offset = ifg_cursor_varint(&numbers);
    size_t bytes = unpacker->count > INPUT_BYTES_BYTES ? unpacker->sizes[INPUT_BYTES_BYTES] : 0;

    skip_full(inputs, place);
    if (numbers.failed || !bytes || tensor != place->tensor || offset != place->offset ||
        place->tensor >= inputs->tensor_count ||
        bytes > inputs->tensors[place->tensor].bytes - offset)
        return ifg_fail(err, IFG_CORRUPT, "parts of these inputs are damaged or missing");
    place->offset += bytes;
    return take(place->tensor, ifg_cursor_take(&data, bytes), bytes, user, err);
}

enum ifg_status trace_inputs_each_part(const struct trace_reader *reader,
                                       const struct trace_inputs *inputs, trace_inputs_take *take,
                                       void *user, struct ifg_error *err)
{
    struct trace_unpacker unpacker = { 0 };
    enum ifg_status status = IFG_OK;
    struct place place = { 0 };

    for (size_t i = 0; !status && i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        struct trace_block_head head;

        if (block->type != TRACE_BLOCK_INPUT_BYTES || block->stream != inputs->number)
            continue;
        status = trace_open_block(reader, i, TRACE_BLOCK_INPUT_BYTES, &unpacker, &head, err);
        if (!status)
            status = take_part(&unpacker, inputs, &place, take, user, err);
    }
    trace_unpacker_fini(&unpacker);
    skip_full(inputs, &place);
    if (!status && place.tensor < inputs->tensor_count)
        status = ifg_fail(err, IFG_CORRUPT, "parts of these inputs are damaged or missing");
    return status;
}
