// SPDX-License-Identifier: Apache-2.0
/* Texts that are made once for each location or thread, and how CSV and JSON quote. */
#include "export/export_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"

#define TEXTS_MAX       ((size_t)1 << 32)
#define JSON_EXACT_UINT (UINT64_C(1) << 53) /* beyond it a double skips integers */

bool export_texts_init(struct export_texts *texts, size_t count)
{
    ifg_bytes_init(&texts->bytes, TEXTS_MAX);
    texts->items = ifg_alloc(count + 1, sizeof *texts->items);
    return texts->items && ifg_bytes_reserve(&texts->bytes, 4096);
}

void export_texts_fini(struct export_texts *texts)
{
    ifg_bytes_fini(&texts->bytes);
    ifg_free(texts->items);
    texts->items = NULL;
}

void export_bytes_text(struct ifg_bytes *bytes, const char *text)
{
    ifg_bytes_put(bytes, text, strlen(text));
}

void export_bytes_uint(struct ifg_bytes *bytes, uint64_t value)
{
    char digits[EXPORT_DIGITS];

    ifg_bytes_put(bytes, digits, (size_t)(export_uint(digits, value) - digits));
}

void export_bytes_json(struct ifg_bytes *bytes, const char *text)
{
    struct ifg_json json = { bytes, false };

    ifg_json_string(&json, text);
}

void export_bytes_json_value(struct ifg_bytes *bytes, const struct timeline_attribute *attribute)
{
    char digits[EXPORT_DIGITS + 2];
    char *end = digits + 1;
    bool exact = true;

    switch (attribute->type) {
    case TRACE_VALUE_SIGNED:
        end = export_int(end, attribute->signed_value);
        exact = attribute->signed_value <= (int64_t)JSON_EXACT_UINT &&
                attribute->signed_value >= -(int64_t)JSON_EXACT_UINT;
        break;
    case TRACE_VALUE_UNSIGNED:
        end = export_uint(end, attribute->unsigned_value);
        exact = attribute->unsigned_value <= JSON_EXACT_UINT;
        break;
    case TRACE_VALUE_F64:
        end = export_double(end, attribute->f64_value);
        exact = isfinite(attribute->f64_value);
        break;
    default:
        export_bytes_json(bytes, attribute->text);
        return;
    }
    if (exact) {
        ifg_bytes_put(bytes, digits + 1, (size_t)(end - digits - 1));
        return;
    }
    digits[0] = '"';
    *end++ = '"';
    ifg_bytes_put(bytes, digits, (size_t)(end - digits));
}

void export_frame_name(const struct timeline *timeline, uint32_t location, struct ifg_bytes *out)
{
    const struct timeline_location *what = &timeline->locations[location];

    export_bytes_text(out, what->name);
    if (what->kind != TRACE_LOCATION_ML || what->model == TIMELINE_NONE)
        return;
    export_bytes_text(out, " ");
    export_bytes_text(out, timeline->models[what->model].name);
    if (what->function_index != TIMELINE_NONE) {
        export_bytes_text(out, "/");
        export_bytes_text(out, timeline->functions[what->function_index].name);
    }
}
