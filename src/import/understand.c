// SPDX-License-Identifier: Apache-2.0
/*
 * Events whose writer is known. ONNX Runtime says in "cat" whether an event is of the session, of a
 * node, or of its GPU code; our own export says what a slice was, so that nothing is lost on the
 * way to Chrome's format and back.
 */
#include "import/import_internal.h"
#include "trace/keys.h"

#include <stdio.h>
#include <string.h>

static const struct value main_function = { VALUE_STRING, "main", 4 };

static bool starts_with(const struct value *value, const char *start)
{
    size_t bytes = strlen(start);

    return value->kind == VALUE_STRING && value->bytes >= bytes &&
           memcmp(value->text, start, bytes) == 0;
}

static bool ends_with(const struct value *value, const char *end)
{
    size_t bytes = strlen(end);

    return value->kind == VALUE_STRING && value->bytes > bytes &&
           memcmp(value->text + value->bytes - bytes, end, bytes) == 0;
}

/* What the session does. Graph optimisation, partitioning and packing weights all happen in
 * session_initialization: that is what makes the model fit this machine. */
static enum trace_category session_category(const struct event *event)
{
    if (starts_with(&event->name, "model_loading"))
        return TRACE_CATEGORY_LOAD;
    if (event_value_is(&event->name, "session_initialization"))
        return TRACE_CATEGORY_SPECIALIZATION;
    if (event_value_is(&event->name, "model_run"))
        return TRACE_CATEGORY_INFERENCE;
    return TRACE_CATEGORY_NONE;
}

bool understand_ort(const struct event *event, bool surely, struct meaning *out)
{
    enum trace_category category;

    if (event_value_is(&event->category, "Session")) {
        category = session_category(event);
        if (category == TRACE_CATEGORY_NONE)
            return false; /* an ordinary zone: SequentialExecutor::Execute and others */
        out->kind = TRACE_LOCATION_ML;
        out->category = category;
        out->function = &main_function;
    } else if (event_value_is(&event->category, "Node") &&
               (ends_with(&event->name, "_kernel_time") ||
                event_find_arg(event, TRACE_KEY_OP_NAME))) {
        if (!surely && !event_find_arg(event, TRACE_KEY_OP_NAME) &&
            !event_find_arg(event, TRACE_KEY_PROVIDER))
            return false;
        /* 1.20 also has X_fence_before and X_fence_after: waiting, not the operator. */
        out->kind =
            ends_with(&event->name, "_fence_before") || ends_with(&event->name, "_fence_after")
                ? TRACE_LOCATION_ZONE
                : TRACE_LOCATION_OP;
        if (ends_with(&event->name, "_kernel_time"))
            out->name_bytes -= strlen("_kernel_time");
    } else {
        return false;
    }
    out->cat = NULL; /* Session and Node are what the kinds say */
    out->from_ort = true;
    return true;
}

static const struct value *text_arg(const struct event *event, const char *key)
{
    const struct event_arg *arg = event_find_arg(event, key);

    return arg && arg->value.kind == VALUE_STRING ? &arg->value : NULL;
}

bool understand_ours(const struct event *event, struct meaning *out)
{
    static const char *const categories[TRACE_CATEGORIES] = {
        "", "prepare-ep", "specialization", "load", "setup", "inference",
    };
    const struct value *category = text_arg(event, "category");
    const struct event_arg *arg = event_find_arg(event, "line");
    int64_t line;

    if (event_value_is(&event->category, "ml")) {
        for (int i = 1; i < TRACE_CATEGORIES && category; i++)
            if (event_value_is(category, categories[i]))
                out->category = (enum trace_category)i;
        if (out->category == TRACE_CATEGORY_NONE || !text_arg(event, "model"))
            return false;
        out->kind = TRACE_LOCATION_ML;
        out->function = text_arg(event, "function");
    } else if (event_value_is(&event->category, "op")) {
        out->kind = TRACE_LOCATION_OP;
    } else if (event_value_is(&event->category, "stage")) {
        out->kind = TRACE_LOCATION_STAGE;
    } else if (!event_value_is(&event->category, "zone")) {
        return false;
    }
    out->model = text_arg(event, "model");
    if (out->kind != TRACE_LOCATION_ML)
        out->file = text_arg(event, "file");
    if (out->file && arg && arg->value.kind == VALUE_NUMBER &&
        import_parse_integer(arg->value.text, arg->value.bytes, &line) && line >= 0 &&
        line <= UINT32_MAX)
        out->line = (uint32_t)line;
    arg = event_find_arg(event, "unfinished");
    out->unfinished = arg && arg->value.kind == VALUE_WORD && arg->value.text[0] == 't';
    out->cat = NULL;
    out->is_ours = true;
    return true;
}

bool understand_uses(const struct meaning *meaning, const struct event_arg *arg)
{
    const struct value *value = &arg->value;

    if (!meaning->is_ours)
        return false;
    if (value == meaning->model || value == meaning->function || value == meaning->file)
        return true;
    if (arg->key_bytes == 8 && memcmp(arg->key, "category", 8) == 0)
        return meaning->kind == TRACE_LOCATION_ML;
    if (arg->key_bytes == 4 && memcmp(arg->key, "line", 4) == 0)
        return meaning->file != NULL;
    return arg->key_bytes == 10 && memcmp(arg->key, "unfinished", 10) == 0;
}

/* PREFIX_2026-11-15_08-42-52_944.json: the prefix. */
void understand_model_name(const char *path, char *out, size_t size)
{
    static const char stamp[] = "_dddd-dd-dd_dd-dd-dd";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t bytes = strlen(name);

    for (size_t at = 1; at + sizeof stamp - 1 <= bytes; at++) {
        size_t i = 0;

        while (stamp[i] && (stamp[i] == 'd' ? name[at + i] >= '0' && name[at + i] <= '9'
                                            : name[at + i] == stamp[i]))
            i++;
        if (!stamp[i]) {
            bytes = at;
            break;
        }
    }
    if (bytes == strlen(name)) {
        const char *dot = strchr(name, '.');

        if (dot && dot > name)
            bytes = (size_t)(dot - name);
    }
    if (bytes == 0 || strcmp(path, "-") == 0)
        snprintf(out, size, "model");
    else
        snprintf(out, size, "%.*s", (int)(bytes < size ? bytes : size - 1), name);
}
