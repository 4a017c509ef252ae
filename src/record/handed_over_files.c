// SPDX-License-Identifier: Apache-2.0
/*
 * Files that hooks hand over: what a runtime writes down, and tells in no other way.
 *
 * Only files in the recording's own directory are opened, by their names there; both a file's
 * content and the word of it come from the watched program.
 */
#include "record/target_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/ort_profile/stitch.h"

#define FILES_MAX     4096u
#define ENDED_MAX     65536u
#define RUNS_BYTES    (4u << 20)
#define PROFILE_BYTES (256u << 20)
#define PREFIX        "file-"

void target_note_ended(struct target *target, uint32_t tid, uint32_t thread, uint64_t zones,
                       uint64_t dropped)
{
    if (!target->models) /* no model, no profile of it */
        return;
    if (!IFG_ARRAY_ROOM(target->ended, target->ended_capacity, target->ended_count + 1, ENDED_MAX))
        return;
    target->ended[target->ended_count++] = (struct ended_thread){ tid, thread, zones, dropped };
}

/* The name of a file in our directory, or NULL if the path leads anywhere else. */
static const char *name_in(const char *directory, const char *path)
{
    size_t bytes = strlen(directory);
    const char *name = path + bytes + 1;

    if (!bytes || strncmp(path, directory, bytes) != 0 || path[bytes] != '/' ||
        strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strchr(name, '/'))
        return NULL;
    return name;
}

/* The child of a fork has its parent's definitions too; the files of its parent are not its own. */
static bool is_own(const struct target *target, const char *name)
{
    unsigned long pid = strtoul(name + strlen(PREFIX), NULL, 10);

    return pid == (unsigned long)target->pid || pid == target->control->pid;
}

bool target_note_file(struct target *target, uint32_t model, const char *kind, const char *path)
{
    const char *directory = target->context->session_directory;
    const char *name = directory ? name_in(directory, path) : NULL;
    struct handed_file *file;

    if (!name || strcmp(kind, "ort-profile") != 0 || strlen(name) >= sizeof file->name)
        return false;
    if (!is_own(target, name))
        return true;
    if (!IFG_ARRAY_ROOM(target->files, target->file_capacity, target->file_count + 1, FILES_MAX)) {
        target->files_lost++;
        return true;
    }
    file = &target->files[target->file_count++];
    file->model = model;
    snprintf(file->name, sizeof file->name, "%s", name);
    return true;
}

/* Reads a file of at most so many bytes, and removes it. NULL: it cannot be read. */
static char *take_file(int directory, const char *name, size_t most, size_t *out_bytes)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *data = NULL;
    struct stat info;
    size_t have = 0;
    ssize_t got;

    *out_bytes = 0;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 &&
        (uint64_t)info.st_size <= most)
        data = ifg_alloc((size_t)info.st_size + 1, 1);
    while (data && have < (size_t)info.st_size &&
           (got = read(fd, data + have, (size_t)info.st_size - have)) > 0)
        have += (size_t)got;
    if (fd >= 0) {
        close(fd);
        unlinkat(directory, name, 0);
    }
    *out_bytes = have;
    return data;
}

/* ---- where operators go ---- */

struct taking {
    struct target *target;
    uint32_t model;
    struct ended_thread *resumed; /* whose stream is open; NULL: none */
    struct trace_stream *stream;
};

static void let_go(struct taking *taking)
{
    if (!taking->resumed)
        return;
    trace_stream_flush(taking->stream, NULL, 0, 0);
    taking->resumed->zones = trace_stream_zones(taking->stream);
    trace_stream_destroy(taking->stream);
    taking->resumed = NULL;
}

/* A thread that still has its ring, else the latest of this number that has ended, else (a thread
 * of the runtime that never told us anything) a new one. */
static struct trace_stream *give_stream(void *user, uint32_t tid)
{
    struct taking *taking = user;
    struct target *target = taking->target;
    struct ended_thread *ended = NULL;

    let_go(taking);
    for (uint32_t i = 0; i < target->ring_count; i++) {
        struct ring_reader *reader = &target->rings[i];

        if (reader->generation && reader->tid == tid) {
            trace_stream_flush(reader->stream, NULL, 0, 0);
            return reader->stream;
        }
    }
    for (size_t i = target->ended_count; i > 0 && !ended; i--)
        if (target->ended[i - 1].tid == tid)
            ended = &target->ended[i - 1];
    if (!ended) {
        size_t before = target->ended_count;

        target_note_ended(target, tid, 0, 0, 0);
        if (target->ended_count == before)
            return NULL;
        ended = &target->ended[before];
        ended->thread = sink_thread(target->context->sink, target->process, tid, "");
        target->threads++;
    }
    taking->stream = trace_stream_resume(target->context->sink->writer, ended->thread, ended->zones,
                                         ended->dropped);
    if (taking->stream)
        taking->resumed = ended;
    return taking->stream;
}

static uint32_t give_location(void *user, const char *name, const char *type)
{
    const struct taking *taking = user;

    return sink_location(taking->target->context->sink,
                         (struct trace_location){ .process = taking->target->process,
                                                  .kind = TRACE_LOCATION_OP,
                                                  .model = taking->model,
                                                  .name = name,
                                                  .function = type });
}

/* ---- the files ---- */

static double ticks_per_ns(const struct target *target)
{
    uint64_t elapsed_ns = ifg_monotonic_ns() - target->context->monotonic_begin_ns;
    uint64_t ticks = ifg_counter_read() - target->context->counter_begin;

    if (target->control->tick_source == IFG_TICKS_MONOTONIC || !elapsed_ns || !ticks)
        return 1;
    return (double)ticks / (double)elapsed_ns;
}

/* False: one of the two files cannot be read. */
static bool take_profile(struct target *target, int directory, const struct handed_file *file)
{
    struct taking taking = { .target = target, .model = file->model };
    struct stitch_sink sink = { &taking, give_stream, give_location };
    struct stitch_result result = { 0 };
    struct ort_runs runs = { 0 };
    enum ifg_status status = IFG_CORRUPT;
    size_t bytes;
    char *text = take_file(directory, file->name, RUNS_BYTES, &bytes);
    char *json = NULL;
    const char *name = NULL;

    if (text)
        status = ort_runs_parse(text, bytes, &runs, NULL);
    if (!status)
        name = name_in(target->context->session_directory, runs.profile);
    if (name && is_own(target, name))
        json = take_file(directory, name, PROFILE_BYTES, &bytes);
    if (json)
        status = ort_profile_stitch(&runs, json, bytes, ticks_per_ns(target), &sink, &result, NULL);
    let_go(&taking);
    target->events += result.written;
    target->ops_lost += result.lost;
    ort_runs_fini(&runs);
    ifg_free(text);
    status = json ? status : IFG_CORRUPT;
    ifg_free(json);
    return status == IFG_OK;
}

void target_take_files(struct target *target, size_t most)
{
    int directory;
    size_t taken = 0;

    if (!target->file_count)
        return;
    directory =
        open(target->context->session_directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (; taken < target->file_count && taken < most; taken++)
        if (directory < 0 || !take_profile(target, directory, &target->files[taken]))
            target->files_lost++;
    if (directory >= 0)
        close(directory);
    target->file_count -= taken;
    memmove(target->files, target->files + taken, target->file_count * sizeof *target->files);
}
