// SPDX-License-Identifier: Apache-2.0
/*
 * Probes by BPF: the kernel pairs entries with returns, reads texts where they are, and only what
 * is finished reaches us through a ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/privileged/privileged.h"
#include "collect/uprobe/record_internal.h"
#include "collect/uprobe/uprobe_internal.h"
#include "system/process_folder.h"
#include "system/rights.h"

#define INITIAL_PID_NAMESPACE 0xeffffffcu /* its inode: part of the kernel's interface */
#define COUNTS_BYTES          sizeof(struct probe_counts) /* mmap takes the whole page */
#define SWEEP_FROM            (PROBE_THREADS / 2)
#define SWEEP_IDLE_NS         1000000000ull
#define PERMIT_TRIES          8

/* The compiled program: generated from probe.bpf.c. */
extern const unsigned char uprobe_program[];
extern const size_t uprobe_program_size;

/* From Linux 6.6 one call sets many probes of a file, and takes them out in one go: 0.1 s in all,
 * against 0.1 s for each. The first of these kernels saw only one thread of a process; 6.12 is on
 * the safe side of all repairs. The numbers are those of linux/bpf.h, which may be older here. */
#define MANY_PROBES        48 /* BPF_TRACE_UPROBE_MULTI */
#define MANY_PROBES_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN */

struct many_probes {
    __u32 program_fd, target_fd, attach_type, flags;
    __u64 path, offsets, reference_counters, cookies;
    __u32 count, probe_flags, pid, unused;
};

/* Probes in a process that go together: either a link of libbpf or a descriptor of the kernel. */
struct attachment {
    pid_t pid;
    struct bpf_link *link;
    int fd;
};

struct bpf_state {
    struct bpf_object *object;
    struct bpf_program *point, *enter, *leave;
    struct privileged *remote; /* the helper that has loaded it; NULL: we have */
    int remote_maps[PRIVILEGED_MAPS];
    uint32_t remote_many;   /* places for one link */
    struct bpf_link *execs; /* where only permitted processes are watched */
    struct ring_buffer *ring;
    const struct probe_counts *counts; /* in the kernel's memory */
    int stacks_fd;
    int namespaces_fd;
    int permitted_fd;
    uint64_t executed; /* as counted when it was looked at who is still permitted */
    uint64_t let_go;
    bool many_at_once;
    struct attachment *attachments;
    size_t count, capacity;
    struct probe_namespace spaces[PROBE_NAMESPACES];
    uint32_t space_count;
    bool in_initial_namespace; /* we: thread numbers of the kernel are ours */
    uint64_t swept_at;         /* stacks_made when dead threads were looked for */
    uprobe_seen *seen;
    void *user;
    size_t delivered;
};

static void bpf_remove(void *opaque, pid_t pid, bool all);

static void bpf_close(void *opaque)
{
    struct bpf_state *state = opaque;

    if (!state)
        return;
    bpf_remove(state, 0, true);
    bpf_link__destroy(state->execs);
    ring_buffer__free(state->ring);
    if (state->counts)
        munmap((void *)(uintptr_t)state->counts, COUNTS_BYTES);
    bpf_object__close(state->object);
    for (size_t i = 0; state->remote && i < PRIVILEGED_MAPS; i++)
        if (state->remote_maps[i] >= 0)
            close(state->remote_maps[i]);
    privileged_end(state->remote);
    ifg_free(state->attachments);
    ifg_free(state);
}

static uint32_t notes_of(const struct probe_record *record)
{
    uint32_t notes = 0;

    if (COOKIE_TEXT(record->cookie) && record->text_status <= 0)
        notes |= UPROBE_TEXT_MISSING;
    if (COOKIE_TEXT(record->cookie) && record->text_status == PROBE_TEXT_MAX)
        notes |= UPROBE_TEXT_CUT;
    if (record->kind == PROBE_CALL && COOKIE_OUT(record->cookie) && record->out_status)
        notes |= UPROBE_OUT_MISSING;
    return notes;
}

