// SPDX-License-Identifier: Apache-2.0
/*
 * A trace in memory: the pieces that the writer appends, each with the offset that it would have in
 * a file. When they are too many, the oldest of those that nothing else refers to make room.
 *
 * A block decodes alone, so that a trace without some of them is still one; what is left is given
 * its own sequence numbers and its own index when it is copied out.
 */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "trace/output.h"
#include "trace/trace_internal.h"

#define PIECES_TIDY 256u /* fewer are not worth moving together */
#define LOST_BLOCKS "blocks that made room for newer ones"
#define PAIRS_KEPT  8u  /* of each clock from before the oldest event: a rate needs two */
#define PAIRS_MORE  64u /* fewer are not worth looking for those that may go */

struct piece {
    uint8_t *data; /* NULL: it made room */
    size_t size;
    uint64_t offset;
    uint64_t written_ns; /* CLOCK_MONOTONIC */
    uint32_t stream;
    uint16_t type; /* of the block; 0: the file header, the trailer */
};

/* What streams had lost when the latest block of theirs went: the rest has lost only the
 * difference. */
struct lost_before {
    uint64_t *threads;
    size_t capacity;
    uint64_t samples;
    uint64_t allocations;
};

struct trace_memory {
    char *name;
    uint64_t limit;
    uint64_t held;  /* bytes */
    uint64_t fixed; /* of them, those that never make room */
    uint64_t end;   /* offset behind the last piece */
    uint64_t lost;  /* blocks */
    struct piece *pieces;
    size_t count;
    size_t capacity;
    size_t oldest;   /* none before this one may make room */
    size_t gone;     /* pieces without data */
    size_t pairs;    /* pieces with readings of clocks, */
    size_t pairs_at; /* and how many there are when old ones are looked for */
    struct lost_before before;
    uint32_t serial; /* of the trace that is here; 0: none yet */
    bool is_written; /* somebody has an output on it */
};

/* What nothing refers to: it may go without taking the sense from anything else. */
static bool may_make_room(const struct piece *piece)
{
    switch (trace_block_plain(piece->type)) {
    case TRACE_BLOCK_ZONES:
    case TRACE_BLOCK_EVENTS:
    case TRACE_BLOCK_SAMPLES:
    case TRACE_BLOCK_SWITCHES:
    case TRACE_BLOCK_ALLOCATIONS:
    case TRACE_BLOCK_INPUT_BYTES: /* a reader notices where some are missing */
    case TRACE_BLOCK_INPUTS:
        return piece->data != NULL;
    default:
        return false;
    }
}

/* Moves the pieces that are left together, so that their list does not grow for ever. */
static void tidy(struct trace_memory *memory)
{
    size_t kept = 0;
    size_t oldest = 0;

    if (memory->count < PIECES_TIDY || memory->gone < memory->count / 2)
        return;
    for (size_t i = 0; i < memory->count; i++) {
        if (i == memory->oldest)
            oldest = kept;
        if (memory->pieces[i].data)
            memory->pieces[kept++] = memory->pieces[i];
    }
    memory->oldest = memory->oldest >= memory->count ? kept : oldest;
    memory->count = kept;
    memory->gone = 0;
}

static uint64_t *lost_before(struct trace_memory *memory, uint16_t type, uint32_t stream)
{
    struct lost_before *before = &memory->before;

    switch (trace_block_plain(type)) {
    case TRACE_BLOCK_ZONES:
    case TRACE_BLOCK_EVENTS:
        return stream < TRACE_INDEX_MAX &&
                       IFG_ARRAY_ROOM_ZEROED(before->threads, before->capacity, (size_t)stream + 1,
                                             TRACE_INDEX_MAX)
                   ? &before->threads[stream]
                   : NULL;
    case TRACE_BLOCK_SAMPLES:
        return &before->samples;
    case TRACE_BLOCK_ALLOCATIONS:
        return &before->allocations;
    default:
        return NULL;
    }
}

static void drop(struct trace_memory *memory, struct piece *piece)
{
    ifg_free(piece->data);
    piece->data = NULL;
    memory->held -= piece->size;
    memory->gone++;
}

/* The oldest of all that may go. */
static void drop_oldest(struct trace_memory *memory)
{
    struct piece *piece = &memory->pieces[memory->oldest];
    struct trace_block_head head;
    uint64_t *before;

    if (trace_block_head_get(piece->data, &head) && head.dropped) {
        before = lost_before(memory, head.type, head.stream);
        if (before && head.dropped > *before)
            *before = head.dropped;
    }
    drop(memory, piece);
    memory->lost++;
}

