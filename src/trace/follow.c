// SPDX-License-Identifier: Apache-2.0
/*
 * A growing trace: see follow.h.
 *
 * Each block is read into memory and shown to the ordinary decoder as a file of one block, so that
 * there is one place that knows what is inside.
 */
#include "trace/follow.h"

#include "base/alloc.h"
#include "trace/output.h"
#include "trace/reader_internal.h"

#define DEFINITIONS_MAX ((uint64_t)256 << 20) /* bytes of definitions that are believed in */
#define PAIRS_KEPT      64u
#define PAIRS_MOST      128u
#define SEARCH_BYTES    (64u << 10)
#define PATIENCE        8u /* looks at something bad at the file's end, before it is bad for good */

struct trace_follow {
    struct trace_input *input;
    bool there;         /* there is something to read */
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

enum ifg_status trace_follow_open_input(struct trace_input *input, struct trace_follow **out_follow,
                                        struct ifg_error *err)
{
    struct trace_follow *follow = ifg_alloc(1, sizeof *follow);
    enum ifg_status status;

    *out_follow = NULL;
    if (!follow) {
        status = ifg_fail_no_memory(err, "to follow %s", input->name);
        trace_input_close(input);
        return status;
    }
    follow->input = input;
    *out_follow = follow;
    return IFG_OK;
}

enum ifg_status trace_follow_open(const char *path, struct trace_follow **out_follow,
                                  struct ifg_error *err)
{
    struct trace_input *input;
    enum ifg_status status = trace_input_file(path, &input, err);

    *out_follow = NULL;
    return status ? status : trace_follow_open_input(input, out_follow, err);
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

static void forget_all(struct trace_follow *follow)
{
    drop_reader(follow);
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
    forget_all(follow);
    trace_input_close(follow->input);
    trace_zones_fini(&follow->zones);
    trace_events_fini(&follow->events);
    ifg_free(follow->data);
    ifg_free(follow);
}

/* ---- the input ---- */

/* Exactly size bytes, or false. */
static bool read_at(const struct trace_follow *follow, uint64_t offset, void *out, size_t size)
{
    return follow->input->functions->read(follow->input, offset, out, size);
}

/* Sees how much there is, and whether it is still the same. */
static enum ifg_status look_at_input(struct trace_follow *follow, struct ifg_error *err)
{
    struct trace_look look = { 0 };
    uint64_t read_to = follow->info.opened ? follow->info.read_to : 0;
    enum ifg_status status = follow->input->functions->look(follow->input, read_to, &look, err);

    if (look.other) {
        forget_all(follow);
        follow->restarted = true;
    }
    follow->there = look.there;
    if (!status)
        follow->info.bytes = look.bytes;
    return status;
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
    status =
        trace_reader_open_memory(follow->header, size, follow->input->name, &follow->reader, err);
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
    if (line->count && follow->info.begin_ns == 0) {
        follow->info.begin_ns = line->pairs[0].monotonic_ns;
        follow->info.begin_realtime_ns = line->pairs[0].realtime_ns;
    }
    if (line->count)
        follow->info.clock_span_ns =
            line->pairs[line->count - 1].monotonic_ns - line->pairs[0].monotonic_ns;
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
    if (trace_block_plain(head->type) == TRACE_BLOCK_ZONES) {
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
                                          (enum trace_block_type)trace_block_plain(head->type),
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
    type = trace_block_plain(type);
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

/* The blocks here made room for others: on to those that are there. Their numbers tell how many are
 * missing. */
static bool skip_lost(struct trace_follow *follow)
{
    struct trace_input *input = follow->input;
    uint64_t next = follow->info.read_to;

    if (input->functions->skip_lost)
        next = input->functions->skip_lost(input, next);
    if (next == follow->info.read_to)
        return false;
    follow->info.read_to = next;
    return true;
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
    if (left < sizeof bytes)
        return IFG_OK;
    if (!read_at(follow, at, bytes, sizeof bytes)) {
        *out_again = skip_lost(follow);
        return IFG_OK;
    }
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
            return ifg_fail_no_memory(err, "for a block of %s", follow->input->name);
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
        return ifg_fail_no_memory(err, "for a block of %s", follow->input->name);
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
        status = look_at_input(follow, err);
        if (!status && follow->there && !follow->info.opened)
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

    if (thread >= tables->thread_count)
        return ticks;
    return trace_clock_to_ns(follow->reader, trace_thread_clock(tables, thread), ticks);
}

bool trace_follow_is_abandoned(const struct trace_follow *follow)
{
    return follow->input->functions->is_abandoned(follow->input);
}
