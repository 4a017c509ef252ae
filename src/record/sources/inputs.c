// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs of chosen inferences (record --capture-inputs): the recorder's side of client/capture.h.
 * Hooks in the program put files into the recording's directory; here they become blocks of the
 * trace, a part at a time, so that rings are drained in between.
 *
 * Everything in those files, and in the head that the program can write to as well, is the word of
 * the watched program: names and sizes are checked, the limit is held here once more, and nothing
 * is opened but plain files in our own directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "record/hooks.h"
#include "record/source.h"
#include "system/process_status.h"
#include "trace/inputs.h"
#include "wire/capture.h"

#define HEAD_NAME  "capture"
#define LOOK_NS    50000000ull
#define NAMES_MAX  4096u /* of a directory, at one look */
#define OWNERS_MAX 65536u
#define FILES_MAX  (2u * TRACE_INPUTS_MAX)
#define NAME_BYTES 96u

/* Which process of the trace has a pid of its own namespace. The latest one counts. */
struct owner {
    uint32_t pid;
    uint32_t process;
};

/* A file that is being taken. */
struct taking {
    int fd; /* -1: none */
    char name[NAME_BYTES];
    struct ifg_capture_file file;
    struct trace_input_tensor *tensors;
    char *names; /* of them, each with a NUL behind it */
    uint64_t at; /* in the file */
    uint32_t tensor;
    uint64_t offset; /* in the tensor */
};

struct input_watch {
    struct recording *recording;
    int head;      /* the file that the program maps; we do not: it could be cut short. -1: none */
    int directory; /* of the recording */
    struct taking taking;
    uint8_t *part;
    struct owner *owners;
    size_t owner_count, owner_room;
    uint64_t next_look_ns;
    bool is_stuck;   /* something in the directory cannot be removed: no more looks */
    uint32_t number; /* of the last file that was begun */
    uint32_t kept;
    uint64_t begun_bytes; /* of files that were begun: these count for the limit */
    uint64_t bytes;       /* of kept ones */
    uint64_t over;        /* files that would have gone beyond the limit */
    uint64_t damaged;     /* files that make no sense */
    char reason[512];
};

/* ---- beginning ---- */

_Static_assert((int)SESSION_CAPTURE_FIRST == (int)IFG_CAPTURE_FIRST &&
                   (int)SESSION_CAPTURE_SLOWEST == (int)IFG_CAPTURE_SLOW &&
                   (int)SESSION_CAPTURE_FAILED == (int)IFG_CAPTURE_FAILED,
               "the same numbers on both sides");

