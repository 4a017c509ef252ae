// SPDX-License-Identifier: Apache-2.0
/*
 * Runtimes in processes that do not have our hooks, watched from outside: which processes that
 * concerns, when they are looked at, and what is said if it cannot be done. The recorder's side of
 * collect/ort_attach.
 */
#include "collect/ort_attach/attach.h"

#include <stdio.h>

#include "base/alloc.h"
#include "collect/ort_attach/libraries.h"
#include "record/map_hold.h"
#include "record/source.h"
#include "runtimes/runtimes.h"

struct attached {
    struct recording *recording;
    struct ort_attach *attach;
    struct map_hold *holds;        /* who belongs to a launched command; NULL: nobody */
    struct ort_attach_sight sight; /* of the process that was attached to */
    bool saw_python;
};

static const char python_reason[] =
    "the Python package onnxruntime cannot be watched from outside in this process; start the "
    "program with 'inferogram record -- python3 ...'";

/* ---- beginning ---- */

static void say(void *user, const char *text)
{
    const struct recording *recording = ((struct attached *)user)->recording;
    const struct session_options *options = recording->options;

    map_hold_extend(recording->holds);
    if (options->preparing)
        options->preparing(text, options->user);
}

static bool is_wanted(const struct session_options *options)
{
    return options->hook == SESSION_HOOK_UPROBE ||
           (options->hook == SESSION_HOOK_AUTO && !options->command);
}

/* Whether there can be probes has to be known before a program runs, or is waited for, for nothing.
 */
static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    const struct session_options *options = recording->options;
    struct attached *attached;
    enum ifg_status status;

    if (!is_wanted(options))
        return IFG_OK;
    attached = ifg_alloc(1, sizeof *attached);
    *out_state = attached;
    if (!attached)
        return ifg_fail_no_memory(err, NULL);
    attached->recording = recording;
    status = ort_attach_open(UPROBE_ANY, &attached->attach, err);
    if (status)
        return status;
    ort_attach_ops(attached->attach, options->ops);
    ort_attach_set_message_callback(attached->attach, say, attached);
    if (options->command || options->next) {
        ort_attach_from_start(attached->attach);
        status = ort_attach_prepare(attached->attach, err);
    }
    return status;
}

static enum ifg_status attach(void *state, pid_t pid, struct source_sight *out_sight,
                              struct ifg_error *err)
{
    struct attached *attached = state;
    struct ort_attach_sight sight;

    (void)err; /* why is known better by whoever looked first */
    ort_attach_ask_first(attached->attach);
    if (ort_attach_look(attached->attach, pid, true, &sight, NULL) != IFG_OK)
        return IFG_OK;
    if (pid == attached->recording->root)
        attached->sight = sight;
    out_sight->watched |= sight.watched > 0;
    out_sight->hooked |= sight.hooked;
    out_sight->python_hooked |= sight.python_hooked;
    out_sight->is_refused |= sight.refused > 0;
    if (sight.refused || sight.python) {
        out_sight->why = !sight.refused                 ? IFG_NOT_FOUND
                         : sight.why == IFG_UNSUPPORTED ? IFG_PERMISSION
                                                        : sight.why;
        snprintf(out_sight->reason, sizeof out_sight->reason, "%s",
                 sight.refused ? sight.reason : python_reason);
    }
    return IFG_OK;
}

/* Our root, or one of its descendants. In the threads of map_hold.h. */
static bool belongs(void *user, pid_t pid, bool is_named)
{
    const struct recording *recording = user;
    struct process_info info;

    (void)is_named;
    for (int depth = 0; depth < 64 && pid > 1; depth++) {
        if (pid == recording->root)
            return true;
        if (process_glance(pid, &info, NULL) != IFG_OK)
            return false;
        pid = info.parent;
    }
    return false;
}

/* The command waits to be started. Where nobody can be held, libraries are found a little later. */
static void begin_holds(struct attached *attached)
{
    const struct map_hold_options options = {
        .wants = belongs,
        .user = attached->recording,
        .child = attached->recording->root,
    };

    if (map_hold_open(&options, &attached->holds, NULL) != IFG_OK)
        attached->holds = NULL;
    attached->recording->holds = attached->holds;
}

static bool begin(void *state)
{
    struct attached *attached = state;
    struct recording *recording = attached->recording;

    if (recording->root_waits)
        begin_holds(attached);
    ort_attach_begin(attached->attach, &recording->sink,
                     recording->options->next ? recording->root : 0);
    if (recording->options->ops && (attached->sight.hooked || attached->sight.python_hooked))
        sink_instrument(&recording->sink, "operators", TRACE_INSTRUMENT_UNAVAILABLE,
                        "the hooks in this program were started without them; start it with "
                        "'inferogram record --ops -- CMD'");
    return true;
}

static void start(void *state)
{
    struct attached *attached = state;

    if (attached->recording->since_ns)
        ort_attach_since(attached->attach, attached->recording->since_ns);
}

/* ---- while it runs ---- */

static void look(struct attached *attached, pid_t pid, bool now)
{
    struct ort_attach_sight sight;

    if (ort_attach_look(attached->attach, pid, now, &sight, NULL) == IFG_OK && sight.python)
        attached->saw_python = true;
}

/* For runtimes that came later. */
static void processes(void *state, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        look(state, pids[i], false);
}

static bool may_be(void *state, const struct map_seen *seen)
{
    return ort_attach_may_be(((struct attached *)state)->attach, seen->pid, seen->path,
                             seen->device, seen->inode);
}

