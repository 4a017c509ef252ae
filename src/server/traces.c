// SPDX-License-Identifier: Apache-2.0
/* The list of traces, and loading them: see traces.h. */
#include "server/traces.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyze/device_time.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "trace/keys.h"
#include "trace/reader.h"

/* Loading decodes about so many bytes of a file in a second; for the progress, until it is over. */
#define BYTES_PER_SECOND 40e6

/* ---- the list ---- */

static enum ifg_status add_file(struct traces *traces, const char *path, uint64_t bytes,
                                struct ifg_error *err)
{
    struct server_trace *trace;
    const char *slash;

    if (traces->count == TRACES_MOST)
        return ifg_fail(err, IFG_UNSUPPORTED, "more than %u traces at once", TRACES_MOST);
    if (!IFG_ARRAY_ROOM(traces->items, traces->capacity, traces->count + 1, IFG_ARRAY_ANY))
        return ifg_fail_no_memory(err, NULL);
    trace = &traces->items[traces->count];
    memset(trace, 0, sizeof *trace);
    trace->path = ifg_strdup(path);
    if (!trace->path)
        return ifg_fail_no_memory(err, NULL);
    slash = strrchr(trace->path, '/');
    trace->name = slash && slash[1] ? slash + 1 : trace->path;
    trace->id = (uint32_t)traces->count++;
    trace->bytes = bytes;
    trace->length_ns = NAN;
    return IFG_OK;
}

static int is_trace_name(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 4, ".ifg") == 0;
}

static enum ifg_status add_directory(struct traces *traces, const char *path, struct ifg_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_trace_name, alphasort);
    enum ifg_status status = IFG_OK;

    if (count < 0)
        return ifg_fail_errno(err, "cannot read the directory %s", path);
    if (count == 0)
        status = ifg_fail(err, IFG_NOT_FOUND, "there is no trace (*.ifg) in %s", path);
    for (int i = 0; i < count; i++) {
        char file[4096];
        struct stat info;
        int length = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);

        if (!status && length > 0 && (size_t)length < sizeof file && stat(file, &info) == 0 &&
            S_ISREG(info.st_mode))
            status = add_file(traces, file, (uint64_t)info.st_size, err);
        ifg_free_foreign(entries[i]);
    }
    ifg_free_foreign(entries);
    return status;
}

enum ifg_status traces_add(struct traces *traces, const char *path, struct ifg_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return ifg_fail_errno(err, "cannot open %s", path);
    if (S_ISDIR(info.st_mode))
        return add_directory(traces, path, err);
    if (!S_ISREG(info.st_mode)) /* reading a pipe could take forever */
        return ifg_fail(err, IFG_INVALID, "%s is neither a file nor a directory", path);
    return add_file(traces, path, (uint64_t)info.st_size, err);
}

/* ---- one of them ---- */

static void set_bad(struct server_trace *trace, const struct ifg_error *err)
{
    pthread_mutex_lock(&trace->lock);
    snprintf(trace->why, sizeof trace->why, "%s", err->message);
    pthread_mutex_unlock(&trace->lock);
    atomic_store(&trace->state, TRACE_BAD);
}

