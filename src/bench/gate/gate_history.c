// SPDX-License-Identifier: Apache-2.0
/*
 * The store of results, one file per run, and whether something crept in over many of them.
 *
 * Of a document only the few numbers of a series and the context are read, without computing
 * anything again, so that thousands of runs cost little. Files of other context, damaged files and
 * files of somebody else may lie in the same directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/quantile.h"
#include "bench/gate/gate_internal.h"

#define DEPTH_MAX   64
#define KEY_MAX     64
#define SKIPPED_MAX 32
#define CHANGES_MAX 64
#define NAMES_MAX   200000 /* entries of the directory that are looked at */
#define TRIES_MAX   1000   /* runs of one second */

const char *const gate_series_names[GATE_SERIES] = { "p50", "load", "peak_rss" };

/* ---- one document ---- */

/* What must be equal for two runs to be points of one series. The version of the runtime and the
 * content of the model are not among it: whether a new one is slower is the question. */
static const char *const context_keys[] = {
    "model.name",   "host.cpu",         "host.cpus",     "runtime.name",    "settings",
    "inputs_shape", "options.scenario", "options.batch", "options.threads",
};
static const struct {
    const char *key;
    int series;
} series_keys[] = {
    { "p50_ms", GATE_SERIES_P50 },
    { "load_ms", GATE_SERIES_LOAD },
    { "memory.peak_bytes", GATE_SERIES_PEAK },
};
#define CONTEXT_KEYS (sizeof context_keys / sizeof context_keys[0])
#define SERIES_KEYS  (sizeof series_keys / sizeof series_keys[0])

struct document {
    struct gate_run *run;
    char key[2 * KEY_MAX + 2]; /* "model.name": of the value that comes next */
    size_t outer;              /* bytes of it that are the outer key */
    int depth;
    int array_depth; /* 0: in no array */
    bool too_deep, has_schema, is_bench;
    uint64_t context[CONTEXT_KEYS];
};

static uint64_t hash(uint64_t state, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++)
        state = (state ^ bytes[i]) * UINT64_C(0x100000001b3);
    return state;
}

static bool wanted(const struct document *document)
{
    return !document->array_depth && (document->depth == 1 || document->depth == 2);
}

static void take_context(struct document *document, const void *text, size_t length)
{
    if (!wanted(document))
        return;
    for (size_t i = 0; i < CONTEXT_KEYS; i++)
        if (strcmp(document->key, context_keys[i]) == 0)
            document->context[i] = hash(UINT64_C(0xcbf29ce484222325) + i, text, length);
}

static int on_string(void *user, const unsigned char *text, size_t length)
{
    struct document *document = user;

    take_context(document, text, length);
    if (wanted(document) && strcmp(document->key, "kind") == 0)
        document->is_bench = length == 5 && memcmp(text, "bench", 5) == 0;
    if (wanted(document) && strcmp(document->key, "when") == 0 &&
        length < sizeof document->run->when) {
        memcpy(document->run->when, text, length);
        document->run->when[length] = '\0';
    }
    return 1;
}

static int on_number(void *user, const char *text, size_t length)
{
    struct document *document = user;
    char copy[64];
    double value;

    take_context(document, text, length);
    if (!wanted(document) || length >= sizeof copy)
        return 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    value = strtod(copy, NULL);
    if (strcmp(document->key, "schema") == 0)
        document->has_schema = value == 1;
    for (size_t i = 0; i < SERIES_KEYS; i++)
        if (strcmp(document->key, series_keys[i].key) == 0 && isfinite(value) && value > 0)
            document->run->value[series_keys[i].series] = value;
    return 1;
}

static int on_key(void *user, const unsigned char *text, size_t length)
{
    struct document *document = user;
    size_t at = document->depth == 2 ? document->outer + 1 : 0;

    if (!wanted(document))
        return 1;
    if (length >= KEY_MAX)
        length = 0; /* none that is looked for is as long */
    if (at)
        document->key[at - 1] = '.';
    memcpy(document->key + at, text, length);
    document->key[at + length] = '\0';
    if (document->depth == 1)
        document->outer = length;
    return 1;
}

static int on_open(void *user)
{
    struct document *document = user;

    if (++document->depth > DEPTH_MAX)
        document->too_deep = true;
    return !document->too_deep;
}

