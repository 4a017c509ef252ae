// SPDX-License-Identifier: Apache-2.0
/* Answers and checked parameters for handlers: see handler.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/handler.h"

#define JSON_TYPE   "application/json; charset=utf-8"
#define BINARY_TYPE "application/octet-stream"
#define PX_MOST     16384u

struct ifg_json answer_json(struct server_answer *answer)
{
    struct ifg_json json = { .out = &answer->body };

    ifg_bytes_clear(&answer->body);
    answer->status = 200;
    answer->content_type = JSON_TYPE;
    return json;
}

struct ifg_bytes *answer_binary(struct server_answer *answer)
{
    ifg_bytes_clear(&answer->body);
    answer->status = 200;
    answer->content_type = BINARY_TYPE;
    return &answer->body;
}

void answer_error(struct server_answer *answer, unsigned http_status, const char *format, ...)
{
    char text[1024];
    struct ifg_json json = answer_json(answer);
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    answer->status = http_status;
    ifg_json_open(&json, '{');
    ifg_json_put_string(&json, "error", text);
    ifg_json_close(&json, '}');
}

void answer_status(struct server_answer *answer, enum ifg_status status,
                   const struct ifg_error *err)
{
    unsigned code = 500;

    if (status == IFG_INVALID)
        code = 400;
    else if (status == IFG_NOT_FOUND)
        code = 404;
    else if (status == IFG_CORRUPT || status == IFG_UNSUPPORTED)
        code = 422;
    answer_error(answer, code, "%s",
                 err && err->message[0] ? err->message : ifg_status_name(status));
}

bool answer_begin(struct server_answer *answer, enum ifg_status status, const struct ifg_error *err,
                  struct ifg_json *out_json)
{
    if (status) {
        answer_status(answer, status, err);
        return false;
    }
    *out_json = answer_json(answer);
    ifg_json_open(out_json, '{');
    ifg_json_put_int(out_json, "schema", 1);
    return true;
}

uint64_t request_ns(const struct timeline *timeline, double ns)
{
    uint64_t length = timeline->end_ns - timeline->begin_ns;

    if (!(ns > 0))
        return timeline->begin_ns;
    /* A double may be larger than what it was made from. */
    if (ns >= 18e18 || (uint64_t)ns > length)
        return timeline->end_ns == UINT64_MAX ? timeline->end_ns : timeline->end_ns + 1;
    return timeline->begin_ns + (uint64_t)ns;
}

bool request_range(const struct server_request *request, uint64_t *out_t0_ns, uint64_t *out_t1_ns,
                   struct server_answer *answer)
{
    const char *t0_text = request_find(request->query, "t0");
    const char *t1_text = request_find(request->query, "t1");
    const struct timeline *timeline = request->timeline;
    double t0 = 0;
    double t1 = (double)(timeline->end_ns - timeline->begin_ns) + 1;

    *out_t0_ns = *out_t1_ns = 0;
    if ((t0_text && !request_parse_double(t0_text, &t0)) ||
        (t1_text && !request_parse_double(t1_text, &t1))) {
        answer_error(answer, 400, "t0 and t1 are numbers of nanoseconds since the trace's begin");
        return false;
    }
    if (!(t1 > t0)) {
        answer_error(answer, 400, "t1 must be larger than t0");
        return false;
    }
    *out_t0_ns = request_ns(timeline, floor(t0));
    *out_t1_ns = request_ns(timeline, ceil(t1));
    if (*out_t0_ns > timeline->end_ns)
        *out_t0_ns = timeline->end_ns;
    if (*out_t1_ns <= *out_t0_ns) /* outside of the trace, or less than a nanosecond */
        *out_t1_ns = *out_t0_ns == UINT64_MAX ? *out_t0_ns-- : *out_t0_ns + 1;
    return true;
}

bool request_px(const struct server_request *request, unsigned *out_px,
                struct server_answer *answer)
{
    double px = 0;

    *out_px = 0;
    if (!request_parse_double(request_find(request->query, "px"), &px) || px < 1 || px > PX_MOST) {
        answer_error(answer, 400, "px must be a number of pixels from 1 to %u", PX_MOST);
        return false;
    }
    *out_px = (unsigned)ceil(px);
    return true;
}

bool request_index(const struct server_request *request, const char *name, bool optional,
                   size_t limit, uint32_t *out_index, struct server_answer *answer)
{
    const char *text = request_find(request->query, name);
    uint64_t value = 0;

    *out_index = UINT32_MAX;
    if (!text && optional)
        return true;
    if (!request_parse_u64(text, &value) || value >= limit || value >= UINT32_MAX) {
        if (limit)
            answer_error(answer, 400, "%s must be a whole number from 0 to %zu", name, limit - 1);
        else
            answer_error(answer, 400, "this trace has nothing that %s could be the number of",
                         name);
        return false;
    }
    *out_index = (uint32_t)value;
    return true;
}

const char *request_text(const struct server_request *request, const char *name)
{
    const char *text = request_find(request->query, name);

    return text ? text : "";
}