static int on_record(void *opaque, void *data, size_t size)
{
    struct bpf_state *state = opaque;
    const struct probe_text_record *large = data;
    const struct probe_record *record = &large->head;
    struct uprobe_event event;

    if (size < sizeof *record)
        return 0;
    event = (struct uprobe_event){
        .kind = record->kind == PROBE_CALL    ? UPROBE_CALL
                : record->kind == PROBE_BEGIN ? UPROBE_BEGIN
                                              : UPROBE_POINT,
        .id = COOKIE_ID(record->cookie),
        .notes = notes_of(record),
        .depth = record->depth,
        .pid = (pid_t)record->pid,
        .tid = (pid_t)record->tid,
        .own_pid = (pid_t)record->own_pid,
        .own_tid = (pid_t)record->own_tid,
        .start_ns = record->start_ns,
        .end_ns = record->end_ns,
        .result = record->result,
        .out_word = record->out_word,
    };
    for (int i = 0; i < UPROBE_ARGUMENTS; i++)
        event.arguments[i] = record->arguments[i];
    if (COOKIE_TEXT(record->cookie))
        event.text = size >= sizeof *large && record->text_status > 0 ? large->text : "";
    state->delivered++;
    state->seen(&event, state->user);
    return 0;
}

static bool pid_namespace(pid_t pid, struct probe_namespace *out_space)
{
    struct stat information;

    if (!process_entry(pid, "ns/pid", &information))
        return false;
    /* The kernel compares with its own form of a device number. */
    out_space->device = (uint64_t)major(information.st_dev) << 20 | minor(information.st_dev);
    out_space->inode = information.st_ino;
    return true;
}

/* Which of the three programs runs at a place, in the order in which they are attached: the return
 * first, so that a call that enters in between is one that began before. */
enum step {
    STEP_LEAVE,
    STEP_ENTER,
    STEP_POINT,
    STEPS,
};

static bool takes_part(const struct uprobe_point *point, enum step step)
{
    return (step != STEP_POINT) == ((point->cookie & COOKIE_RETURN) != 0);
}

static struct bpf_program *program_of(const struct bpf_state *state, enum step step)
{
    return step == STEP_LEAVE ? state->leave : step == STEP_ENTER ? state->enter : state->point;
}

static bool kernel_is_at_least(unsigned long major_wanted, unsigned long minor_wanted)
{
    struct utsname name;
    unsigned long major_here;
    unsigned long minor_here = 0;
    char *end;

    if (uname(&name) < 0)
        return false;
    major_here = strtoul(name.release, &end, 10);
    if (*end == '.')
        minor_here = strtoul(end + 1, NULL, 10);
    return major_here > major_wanted || (major_here == major_wanted && minor_here >= minor_wanted);
}

/* The ring, and the counts beside it. */
static enum ifg_status map_memory(struct bpf_state *state, int events, int counts, int stacks,
                                  struct ifg_error *err)
{
    state->counts = mmap(NULL, COUNTS_BYTES, PROT_READ, MAP_SHARED, counts, 0);
    if (state->counts == MAP_FAILED) {
        state->counts = NULL;
        return ifg_fail_errno(err, "cannot map the counts of a BPF program");
    }
    state->stacks_fd = stacks;
    rights_raise(); /* older kernels want them for each look at a map */
    state->ring = ring_buffer__new(events, on_record, state, NULL);
    rights_lower();
    if (!state->ring)
        return ifg_fail_errno(err, "cannot map the ring of a BPF program");
    return IFG_OK;
}

