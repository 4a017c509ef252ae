// SPDX-License-Identifier: Apache-2.0
/* Tensors in the file: what they are and how much they hold. Their contents are stepped over,
 * except of small ones, which often are shapes. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_internal.h"

/* TensorProto.DataType */
static const struct {
    const char *name;
    unsigned bits;
    bool is_small;
} types[] = {
    { "undefined", 0, false },     { "float32", 32, false },  { "uint8", 8, true },
    { "int8", 8, true },           { "uint16", 16, false },   { "int16", 16, false },
    { "int32", 32, false },        { "int64", 64, false },    { "string", 0, false },
    { "bool", 8, false },          { "float16", 16, false },  { "float64", 64, false },
    { "uint32", 32, false },       { "uint64", 64, false },   { "complex64", 64, false },
    { "complex128", 128, false },  { "bfloat16", 16, false }, { "float8e4m3fn", 8, true },
    { "float8e4m3fnuz", 8, true }, { "float8e5m2", 8, true }, { "float8e5m2fnuz", 8, true },
    { "uint4", 4, true },          { "int4", 4, true },       { "float4e2m1", 4, true },
    { "float8e8m0", 8, true },     { "uint2", 2, true },      { "int2", 2, true },
};

#define TYPES (sizeof types / sizeof *types)
_Static_assert(TYPES <= ONNX_TYPES, "every type has a place in onnx_model.weights");

static const char *const tensor_fields[] = {
    [1] = "dims",         [2] = "data type",    [4] = "float data",     [5] = "int32 data",
    [6] = "string data",  [7] = "int64 data",   [8] = "name",           [9] = "raw data",
    [10] = "double data", [11] = "uint64 data", [13] = "external data", [14] = "data location",
};
static const struct wire_names tensor_names = { "tensor", tensor_fields, 15 };
static const char *const sparse_fields[] = { [1] = "values", [2] = "indices", [3] = "dims" };
static const struct wire_names sparse_names = { "sparse tensor", sparse_fields, 4 };
static const char *const entry_fields[] = { [1] = "key", [2] = "value" };
static const struct wire_names entry_names = { "external data entry", entry_fields, 3 };

const char *onnx_type_name(int32_t type)
{
    return type >= 0 && (size_t)type < TYPES ? types[type].name : "unknown";
}

unsigned onnx_type_bits(int32_t type)
{
    return type >= 0 && (size_t)type < TYPES ? types[type].bits : 0;
}

bool onnx_type_is_small(int32_t type)
{
    return type >= 0 && (size_t)type < TYPES && types[type].is_small;
}

/* ---- one tensor ---- */

struct reading {
    struct tensor *tensor;
    uint64_t dims_in_file;
    uint64_t product;  /* of the dims so far */
    bool has_overflow; /* unless another one is 0 */
    bool has_zero;
    bool is_external;
    struct external external;
    uint64_t offset;
    uint64_t length;
    struct wire_span raw;
    bool has_raw;
    uint64_t text_bytes;
    double numbers[NUMBERS_MAX];
    uint32_t number_count;
    bool has_more; /* numbers than fit */
};

static bool add_dim(struct opened *opened, struct reading *reading, uint64_t at, int64_t dim)
{
    struct tensor *tensor = reading->tensor;

    if (dim < 0)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged at byte %llu: a tensor has a dimension of %lld",
                         (unsigned long long)at, (long long)dim);
    if (reading->dims_in_file < ONNX_RANK_MAX)
        tensor->dims[reading->dims_in_file] = dim;
    reading->dims_in_file++;
    reading->has_zero = reading->has_zero || dim == 0;
    if (__builtin_mul_overflow(reading->product, (uint64_t)dim, &reading->product) ||
        reading->product > UINT64_MAX / 256)
        reading->has_overflow = true, reading->product = 1;
    return true;
}

static void add_number(struct reading *reading, double number)
{
    if (reading->number_count < NUMBERS_MAX)
        reading->numbers[reading->number_count++] = number;
    else
        reading->has_more = true;
}

static double as_double(uint64_t bits, enum wire_type type)
{
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;

    if (type == WIRE_VARINT)
        return (double)(int64_t)bits;
    if (type == WIRE_FIXED64) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &low, sizeof narrow);
    return (double)narrow;
}

/* A list of numbers, which may also come one by one; long ones are stepped over. */
static void add_numbers(struct opened *opened, struct reading *reading,
                        const struct wire_field *field, enum wire_type type)
{
    struct wire_span span = field->bytes;
    uint64_t bits;

    if (field->type == type) {
        add_number(reading, as_double(field->value, type));
        return;
    }
    if (field->type != WIRE_BYTES)
        return;
    if (wire_length(span) > NUMBERS_MAX * 10u) {
        reading->has_more = true;
        return;
    }
    while (wire_packed(&opened->wire, &span, type, &bits))
        add_number(reading, as_double(bits, type));
}

