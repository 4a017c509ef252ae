// SPDX-License-Identifier: Apache-2.0
/*
 * Where an export goes: a file or a descriptor behind one large buffer.
 *
 * A failed write is remembered; everything after it is ignored, so that a format writes on and is
 * checked once at its end. A regular file appears whole or not at all: what a failed or cancelled
 * export has written is removed.
 */
#ifndef IFG_EXPORT_SINK_H
#define IFG_EXPORT_SINK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

#define EXPORT_BUFFER   (1u << 20)
#define EXPORT_ROOM_MAX 4096u /* the most that export_room may be asked for */

struct export_sink;

/* Called whenever the buffer goes out. */
typedef void export_progress_call(const struct export_sink *sink, void *context);

struct export_sink {
    char *buffer;
    size_t used;
    int fd;
    bool failed;
    int saved_errno;
    bool cancelled;
    uint64_t written; /* bytes given to the system */
    uint64_t done;    /* how far the format is, for progress: events */
    uint64_t total;
    export_progress_call *progress;
    void *progress_context;
    const volatile sig_atomic_t *cancel; /* not 0: stop. May be NULL */
    char *path;                          /* the name it gets in the end; NULL: not ours to remove */
    char *partial;                       /* the name it has until then */
    bool replaces;                       /* there was a file of that name */
};

/* path "-" is standard output. An existing file is IFG_INVALID unless overwrite; then it is
 * replaced once the export is complete. What is no regular file (a pipe, /dev/null) is written to.
 */
enum ifg_status export_sink_open(struct export_sink *sink, const char *path, bool overwrite,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Writes what waits and closes; good is false if the export failed for a reason of its own. Then,
 * or if a write failed, the file is removed. The sink is gone whatever is returned. */
enum ifg_status export_sink_close(struct export_sink *sink, bool good,
                                  struct ifg_error *err) IFG_MUST_CHECK;

void export_flush(struct export_sink *sink);

/* At least `bytes` (at most EXPORT_ROOM_MAX) to be filled and then given to export_advance. */
static inline char *export_room(struct export_sink *sink, size_t bytes)
{
    if (__builtin_expect(EXPORT_BUFFER - sink->used < bytes, 0))
        export_flush(sink);
    return sink->buffer + sink->used;
}

static inline void export_advance(struct export_sink *sink, const char *end)
{
    sink->used = (size_t)(end - sink->buffer);
}

void export_put_large(struct export_sink *sink, const void *data, size_t size);

static inline void export_put(struct export_sink *sink, const void *data, size_t size)
{
    if (__builtin_expect(EXPORT_BUFFER - sink->used < size, 0)) {
        export_put_large(sink, data, size);
        return;
    }
    memcpy(sink->buffer + sink->used, data, size);
    sink->used += size;
}

static inline void export_put_text(struct export_sink *sink, const char *text)
{
    export_put(sink, text, strlen(text));
}

#endif