static enum ifg_status prepare(struct bpf_state *state, const struct uprobe_options *options,
                               struct ifg_error *err)
{
    LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "inferogram");
    struct bpf_map *settings_map;
    struct bpf_map *counts_map;
    struct bpf_program *execs;
    struct probe_settings settings = { .wake_bytes = options->wake_bytes,
                                       .only_permitted = trace_rule_applies() };
    struct probe_namespace ours = { 0 };
    int failed;

    state->object = bpf_object__open_mem(uprobe_program, uprobe_program_size, &open_options);
    if (!state->object)
        return ifg_fail_errno(err, "the BPF program of this build is damaged");
    state->point = bpf_object__find_program_by_name(state->object, "probe_point");
    state->enter = bpf_object__find_program_by_name(state->object, "probe_enter");
    state->leave = bpf_object__find_program_by_name(state->object, "probe_leave");
    execs = bpf_object__find_program_by_name(state->object, "process_execs");
    if (!state->in_initial_namespace && pid_namespace(PROCESS_SELF, &ours)) {
        settings.device = ours.device;
        settings.inode = ours.inode;
    }
    settings_map = bpf_object__find_map_by_name(state->object, ".rodata.settings");
    counts_map = bpf_object__find_map_by_name(state->object, ".bss.counts");
    if (!state->point || !state->enter || !state->leave || !execs || !settings_map || !counts_map ||
        bpf_program__set_autoload(execs, settings.only_permitted) ||
        bpf_map__set_initial_value(settings_map, &settings, sizeof settings))
        return ifg_fail(err, IFG_INTERNAL, "the BPF program of this build lacks a part");
    failed = bpf_map__set_max_entries(bpf_object__find_map_by_name(state->object, "events"),
                                      (uint32_t)options->ring_bytes);
    if (failed)
        return ifg_fail(err, IFG_INTERNAL, "the BPF program of this build lacks its ring");
    state->many_at_once = !options->one_by_one && kernel_is_at_least(6, 12);
    for (size_t i = 0; state->many_at_once && i < STEPS; i++)
        bpf_program__set_expected_attach_type(program_of(state, (enum step)i),
                                              (enum bpf_attach_type)MANY_PROBES);
    rights_raise();
    failed = bpf_object__load(state->object);
    if (!failed && settings.only_permitted) {
        state->execs = bpf_program__attach_raw_tracepoint(execs, "sched_process_exec");
        if (!state->execs)
            failed = -errno;
    }
    rights_lower();
    if (failed)
        return uprobe_refused(err, UPROBE_LOAD, -failed, "cannot load a BPF program");
    state->namespaces_fd = bpf_object__find_map_fd_by_name(state->object, "namespaces");
    state->permitted_fd = bpf_object__find_map_fd_by_name(state->object, "permitted");
    return map_memory(state, bpf_object__find_map_fd_by_name(state->object, "events"),
                      bpf_map__fd(counts_map),
                      bpf_object__find_map_fd_by_name(state->object, "stacks"), err);
}

/* What this user may not load, the helper does for his own processes. */
static bool prepare_remote(struct bpf_state *state, const struct uprobe_options *options,
                           struct ifg_error *err)
{
    int error;

    for (size_t i = 0; i < PRIVILEGED_MAPS; i++)
        state->remote_maps[i] = -1;
    if (privileged_start(&state->remote, NULL) != IFG_OK)
        return false;
    error = privileged_load(state->remote, options->ring_bytes, options->wake_bytes,
                            state->remote_maps, &state->remote_many);
    if (!error)
        return map_memory(state, state->remote_maps[0], state->remote_maps[1],
                          state->remote_maps[2], err) == IFG_OK;
    privileged_end(state->remote);
    state->remote = NULL;
    return false;
}

static enum ifg_status bpf_open(const struct uprobe_options *options, void **out_state,
                                struct ifg_error *err)
{
    struct probe_namespace ours = { 0 };
    struct bpf_state *state = NULL;
    enum ifg_status status;
    int type;

    *out_state = NULL;
    /* Without this PMU libbpf would leave probes in tracefs that outlive us. */
    status = uprobe_pmu_type(&type, err);
    if (status)
        return status;
    libbpf_set_print(NULL);
    state = ifg_alloc(1, sizeof *state);
    if (!state)
        return ifg_fail_no_memory(err, NULL);
    state->space_count = 1; /* NAMESPACE_INITIAL */
    state->in_initial_namespace =
        pid_namespace(PROCESS_SELF, &ours) && ours.inode == INITIAL_PID_NAMESPACE;
    status = prepare(state, options, err);
    if (status == IFG_PERMISSION && prepare_remote(state, options, err))
        status = IFG_OK;
    if (status) {
        bpf_close(state);
        return status;
    }
    *out_state = state;
    return IFG_OK;
}