static int on_close(void *user)
{
    ((struct document *)user)->depth--;
    return 1;
}

static int on_array(void *user)
{
    struct document *document = user;

    if (!document->array_depth)
        document->array_depth = document->depth + 1;
    return on_open(user);
}

static int on_array_end(void *user)
{
    struct document *document = user;

    if (document->array_depth == document->depth)
        document->array_depth = 0;
    return on_close(user);
}

/* "20261115T140101Z-0123456789ab-2.json" */
static void commit_of(const char *name, char *out, size_t size)
{
    const char *begin = strchr(name, '-');
    size_t length = begin ? strspn(begin + 1, "0123456789abcdef") : 0;

    out[0] = '\0';
    if (length < 7 || length >= size)
        return;
    memcpy(out, begin + 1, length);
    out[length] = '\0';
}

enum ifg_status gate_run_parse(const char *name, const void *json, size_t bytes,
                               struct gate_run *out_run, struct ifg_error *err)
{
    static const yajl_callbacks callbacks = {
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_map_key = on_key,
        .yajl_start_map = on_open,
        .yajl_end_map = on_close,
        .yajl_start_array = on_array,
        .yajl_end_array = on_array_end,
    };
    struct document document = { .run = out_run };
    yajl_handle parser;
    yajl_status parsed;

    memset(out_run, 0, sizeof *out_run);
    for (int i = 0; i < GATE_SERIES; i++)
        out_run->value[i] = NAN;
    snprintf(out_run->file, sizeof out_run->file, "%s", name);
    commit_of(name, out_run->commit, sizeof out_run->commit);
    parser = yajl_alloc(&callbacks, NULL, &document);
    if (!parser)
        return ifg_fail_no_memory(err, NULL);
    parsed = yajl_parse(parser, json, bytes);
    if (parsed == yajl_status_ok)
        parsed = yajl_complete_parse(parser);
    yajl_free(parser);
    if (parsed != yajl_status_ok)
        return ifg_fail(err, IFG_CORRUPT, "%.128s: not JSON, or cut off", name);
    if (!document.has_schema || !document.is_bench || !out_run->when[0] ||
        isnan(out_run->value[GATE_SERIES_P50]))
        return ifg_fail(err, IFG_CORRUPT, "%.128s: not a result of inferogram bench", name);
    out_run->context =
        hash(UINT64_C(0xcbf29ce484222325), document.context, sizeof document.context);
    return IFG_OK;
}

/* ---- the directory ---- */

static enum ifg_status lock_directory(const char *directory, int *out_lock, struct ifg_error *err)
{
    char path[4096];

    *out_lock = -1;
    if (mkdir(directory, 0777) < 0 && errno != EEXIST)
        return ifg_fail_errno(err, "cannot create the directory %s of the history", directory);
    if (snprintf(path, sizeof path, "%s/.lock", directory) >= (int)sizeof path)
        return ifg_fail(err, IFG_INVALID, "the name of the directory is too long");
    *out_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*out_lock < 0)
        return ifg_fail_errno(err, "cannot write to the history %s", directory);
    while (flock(*out_lock, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        close(*out_lock);
        *out_lock = -1;
        return ifg_fail_errno(err, "cannot lock the history %s", directory);
    }
    return IFG_OK;
}

/* Digits of an RFC 3339 time, so that names sort by time: 20261115T140101Z. */
static void compact_time(const char *when, char *out, size_t size)
{
    size_t used = 0;

    for (const char *at = when; *at && *at != '.' && used + 2 < size; at++)
        if ((*at >= '0' && *at <= '9') || *at == 'T')
            out[used++] = *at;
    if (!used)
        out[used++] = '0';
    out[used++] = 'Z';
    out[used] = '\0';
}