/* The numbers of a small tensor that is kept as bytes. */
static bool add_raw(struct opened *opened, struct reading *reading)
{
    const struct tensor *tensor = reading->tensor;
    unsigned size = onnx_type_bits(tensor->type) / 8;
    uint8_t bytes[NUMBERS_MAX * 8];
    size_t total = (size_t)tensor->elements * size;

    if (wire_length(reading->raw) != total)
        return true;
    if (wire_read(&opened->wire, reading->raw.at, bytes, total) != total)
        return wire_fail(&opened->wire, IFG_IO, "cannot read the tensor at byte %llu",
                         (unsigned long long)reading->raw.at);
    for (size_t i = 0; i < tensor->elements; i++) {
        uint64_t bits = 0;

        for (unsigned j = 0; j < size; j++)
            bits |= (uint64_t)bytes[i * size + j] << (8 * j);
        switch (tensor->type) {
        case TYPE_FLOAT32:
            add_number(reading, as_double(bits, WIRE_FIXED32));
            break;
        case TYPE_FLOAT64:
            add_number(reading, as_double(bits, WIRE_FIXED64));
            break;
        case TYPE_INT32:
            add_number(reading, (double)(int32_t)bits);
            break;
        case TYPE_INT8:
            add_number(reading, (double)(int8_t)bits);
            break;
        default:
            add_number(reading, (double)(int64_t)bits);
        }
    }
    return true;
}

static bool keep_numbers(struct opened *opened, struct reading *reading)
{
    struct tensor *tensor = reading->tensor;
    double *copy;

    if (tensor->elements == 0 || tensor->elements > NUMBERS_MAX || reading->is_external)
        return true;
    switch (tensor->type) {
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_BOOL:
    case TYPE_UINT8:
    case TYPE_INT8:
        break;
    default:
        return true;
    }
    if (reading->has_raw) {
        reading->number_count = 0;
        if (!add_raw(opened, reading))
            return false;
    }
    if (reading->has_more || reading->number_count != tensor->elements)
        return true;
    copy = arena_alloc(&opened->arena, reading->number_count, sizeof *copy);
    if (!copy)
        return onnx_no_memory(opened);
    memcpy(copy, reading->numbers, reading->number_count * sizeof *copy);
    tensor->numbers = copy;
    tensor->number_count = reading->number_count;
    return true;
}

static bool take_entry(struct opened *opened, struct wire_span span, struct reading *reading)
{
    struct wire_field field;
    const char *key = "";
    const char *text = "";

    while (wire_next(&opened->wire, &span, &entry_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES) &&
            !onnx_take_text(opened, field.bytes, &key))
            return false;
        if (wire_key(&field) == WIRE_FIELD(2, WIRE_BYTES) &&
            !onnx_take_text(opened, field.bytes, &text))
            return false;
    }
    if (strcmp(key, "location") == 0)
        reading->external.location = text;
    if (strcmp(key, "offset") == 0)
        reading->offset = strtoull(text, NULL, 10);
    if (strcmp(key, "length") == 0)
        reading->length = strtoull(text, NULL, 10);
    return !opened->wire.status;
}

static bool take_dims(struct opened *opened, struct reading *reading, struct wire_span span)
{
    uint64_t at = span.at;
    uint64_t dim;

    while (wire_packed(&opened->wire, &span, WIRE_VARINT, &dim)) {
        if (!add_dim(opened, reading, at, (int64_t)dim))
            return false;
        at = span.at;
    }
    return !opened->wire.status;
}

static bool take_field(struct opened *opened, struct reading *reading,
                       const struct wire_field *field)
{
    struct tensor *tensor = reading->tensor;

    switch (field->number) {
    case 1:
        if (field->type == WIRE_VARINT)
            return add_dim(opened, reading, field->at, (int64_t)field->value);
        return field->type != WIRE_BYTES || take_dims(opened, reading, field->bytes);
    case 2:
        tensor->type =
            field->type == WIRE_VARINT && field->value < TYPES ? (int32_t)field->value : 0;
        break;
    case 4:
        add_numbers(opened, reading, field, WIRE_FIXED32);
        break;
    case 5:
    case 7:
    case 11:
        add_numbers(opened, reading, field, WIRE_VARINT);
        break;
    case 6:
        reading->text_bytes += wire_length(field->bytes);
        break;
    case 8:
        return field->type != WIRE_BYTES || onnx_take_text(opened, field->bytes, &tensor->name);
    case 9:
        reading->raw = field->bytes;
        reading->has_raw = field->type == WIRE_BYTES;
        break;
    case 10:
        add_numbers(opened, reading, field, WIRE_FIXED64);
        break;
    case 13:
        return field->type != WIRE_BYTES || take_entry(opened, field->bytes, reading);
    case 14:
        reading->is_external = field->value == 1;
        break;
    default:
        break;
    }
    return !opened->wire.status;
}