/* Steps over what may not go; false: nothing else is there. */
static bool find_oldest(struct trace_memory *memory)
{
    while (memory->oldest < memory->count && !may_make_room(&memory->pieces[memory->oldest]))
        memory->oldest++;
    return memory->oldest < memory->count;
}

/* What it takes to keep the pieces counts, too: blocks may be small. */
static bool is_too_much(const struct trace_memory *memory, size_t size)
{
    uint64_t more = size + (memory->count - memory->gone + 1) * (uint64_t)TRACE_MEMORY_EACH;

    return more > memory->limit || memory->held > memory->limit - more;
}

static bool make_room(struct trace_memory *memory, size_t size)
{
    while (is_too_much(memory, size)) {
        if (!find_oldest(memory))
            return false;
        drop_oldest(memory);
    }
    tidy(memory);
    return true;
}

/* Readings of clocks from before the oldest event; the latest few of each clock stay. */
static void drop_pairs(struct trace_memory *memory)
{
    uint64_t oldest_ns =
        find_oldest(memory) ? memory->pieces[memory->oldest].written_ns : UINT64_MAX;
    uint8_t *kept = ifg_alloc(TRACE_CLOCK_MAX, 1);

    for (size_t i = memory->count; kept && i-- > 0;) {
        struct piece *piece = &memory->pieces[i];

        if (piece->type != TRACE_BLOCK_CLOCK || !piece->data || piece->stream >= TRACE_CLOCK_MAX ||
            piece->written_ns >= oldest_ns)
            continue;
        if (kept[piece->stream] < PAIRS_KEPT) {
            kept[piece->stream]++;
        } else {
            drop(memory, piece);
            memory->pairs--;
        }
    }
    ifg_free(kept);
    memory->pairs_at = 2 * memory->pairs + PAIRS_MORE;
}

void trace_memory_set_limit(struct trace_memory *memory, uint64_t limit_bytes)
{
    memory->limit = limit_bytes;
}

void trace_memory_age(struct trace_memory *memory, uint64_t before_ns)
{
    while (find_oldest(memory) && memory->pieces[memory->oldest].written_ns < before_ns)
        drop_oldest(memory);
    if (memory->pairs >= memory->pairs_at)
        drop_pairs(memory);
    tidy(memory);
}

uint64_t trace_memory_kept_since(struct trace_memory *memory)
{
    if (!memory->lost)
        return 0;
    return find_oldest(memory) ? memory->pieces[memory->oldest].written_ns : UINT64_MAX;
}

static void forget_pieces(struct trace_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        ifg_free(memory->pieces[i].data);
    memory->count = 0;
    memory->oldest = 0;
    memory->gone = 0;
    memory->held = 0;
    memory->fixed = 0;
    memory->end = 0;
    memory->lost = 0;
    memory->pairs = 0;
    memory->pairs_at = PAIRS_MORE;
    ifg_free(memory->before.threads);
    memory->before = (struct lost_before){ 0 };
}

enum ifg_status trace_memory_create(const char *name, uint64_t limit_bytes,
                                    struct trace_memory **out_memory, struct ifg_error *err)
{
    struct trace_memory *memory = ifg_alloc(1, sizeof *memory);

    *out_memory = NULL;
    if (memory)
        memory->name = ifg_strdup(name);
    if (!memory || !memory->name) {
        ifg_free(memory);
        return ifg_fail_no_memory(err, "for a trace of %s", name);
    }
    memory->limit = limit_bytes;
    *out_memory = memory;
    return IFG_OK;
}

void trace_memory_destroy(struct trace_memory *memory)
{
    if (!memory)
        return;
    forget_pieces(memory);
    ifg_free(memory->pieces);
    ifg_free(memory->name);
    ifg_free(memory);
}

uint64_t trace_memory_bytes(const struct trace_memory *memory)
{
    return memory->held;
}

uint64_t trace_memory_fixed_bytes(const struct trace_memory *memory)
{
    return memory->fixed;
}

uint64_t trace_memory_lost(const struct trace_memory *memory)
{
    return memory->lost;
}

/* ---- the output ---- */

struct memory_output {
    struct trace_output output;
    struct trace_memory *memory;
};

