// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime's own format, a FlatBuffer: what its head says. A table knows where its fields are
 * by a list of offsets; each of them is checked against the file.
 *
 *   InferenceSession: 0 ort_version (text), 1 model
 *   Model: 0 ir_version (int64), 1 opset_import, 2 producer_name, 3 producer_version, 7 graph
 *   OperatorSetId: 0 domain, 1 version (int64)
 *   Graph: 2 nodes;  Node: 2 domain, 5 op_type
 */
#include <stdio.h>
#include <string.h>

#include "onnx/onnx_internal.h"

#define TEXT_MAX   256u
#define OPSETS_MAX 64u

static bool take_u32(struct opened *opened, uint64_t at, uint32_t *out)
{
    uint8_t bytes[4];

    if (wire_read(&opened->wire, at, bytes, sizeof bytes) != sizeof bytes)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged: a model of ONNX Runtime that points to byte %llu of %llu",
                         (unsigned long long)at, (unsigned long long)opened->wire.bytes);
    *out = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
    return true;
}

/* Where an offset that is kept at a place leads to. */
static bool follow(struct opened *opened, uint64_t at, uint64_t *out)
{
    uint32_t offset = 0;

    if (!take_u32(opened, at, &offset))
        return false;
    *out = at + offset;
    return true;
}

/* Where a field of a table is; 0: it has none. */
static bool find_field(struct opened *opened, uint64_t table, unsigned number, uint64_t *out)
{
    uint32_t back;
    uint32_t sizes;
    uint32_t offset;
    int64_t fields;

    *out = 0;
    if (!take_u32(opened, table, &back))
        return false;
    fields = (int64_t)table - (int32_t)back;
    if (fields < 0)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged: a table of a model of ONNX Runtime begins before the file");
    if (!take_u32(opened, (uint64_t)fields, &sizes))
        return false;
    if (4 + 2 * number + 2 > (sizes & 0xffff))
        return true;
    /* Two bytes; the two before them are there in any case, and those behind may not be. */
    if (!take_u32(opened, (uint64_t)fields + 4 + 2 * number - 2, &offset))
        return false;
    offset >>= 16;
    *out = offset ? table + offset : 0;
    return true;
}

static bool take_text(struct opened *opened, uint64_t table, unsigned number, char **out)
{
    uint64_t at;
    uint32_t length;
    char text[TEXT_MAX];

    *out = "";
    if (!find_field(opened, table, number, &at) || (at && !follow(opened, at, &at)))
        return false;
    if (!at)
        return true;
    if (!take_u32(opened, at, &length))
        return false;
    length = length < TEXT_MAX - 1 ? length : TEXT_MAX - 1;
    length = (uint32_t)wire_read(&opened->wire, at + 4, text, length);
    *out = arena_text(&opened->arena, text, length);
    return *out || onnx_no_memory(opened);
}

static bool take_int64(struct opened *opened, uint64_t table, unsigned number, int64_t *out)
{
    uint64_t at;
    uint32_t low;
    uint32_t high;

    *out = 0;
    if (!find_field(opened, table, number, &at))
        return false;
    if (!at)
        return true;
    if (!take_u32(opened, at, &low) || !take_u32(opened, at + 4, &high))
        return false;
    *out = (int64_t)((uint64_t)high << 32 | low);
    return true;
}

/* A list of tables: where it begins and how many there are. */
static bool take_list(struct opened *opened, uint64_t table, unsigned number, uint64_t *out_at,
                      uint32_t *out_count)
{
    *out_count = 0;
    if (!find_field(opened, table, number, out_at))
        return false;
    if (!*out_at)
        return true;
    if (!follow(opened, *out_at, out_at) || !take_u32(opened, *out_at, out_count))
        return false;
    *out_at += 4;
    if (*out_count > (opened->wire.bytes - (*out_at < opened->wire.bytes ? *out_at : 0)) / 4)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged: a list of %u entries at byte %llu of a model of ONNX Runtime",
                         *out_count, (unsigned long long)*out_at);
    return true;
}

static bool take_opsets(struct opened *opened, uint64_t model_at)
{
    struct onnx_model *model = &opened->model;
    uint64_t list;
    uint32_t count;

    if (!take_list(opened, model_at, 1, &list, &count))
        return false;
    count = count < OPSETS_MAX ? count : OPSETS_MAX;
    model->opsets = arena_alloc(&opened->arena, count, sizeof *model->opsets);
    if (!model->opsets)
        return onnx_no_memory(opened);
    for (uint32_t i = 0; i < count; i++) {
        struct onnx_opset *opset = &model->opsets[i];
        uint64_t table;

        if (!follow(opened, list + 4ull * i, &table) ||
            !take_text(opened, table, 0, &opset->domain) ||
            !take_int64(opened, table, 1, &opset->version))
            return false;
        if (!*opset->domain)
            opset->domain = "ai.onnx";
        model->opset_count++;
    }
    return true;
}

static bool take_model(struct opened *opened, uint64_t model_at)
{
    struct onnx_model *model = &opened->model;
    char *producer;
    char *version;
    char text[2 * TEXT_MAX];
    uint64_t graph;
    uint64_t nodes;
    uint32_t count = 0;

    if (!take_int64(opened, model_at, 0, &model->ir_version) || !take_opsets(opened, model_at) ||
        !take_text(opened, model_at, 2, &producer) || !take_text(opened, model_at, 3, &version) ||
        !find_field(opened, model_at, 7, &graph))
        return false;
    if (graph && (!follow(opened, graph, &graph) || !take_list(opened, graph, 2, &nodes, &count)))
        return false;
    model->node_count = count;
    snprintf(text, sizeof text, "%s%s%s", producer, *producer && *version ? " " : "", version);
    model->producer = arena_text(&opened->arena, text, strlen(text));
    return model->producer || onnx_no_memory(opened);
}

bool onnx_is_ort(struct wire *wire)
{
    char mark[4];

    return wire_read(wire, 4, mark, sizeof mark) == sizeof mark && memcmp(mark, "ORTM", 4) == 0;
}

bool onnx_read_ort(struct opened *opened)
{
    uint64_t session;
    uint64_t model_at;

    if (!follow(opened, 0, &session) ||
        !take_text(opened, session, 0, &opened->model.ort_version) ||
        !find_field(opened, session, 1, &model_at))
        return false;
    if (!model_at)
        return wire_fail(&opened->wire, IFG_CORRUPT,
                         "damaged: a file of ONNX Runtime without a model in it");
    return follow(opened, model_at, &model_at) && take_model(opened, model_at);
}
