// SPDX-License-Identifier: Apache-2.0
/*
 * A growing trace: see follow.h.
 *
 * Each block is read into memory and shown to the ordinary decoder as a file of one block, so that
 * there is one place that knows what is inside.
 */
#include "trace/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "trace/reader_internal.h"

#define DEFINITIONS_MAX ((uint64_t)256 << 20) /* bytes of definitions that are believed in */
#define PAIRS_KEPT      64u
#define PAIRS_MOST      128u
#define SEARCH_BYTES    (64u << 10)
#define PATIENCE        8u /* looks at something bad at the file's end, before it is bad for good */

struct trace_follow {
    char *path;
    int fd; /* -1: there is no file yet */
    dev_t device;
    ino_t inode;
    bool restarted;     /* to be told */
    bool dirty;         /* definitions were read and the tables not made yet */
    bool lost;          /* behind damage: the next place that looks like a block may lie */
    unsigned bad_looks; /* at the place where reading stopped */
    uint64_t next_sequence;
    uint64_t definition_bytes;
    struct trace_reader *reader; /* one block at a time, but all definitions and clocks */
    struct trace_block block;
    uint8_t header[TRACE_FILE_HEADER_BYTES];
    uint8_t *data; /* the block */
    size_t capacity;
    struct trace_zones zones;
    struct trace_events events;
    struct trace_follow_info info;
};

static const struct trace_tables no_tables;

enum ifg_status trace_follow_open(const char *path, struct trace_follow **out_follow,
                                  struct ifg_error *err)
{
    struct trace_follow *follow = ifg_alloc(1, sizeof *follow);

    *out_follow = NULL;
    if (follow)
        follow->path = ifg_strdup(path);
    if (!follow || !follow->path) {
        ifg_free(follow);
        return ifg_fail(err, IFG_NO_MEMORY, "%s: not enough memory to follow the trace", path);
    }
    follow->fd = -1;
    *out_follow = follow;
    return IFG_OK;
}

/* The reader's list of blocks is ours, and its bytes too. */
static void drop_reader(struct trace_follow *follow)
{
    if (follow->reader) {
        follow->reader->blocks = NULL;
        follow->reader->block_count = 0;
        trace_reader_close(follow->reader);
    }
    follow->reader = NULL;
}

static void forget_file(struct trace_follow *follow)
{
    drop_reader(follow);
    if (follow->fd >= 0)
        close(follow->fd);
    follow->fd = -1;
    follow->dirty = false;
    follow->lost = false;
    follow->bad_looks = 0;
    follow->next_sequence = 0;
    follow->definition_bytes = 0;
    memset(&follow->info, 0, sizeof follow->info);
}

void trace_follow_close(struct trace_follow *follow)
{
    if (!follow)
        return;
    forget_file(follow);
    trace_zones_fini(&follow->zones);
    trace_events_fini(&follow->events);
    ifg_free(follow->data);
    ifg_free(follow->path);
    ifg_free(follow);
}

/* ---- the file ---- */