static void held(void *state, pid_t pid)
{
    ort_attach_in_time(((struct attached *)state)->attach, pid);
}

static void look_now(void *user, pid_t pid)
{
    look(user, pid, true);
}

static void looked(void *user, pid_t pid, bool in_time)
{
    if (in_time)
        held(user, pid);
    else
        ort_attach_too_late(((struct attached *)user)->attach, pid);
}

static size_t fds(const void *state, int *out_fds)
{
    const struct attached *attached = state;
    size_t count = 0;

    if (ort_attach_fd(attached->attach) >= 0)
        out_fds[count++] = ort_attach_fd(attached->attach);
    if (attached->holds)
        out_fds[count++] = map_hold_fd(attached->holds);
    return count;
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct attached *attached = state;

    (void)err;
    if (attached->holds)
        map_hold_work(attached->holds, look_now, looked, attached);
    if (attached->recording->deadline_ns)
        ort_attach_until(attached->attach, attached->recording->deadline_ns);
    *out_any = ort_attach_work(attached->attach, now_ns);
    return IFG_OK;
}

static void count(const void *state, struct session_progress *progress)
{
    source_add(progress, ort_attach_count(((const struct attached *)state)->attach));
}

static void stop(void *state)
{
    struct attached *attached = state;

    ort_attach_until(attached->attach, attached->recording->until_ns);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    struct attached *attached = state;
    struct recording *recording = attached->recording;

    (void)err;
    if (attached->holds)
        map_hold_end(attached->holds, looked, attached);
    ort_attach_finish(attached->attach);
    if (attached->saw_python && !instruments_have_runtime(&recording->result->instruments))
        sink_instrument(&recording->sink, runtime_ort.python, TRACE_INSTRUMENT_UNAVAILABLE,
                        python_reason);
    return IFG_OK;
}

static void close_source(void *state)
{
    struct attached *attached = state;

    if (attached->holds)
        attached->recording->holds = NULL;
    map_hold_close(attached->holds);
    ort_attach_close(attached->attach);
    ifg_free(attached);
}

/* ---- waiting for the next process that creates a session ---- */

static bool consider(void *state, pid_t pid, enum source_look how)
{
    struct ort_attach *attach = ((struct attached *)state)->attach;
    bool now = how != SOURCE_LOOK_POLLED;
    struct ort_attach_sight sight;

    if (how == SOURCE_LOOK_EARLIER) {
        if (!ort_process_has_runtime(pid))
            return false;
        ort_attach_was_there(attach, pid);
    }
    if (ort_attach_look(attach, pid, now, &sight, NULL) != IFG_OK)
        return false;
    if (!sight.watched && now)
        ort_attach_forget(attach, pid);
    return sight.watched > 0;
}

static pid_t creator(const void *state, bool *out_watches)
{
    const struct ort_attach *attach = ((const struct attached *)state)->attach;

    *out_watches |= ort_attach_watches(attach);
    return ort_attach_creator(attach);
}

/* ---- what a process has ---- */

#define VERSIONS_MAX 32

/* A library that was looked into: many processes may have the same one. */
struct version {
    struct file_key key;
    char text[32];    /* "" if it is not known */
    char reason[256]; /* why it cannot be watched; "" if it can */
};

struct kept {
    struct known_files known;
    struct version versions[VERSIONS_MAX];
    size_t version_count;
    struct ort_libraries libraries; /* of the process at hand */
    struct ort_table table;
};

static const struct version *version_of(struct kept *kept, const struct ort_library *library)
{
    struct version *version;
    struct ifg_error err = { .message = "" };

    for (size_t i = 0; i < kept->version_count; i++)
        if (runtime_files_key_is_in(library->key, &kept->versions[i].key, 1))
            return &kept->versions[i];
    if (kept->version_count == VERSIONS_MAX)
        kept->version_count = 0;
    version = &kept->versions[kept->version_count++];
    *version = (struct version){ .key = library->key };
    if (ort_library_table(library, &kept->table, &err) != IFG_OK)
        snprintf(version->reason, sizeof version->reason, "%.250s", err.message);
    snprintf(version->text, sizeof version->text, "%s", kept->table.version);
    return version;
}

static void survey(pid_t pid, void **kept_here, struct source_survey *out)
{
    struct kept *kept = *kept_here ? *kept_here : ifg_alloc(1, sizeof *kept);

    *kept_here = kept;
    if (!kept || ort_libraries_find(pid, &kept->known, &kept->libraries, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < kept->libraries.count; i++) {
        const struct version *version = version_of(kept, &kept->libraries.found[i]);

        source_survey_add(out, runtime_ort.name, version->text);
        out->can |= !version->reason[0];
        if (version->reason[0] && !out->missing[0])
            snprintf(out->missing, sizeof out->missing, "%s", version->reason);
    }
    if (kept->libraries.python) { /* whether this one can be watched is found out by recording it */
        source_survey_add(out, runtime_ort.python, "");
        out->can = true;
    }
    out->is_told |= kept->libraries.hooked;
}

const struct source source_ort_attach = {
    .name = "calls seen from outside",
    .wakes = true,
    .open = open_source,
    .attach = attach,
    .begin = begin,
    .start = start,
    .processes = processes,
    .fds = fds,
    .work = work,
    .count = count,
    .stop = stop,
    .finish = finish,
    .close = close_source,
    .may_be = may_be,
    .consider = consider,
    .held = held,
    .creator = creator,
    .survey = survey,
};