static bool put(int map, uint32_t key, const void *value, uint64_t flags)
{
    int failed;

    rights_raise();
    failed = bpf_map_update_elem(map, &key, value, flags);
    rights_lower();
    return !failed;
}

/* The number under which the program finds the pid namespace of a process. */
static uint32_t namespace_of(struct bpf_state *state, pid_t pid)
{
    struct probe_namespace space;
    uint32_t index;

    if (pid == UPROBE_EVERYONE || !pid_namespace(pid, &space))
        return NAMESPACE_UNKNOWN;
    if (space.inode == INITIAL_PID_NAMESPACE)
        return NAMESPACE_INITIAL;
    for (index = 1; index < state->space_count; index++)
        if (state->spaces[index].inode == space.inode)
            return index;
    if (index == PROBE_NAMESPACES || !put(state->namespaces_fd, index, &space, BPF_ANY))
        return NAMESPACE_UNKNOWN;
    state->spaces[index] = space;
    state->space_count++;
    return index;
}

static void drop(struct attachment *attachment)
{
    if (attachment->link)
        bpf_link__destroy(attachment->link);
    if (attachment->fd >= 0)
        close(attachment->fd);
}

static enum ifg_status not_set(const struct uprobe_point *point, int error, struct ifg_error *err)
{
    char what[400];

    snprintf(what, sizeof what, "cannot set a probe at %s+%#llx", point->file,
             (unsigned long long)point->offset);
    return uprobe_refused(err, UPROBE_ATTACH, error, what);
}

static enum ifg_status add_one(struct bpf_state *state, pid_t pid, const struct uprobe_point *point,
                               uint64_t space, enum step step, struct ifg_error *err)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = point->cookie | space << 40,
                .retprobe = step == STEP_LEAVE);
    struct bpf_link *link = bpf_program__attach_uprobe_opts(program_of(state, step), pid,
                                                            point->path, point->offset, &options);

    if (!link)
        return not_set(point, errno, err);
    state->attachments[state->count++] = (struct attachment){ .pid = pid, .link = link, .fd = -1 };
    return IFG_OK;
}

/* All places of the file of the first one that take part in this step. */
static enum ifg_status add_many(struct bpf_state *state, pid_t pid,
                                const struct uprobe_point *points, size_t count, uint64_t space,
                                enum step step, struct ifg_error *err)
{
    uint64_t *offsets = ifg_alloc(2 * count, sizeof *offsets);
    uint64_t *cookies = offsets ? offsets + count : NULL;
    struct many_probes request = {
        .program_fd = (__u32)bpf_program__fd(program_of(state, step)),
        .attach_type = MANY_PROBES,
        .path = (uintptr_t)points[0].path,
        .offsets = (uintptr_t)offsets,
        .cookies = (uintptr_t)cookies,
        .probe_flags = step == STEP_LEAVE ? MANY_PROBES_RETURN : 0,
        .pid = pid == UPROBE_EVERYONE ? 0 : (__u32)pid,
    };
    enum ifg_status status = IFG_OK;
    int fd;

    if (!offsets)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(points[i].file, points[0].file) != 0 || !takes_part(&points[i], step))
            continue;
        offsets[request.count] = points[i].offset;
        cookies[request.count++] = points[i].cookie | space << 40;
    }
    if (request.count) {
        fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof request);
        if (fd < 0)
            status = not_set(&points[0], errno, err);
        else
            state->attachments[state->count++] = (struct attachment){ .pid = pid, .fd = fd };
    }
    ifg_free(offsets);
    return status;
}

/* The same by the helper. */
static enum ifg_status add_remote(struct bpf_state *state, pid_t pid,
                                  const struct uprobe_point *points, size_t count, enum step step,
                                  struct ifg_error *err)
{
    uint64_t offsets[PRIVILEGED_PROBES_MAX], cookies[PRIVILEGED_PROBES_MAX];
    uint32_t found = 0;

