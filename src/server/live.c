// SPDX-License-Identifier: Apache-2.0
/* The live interface: see live.h. */
#include "server/live.h"

#include <limits.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "server/handler.h"
#include "server/live_message.h"
#include "server/routes.h"

#define MS            UINT64_C(1000000)
#define LOOK_EVERY_NS (40 * MS)   /* at the file */
#define APART_NS      (100 * MS)  /* messages of one stream, at least */
#define HEARTBEAT_NS  (1000 * MS) /* and at most */
#define MESSAGE_MOST  ((size_t)16 << 20)
#define STREAMS_MOST  32u
#define STREAM_BYTES  (64u << 10) /* handed over at once */
#define NDJSON_TYPE   "application/x-ndjson; charset=utf-8"

struct live_server {
    pthread_mutex_t lock; /* of all that follows, but for atomics */
    pthread_cond_t news;
    pthread_t thread;
    bool thread_running;
    atomic_bool stopping;
    atomic_bool to_be_kept;
    atomic_uint streams;
    struct live_feed *feed;
    char trouble[768]; /* what is there cannot be read; "" if it can */
    char *path;
    char *kept_path;
    bool temporary;
};

/* One page that listens. */
struct listener {
    struct live_server *live;
    struct live_cursor cursor;
    struct ifg_bytes message;
    size_t sent; /* of message */
    uint64_t told_ns;
    bool last; /* nothing follows this message */
};

/* Waits for news until then; the lock is held. */
static void wait_until(struct live_server *live, uint64_t until_ns)
{
    struct timespec until = ifg_timespec(until_ns);

    pthread_cond_timedwait(&live->news, &live->lock, &until);
}

/* ---- following ---- */