static int create_head(const char *path, const struct session_capture *wanted, char *reason,
                       size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const struct ifg_capture_head head = { .magic = IFG_CAPTURE_MAGIC,
                                           .version = IFG_CAPTURE_VERSION,
                                           .open = 1,
                                           .mode = wanted->mode,
                                           .first = wanted->first,
                                           .limit = wanted->max_bytes };

    if (fd >= 0 && pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head)
        return fd;
    snprintf(reason, size, "%s cannot be made: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void prepare(struct input_watch *watch)
{
    const struct session_options *options = watch->recording->options;
    struct hooks *hooks = watch->recording->hooks;
    struct ifg_error err = { .message = "" };
    char path[256];

    if (!options->command)
        snprintf(watch->reason, sizeof watch->reason,
                 "inputs are kept of launched programs only: 'inferogram record --capture-inputs "
                 "... -- CMD'");
    else if (!hooks->preload && !hooks->python)
        snprintf(watch->reason, sizeof watch->reason, "there are no hooks in the program%s%.400s",
                 hooks->reason[0] ? ": " : " (--hook)", hooks->reason);
    if (watch->reason[0])
        return;
    snprintf(path, sizeof path, "%.200s/" HEAD_NAME, watch->recording->directory);
    watch->directory =
        open(watch->recording->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    watch->part = ifg_alloc(TRACE_INPUTS_PART, 1);
    if (watch->directory < 0 || !watch->part) {
        snprintf(watch->reason, sizeof watch->reason, "%s",
                 watch->part ? strerror(errno) : "not enough memory");
        return;
    }
    watch->head = create_head(path, &options->capture, watch->reason, sizeof watch->reason);
    if (watch->head >= 0 && hooks_add_variable(hooks, IFG_ENV_CAPTURE, path, &err)) {
        snprintf(watch->reason, sizeof watch->reason, "%.500s", err.message);
        close(watch->head);
        watch->head = -1;
    }
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    struct input_watch *watch;

    if (recording->options->capture.mode == SESSION_CAPTURE_OFF)
        return IFG_OK;
    watch = ifg_alloc(1, sizeof *watch);
    *out_state = watch;
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->recording = recording;
    watch->head = watch->directory = -1;
    watch->taking.fd = -1;
    prepare(watch);
    return IFG_OK;
}

static bool begin(void *state)
{
    struct input_watch *watch = state;

    if (watch->head < 0)
        sink_instrument(&watch->recording->sink, "inputs", TRACE_INSTRUMENT_UNAVAILABLE,
                        watch->reason);
    return watch->head >= 0;
}

static void defined(void *state, pid_t pid, uint32_t process, uint32_t clock)
{
    struct input_watch *watch = state;
    struct process_status status;

    (void)clock;
    if (pid <= 0 ||
        !IFG_ARRAY_ROOM(watch->owners, watch->owner_room, watch->owner_count + 1, OWNERS_MAX))
        return;
    if (process_status_of(pid, &status) && status.own_pid > 0)
        pid = status.own_pid;
    watch->owners[watch->owner_count++] = (struct owner){ (uint32_t)pid, process };
}

static bool find_owner(const struct input_watch *watch, uint32_t pid, uint32_t *out_process)
{
    for (size_t i = watch->owner_count; i > 0; i--)
        if (watch->owners[i - 1].pid == pid) {
            *out_process = watch->owners[i - 1].process;
            return true;
        }
    return false;
}

/* ---- the beginning of a file ---- */

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    uint8_t *out = to;

    while (bytes) {
        ssize_t got = pread(fd, out, bytes, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        out += got;
        at += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

static void remove_file(struct input_watch *watch, const char *name)
{
    if (unlinkat(watch->directory, name, 0) < 0 && errno != ENOENT)
        watch->is_stuck = true;
}

static void let_go(struct input_watch *watch)
{
    struct taking *taking = &watch->taking;

    if (taking->fd >= 0) {
        close(taking->fd);
        remove_file(watch, taking->name);
    }
    ifg_free(taking->tensors);
    ifg_free(taking->names);
    *taking = (struct taking){ .fd = -1 };
}

/* Entries, names and bytes fill the file exactly. */
static bool read_entries(struct taking *taking, uint64_t size)
{
    uint32_t count = taking->file.tensors;
    struct ifg_capture_entry *entries = ifg_alloc(count ? count : 1, sizeof *entries);
    uint64_t at = sizeof taking->file;
    uint64_t total = at + (uint64_t)count * sizeof *entries;
    size_t names = 0;
    bool good = entries && read_at(taking->fd, entries, count * sizeof *entries, at);

    for (uint32_t i = 0; good && i < count; i++) {
        const struct ifg_capture_entry *entry = &entries[i];
        int is_bad;

        good = entry->rank <= IFG_CAPTURE_RANK && entry->name_bytes <= IFG_CAPTURE_NAME_BYTES &&
               ifg_capture_bytes(entry->type, entry->dims, entry->rank, &is_bad) == entry->bytes &&
               !is_bad && !__builtin_add_overflow(total, entry->bytes, &total) &&
               !__builtin_add_overflow(total, entry->name_bytes, &total);
        names += entry->name_bytes;
    }
    good = good && total == size;
    taking->at = at + count * sizeof *entries;
    taking->tensors = good ? ifg_alloc(count ? count : 1, sizeof *taking->tensors) : NULL;
    taking->names = good ? ifg_alloc(names + count + 1, 1) : NULL;
    good = taking->tensors && taking->names;
    for (uint32_t i = 0, to = 0; good && i < count; i++) {
        struct trace_input_tensor *tensor = &taking->tensors[i];

        *tensor = (struct trace_input_tensor){ .name = taking->names + to,
                                               .type = entries[i].type,
                                               .rank = entries[i].rank,
                                               .bytes = entries[i].bytes };
        memcpy(tensor->dims, entries[i].dims, sizeof tensor->dims);
        good = read_at(taking->fd, taking->names + to, entries[i].name_bytes, taking->at);
        taking->at += entries[i].name_bytes;
        to += entries[i].name_bytes + 1;
    }
    ifg_free(entries);
    return good;
}

/* False: it is no file of ours, or there is no room for it; it is gone then, and counted. */
static bool begin_file(struct input_watch *watch, const char *name)
{
    struct taking *taking = &watch->taking;
    uint64_t limit = watch->recording->options->capture.max_bytes;
    struct stat info;
    bool good;

    snprintf(taking->name, sizeof taking->name, "%s", name);
    taking->fd =
        openat(watch->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (taking->fd < 0) {
        remove_file(watch, name);
        watch->damaged++;
        return false;
    }
    good = fstat(taking->fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
           read_at(taking->fd, &taking->file, sizeof taking->file, 0) &&
           taking->file.magic == IFG_CAPTURE_FILE_MAGIC &&
           taking->file.version == IFG_CAPTURE_VERSION &&
           taking->file.bytes == (uint64_t)info.st_size &&
           taking->file.tensors <= IFG_CAPTURE_TENSORS;
    if (good && (taking->file.bytes > limit || watch->begun_bytes > limit - taking->file.bytes ||
                 watch->number == TRACE_INPUTS_MAX)) {
        watch->over++;
        let_go(watch);
        return false;
    }
    if (good && read_entries(taking, taking->file.bytes)) {
        watch->begun_bytes += taking->file.bytes;
        watch->number++;
        return true;
    }
    watch->damaged++;
    let_go(watch);
    return false;
}

/* ---- its bytes ---- */

static void write_inputs(struct input_watch *watch)
{
    const struct taking *taking = &watch->taking;
    struct trace_inputs inputs = { .number = watch->number,
                                   .tid = taking->file.tid,
                                   .location = taking->file.location,
                                   .start = taking->file.start,
                                   .failed = taking->file.failed != 0,
                                   .tensors = taking->tensors,
                                   .tensor_count = taking->file.tensors };

    if (!find_owner(watch, taking->file.pid, &inputs.process)) {
        watch->damaged++;
        return;
    }
    trace_writer_inputs(watch->recording->sink.writer, &inputs);
    watch->kept++;
    watch->bytes += taking->file.bytes;
}

/* One part, or the end. */
static void take_part(struct input_watch *watch)
{
    struct taking *taking = &watch->taking;
    uint64_t left;
    size_t bytes;

    while (taking->tensor < taking->file.tensors &&
           taking->offset == taking->tensors[taking->tensor].bytes) {
        taking->tensor++;
        taking->offset = 0;
    }
    if (taking->tensor == taking->file.tensors) {
        write_inputs(watch);
        let_go(watch);
        return;
    }
    left = taking->tensors[taking->tensor].bytes - taking->offset;
    bytes = left < TRACE_INPUTS_PART ? (size_t)left : TRACE_INPUTS_PART;
    if (!read_at(taking->fd, watch->part, bytes, taking->at)) {
        watch->damaged++; /* somebody cut it short */
        let_go(watch);
        return;
    }
    trace_writer_input_bytes(watch->recording->sink.writer, watch->number, taking->tensor,
                             taking->offset, watch->part, bytes);
    taking->offset += bytes;
    taking->at += bytes;
}

/* ---- which file is next ---- */

/* slowest-PID-MODEL-TICKS */
static bool parse_slowest(const char *name, uint64_t out[3])
{
    const char *at = name + strlen(IFG_CAPTURE_SLOWEST);

    for (int i = 0; i < 3; i++) {
        char *end;

        if (*at < '0' || *at > '9')
            return false;
        out[i] = strtoull(at, &end, 10);
        if (*end != (i < 2 ? '-' : '\0'))
            return false;
        at = end + 1;
    }
    return true;
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* A slower one of the same model takes the place of one that was found before. */
static bool is_better(const char *name, const char *found)
{
    uint64_t left[3];
    uint64_t right[3];

    if (!begins_with(found, IFG_CAPTURE_SLOWEST))
        return false;
    return parse_slowest(name, left) && parse_slowest(found, right) && left[0] == right[0] &&
           left[1] == right[1] && left[2] > right[2];
}

/* Looks for a file that is whole. at_end: also those that a slower one might have replaced; what
 * the program had no time to remove goes without being read. */
static bool find_file(struct input_watch *watch, bool at_end, char out_name[NAME_BYTES])
{
    int copy = openat(watch->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;

    out_name[0] = '\0';
    if (!files && copy >= 0)
        close(copy);
    for (unsigned looked = 0; files && looked < NAMES_MAX && (entry = readdir(files)); looked++) {
        const char *name = entry->d_name;
        bool is_slowest = begins_with(name, IFG_CAPTURE_SLOWEST);
        uint64_t numbers[3];

        if (strlen(name) >= NAME_BYTES || entry->d_type == DT_DIR ||
            !(begins_with(name, IFG_CAPTURE_INPUTS) ||
              (at_end && is_slowest && parse_slowest(name, numbers))))
            continue;
        if (!out_name[0] || is_better(name, out_name))
            snprintf(out_name, NAME_BYTES, "%s", name);
        if (!is_slowest)
            break;
    }
    if (files)
        closedir(files);
    return out_name[0] != '\0';
}

/* Others of the same model, which were not the slowest in the end. */
static void remove_slower(struct input_watch *watch, const char *taken)
{
    int copy = openat(watch->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;

    if (!files && copy >= 0)
        close(copy);
    while (files && (entry = readdir(files)))
        if (strlen(entry->d_name) < NAME_BYTES && is_better(taken, entry->d_name))
            remove_file(watch, entry->d_name);
    if (files)
        closedir(files);
}

static bool begin_next(struct input_watch *watch, bool at_end)
{
    char name[NAME_BYTES];

    if (watch->is_stuck || !find_file(watch, at_end, name))
        return false;
    if (begins_with(name, IFG_CAPTURE_SLOWEST))
        remove_slower(watch, name);
    begin_file(watch, name);
    return true;
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct input_watch *watch = state;

    (void)err;
    if (watch->taking.fd >= 0) {
        take_part(watch);
        *out_any = true;
    } else if (now_ns >= watch->next_look_ns) {
        *out_any = begin_next(watch, false);
        watch->next_look_ns = *out_any ? now_ns : now_ns + LOOK_NS;
    }
    return IFG_OK;
}

/* ---- end ---- */

static void add(char *text, size_t size, uint64_t count, const char *what)
{
    size_t used = strlen(text);

    if (count && used < size)
        snprintf(text + used, size - used, "%s%" PRIu64 " %s", used ? ", " : "", count, what);
}

static const char *size_text(uint64_t bytes, char *out, size_t size)
{
    if (bytes < 1000)
        snprintf(out, size, "%" PRIu64 " bytes", bytes);
    else if (bytes < 1000000)
        snprintf(out, size, "%.1f kB", (double)bytes * 1e-3);
    else
        snprintf(out, size, "%.1f MB", (double)bytes * 1e-6);
    return out;
}

/* What was wanted and is not there. */
static void say_refused(const struct input_watch *watch, const struct ifg_capture_head *head,
                        char *out, size_t size)
{
    char limit[96];

    snprintf(limit, sizeof limit, "beyond the limit of %.1f MiB (--capture-max)",
             (double)watch->recording->options->capture.max_bytes / (1 << 20));
    out[0] = '\0';
    add(out, size, head->refused[IFG_CAPTURE_NO_ROOM] + watch->over, limit);
    add(out, size, head->refused[IFG_CAPTURE_TYPE],
        "with a type that cannot be kept (strings, sequences, lists)");
    add(out, size, head->refused[IFG_CAPTURE_DEVICE], "not in CPU memory for certain");
    add(out, size, head->refused[IFG_CAPTURE_OVERWRITTEN], "overwritten by an output");
    add(out, size, head->refused[IFG_CAPTURE_ASYNC], "of asynchronous runs");
    add(out, size, head->refused[IFG_CAPTURE_UNWRITTEN],
        "that could not be written to the recorder's directory (no room there, or a limit of the "
        "program)");
    add(out, size, head->refused[IFG_CAPTURE_CONFINED], "in a program that has confined itself");
    add(out, size, head->refused[IFG_CAPTURE_TOO_MANY], "with too many inputs or dimensions");
    add(out, size, head->writing, "unfinished when the program or the recording ended");
    add(out, size, watch->damaged, "damaged");
}

static void report_end(struct input_watch *watch)
{
    static const char *const none[] = {
        [SESSION_CAPTURE_FIRST] = "no inference went through the hooks",
        [SESSION_CAPTURE_SLOWEST] = "no inference went through the hooks",
        [SESSION_CAPTURE_FAILED] = "no inference failed",
    };
    const struct session_capture *wanted = &watch->recording->options->capture;
    enum trace_instrument_state state = TRACE_INSTRUMENT_ON;
    char refused[700];
    char which[64];
    char size[32];
    char text[1000];
    struct ifg_capture_head head = { 0 };

    if (pread(watch->head, &head, sizeof head, 0) != (ssize_t)sizeof head)
        memset(&head, 0, sizeof head);
    say_refused(watch, &head, refused, sizeof refused);
    if (wanted->mode == SESSION_CAPTURE_FIRST)
        snprintf(which, sizeof which, "the first %u of each model", wanted->first);
    else
        snprintf(which, sizeof which, "%s",
                 wanted->mode == SESSION_CAPTURE_SLOWEST ? "the slowest of each model"
                                                         : "those that failed");
    if (watch->kept || refused[0])
        snprintf(text, sizeof text, "of %u inference%s, %s (%s)%s%s", watch->kept,
                 watch->kept == 1 ? "" : "s", size_text(watch->bytes, size, sizeof size), which,
                 refused[0] ? "; not kept: " : "", refused);
    else
        snprintf(text, sizeof text, "none: %s",
                 head.processes ? none[wanted->mode] : "the program loaded no runtime with hooks");
    if (!watch->kept && (refused[0] || !head.processes))
        state = TRACE_INSTRUMENT_UNAVAILABLE;
    sink_instrument(&watch->recording->sink, "inputs", state, text);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    struct input_watch *watch = state;

    static const uint32_t closed = 0;

    (void)err;
    if (pwrite(watch->head, &closed, sizeof closed, offsetof(struct ifg_capture_head, open)) !=
        (ssize_t)sizeof closed)
        watch->is_stuck = true;
    for (uint32_t i = 0; i < FILES_MAX; i++) { /* a program that goes on may make more */
        while (watch->taking.fd >= 0)
            take_part(watch);
        if (!begin_next(watch, true))
            break;
    }
    report_end(watch);
    return IFG_OK;
}

static void close_source(void *state)
{
    struct input_watch *watch = state;

    let_go(watch);
    if (watch->head >= 0)
        close(watch->head);
    if (watch->directory >= 0)
        close(watch->directory);
    ifg_free(watch->part);
    ifg_free(watch->owners);
    ifg_free(watch);
}

const struct source source_inputs = {
    .name = "inputs",
    .open = open_source,
    .begin = begin,
    .defined = defined,
    .work = work,
    .finish = finish,
    .close = close_source,
};