    for (size_t i = 0; i <= count; i++) {
        if (i < count && strcmp(points[i].file, points[0].file) == 0 &&
            takes_part(&points[i], step)) {
            offsets[found] = points[i].offset;
            cookies[found++] = points[i].cookie;
        }
        if (found == state->remote_many || (i == count && found)) {
            struct ifg_error why = { .message = "" };
            int fd = -1;
            int error = privileged_link(state->remote, pid, (unsigned)step, points[0].fd, offsets,
                                        cookies, found, &fd, &why);

            if (error && why.message[0])
                return ifg_fail(err, why.status, "%s", why.message);
            if (error)
                return not_set(&points[0], error, err);
            state->attachments[state->count++] = (struct attachment){ .pid = pid, .fd = fd };
            found = 0;
        }
    }
    return IFG_OK;
}

static bool is_first_of_its_file(const struct uprobe_point *points, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(points[i].file, points[index].file) == 0)
            return false;
    return true;
}

static enum ifg_status bpf_add(void *opaque, pid_t pid, const struct uprobe_point *points,
                               size_t count, struct ifg_error *err)
{
    struct bpf_state *state = opaque;
    size_t before = state->count;
    uint32_t space = state->remote ? NAMESPACE_INITIAL : namespace_of(state, pid);
    enum ifg_status status = IFG_OK;

    if (!IFG_ARRAY_ROOM(state->attachments, state->capacity, state->count + count * STEPS,
                        IFG_ARRAY_ANY))
        return ifg_fail_no_memory(err, NULL);
    rights_raise();
    for (enum step step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < count && !status; i++) {
            if (state->remote && is_first_of_its_file(points, i))
                status = add_remote(state, pid, points + i, count - i, step, err);
            else if (state->remote)
                continue;
            else if (!state->many_at_once && takes_part(&points[i], step))
                status = add_one(state, pid, &points[i], space, step, err);
            else if (state->many_at_once && is_first_of_its_file(points, i))
                status = add_many(state, pid, points + i, count - i, space, step, err);
        }
    }
    rights_lower();
    while (status && state->count > before)
        drop(&state->attachments[--state->count]);
    return status;
}

/*
 * The kernel takes a process out of the map when it executes a program, before that runs. So it is
 * put there first, then looked at, and only what is still there becomes permitted: whatever it
 * executes meanwhile is not.
 */
static enum ifg_status bpf_permit(void *opaque, const struct traced *traced, struct ifg_error *err)
{
    struct bpf_state *state = opaque;
    const uint32_t asked = PROBE_ASKED;
    const uint32_t permitted = PROBE_PERMITTED;

    if (state->remote) {
        struct ifg_error why = { .message = "" };
        int error = privileged_permit(state->remote, traced->pid, &why);

        if (error && why.message[0])
            return ifg_fail(err, why.status, "%s", why.message);
        return error ? uprobe_refused(err, UPROBE_LOAD, error, "cannot permit probes of a process")
                     : IFG_OK;
    }
    for (int i = 0; i < PERMIT_TRIES; i++) {
        enum ifg_status status;

        if (!put(state->permitted_fd, (uint32_t)traced->pid, &asked, BPF_ANY))
            return uprobe_refused(err, UPROBE_LOAD, errno, "cannot permit probes of a process");
        status = trace_rule_confirm(traced, err);
        if (status)
            return status;
        if (put(state->permitted_fd, (uint32_t)traced->pid, &permitted, BPF_EXIST))
            return IFG_OK;
    }
    return ifg_fail(err, IFG_BUSY, "process %d executes one program after the other",
                    (int)traced->pid);
}

static void forbid(struct bpf_state *state, uint32_t pid)
{
    if (state->remote) {
        privileged_forbid(state->remote, (pid_t)pid);
        return;
    }
    rights_raise();
    bpf_map_delete_elem(state->permitted_fd, &pid);
    rights_lower();
}

/* Whoever executed another program is asked for again, or let go. */
static void renew_permits(struct bpf_state *state)
{
    uint64_t executed = __atomic_load_n(&state->counts->executed, __ATOMIC_RELAXED);
    size_t i = 0;

    if (executed == state->executed)
        return;
    state->executed = executed;
    while (i < state->count) {
        pid_t pid = state->attachments[i].pid;
        struct traced traced = TRACED_INIT;
        enum ifg_status status = trace_rule_open(pid, &traced, NULL);

        if (!status)
            status = bpf_permit(state, &traced, NULL);
        trace_rule_close(&traced);
        if (!status) { /* the others of this process as well */
            while (i < state->count && state->attachments[i].pid == pid)
                i++;
            continue;
        }
        bpf_remove(state, pid, false);
        state->let_go += status == IFG_PERMISSION;
        i = 0;
    }
}