static ssize_t memory_write(struct trace_output *output, const void *data, size_t size)
{
    struct trace_memory *memory = ((struct memory_output *)output)->memory;
    struct piece piece = { .size = size, .offset = memory->end, .written_ns = ifg_monotonic_ns() };
    struct trace_block_head head;

    if (size >= TRACE_BLOCK_HEADER_BYTES && trace_block_head_get(data, &head)) {
        piece.type = head.type;
        piece.stream = head.stream;
    }
    if (!make_room(memory, size)) {
        errno = ENOSPC;
        return -1;
    }
    if (IFG_ARRAY_ROOM(memory->pieces, memory->capacity, memory->count + 1, IFG_ARRAY_ANY))
        piece.data = ifg_alloc(size, 1);
    if (!piece.data) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(piece.data, data, size);
    memory->pieces[memory->count++] = piece;
    memory->pairs += piece.type == TRACE_BLOCK_CLOCK;
    if (!may_make_room(&piece) && piece.type != TRACE_BLOCK_CLOCK)
        memory->fixed += size;
    memory->held += size;
    memory->end += size;
    return (ssize_t)size;
}

/* A piece is taken whole or not at all: there is nothing to take back. */
static void memory_cut(struct trace_output *output, uint64_t bytes)
{
    (void)output;
    (void)bytes;
}

static void memory_remove(struct trace_output *output)
{
    forget_pieces(((struct memory_output *)output)->memory);
}

static int memory_close(struct trace_output *output)
{
    ((struct memory_output *)output)->memory->is_written = false;
    return 0;
}

static const struct trace_output_functions memory_output_functions = {
    .write = memory_write,
    .cut = memory_cut,
    .remove = memory_remove,
    .close = memory_close,
};

enum ifg_status trace_output_memory(struct trace_memory *memory, struct trace_output **out_output,
                                    struct ifg_error *err)
{
    struct memory_output *own;

    *out_output = NULL;
    if (memory->is_written)
        return ifg_fail(err, IFG_BUSY, "%s: a trace is being written there", memory->name);
    own = ifg_alloc(1, sizeof *own);
    if (own)
        own->output.name = ifg_strdup(memory->name);
    if (!own || !own->output.name) {
        ifg_free(own);
        return ifg_fail_no_memory(err, "to write %s", memory->name);
    }
    own->output.functions = &memory_output_functions;
    own->memory = memory;
    forget_pieces(memory);
    memory->serial++;
    memory->is_written = true;
    *out_output = &own->output;
    return IFG_OK;
}

/* ---- the input ---- */

struct memory_input {
    struct trace_input input;
    struct trace_memory *memory;
    uint32_t serial; /* of the trace that was read; 0: none */
};

/* The first piece that ends behind offset, or the number of pieces. */
static size_t find_piece(const struct trace_memory *memory, uint64_t offset)
{
    size_t low = 0;
    size_t high = memory->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct piece *piece = &memory->pieces[middle];

        if (piece->offset + piece->size <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum ifg_status memory_look(struct trace_input *input, uint64_t read_to,
                                   struct trace_look *out_look, struct ifg_error *err)
{
    struct memory_input *own = (struct memory_input *)input;
    const struct trace_memory *memory = own->memory;

    (void)err;
    out_look->there = memory->serial != 0;
    out_look->other = (own->serial && own->serial != memory->serial) || memory->end < read_to;
    out_look->bytes = memory->end;
    own->serial = memory->serial;
    return IFG_OK;
}

static bool memory_read(struct trace_input *input, uint64_t offset, void *out, size_t size)
{
    const struct trace_memory *memory = ((struct memory_input *)input)->memory;
    uint8_t *at = out;

    for (size_t i = find_piece(memory, offset); size; i++) {
        const struct piece *piece = &memory->pieces[i];
        size_t part;

        if (i == memory->count || !piece->data || piece->offset > offset)
            return false;
        part = (size_t)(piece->offset + piece->size - offset);
        if (part > size)
            part = size;
        memcpy(at, piece->data + (offset - piece->offset), part);
        at += part;
        offset += part;
        size -= part;
    }
    return true;
}

static uint64_t memory_skip_lost(struct trace_input *input, uint64_t offset)
{
    const struct trace_memory *memory = ((struct memory_input *)input)->memory;

    for (size_t i = find_piece(memory, offset); i < memory->count; i++)
        if (memory->pieces[i].data)
            return memory->pieces[i].offset > offset ? memory->pieces[i].offset : offset;
    return memory->end;
}

static bool memory_is_abandoned(struct trace_input *input)
{
    const struct trace_memory *memory = ((struct memory_input *)input)->memory;

    return memory->serial && !memory->is_written;
}

static void memory_input_close(struct trace_input *input)
{
    (void)input;
}

static const struct trace_input_functions memory_input_functions = {
    .look = memory_look,
    .read = memory_read,
    .skip_lost = memory_skip_lost,
    .is_abandoned = memory_is_abandoned,
    .close = memory_input_close,
};

enum ifg_status trace_input_memory(struct trace_memory *memory, struct trace_input **out_input,
                                   struct ifg_error *err)
{
    struct memory_input *own = ifg_alloc(1, sizeof *own);

    *out_input = NULL;
    if (own)
        own->input.name = ifg_strdup(memory->name);
    if (!own || !own->input.name) {
        ifg_free(own);
        return ifg_fail_no_memory(err, "to follow %s", memory->name);
    }
    own->input.functions = &memory_input_functions;
    own->memory = memory;
    *out_input = &own->input;
    return IFG_OK;
}

/* ---- copying it out ---- */

struct copy {
    const struct trace_memory *memory;
    struct trace_output *output;
    struct ifg_error *err;
    uint64_t bytes;
    uint64_t blocks;
    struct trace_index index;
    struct ifg_bytes definitions; /* all, for the footer */
    struct ifg_bytes renumbered;  /* a block */
    struct trace_packer packer;
    struct trace_unpacker unpacker;
};

static enum ifg_status fail_no_memory(const struct copy *copy)
{
    return ifg_fail_no_memory(copy->err, "to save %s", copy->output->name);
}

static enum ifg_status put(struct copy *copy, const void *data, size_t size)
{
    enum ifg_status status = trace_output_append(copy->output, copy->bytes, data, size, copy->err);

    if (!status)
        copy->bytes += size;
    return status;
}

static enum ifg_status copy_pieces(struct copy *copy)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < copy->memory->count && !status; i++)
        status = put(copy, copy->memory->pieces[i].data, copy->memory->pieces[i].size);
    return status;
}