/* Exactly size bytes, or false. */
static bool read_at(const struct trace_follow *follow, uint64_t offset, void *out, size_t size)
{
    uint8_t *at = out;

    while (size) {
        ssize_t got = pread(follow->fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* Opens the file if there is one, and sees whether it is still the same. */
static enum ifg_status look_at_file(struct trace_follow *follow, struct ifg_error *err)
{
    struct stat named;
    struct stat info;

    if (follow->fd >= 0 && stat(follow->path, &named) == 0 &&
        (named.st_dev != follow->device || named.st_ino != follow->inode)) {
        forget_file(follow);
        follow->restarted = true;
    }
    if (follow->fd < 0) {
        /* Not blocking: a pipe of that name must not hold us up before we see that it is one. */
        follow->fd = open(follow->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (follow->fd < 0)
            return errno == ENOENT ? IFG_OK : ifg_fail_errno(err, "cannot open %s", follow->path);
        if (fstat(follow->fd, &info) < 0 || !S_ISREG(info.st_mode)) {
            forget_file(follow);
            return ifg_fail(err, IFG_INVALID, "%s is not a regular file", follow->path);
        }
        follow->device = info.st_dev;
        follow->inode = info.st_ino;
    } else if (fstat(follow->fd, &info) < 0) {
        return ifg_fail_errno(err, "cannot look at %s", follow->path);
    }
    follow->info.bytes = (uint64_t)info.st_size;
    if (follow->info.opened && follow->info.bytes < follow->info.read_to) {
        forget_file(follow); /* cut, perhaps to be written again */
        follow->restarted = true;
        return look_at_file(follow, err);
    }
    return IFG_OK;
}

static enum ifg_status read_file_header(struct trace_follow *follow, struct ifg_error *err)
{
    size_t size =
        follow->info.bytes < sizeof follow->header ? follow->info.bytes : sizeof follow->header;
    enum ifg_status status;

    if (size < sizeof follow->header &&
        (size < TRACE_FILE_MAGIC_BYTES || !read_at(follow, 0, follow->header, size) ||
         memcmp(follow->header, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES) == 0))
        return IFG_OK; /* not yet */
    if (!read_at(follow, 0, follow->header, size))
        return IFG_OK;
    status = trace_reader_open_memory(follow->header, size, follow->path, &follow->reader, err);
    if (status)
        return status;
    if (load_u32(follow->header + FILE_HEADER_BYTES) > follow->info.bytes) {
        drop_reader(follow); /* of a later version, with a larger header that is not all there */
        return IFG_OK;
    }
    follow->reader->blocks = &follow->block;
    follow->reader->block_count = 1;
    follow->info.opened = true;
    follow->info.read_to = load_u32(follow->header + FILE_HEADER_BYTES);
    follow->info.created_realtime_ns = follow->reader->info.created_realtime_ns;
    return IFG_OK;
}

static bool reserve(struct trace_follow *follow, size_t size)
{
    uint8_t *data;

    if (size <= follow->capacity)
        return true;
    data = ifg_alloc(size, 1);
    if (!data)
        return false;
    ifg_free(follow->data);
    follow->data = data;
    follow->capacity = size;
    return true;
}

/* ---- damage ---- */

static void note_damage(struct trace_follow *follow, uint64_t blocks)
{
    if (__builtin_add_overflow(follow->info.damaged, blocks, &follow->info.damaged))
        follow->info.damaged = UINT64_MAX;
}

/* Something bad may only be something that is just being written: true while it should be given
 * time. */
static bool wait_for_more(struct trace_follow *follow)
{
    return ++follow->bad_looks < PATIENCE;
}

/* Moves on to the next place where a block may begin, or to the end of what is there. */
static void search_block(struct trace_follow *follow)
{
    uint64_t at = follow->info.read_to + 1;
    uint8_t bytes[SEARCH_BYTES];

    if (!follow->lost)
        note_damage(follow, 1);
    follow->lost = true;
    while (at < follow->info.bytes) {
        size_t size = follow->info.bytes - at < sizeof bytes ? (size_t)(follow->info.bytes - at)
                                                             : sizeof bytes;
        const uint8_t *found;

        if (!read_at(follow, at, bytes, size))
            break;
        found = memmem(bytes, size, "IFGb", 4);
        if (found) {
            at += (uint64_t)(found - bytes);
            break;
        }
        if (size < 4)
            break; /* the beginning of a magic, perhaps */
        at += size - 3;
    }
    follow->info.read_to = at < follow->info.bytes ? at : follow->info.bytes;
    follow->bad_looks = 0;
}

/* ---- what is inside ---- */

static enum ifg_status make_tables(struct trace_follow *follow)
{
    enum ifg_status status = IFG_OK;

    if (follow->dirty)
        status = trace_tables_finish(&follow->reader->tables);
    if (!status)
        follow->dirty = false;
    return status;
}

/* Arrays that are indexed by position may have grown, and moved. */
static void publish_arrays(struct trace_follow *follow)
{
    struct trace_table_set *set = &follow->reader->tables;

    set->view.processes = set->processes;
    set->view.threads = set->threads;
    set->view.clocks = set->clocks;
}

/* Old pairs but the first are of no use: nobody asks for old times. */
static void forget_old_pairs(struct trace_clock_line *line)
{
    if (line->count <= PAIRS_MOST)
        return;
    memmove(line->pairs + 1, line->pairs + line->count - PAIRS_KEPT,
            PAIRS_KEPT * sizeof *line->pairs);
    line->count = PAIRS_KEPT + 1;
    atomic_store_explicit(&line->hint, 0, memory_order_relaxed);
}

static enum ifg_status take_clock(struct trace_follow *follow, const struct trace_block_head *head,
                                  const uint8_t *payload)
{
    struct trace_reader *reader = follow->reader;
    struct trace_unpacker *unpacker = &reader->unpacker;
    enum ifg_status status = trace_unpack(unpacker, head->type, payload, head->payload_bytes);
    struct trace_clock_line *line;

    if (!status)
        status = trace_tables_cover_clock(&reader->tables, head->stream);
    publish_arrays(follow);
    if (status)
        return status;
    status = trace_clocks_add(&reader->clocks, head->stream, head->count, unpacker->columns[0],
                              unpacker->sizes[0]);
    if (status == IFG_NO_MEMORY || head->stream >= reader->clocks.count)
        return status;
    trace_clocks_finish(&reader->clocks, &reader->tables.view);
    line = &reader->clocks.lines[head->stream];
    if (line->count && follow->info.begin_ns == 0)
        follow->info.begin_ns = line->pairs[0].monotonic_ns;
    forget_old_pairs(line);
    return status;
}

static enum ifg_status take_definitions(struct trace_follow *follow,
                                        const struct trace_block_head *head, const uint8_t *payload)
{
    struct trace_unpacker *unpacker = &follow->reader->unpacker;
    enum ifg_status status = trace_unpack(unpacker, head->type, payload, head->payload_bytes);

    if (status)
        return status;
    follow->definition_bytes += unpacker->sizes[0];
    if (follow->definition_bytes > DEFINITIONS_MAX)
        return IFG_CORRUPT;
    follow->dirty = true;
    return trace_tables_add(&follow->reader->tables, unpacker->columns[0], unpacker->sizes[0]);
}

static enum ifg_status take_stream(struct trace_follow *follow, const struct trace_block_head *head,
                                   struct trace_news *news)
{
    enum ifg_status status = trace_tables_cover_thread(&follow->reader->tables, head->stream);

    publish_arrays(follow);
    if (status)
        return status;
    if (head->type == TRACE_BLOCK_ZONES) {
        status = trace_decode_zones(follow->reader, 0, &follow->zones, NULL);
        news->zones = &follow->zones;
        news->kind = TRACE_NEWS_ZONES;
    } else {
        status = trace_decode_events(follow->reader, 0, &follow->events, NULL);
        news->events = &follow->events;
        news->kind = TRACE_NEWS_EVENTS;
    }
    news->thread = head->stream;
    news->dropped = head->dropped;
    return status;
}

/* A whole block is in follow->data. */
static enum ifg_status take_block(struct trace_follow *follow, const struct trace_block_head *head,
                                  struct trace_news *news)
{
    const uint8_t *payload = follow->data + TRACE_BLOCK_HEADER_BYTES;
    enum ifg_status status;

    follow->reader->data = follow->data;
    follow->reader->size = TRACE_BLOCK_HEADER_BYTES + head->payload_bytes;
    follow->block = (struct trace_block){ 0,
                                          (enum trace_block_type)head->type,
                                          head->stream,
                                          head->count,
                                          head->t0,
                                          head->t1,
                                          head->dropped };
    news->kind = TRACE_NEWS_OTHER;
    switch (head->type) {
    case TRACE_BLOCK_DEFINITIONS:
        status = take_definitions(follow, head, payload);
        news->kind = TRACE_NEWS_DEFINITIONS;
        break;
    case TRACE_BLOCK_CLOCK:
        status = take_clock(follow, head, payload);
        break;
    default:
        status = take_stream(follow, head, news);
        break;
    }
    if (status == IFG_NO_MEMORY)
        return status;
    if (status) {
        note_damage(follow, 1);
        if (news->kind != TRACE_NEWS_DEFINITIONS) /* of these the good ones were taken */
            news->kind = TRACE_NEWS_OTHER;
    }
    return make_tables(follow);
}

/* ---- block after block ---- */

static bool is_wanted(uint16_t type)
{
    return type == TRACE_BLOCK_DEFINITIONS || type == TRACE_BLOCK_CLOCK ||
           type == TRACE_BLOCK_ZONES || type == TRACE_BLOCK_EVENTS;
}

static void pass_block(struct trace_follow *follow, const struct trace_block_head *head)
{
    if (head->sequence > follow->next_sequence && !follow->lost)
        note_damage(follow, head->sequence - follow->next_sequence);
    if (head->sequence >= follow->next_sequence)
        follow->next_sequence = head->sequence + 1;
    follow->lost = false;
    follow->bad_looks = 0;
    follow->info.read_to += TRACE_BLOCK_HEADER_BYTES + head->payload_bytes;
}

/* One step; NONE with *out_again: something was stepped over. */
static enum ifg_status read_block(struct trace_follow *follow, struct trace_news *news,
                                  bool *out_again, struct ifg_error *err)
{
    uint64_t at = follow->info.read_to;
    uint8_t bytes[TRACE_BLOCK_HEADER_BYTES];
    struct trace_block_head head;
    uint64_t left = follow->info.bytes - at;
    bool wanted;
    enum ifg_status status;

    *out_again = false;
    if (left < sizeof bytes || !read_at(follow, at, bytes, sizeof bytes))
        return IFG_OK;
    if (!trace_block_head_get(bytes, &head)) {
        if (!follow->lost && left < TRACE_PAYLOAD_MAX && wait_for_more(follow))
            return IFG_OK;
        search_block(follow);
        *out_again = true;
        return IFG_OK;
    }
    if (head.payload_bytes > left - sizeof bytes)
        return IFG_OK; /* half of it */
    if (head.type == TRACE_BLOCK_FOOTER) {
        pass_block(follow, &head);
        follow->info.finished = true;
        news->kind = TRACE_NEWS_FINISHED;
        return IFG_OK;
    }
    wanted = is_wanted(head.type);
    if (wanted || follow->lost) {
        if (!reserve(follow, sizeof bytes + head.payload_bytes))
            return ifg_fail(err, IFG_NO_MEMORY, "%s: not enough memory for a block", follow->path);
        if (!read_at(follow, at, follow->data, sizeof bytes + head.payload_bytes))
            return IFG_OK;
        if (trace_crc(follow->data + sizeof bytes, head.payload_bytes) != head.payload_crc) {
            if (!follow->lost && left == sizeof bytes + head.payload_bytes && wait_for_more(follow))
                return IFG_OK;
            search_block(follow);
            *out_again = true;
            return IFG_OK;
        }
    }
    pass_block(follow, &head);
    news->kind = TRACE_NEWS_OTHER;
    if (!wanted)
        return IFG_OK;
    status = take_block(follow, &head, news);
    if (status)
        return ifg_fail(err, status, "%s: not enough memory for a block", follow->path);
    return IFG_OK;
}

enum ifg_status trace_follow_next(struct trace_follow *follow, struct trace_news *out_news,
                                  struct ifg_error *err)
{
    enum ifg_status status;
    bool again = true;

    memset(out_news, 0, sizeof *out_news);
    /* Asking the system each time would be slow while there is much to read. */
    if (!follow->info.opened || follow->info.finished ||
        follow->info.bytes - follow->info.read_to < TRACE_PAYLOAD_MAX) {
        status = look_at_file(follow, err);
        if (!status && follow->fd >= 0 && !follow->info.opened)
            status = read_file_header(follow, err);
        if (follow->restarted) {
            follow->restarted = false;
            out_news->kind = TRACE_NEWS_RESTARTED;
            return IFG_OK;
        }
        if (status)
            return status;
    }
    if (!follow->info.opened || follow->info.finished)
        return IFG_OK;
    status = IFG_OK;
    while (again && !status && follow->info.read_to < follow->info.bytes)
        status = read_block(follow, out_news, &again, err);
    return status;
}

const struct trace_follow_info *trace_follow_info(const struct trace_follow *follow)
{
    return &follow->info;
}

const struct trace_tables *trace_follow_tables(const struct trace_follow *follow)
{
    return follow->reader ? trace_reader_tables(follow->reader) : &no_tables;
}

uint64_t trace_follow_ns(const struct trace_follow *follow, uint32_t thread, uint64_t ticks)
{
    const struct trace_tables *tables = trace_follow_tables(follow);
    uint32_t clock;

    if (thread >= tables->thread_count)
        return ticks;
    clock = tables->processes[tables->threads[thread].process].clock;
    return trace_clock_to_ns(follow->reader, clock, ticks);
}

bool trace_follow_is_abandoned(const struct trace_follow *follow)
{
    bool nobody;

    if (follow->fd < 0)
        return false;
    /* A lease for reading is granted only while nobody has the file open for writing. If somebody
     * opens it in the moment in which it is ours, a signal comes; this one is ignored by default.
     */
    fcntl(follow->fd, F_SETSIG, SIGURG);
    nobody = fcntl(follow->fd, F_SETLEASE, F_RDLCK) == 0;
    if (nobody)
        fcntl(follow->fd, F_SETLEASE, F_UNLCK);
    return nobody;
}