static bool bpf_guarded(const void *opaque)
{
    const struct bpf_state *state = opaque;

    return state->execs || state->remote;
}

/* Entries go before returns: the other way round, calls would be left open. */
static void bpf_remove(void *opaque, pid_t pid, bool all)
{
    struct bpf_state *state = opaque;
    size_t kept = 0;

    for (size_t i = state->count; i-- > 0;) {
        if (!all && state->attachments[i].pid != pid)
            continue;
        if (bpf_guarded(state))
            forbid(state, (uint32_t)state->attachments[i].pid);
        drop(&state->attachments[i]);
    }
    for (size_t i = 0; i < state->count; i++)
        if (!all && state->attachments[i].pid != pid)
            state->attachments[kept++] = state->attachments[i];
    state->count = kept;
}

static bool is_gone(const struct bpf_state *state, uint32_t tid, const struct call_stack *stack,
                    uint64_t now_ns)
{
    char folder[PROCESS_FOLDER_BYTES];

    if (!state->in_initial_namespace) /* all we can tell: it has not called for long */
        return stack->depth == 0 && now_ns - stack->frames[0].start_ns > SWEEP_IDLE_NS;
    return access(process_folder((pid_t)tid, 0, folder), F_OK) < 0 && errno == ENOENT;
}

/* The map of stacks keeps threads that have ended; they go before it is full. */
static void sweep(struct bpf_state *state)
{
    uint64_t made = __atomic_load_n(&state->counts->stacks_made, __ATOMIC_RELAXED);
    uint64_t now_ns = ifg_monotonic_ns();
    struct call_stack *stack;
    uint32_t next = 0;
    bool more;

    if (made - state->swept_at < SWEEP_FROM)
        return;
    stack = ifg_alloc(1, sizeof *stack);
    if (!stack)
        return;
    state->swept_at = made;
    rights_raise();
    more = bpf_map_get_next_key(state->stacks_fd, NULL, &next) == 0;
    for (uint32_t looked = 0; more && looked < 2 * PROBE_THREADS; looked++) {
        uint32_t tid = next;

        more = bpf_map_get_next_key(state->stacks_fd, &tid, &next) == 0;
        if (bpf_map_lookup_elem(state->stacks_fd, &tid, stack) == 0 &&
            is_gone(state, tid, stack, now_ns))
            bpf_map_delete_elem(state->stacks_fd, &tid);
    }
    rights_lower();
    ifg_free(stack);
}

static size_t bpf_read(void *opaque, uprobe_seen *seen, void *user)
{
    struct bpf_state *state = opaque;

    state->seen = seen;
    state->user = user;
    state->delivered = 0;
    ring_buffer__consume(state->ring);
    renew_permits(state);
    sweep(state);
    return state->delivered;
}

static int bpf_fd(const void *opaque)
{
    const struct bpf_state *state = opaque;

    return ring_buffer__epoll_fd(state->ring);
}

static struct uprobe_losses bpf_lost(const void *opaque)
{
    const struct bpf_state *state = opaque;

    return (struct uprobe_losses){
        .ring_full = __atomic_load_n(&state->counts->ring_full, __ATOMIC_RELAXED),
        .too_deep = __atomic_load_n(&state->counts->too_deep, __ATOMIC_RELAXED),
        .too_many = __atomic_load_n(&state->counts->too_many, __ATOMIC_RELAXED),
        .let_go = state->let_go,
    };
}

const struct uprobe_backend uprobe_bpf_backend = {
    .open = bpf_open,
    .add = bpf_add,
    .guarded = bpf_guarded,
    .permit = bpf_permit,
    .remove = bpf_remove,
    .read = bpf_read,
    .fd = bpf_fd,
    .lost = bpf_lost,
    .close = bpf_close,
};
