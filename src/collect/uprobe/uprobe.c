// SPDX-License-Identifier: Apache-2.0
/* The engine: looks at the descriptions, chooses the way, and hands on. See uprobe.h. */
#include "collect/uprobe/uprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/uprobe/calls_internal.h"
#include "collect/uprobe/uprobe_internal.h"
#include "system/function_start.h"

#define SPECS_MAX        4096
#define RING_BYTES       ((size_t)4 << 20)
#define RING_BYTES_LEAST ((size_t)64 << 10)
#define RING_BYTES_MOST  ((size_t)1 << 30)

_Static_assert(UPROBE_DEPTH_MAX == CALL_DEPTH, "what is promised is what there is");
_Static_assert(UPROBE_ARGUMENTS == CALL_ARGUMENTS, "what is promised is what there is");

struct uprobe {
    const struct uprobe_backend *backend;
    void *state;
    enum uprobe_way way;
    struct ifg_error why; /* not BPF */
    uint64_t since_ns;    /* nothing of before is told */
    uint64_t until_ns;    /* 0: without end */
};

/* A power of two, as both kinds of ring want it. */
static size_t ring_size(size_t wanted)
{
    size_t size = RING_BYTES_LEAST;

    if (!wanted)
        wanted = RING_BYTES;
    while (size < wanted && size < RING_BYTES_MOST)
        size *= 2;
    return size;
}

enum ifg_status uprobe_open(const struct uprobe_options *options, struct uprobe **out_engine,
                            struct ifg_error *err)
{
    struct uprobe_options chosen = options ? *options : (struct uprobe_options){ 0 };
    struct uprobe *engine = ifg_alloc(1, sizeof *engine);
    enum ifg_status status = IFG_UNSUPPORTED;

    *out_engine = NULL;
    if (!engine)
        return ifg_fail_no_memory(err, NULL);
    chosen.ring_bytes = ring_size(chosen.ring_bytes);
    if (chosen.wake_bytes > chosen.ring_bytes / 2)
        chosen.wake_bytes = chosen.ring_bytes / 2;
    if (chosen.way != UPROBE_PERF) {
        engine->backend = &uprobe_bpf_backend;
        engine->way = UPROBE_BPF;
        status = engine->backend->open(&chosen, &engine->state, &engine->why);
        if (status && chosen.way == UPROBE_BPF && err)
            *err = engine->why;
    }
    if (status && chosen.way != UPROBE_BPF && trace_rule_applies()) {
        /* Its probes hit every process that maps the file, and are sorted out in this one. */
        if (chosen.way == UPROBE_ANY && err)
            *err = engine->why;
        else
            ifg_fail(err, status = IFG_PERMISSION,
                     "probes without BPF are in the processes of all users, and the capabilities "
                     "of this program are for your own only; use sudo");
    } else if (status && chosen.way != UPROBE_BPF) {
        engine->backend = &uprobe_perf_backend;
        engine->way = UPROBE_PERF;
        status = engine->backend->open(&chosen, &engine->state, err);
        if (status == IFG_PERMISSION && engine->why.status == IFG_PERMISSION) {
            if (err)
                *err = engine->why; /* it names what both need */
        } else if (status && chosen.way == UPROBE_ANY) {
            ifg_fail_context(err, status, "%s; and without BPF", engine->why.message);
        }
    } else if (!status) {
        engine->why.message[0] = '\0';
    }
    if (status) {
        ifg_free(engine);
        return status;
    }
    *out_engine = engine;
    return IFG_OK;
}

static enum ifg_status check_spec(const struct uprobe_spec *spec, struct ifg_error *err)
{
    if (!spec->file || !spec->file[0])
        return ifg_fail(err, IFG_INVALID, "a probe without a file");
    if (spec->text_argument > UPROBE_ARGUMENTS || spec->out_argument > UPROBE_ARGUMENTS)
        return ifg_fail(err, IFG_INVALID, "probe %u of %s: arguments are 1 to %d", spec->id,
                        spec->file, UPROBE_ARGUMENTS);
    if ((spec->out_argument || (spec->flags & UPROBE_OPEN)) && !(spec->flags & UPROBE_RETURN))
        return ifg_fail(err, IFG_INVALID, "probe %u of %s: what it asks for needs the return",
                        spec->id, spec->file);
    return IFG_OK;
}

#if defined(__x86_64__)
/* Where the kernel can step over an instruction by itself, a probe costs a tenth. */
static uint64_t past_landing_pad(int fd, uint64_t offset)
{
    static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
    unsigned char bytes[sizeof endbr64];

    if (pread(fd, bytes, sizeof bytes, (off_t)offset) == (ssize_t)sizeof bytes &&
        memcmp(bytes, endbr64, sizeof bytes) == 0)
        return offset + sizeof bytes;
    return offset;
}
#else
static uint64_t past_landing_pad(int fd, uint64_t offset)
{
    (void)fd;
    return offset;
}
#endif

/* point->fd stays open also on failure, for the caller to close. */
static enum ifg_status find_point(const struct uprobe_spec *spec, struct uprobe_point *point,
                                  struct ifg_error *err)
{
    struct stat information;
    enum ifg_status status = check_spec(spec, err);
    char what[300];