static void *follow_thread(void *arg)
{
    struct live_server *live = arg;

    pthread_mutex_lock(&live->lock);
    while (!atomic_load(&live->stopping)) {
        struct ifg_error err = { 0 };
        bool more = false;

        live->trouble[0] = '\0';
        if (live_feed_step(live->feed, &more, &err))
            snprintf(live->trouble, sizeof live->trouble, "%s", err.message);
        pthread_cond_broadcast(&live->news);
        if (more) { /* others want the lock too */
            pthread_mutex_unlock(&live->lock);
            pthread_mutex_lock(&live->lock);
        } else {
            uint64_t until = ifg_monotonic_ns() + LOOK_EVERY_NS;

            while (!atomic_load(&live->stopping) && ifg_monotonic_ns() < until)
                wait_until(live, until);
        }
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

enum ifg_status live_server_start(const struct server_options *options,
                                  struct live_server **out_live, struct ifg_error *err)
{
    struct live_server *live = ifg_alloc(1, sizeof *live);
    pthread_condattr_t clock;
    char path[PATH_MAX];
    enum ifg_status status;

    *out_live = NULL;
    if (!live)
        return ifg_fail_no_memory(err, NULL);
    pthread_mutex_init(&live->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&live->news, &clock);
    pthread_condattr_destroy(&clock);
    live->temporary = options->live_temporary;
    live->path = ifg_strdup(realpath(options->paths[0], path) ? path : options->paths[0]);
    live->kept_path = ifg_strdup(options->live_kept_path ? options->live_kept_path : "");
    status = live->path && live->kept_path ? live_feed_open(live->path, &live->feed, err)
                                           : ifg_fail_no_memory(err, NULL);
    if (!status && pthread_create(&live->thread, NULL, follow_thread, live) != 0)
        status = ifg_fail(err, IFG_NO_MEMORY, "no thread could be started");
    if (status) {
        live_server_stop(live);
        return status;
    }
    live->thread_running = true;
    *out_live = live;
    return IFG_OK;
}

void live_server_hush(struct live_server *live)
{
    if (!live)
        return;
    pthread_mutex_lock(&live->lock);
    atomic_store(&live->stopping, true);
    pthread_cond_broadcast(&live->news);
    pthread_mutex_unlock(&live->lock);
}

void live_server_stop(struct live_server *live)
{
    if (!live)
        return;
    live_server_hush(live);
    if (live->thread_running)
        pthread_join(live->thread, NULL);
    live_feed_close(live->feed);
    pthread_cond_destroy(&live->news);
    pthread_mutex_destroy(&live->lock);
    ifg_free(live->path);
    ifg_free(live->kept_path);
    ifg_free(live);
}

bool live_server_is_over(struct live_server *live)
{
    bool over;

    pthread_mutex_lock(&live->lock);
    over = live->feed->state == LIVE_ENDED;
    pthread_mutex_unlock(&live->lock);
    return over;
}

bool live_server_is_to_be_kept(struct live_server *live)
{
    return atomic_load(&live->to_be_kept);
}

/* ---- telling ---- */

static struct live_location location_of(const struct live_server *live)
{
    return (struct live_location){ live->path, live->temporary };
}

/* The next message; false: there will be none. */
static bool make_message(struct listener *listener)
{
    struct live_server *live = listener->live;
    struct live_location location = location_of(live);

    pthread_mutex_lock(&live->lock);
    for (;;) {
        uint64_t now = ifg_monotonic_ns();
        uint64_t soonest = listener->told_ns + APART_NS;
        bool due = live_message_is_due(live->feed, &listener->cursor);

        if (atomic_load(&live->stopping)) {
            pthread_mutex_unlock(&live->lock);
            return false;
        }
        if (!listener->cursor.begun || now >= listener->told_ns + HEARTBEAT_NS ||
            (due && now >= soonest))
            break;
        wait_until(live, due ? soonest : listener->told_ns + HEARTBEAT_NS);
    }
    ifg_bytes_clear(&listener->message);
    listener->sent = 0;
    live_message_put(live->feed, &location, &listener->cursor, &listener->message);
    listener->last = live->feed->state == LIVE_ENDED;
    pthread_mutex_unlock(&live->lock);
    listener->told_ns = ifg_monotonic_ns();
    return !listener->message.failed;
}

/* Called by the server on the connection's own thread, which may wait. */
static ssize_t give_bytes(void *cls, uint64_t position, char *out, size_t most)
{
    struct listener *listener = cls;
    size_t size;

    (void)position;
    if (listener->sent == listener->message.size) {
        if (listener->last)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!make_message(listener))
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size = listener->message.size - listener->sent;
    if (size > most)
        size = most;
    memcpy(out, listener->message.data + listener->sent, size);
    listener->sent += size;
    return (ssize_t)size;
}

static void forget_listener(void *cls)
{
    struct listener *listener = cls;

    atomic_fetch_sub(&listener->live->streams, 1);
    ifg_bytes_fini(&listener->message);
    ifg_free(listener);
}

/* False: the answer says that nothing is followed here. */
static bool is_live(const struct server_request *request, struct server_answer *answer)
{
    if (!request->live)
        answer_error(answer, 404, "no recording is followed here: inferogram serve --live FILE");
    return request->live != NULL;
}

/* False: the answer says what is wrong with the file. */
static bool is_readable(struct live_server *live, struct server_answer *answer)
{
    char trouble[sizeof live->trouble];

    pthread_mutex_lock(&live->lock);
    memcpy(trouble, live->trouble, sizeof trouble);
    pthread_mutex_unlock(&live->lock);
    if (*trouble)
        answer_error(answer, 422, "%s", trouble);
    return !*trouble;
}

void serve_live_state(const struct server_request *request, struct server_answer *answer)
{
    struct live_cursor cursor = { 0 };
    struct live_location location;

    if (!is_live(request, answer) || !is_readable(request->live, answer))
        return;
    location = location_of(request->live);
    answer_json(answer);
    pthread_mutex_lock(&request->live->lock);
    live_message_put(request->live->feed, &location, &cursor, &answer->body);
    pthread_mutex_unlock(&request->live->lock);
}

void serve_live_stream(const struct server_request *request, struct server_answer *answer)
{
    struct live_server *live = request->live;
    struct listener *listener;

    if (!is_live(request, answer) || !is_readable(live, answer))
        return;
    if (atomic_fetch_add(&live->streams, 1) >= STREAMS_MOST) {
        atomic_fetch_sub(&live->streams, 1);
        answer_error(answer, 503, "%u pages listen already", STREAMS_MOST);
        return;
    }
    listener = ifg_alloc(1, sizeof *listener);
    if (!listener) {
        atomic_fetch_sub(&live->streams, 1);
        answer_error(answer, 500, "not enough memory");
        return;
    }
    listener->live = live;
    ifg_bytes_init(&listener->message, MESSAGE_MOST);
    answer->stream = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, give_bytes,
                                                       listener, forget_listener);
    if (!answer->stream) {
        forget_listener(listener);
        answer_error(answer, 500, "not enough memory");
        return;
    }
    answer->content_type = NDJSON_TYPE;
}

void serve_live_save(const struct server_request *request, struct server_answer *answer)
{
    struct live_server *live = request->live;
    struct ifg_json json;
    bool keep = strcmp(request_text(request, "keep"), "1") == 0;
    bool kept;
    uint64_t bytes;

    if (!is_live(request, answer))
        return;
    if (keep && live->temporary)
        atomic_store(&live->to_be_kept, true);
    kept = !live->temporary || atomic_load(&live->to_be_kept);
    pthread_mutex_lock(&live->lock);
    bytes = live->feed->bytes;
    pthread_mutex_unlock(&live->lock);
    json = answer_json(answer);
    ifg_json_open(&json, '{');
    ifg_json_put_string(&json, "path",
                        live->temporary && *live->kept_path ? live->kept_path : live->path);
    ifg_json_put_bool(&json, "temporary", live->temporary);
    ifg_json_put_bool(&json, "kept", kept);
    ifg_json_put_uint(&json, "bytes", bytes);
    ifg_json_close(&json, '}');
}