/* When a trace was recorded, as 2026-03-14T10:22:05Z. */
static void note_start(struct server_trace *trace, const struct trace_reader *reader)
{
    time_t seconds = (time_t)(trace_reader_file(reader)->created_realtime_ns / 1000000000u);
    struct tm parts;

    if (seconds > 0 && gmtime_r(&seconds, &parts))
        strftime(trace->start, sizeof trace->start, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void note_program(struct server_trace *trace, const struct trace_reader *reader)
{
    const struct trace_tables *tables = trace_reader_tables(reader);
    const struct trace_process_entry *first = NULL;
    const char *program = trace_find_fact(tables, TRACE_FACT_RECORD_PROGRAM);
    uint64_t length_ns = timeline_length_from_blocks_ns(reader);
    const char *slash;

    for (size_t i = 0; (!program || !*program) && i < tables->process_count; i++)
        if (tables->processes[i].pid != 0)
            program = tables->processes[i].program;
    for (size_t i = 0; !first && i < tables->process_count; i++)
        if (tables->processes[i].pid != 0)
            first = &tables->processes[i];
    slash = program ? strrchr(program, '/') : NULL;
    pthread_mutex_lock(&trace->lock);
    note_start(trace, reader);
    snprintf(trace->program, sizeof trace->program, "%.120s",
             slash && slash[1] ? slash + 1
             : program         ? program
                               : "");
    snprintf(trace->title, sizeof trace->title, "%.250s",
             first && first->arguments && *first->arguments ? first->arguments : trace->program);
    if (isnan(trace->length_ns) && length_ns)
        trace->length_ns = (double)length_ns;
    pthread_mutex_unlock(&trace->lock);
}

static void *load_thread(void *arg)
{
    struct server_trace *trace = arg;
    struct ifg_error err = { 0 };
    enum ifg_status status = trace_reader_open(trace->path, &trace->reader, &err);

    if (!status) {
        note_program(trace, trace->reader);
        status = timeline_create(trace->reader, NULL, &trace->timeline, &err);
    }
    if (!status && trace->timeline->slice_count + trace->timeline->async_count +
                           trace->timeline->message_count + trace->timeline->frame_count >=
                       UINT32_MAX)
        status =
            ifg_fail(&err, IFG_UNSUPPORTED,
                     "%s has more than 4 billion events: more than the page can show", trace->path);
    if (!status)
        status = timeline_profile_get(trace->timeline, &trace->profile, &err);
    if (!status)
        status = trace_build_tracks(trace, &err);
    if (status) {
        set_bad(trace, &err);
        return NULL;
    }
    pthread_mutex_lock(&trace->lock);
    trace->length_ns = (double)timeline_length_ns(trace->timeline);
    pthread_mutex_unlock(&trace->lock);
    atomic_store(&trace->state, TRACE_READY);
    return NULL;
}

enum trace_state trace_use(struct server_trace *trace)
{
    int state = atomic_load(&trace->state);

    if (state != TRACE_IDLE)
        return (enum trace_state)state;
    pthread_mutex_lock(&trace->lock);
    state = atomic_load(&trace->state);
    if (state == TRACE_IDLE) {
        atomic_store(&trace->begun_ns, ifg_monotonic_ns());
        state = TRACE_LOADING;
        atomic_store(&trace->state, state);
        if (pthread_create(&trace->thread, NULL, load_thread, trace) == 0) {
            trace->thread_running = true;
        } else {
            snprintf(trace->why, sizeof trace->why, "no thread could be started to load it");
            state = TRACE_BAD;
            atomic_store(&trace->state, state);
        }
    }
    pthread_mutex_unlock(&trace->lock);
    return (enum trace_state)state;
}

double trace_progress(struct server_trace *trace)
{
    double seconds;
    double expected;

    switch ((enum trace_state)atomic_load(&trace->state)) {
    case TRACE_READY:
    case TRACE_BAD:
        return 1;
    case TRACE_IDLE:
        return 0;
    default:
        break;
    }
    seconds = (double)(ifg_monotonic_ns() - atomic_load(&trace->begun_ns)) / 1e9;
    expected = (double)trace->bytes / BYTES_PER_SECOND + 0.1;
    return 1 - exp(-2 * seconds / expected); /* slower and slower, never there before it is */
}

/* ---- all of them ---- */

static void *look_thread(void *arg)
{
    struct traces *traces = arg;

    for (size_t i = 0; i < traces->count && !atomic_load(&traces->stopping); i++) {
        struct server_trace *trace = &traces->items[i];
        struct trace_reader *reader = NULL;
        struct ifg_error err = { 0 };

        if (atomic_load(&trace->state) != TRACE_IDLE)
            continue;
        if (!trace_reader_open(trace->path, &reader, &err)) {
            note_program(trace, reader);
            trace_reader_close(reader);
            continue;
        }
        pthread_mutex_lock(&trace->lock);
        if (atomic_load(&trace->state) == TRACE_IDLE) {
            snprintf(trace->why, sizeof trace->why, "%s", err.message);
            atomic_store(&trace->state, TRACE_BAD); /* whoever sees this may read why */
        }
        pthread_mutex_unlock(&trace->lock);
    }
    return NULL;
}

enum ifg_status traces_start(struct traces *traces, struct ifg_error *err)
{
    for (size_t i = 0; i < traces->count; i++) {
        pthread_mutex_init(&traces->items[i].lock, NULL);
        pthread_mutex_init(&traces->items[i].index_lock, NULL);
        pthread_mutex_init(&traces->items[i].report_lock, NULL);
    }
    if (traces->count == 0)
        return IFG_OK;
    if (traces->count == 1 && !traces->live)
        trace_use(&traces->items[0]); /* nothing to choose: it will be asked for */
    if (traces->count > 1) {
        if (pthread_create(&traces->looker, NULL, look_thread, traces) != 0)
            return ifg_fail(err, IFG_NO_MEMORY, "no thread could be started");
        traces->looker_running = true;
    }
    return IFG_OK;
}

static void trace_fini(struct server_trace *trace)
{
    if (trace->thread_running)
        pthread_join(trace->thread, NULL);
    trace_destroy_tracks(trace);
    trace_destroy_crossings(trace);
    if (trace->index) {
        ifg_free(trace->index->by_location);
        ifg_free(trace->index->first);
        ifg_free(trace->index->sums);
        ifg_free(trace->index);
    }
    report_destroy(atomic_load(&trace->report));
    device_times_destroy(trace->device_times);
    timeline_destroy(trace->timeline);
    trace_reader_close(trace->reader);
    ifg_free(trace->path);
}

void traces_fini(struct traces *traces)
{
    atomic_store(&traces->stopping, true);
    if (traces->looker_running)
        pthread_join(traces->looker, NULL);
    for (size_t i = 0; i < traces->count; i++)
        trace_fini(&traces->items[i]);
    ifg_free(traces->items);
}