    if (status)
        return status;
    point->file = spec->file;
    point->fd = open(spec->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (point->fd < 0) {
        snprintf(what, sizeof what, "cannot open %s to set a probe", spec->file);
        return uprobe_refused(err, UPROBE_OPEN_FILE, errno, what);
    }
    if (fstat(point->fd, &information) < 0)
        return ifg_fail_errno(err, "%s", spec->file);
    if (!S_ISREG(information.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a file that a program could run", spec->file);
    if (spec->offset >= (uint64_t)information.st_size)
        return ifg_fail(err, IFG_INVALID, "%s has no byte %#llx: another version of the file?",
                        spec->file, (unsigned long long)spec->offset);
    if (trace_rule_applies() && !function_start_may_be_probed(point->fd, spec->offset))
        return ifg_fail(err, IFG_PERMISSION,
                        "%s+%#llx is not the beginning of a function: in files that are not yours, "
                        "probes elsewhere need sudo",
                        spec->file, (unsigned long long)spec->offset);
    point->offset = spec->offset;
    if (!(spec->flags & UPROBE_EXACT))
        point->offset = past_landing_pad(point->fd, spec->offset);
    snprintf(point->path, sizeof point->path, "/proc/self/fd/%d", point->fd);
    point->cookie = spec->id | (uint64_t)spec->text_argument << 32 |
                    (uint64_t)spec->out_argument << 35 |
                    (spec->flags & UPROBE_RETURN ? COOKIE_RETURN : 0) |
                    (spec->flags & UPROBE_OPEN ? COOKIE_OPEN : 0) |
                    (spec->flags & UPROBE_TEXT_BEHIND ? COOKIE_TEXT_BEHIND : 0);
    return IFG_OK;
}

static bool is_guarded(const struct uprobe *engine)
{
    return engine->backend->guarded && engine->backend->guarded(engine->state);
}

/* Holds the process, if this recorder may not look into all of them. */
static enum ifg_status may_watch(const struct uprobe *engine, pid_t pid, struct traced *out,
                                 struct ifg_error *err)
{
    if (!is_guarded(engine))
        return IFG_OK;
    if (pid == UPROBE_EVERYONE)
        return ifg_fail(err, IFG_PERMISSION,
                        "probes in all processes need sudo: your rights are for your own only");
    return trace_rule_open(pid, out, err);
}

enum ifg_status uprobe_add(struct uprobe *engine, pid_t pid, const struct uprobe_spec *specs,
                           size_t count, struct ifg_error *err)
{
    struct uprobe_point *points = NULL;
    struct traced traced = TRACED_INIT;
    enum ifg_status status = IFG_OK;
    bool returns = false;
    size_t found = 0;

    if ((pid <= 0 && pid != UPROBE_EVERYONE) || !count || count > SPECS_MAX)
        return ifg_fail(err, IFG_INVALID, "%zu probes in process %d make no sense", count,
                        (int)pid);
    if (pid != UPROBE_EVERYONE && kill(pid, 0) < 0 && errno == ESRCH)
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    status = may_watch(engine, pid, &traced, err);
    if (status)
        return status;
    points = ifg_alloc(count, sizeof *points);
    if (!points)
        status = ifg_fail_no_memory(err, NULL);
    while (found < count && !status) {
        points[found].fd = -1;
        status = find_point(&specs[found], &points[found], err);
        returns |= (specs[found].flags & UPROBE_RETURN) != 0;
        found++;
    }
    if (!status && returns)
        status = uprobe_returns_are_safe(engine->way == UPROBE_PERF ? UPROBE_EVERYONE : pid, err);
    if (!status)
        status = engine->backend->add(engine->state, pid, points, count, err);
    if (!status && is_guarded(engine)) {
        status = engine->backend->permit(engine->state, &traced, err);
        if (status)
            uprobe_remove(engine, pid);
    }
    trace_rule_close(&traced);
    for (size_t i = 0; i < found; i++)
        if (points[i].fd >= 0)
            close(points[i].fd);
    ifg_free(points);
    return status;
}

void uprobe_remove(struct uprobe *engine, pid_t pid)
{
    engine->backend->remove(engine->state, pid, false);
}

struct listener {
    uprobe_seen *seen;
    void *user;
    uint64_t since_ns, until_ns;
};

static void pass_if_in_time(const struct uprobe_event *event, void *user)
{
    const struct listener *listener = user;
    uint64_t at_ns = event->kind == UPROBE_CALL ? event->end_ns : event->start_ns;

    if (event->start_ns >= listener->since_ns && at_ns <= listener->until_ns)
        listener->seen(event, listener->user);
}

size_t uprobe_read(struct uprobe *engine, uprobe_seen *seen, void *user)
{
    struct listener listener = { seen, user, engine->since_ns,
                                 engine->until_ns ? engine->until_ns : UINT64_MAX };

    if (engine->since_ns || engine->until_ns)
        return engine->backend->read(engine->state, pass_if_in_time, &listener);
    return engine->backend->read(engine->state, seen, user);
}

void uprobe_since(struct uprobe *engine, uint64_t since_ns)
{
    engine->since_ns = since_ns;
}

void uprobe_until(struct uprobe *engine, uint64_t until_ns)
{
    engine->until_ns = until_ns;
}

void uprobe_stop(struct uprobe *engine)
{
    engine->backend->remove(engine->state, UPROBE_EVERYONE, true);
}

void uprobe_close(struct uprobe *engine)
{
    if (!engine)
        return;
    engine->backend->close(engine->state);
    ifg_free(engine);
}

int uprobe_fd(const struct uprobe *engine)
{
    return engine->backend->fd(engine->state);
}

enum uprobe_way uprobe_way(const struct uprobe *engine)
{
    return engine->way;
}

const char *uprobe_why(const struct uprobe *engine)
{
    return engine->why.message;
}

struct uprobe_losses uprobe_lost(const struct uprobe *engine)
{
    return engine->backend->lost(engine->state);
}