enum ifg_status gate_history_append(const char *directory, const struct ifg_bytes *document,
                                    const char *when, const char *commit, char *out_file,
                                    size_t out_size, struct ifg_error *err)
{
    char path[4096];
    char stamp[40];
    char short_commit[48] = "";
    size_t hexadecimal = commit ? strspn(commit, "0123456789abcdef") : 0;
    enum ifg_status status;
    bool written = false;
    int lock;

    /* It comes from the environment and becomes a part of a file name. */
    if (hexadecimal >= 7 && hexadecimal <= 64 && !commit[hexadecimal])
        snprintf(short_commit, sizeof short_commit, "-%.12s", commit);
    compact_time(when, stamp, sizeof stamp);
    status = lock_directory(directory, &lock, err);
    for (int i = 1; !status && !written && i <= TRIES_MAX; i++) {
        char number[16] = "";

        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        if (snprintf(out_file, out_size, "%s%s%s.json", stamp, short_commit, number) >=
                (int)out_size ||
            snprintf(path, sizeof path, "%s/%s", directory, out_file) >= (int)sizeof path)
            status = ifg_fail(err, IFG_INVALID, "the name of the directory is too long");
        else if (access(path, F_OK) < 0 && errno == ENOENT) {
            status = gate_write_file(path, document->data, document->size, err);
            written = true;
        }
    }
    if (!status && !written)
        status = ifg_fail(err, IFG_BUSY, "%s: too many runs in one second", directory);
    if (lock >= 0)
        close(lock);
    return status;
}

static bool is_result_name(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 5 && length < GATE_TEXT &&
           strcmp(name + length - 5, ".json") == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **list;
    size_t count, room;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        ifg_free(names->list[i]);
    ifg_free(names->list);
}

static enum ifg_status list_names(DIR *directory, struct names *names, struct ifg_error *err)
{
    const struct dirent *entry;

    while ((entry = readdir(directory))) {
        if (!is_result_name(entry->d_name))
            continue;
        if (names->count == NAMES_MAX)
            return ifg_fail(err, IFG_INVALID, "the history has more than %d files", NAMES_MAX);
        if (!IFG_ARRAY_ROOM(names->list, names->room, names->count + 1, IFG_ARRAY_ANY))
            return ifg_fail_no_memory(err, NULL);
        names->list[names->count] = ifg_strdup(entry->d_name);
        if (!names->list[names->count])
            return ifg_fail_no_memory(err, NULL);
        names->count++;
    }
    if (names->count)
        qsort(names->list, names->count, sizeof *names->list, by_name);
    return IFG_OK;
}

static enum ifg_status read_whole(int directory, const char *name, struct ifg_bytes *out,
                                  struct ifg_error *err)
{
    struct stat facts;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum ifg_status status = IFG_OK;

    ifg_bytes_clear(out);
    if (fd < 0)
        return ifg_fail_errno(err, "%.128s", name);
    if (fstat(fd, &facts) < 0)
        status = ifg_fail_errno(err, "%.128s", name);
    else if (!S_ISREG(facts.st_mode))
        status = ifg_fail(err, IFG_CORRUPT, "%.128s: not a file", name);
    else if (facts.st_size > GATE_HISTORY_BYTES_MAX)
        status = ifg_fail(err, IFG_CORRUPT, "%.128s: larger than any result", name);
    while (!status) {
        char buffer[65536];
        ssize_t got = read(fd, buffer, sizeof buffer);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = ifg_fail_errno(err, "%.128s", name);
        if (got <= 0)
            break;
        ifg_bytes_put(out, buffer, (size_t)got);
    }
    close(fd);
    if (!status && out->failed)
        status = ifg_fail(err, IFG_CORRUPT, "%.128s: larger than any result", name);
    return status;
}