static bool keep_external(struct opened *opened, struct reading *reading)
{
    struct external *grown;

    if (!reading->external.location || !*reading->external.location)
        return onnx_note(opened, "the tensor '%.64s' is in another file, but does not say which",
                         reading->tensor->name);
    if (!reading->length)
        reading->length = reading->tensor->bytes;
    if (__builtin_add_overflow(reading->offset, reading->length, &reading->external.end))
        reading->external.end = UINT64_MAX;
    grown = arena_append(&opened->arena, opened->externals, opened->external_count, sizeof *grown);
    if (!grown)
        return onnx_no_memory(opened);
    opened->externals = grown;
    grown[opened->external_count++] = reading->external;
    return true;
}

static bool finish(struct opened *opened, struct reading *reading, uint64_t at)
{
    struct tensor *tensor = reading->tensor;
    unsigned bits = onnx_type_bits(tensor->type);

    if (reading->has_overflow && !reading->has_zero)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged at byte %llu: the tensor '%.64s' has more elements than fit into "
                         "any memory",
                         (unsigned long long)at, tensor->name);
    tensor->elements = reading->has_zero ? 0 : reading->product;
    tensor->bytes = bits ? (tensor->elements * bits + 7) / 8 : reading->text_bytes;
    tensor->rank_fits = reading->dims_in_file <= ONNX_RANK_MAX;
    tensor->rank = tensor->rank_fits ? (uint32_t)reading->dims_in_file : 0;
    if (reading->has_raw && !reading->is_external && bits &&
        wire_length(reading->raw) != tensor->bytes &&
        !onnx_note(opened, "the tensor '%.64s' at byte %llu should have %llu bytes, but has %llu",
                   tensor->name, (unsigned long long)at, (unsigned long long)tensor->bytes,
                   (unsigned long long)wire_length(reading->raw)))
        return false;
    return reading->is_external ? keep_external(opened, reading) : keep_numbers(opened, reading);
}

bool onnx_read_tensor(struct opened *opened, struct wire_span span, struct tensor **out)
{
    struct reading reading;
    struct wire_field field;
    uint64_t at = span.at;

    memset(&reading, 0, offsetof(struct reading, numbers));
    reading.number_count = 0;
    reading.has_more = false;
    reading.product = 1;
    reading.tensor = *out = arena_alloc(&opened->arena, 1, sizeof **out);
    if (!*out)
        return onnx_no_memory(opened);
    (*out)->name = "";
    while (wire_next(&opened->wire, &span, &tensor_names, &field))
        if (!take_field(opened, &reading, &field))
            return false;
    return !opened->wire.status && finish(opened, &reading, at);
}

/* Of a sparse tensor, what is there counts; its places are bytes, not parameters. */
bool onnx_read_sparse(struct opened *opened, struct wire_span span, struct tensor **out)
{
    struct reading whole;
    struct tensor shape = { 0 };
    struct tensor *values = NULL;
    struct tensor *indices = NULL;
    struct wire_field field;

    memset(&whole, 0, sizeof whole);
    whole.product = 1;
    whole.tensor = &shape;
    while (wire_next(&opened->wire, &span, &sparse_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES) &&
            !onnx_read_tensor(opened, field.bytes, &values))
            return false;
        if (wire_key(&field) == WIRE_FIELD(2, WIRE_BYTES) &&
            !onnx_read_tensor(opened, field.bytes, &indices))
            return false;
        if (field.number == 3 && !take_field(opened, &whole,
                                             &(struct wire_field){ .number = 1,
                                                                   .type = field.type,
                                                                   .at = field.at,
                                                                   .value = field.value,
                                                                   .bytes = field.bytes }))
            return false;
    }
    if (opened->wire.status)
        return false;
    if (!values && !onnx_read_tensor(opened, (struct wire_span){ 0, 0 }, &values))
        return false;
    values->rank_fits = whole.dims_in_file <= ONNX_RANK_MAX;
    values->rank = values->rank_fits ? (uint32_t)whole.dims_in_file : 0;
    memcpy(values->dims, shape.dims, sizeof shape.dims);
    values->numbers = NULL;
    values->number_count = 0;
    values->bytes += indices ? indices->bytes : 0;
    *out = values;
    return true;
}

bool onnx_count_weight(struct opened *opened, const struct tensor *tensor, bool in_constant)
{
    struct onnx_model *model = &opened->model;
    struct onnx_weights *weights = &model->weights[tensor->type];

    weights->tensors++;
    if (__builtin_add_overflow(model->parameters, tensor->elements, &model->parameters) ||
        __builtin_add_overflow(model->weight_bytes, tensor->bytes, &model->weight_bytes))
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged: its tensors have more elements than fit into any memory");
    weights->elements += tensor->elements;
    weights->bytes += tensor->bytes;
    if (in_constant)
        model->constant_parameters += tensor->elements;
    return true;
}