/* The packer has a whole block; if it is not a footer it comes into the index. */
static enum ifg_status put_packed(struct copy *copy, const struct trace_block_head *head)
{
    uint64_t offset = copy->bytes;
    enum ifg_status status = put(copy, copy->packer.data, copy->packer.size);

    if (status)
        return status;
    copy->blocks++;
    if (head->type != TRACE_BLOCK_FOOTER)
        trace_index_add(&copy->index, head, offset);
    return IFG_OK;
}

/* What the stream lost since the latest block that is not here. */
static uint64_t lost_since(const struct trace_memory *memory, const struct trace_block_head *head)
{
    const struct lost_before *lost = &memory->before;
    uint16_t type = trace_block_plain(head->type);
    uint64_t before = 0;

    if (type == TRACE_BLOCK_SAMPLES)
        before = lost->samples;
    else if (type == TRACE_BLOCK_ALLOCATIONS)
        before = lost->allocations;
    else if ((type == TRACE_BLOCK_ZONES || type == TRACE_BLOCK_EVENTS) &&
             head->stream < lost->capacity)
        before = lost->threads[head->stream];
    return head->dropped > before ? head->dropped - before : 0;
}

/* A block as it is, but with the number that it has here. */
static enum ifg_status copy_block(struct copy *copy, const struct piece *piece)
{
    uint8_t header[TRACE_BLOCK_HEADER_BYTES];
    struct trace_block_head head;
    struct trace_block_head was;
    enum ifg_status status;

    if (!trace_block_head_get(piece->data, &head))
        return IFG_OK;
    was = head;
    head.sequence = copy->blocks++;
    head.dropped = lost_since(copy->memory, &head);
    trace_index_add(&copy->index, &head, copy->bytes);
    if (piece->type == TRACE_BLOCK_DEFINITIONS) {
        status = trace_unpack(&copy->unpacker, head.type, piece->data + TRACE_BLOCK_HEADER_BYTES,
                              head.payload_bytes);
        if (status)
            return status == IFG_NO_MEMORY
                       ? fail_no_memory(copy)
                       : ifg_fail(copy->err, status, "%s: a block is damaged", copy->memory->name);
        ifg_bytes_put(&copy->definitions, copy->unpacker.columns[0], copy->unpacker.sizes[0]);
    }
    if (was.sequence == head.sequence && was.dropped == head.dropped)
        return put(copy, piece->data, piece->size);
    trace_block_head_put(header, &head);
    ifg_bytes_clear(&copy->renumbered);
    ifg_bytes_put(&copy->renumbered, header, sizeof header);
    ifg_bytes_put(&copy->renumbered, piece->data + sizeof header, piece->size - sizeof header);
    return copy->renumbered.failed ? fail_no_memory(copy)
                                   : put(copy, copy->renumbered.data, copy->renumbered.size);
}

