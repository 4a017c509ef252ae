// SPDX-License-Identifier: Apache-2.0
/* How near operators come to the roofs of their device, as parts of documents. */
#include <math.h>
#include <string.h>

#include "export/documents.h"
#include "export/documents_internal.h"

#define MS   1e6
#define NANO 1e-9

static void put_known(struct ifg_json *json, const char *key, double value)
{
    ifg_json_put_double(json, key, value > 0 ? value : (double)NAN);
}

void document_roofline_point(struct ifg_json *json, const struct roofline_point *point)
{
    double seconds = point->time_ns > 0 ? point->time_ns * NANO : (double)NAN;

    ifg_json_put_uint(json, "nodes", point->nodes);
    ifg_json_put_uint(json, "known", point->known);
    ifg_json_put_string(json, "time", !point->known ? "" : point->on_device ? "device" : "host");
    ifg_json_put_double(json, "time_ms", point->time_ns / MS);
    ifg_json_put_double(json, "flops", point->flops);
    ifg_json_put_double(json, "bytes", point->bytes);
    ifg_json_put_double(json, "flop_per_byte",
                        point->bytes > 0 ? point->flops / point->bytes : (double)NAN);
    ifg_json_put_double(json, "flops_per_s", point->flops / seconds);
    ifg_json_put_double(json, "bytes_per_s", point->bytes / seconds);
    ifg_json_put_double(json, "compute_share_low", point->compute_low);
    ifg_json_put_double(json, "compute_share_high", point->compute_high);
    ifg_json_put_double(json, "memory_share", point->memory);
    ifg_json_put_string(json, "class", roofline_class_name(point->class));
    ifg_json_put_string(json, "reason", point->why);
}

static void write_peaks(struct ifg_json *json, const struct roofline_peaks *peaks)
{
    ifg_json_put_open(json, "peaks", '{');
    ifg_json_put_string(json, "device", peaks->device);
    ifg_json_put_string(json, "reason", peaks->reason);
    put_known(json, "bytes_per_s", peaks->bytes_per_s);
    put_known(json, "float32_flops_per_s", peaks->flops_per_s);
    put_known(json, "float64_flops_per_s", peaks->flops_per_s * peaks->float64);
    put_known(json, "tensor_float32_flops_per_s", peaks->flops_per_s * peaks->tensor_float32);
    put_known(json, "tensor_float16_flops_per_s", peaks->flops_per_s * peaks->tensor_float16);
    put_known(json, "tensor_8_bits_flops_per_s", peaks->flops_per_s * peaks->tensor_8_bits);
    ifg_json_close(json, '}');
}

void document_roofline_of(struct ifg_json *json, const struct report *report, size_t limit,
                          const struct ml_model *model)
{
    const struct roofline *roofline = report_roofline(report, model);

    if (!roofline)
        return;
    ifg_json_put_open(json, "roofline", '{');
    ifg_json_put_string(json, "reason", roofline->reason);
    if (!*roofline->reason) {
        write_peaks(json, &roofline->peaks);
        ifg_json_put_open(json, "model", '{');
        document_roofline_point(json, &roofline->whole);
        ifg_json_close(json, '}');
    }
    ifg_json_put_open(json, "operators", '[');
    for (size_t i = 0; i < roofline->node_count && i < limit; i++) {
        const struct roofline_node *node = &roofline->nodes[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", node->name);
        ifg_json_put_string(json, "type", node->type);
        ifg_json_put_string(json, "provider", node->provider);
        ifg_json_put_uint(json, "count", node->count);
        document_roofline_point(json, &node->point);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

void document_roofline_of_type(struct ifg_json *json, const struct report *report,
                               const struct ml_model *model, const char *type)
{
    const struct roofline *roofline = report_roofline(report, model);

    for (size_t i = 0; roofline && i < roofline->type_count; i++) {
        if (strcmp(roofline->types[i].type, type) != 0)
            continue;
        ifg_json_put_open(json, "roofline", '{');
        document_roofline_point(json, &roofline->types[i].point);
        ifg_json_close(json, '}');
    }
}
