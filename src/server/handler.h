// SPDX-License-Identifier: Apache-2.0
/*
 * How an address under /api/ is answered. Adding one:
 *
 *  1. Write `void serve_NAME(const struct server_request *request, struct server_answer *answer)`
 *     in a file of this room, and declare it in routes.h.
 *  2. Add its line to the table in routes.c: the last part of its path, and what it needs.
 *
 * A handler is called on a thread of the server's pool, many at once. By then the guard has seen
 * token, host and method, and the trace that the path names is loaded: request->trace is it, and
 * request->model its model. Both stay as they are until the server has stopped: read them without a
 * lock. What is made on first use and kept belongs in struct server_trace, behind its own lock
 * (trace.h), so that a slow first request keeps nobody else waiting.
 *
 * Parameters come from request_range, request_px, request_index, request_text below, which check.
 * Everything in them is hostile. When one is bad, say so and return:
 *
 *     if (!request_range(request, &t0_ns, &t1_ns, answer))
 *         return;
 *
 * The answer goes into answer->body, which has a ceiling of SERVER_ANSWER_MAX bytes: when it is hit
 * or memory ends, the server answers 500 by itself; nothing needs to be checked. As JSON:
 *
 *     struct ifg_json json = answer_json(answer);
 *
 *     ifg_json_open(&json, '{');
 *     ifg_json_put_int(&json, "schema", 1);
 *     ...
 *     ifg_json_close(&json, '}');
 *
 * or as binary columns: answer_binary(answer), then ifg_bytes_put(&answer->body, ...); columns.h
 * writes the header and padded columns.
 *
 * Times in answers and parameters are nanoseconds since the trace's begin; model times are
 * CLOCK_MONOTONIC: answer_ns converts, and request_range gives model times.
 *
 * Errors: answer_error(answer, 400, "sentence") for a bad parameter, 404 for what is not there, 422
 * for data that does not allow the answer, 500 for our own troubles. Whatever was in the body
 * before is dropped. answer_status turns an enum ifg_status and its struct ifg_error into the right
 * one.
 */
#ifndef IFG_SERVER_HANDLER_H
#define IFG_SERVER_HANDLER_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"
#include "timeline/timeline.h"
#include "server/request.h"
#include "server/trace.h"

#define SERVER_ANSWER_MAX ((size_t)64 << 20)

struct live_server;
struct MHD_Response;
struct traces;

struct server_request {
    struct traces *traces;           /* all of the server (traces.h) */
    struct server_trace *trace;      /* NULL for addresses outside /api/t/ID/ */
    const struct timeline *timeline; /* the same */
    const struct request *query;     /* the parameters, already unescaped */
    struct live_server *live;        /* the recording that is followed, or NULL */
};

struct server_answer {
    unsigned status;          /* HTTP; 200 to begin with */
    const char *content_type; /* JSON to begin with */
    struct ifg_bytes body;
    struct MHD_Response *stream; /* instead of the body: comes bit by bit (live.c) */
};

typedef void server_handler(const struct server_request *request, struct server_answer *answer);

/* The body as JSON, begun anew. */
struct ifg_json answer_json(struct server_answer *answer);

/* The body as an object with its schema, which the caller closes. False: what it is made of failed
 * with this status, and the answer says so. */
bool answer_begin(struct server_answer *answer, enum ifg_status status, const struct ifg_error *err,
                  struct ifg_json *out_json);

/* The body as bytes, begun anew. */
struct ifg_bytes *answer_binary(struct server_answer *answer);

/* {"error": sentence} instead of whatever the body had. */
void answer_error(struct server_answer *answer, unsigned http_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a function of ours that failed. */
void answer_status(struct server_answer *answer, enum ifg_status status,
                   const struct ifg_error *err);

/* A model time as answers have it: since the trace's begin. */
static inline double answer_ns(const struct timeline *timeline, uint64_t ns)
{
    return ns >= timeline->begin_ns ? (double)(ns - timeline->begin_ns)
                                    : -(double)(timeline->begin_ns - ns);
}

/* The other way round, and not outside of the trace: hostile numbers lead nowhere. */
uint64_t request_ns(const struct timeline *timeline, double ns);

/* "t0" and "t1" as model times, clamped to the trace; both absent: the whole trace. False: the
 * answer says what is wrong with them. */
bool request_range(const struct server_request *request, uint64_t *out_t0_ns, uint64_t *out_t1_ns,
                   struct server_answer *answer);

/* "px": 1 to 16384. */
bool request_px(const struct server_request *request, unsigned *out_px,
                struct server_answer *answer);

/* An index below limit, such as model=3. Absent: *out is UINT32_MAX and true, if it may be. */
bool request_index(const struct server_request *request, const char *name, bool optional,
                   size_t limit, uint32_t *out_index, struct server_answer *answer);

/* "track": NULL when the answer says what is wrong with it. */
struct track *request_track(const struct server_request *request, struct server_answer *answer);

/* Answers with what can be seen of a track in the range that is asked for; `view` gives its items,
 * NULL if there are none. */
typedef enum ifg_status track_view(struct server_trace *trace, struct track *track,
                                   const struct lod **out_lod, struct ifg_error *err);
void track_view_answer(const struct server_request *request, track_view *view,
                       struct server_answer *answer);

/* A text; absent: "". */
const char *request_text(const struct server_request *request, const char *name);

#endif