/* How many blocks are missing: a definition like any other. */
static enum ifg_status put_loss(struct copy *copy)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_DEFINITIONS, .sequence = copy->blocks };
    struct trace_column column;
    struct ifg_bytes fields;
    struct ifg_bytes loss;
    enum ifg_status status;

    ifg_bytes_init(&fields, 1024);
    ifg_bytes_init(&loss, 1024);
    ifg_bytes_put_varint(&fields, 0);
    ifg_bytes_put_string(&fields, LOST_BLOCKS, strlen(LOST_BLOCKS));
    ifg_bytes_put_varint(&fields, copy->memory->lost);
    ifg_bytes_put_varint(&loss, TRACE_DEF_LOSS);
    ifg_bytes_put_string(&loss, (const char *)fields.data, fields.size);
    column = (struct trace_column){ loss.data, loss.size };
    if (fields.failed || loss.failed || trace_pack(&copy->packer, &head, &column, 1)) {
        status = fail_no_memory(copy);
    } else {
        ifg_bytes_put(&copy->definitions, loss.data, loss.size);
        status = put_packed(copy, &head);
    }
    ifg_bytes_fini(&fields);
    ifg_bytes_fini(&loss);
    return status;
}

static enum ifg_status put_footer(struct copy *copy)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_FOOTER, .sequence = copy->blocks };
    struct trace_column columns[FOOTER_COLUMNS] = {
        [FOOTER_INDEX] = { copy->index.bytes.data, copy->index.bytes.size },
        [FOOTER_DEFINITIONS] = { copy->definitions.data, copy->definitions.size },
    };
    uint64_t footer = copy->bytes;
    uint64_t blocks = copy->blocks;
    uint8_t trailer[TRACE_TRAILER_BYTES];
    enum ifg_status status;

    /* A trace without a footer is read by scanning its blocks. */
    if (copy->index.bytes.failed || copy->definitions.failed ||
        copy->index.bytes.size + copy->definitions.size > TRACE_FOOTER_MAX - 1024)
        return IFG_OK;
    head.count = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    if (trace_pack(&copy->packer, &head, columns, FOOTER_COLUMNS))
        return fail_no_memory(copy);
    status = put_packed(copy, &head);
    if (status)
        return status;
    trace_trailer_put(trailer, footer, copy->bytes, blocks);
    return put(copy, trailer, sizeof trailer);
}

static enum ifg_status copy_anew(struct copy *copy)
{
    const struct trace_memory *memory = copy->memory;
    enum ifg_status status = put(copy, memory->pieces[0].data, memory->pieces[0].size);

    for (size_t i = 1; i < memory->count && !status; i++) {
        const struct piece *piece = &memory->pieces[i];

        if (piece->data && piece->type && piece->type != TRACE_BLOCK_FOOTER)
            status = copy_block(copy, piece);
    }
    if (!status && memory->lost)
        status = put_loss(copy);
    return status ? status : put_footer(copy);
}

static enum ifg_status copy_all(struct copy *copy)
{
    const struct trace_memory *memory = copy->memory;
    bool is_finished = memory->count > 2 && memory->pieces[memory->count - 1].type == 0 &&
                       memory->pieces[memory->count - 2].type == TRACE_BLOCK_FOOTER;
    enum ifg_status status;

    if (memory->count == 0)
        return ifg_fail(copy->err, IFG_INVALID, "%s: there is no trace", memory->name);
    if (is_finished && memory->lost == 0)
        return copy_pieces(copy);
    ifg_bytes_init(&copy->index.bytes, TRACE_FOOTER_MAX);
    ifg_bytes_init(&copy->definitions, TRACE_FOOTER_MAX);
    ifg_bytes_init(&copy->renumbered, TRACE_FOOTER_MAX);
    status = trace_packer_init(&copy->packer) ? fail_no_memory(copy) : copy_anew(copy);
    trace_packer_fini(&copy->packer);
    trace_unpacker_fini(&copy->unpacker);
    ifg_bytes_fini(&copy->index.bytes);
    ifg_bytes_fini(&copy->definitions);
    ifg_bytes_fini(&copy->renumbered);
    return status;
}

enum ifg_status trace_memory_copy(const struct trace_memory *memory, struct trace_output *output,
                                  struct ifg_error *err)
{
    struct copy copy = { .memory = memory, .output = output, .err = err };

    return copy_all(&copy);
}

enum ifg_status trace_memory_save(const struct trace_memory *memory, const char *path,
                                  bool overwrite, uint32_t mode, struct ifg_error *err)
{
    struct copy copy = { .memory = memory, .err = err };
    enum ifg_status status = trace_output_file(path, overwrite, mode, &copy.output, err);

    if (status)
        return status;
    status = copy_all(&copy);
    if (status && copy.bytes == 0)
        trace_output_remove(copy.output);
    if (status) {
        trace_output_close(copy.output, NULL);
        return status;
    }
    return trace_output_close(copy.output, err);
}