static void skip_file(struct gate_history *history, const char *why)
{
    if (history->skipped_count < SKIPPED_MAX) {
        char *copy = ifg_strdup(why);

        if (copy)
            history->skipped[history->skipped_count++] = copy;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct gate_run *left = a;
    const struct gate_run *right = b;
    int order = strcmp(left->when, right->when);

    return order ? order : strcmp(left->file, right->file);
}

static enum ifg_status read_runs(int directory, const struct names *names, const char *file,
                                 struct gate_history *history, struct ifg_error *err)
{
    struct ifg_bytes bytes;
    struct gate_run like;
    enum ifg_status status;
    size_t first =
        names->count > GATE_HISTORY_FILES_MAX ? names->count - GATE_HISTORY_FILES_MAX : 0;

    history->not_read = first;
    ifg_bytes_init(&bytes, GATE_HISTORY_BYTES_MAX);
    status = read_whole(directory, file, &bytes, err);
    if (!status)
        status = gate_run_parse(file, bytes.data, bytes.size, &like, err);
    for (size_t i = first; !status && i < names->count; i++) {
        struct gate_run *run = &history->runs[history->run_count];
        struct ifg_error why = { 0 };
        enum ifg_status read = read_whole(directory, names->list[i], &bytes, &why);

        if (!read)
            read = gate_run_parse(names->list[i], bytes.data, bytes.size, run, &why);
        if (read == IFG_NO_MEMORY)
            status = ifg_fail_no_memory(err, NULL);
        else if (read)
            skip_file(history, why.message);
        else if (run->context == like.context)
            history->run_count++;
        else
            history->others++;
        if (bytes.failed) {
            ifg_bytes_fini(&bytes);
            ifg_bytes_init(&bytes, GATE_HISTORY_BYTES_MAX);
        }
    }
    ifg_bytes_fini(&bytes);
    if (!status)
        qsort(history->runs, history->run_count, sizeof *history->runs, by_time);
    return status;
}

enum ifg_status gate_history_read(const char *directory, const char *file,
                                  struct gate_history **out_history, struct ifg_error *err)
{
    struct gate_history *history = ifg_alloc(1, sizeof *history);
    struct names names = { 0 };
    DIR *listing = NULL;
    enum ifg_status status = IFG_OK;

    *out_history = NULL;
    if (!history)
        return ifg_fail_no_memory(err, NULL);
    history->runs = ifg_alloc(GATE_HISTORY_FILES_MAX + 1, sizeof *history->runs);
    history->skipped = ifg_alloc(SKIPPED_MAX, sizeof *history->skipped);
    if (!history->runs || !history->skipped) {
        status = ifg_fail_no_memory(err, NULL);
        goto out;
    }
    listing = opendir(directory);
    status = listing ? list_names(listing, &names, err)
                     : ifg_fail_errno(err, "cannot read the history %s", directory);
    if (!status)
        status = read_runs(dirfd(listing), &names, file, history, err);
out:
    free_names(&names);
    if (listing)
        closedir(listing);
    if (!status) {
        *out_history = history;
        history = NULL;
    }
    gate_history_destroy(history);
    return status;
}

void gate_history_destroy(struct gate_history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < history->skipped_count; i++)
        ifg_free(history->skipped[i]);
    ifg_free(history->skipped);
    ifg_free(history->runs);
    ifg_free(history);
}

/* ---- drift ---- */

enum ifg_status gate_history_drift(const struct gate_history *history, int series,
                                   struct gate_drift *out_drift, struct ifg_error *err)
{
    size_t room = history->run_count ? history->run_count : 1;
    double *values = ifg_alloc(room, sizeof *values);
    double *scratch = ifg_alloc(room, sizeof *scratch);
    size_t *runs = ifg_alloc(room, sizeof *runs);
    double levels[CHANGES_MAX + 1];
    size_t points[CHANGES_MAX];
    size_t count = 0, changes, at;
    enum ifg_status status = IFG_OK;

    memset(out_drift, 0, sizeof *out_drift);
    out_drift->series = series;
    if (!values || !scratch || !runs) {
        status = ifg_fail_no_memory(err, NULL);
        goto out;
    }
    for (size_t i = 0; i < history->run_count; i++) {
        if (isfinite(history->runs[i].value[series])) {
            runs[count] = i;
            values[count++] = history->runs[i].value[series];
        }
    }
    out_drift->runs = count;
    out_drift->known = count >= GATE_HISTORY_LEAST;
    if (!out_drift->known)
        goto out;
    changes = statistics_change_points(values, count, points, CHANGES_MAX);
    if (!changes)
        goto out;
    for (size_t i = 0; i <= changes; i++) {
        size_t from = i ? points[i - 1] : 0;
        size_t to = i < changes ? points[i] : count;

        memcpy(scratch, values + from, (to - from) * sizeof *scratch);
        levels[i] = ifg_median(scratch, to - from);
    }
    /* Back over all steps in the direction of the last one. */
    at = changes;
    while (at > 1 && (levels[at - 1] > levels[at - 2]) == (levels[changes] > levels[changes - 1]))
        at--;
    out_drift->changed = true;
    out_drift->before = levels[at - 1];
    out_drift->now = levels[changes];
    out_drift->change = out_drift->now / out_drift->before - 1;
    out_drift->since = history->runs[runs[points[at - 1]]];
    out_drift->number = points[at - 1] + 1;
out:
    ifg_free(values);
    ifg_free(scratch);
    ifg_free(runs);
    return status;
}
