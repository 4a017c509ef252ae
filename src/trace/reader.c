// SPDX-License-Identifier: Apache-2.0
/*
 * Opening a trace: is it one, where are its blocks, what do its definitions say. The footer answers
 * quickly; without a good one the file is scanned and what is whole is taken.
 *
 * The mapping has the size that the file had when it was opened. Growing after that is harmless; a
 * file that somebody shortens while it is mapped ends the process with SIGBUS, as with any mapped
 * file (the writer of this project replaces files, it never shortens one that a reader can rely
 * on).
 */
#include "trace/reader_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"

#define PIECES_MOST    1000u
#define RESIDENT_MOST  ((size_t)64 << 20) /* bytes of the mapped file in our memory */
#define HEADER_TOUCHES 65536u /* of them come with the header of a block: the kernel maps more */

/* What people open by mistake, by its first bytes. */
static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} known_files[] = {
    { "\x7f"
      "ELF",
      4, "it is an ELF program or library" },
    { "\x1f\x8b", 2, "it is gzip-compressed" },
    { "\x28\xb5\x2f\xfd", 4, "it is zstd-compressed" },
    { "tracy", 5, "it is a Tracy trace" },
    { "tlZ\x04", 4, "it is a Tracy trace" },
    { "tZst", 4, "it is a Tracy trace" },
    { "tr\xfdP", 4, "it is a Tracy trace" },
    { "PERFILE2", 8, "it is a perf.data file of Linux perf" },
    { "SQLite format 3", 15, "it is an SQLite database" },
    { "PK\x03\x04", 4, "it is a ZIP archive" },
    { "<!DOCTYPE", 9, "it is an HTML page" },
    { "<!doctype", 9, "it is an HTML page" },
    { "<html", 5, "it is an HTML page" },
    { "{", 1, "it is a text file that looks like JSON" },
    { "[", 1, "it is a text file that looks like JSON" },
    { "\x89IFG\n", 5, "it was a trace, but line ends were changed (a text-mode transfer?)" },
    { "\x89IFG\r\r", 6, "it was a trace, but line ends were changed (a text-mode transfer?)" },
};

static enum ifg_status fail_not_a_trace(const struct trace_reader *reader, struct ifg_error *err)
{
    char hex[TRACE_FILE_MAGIC_BYTES * 3 + 1] = "";
    size_t shown = reader->size < TRACE_FILE_MAGIC_BYTES ? reader->size : TRACE_FILE_MAGIC_BYTES;

    if (reader->size == 0)
        return ifg_fail(err, IFG_CORRUPT, "%s: not an Inferogram trace: the file is empty",
                        reader->name);
    for (size_t i = 0; i < sizeof known_files / sizeof known_files[0]; i++)
        if (reader->size >= known_files[i].size &&
            memcmp(reader->data, known_files[i].bytes, known_files[i].size) == 0)
            return ifg_fail(err, IFG_CORRUPT, "%s: not an Inferogram trace: %s", reader->name,
                            known_files[i].what);
    for (size_t i = 0; i < shown; i++) {
        static const char digits[] = "0123456789abcdef";

        hex[i * 3] = digits[reader->data[i] >> 4];
        hex[i * 3 + 1] = digits[reader->data[i] & 15];
        hex[i * 3 + 2] = i + 1 < shown ? ' ' : '\0';
    }
    return ifg_fail(err, IFG_CORRUPT, "%s: not an Inferogram trace: it begins with %s",
                    reader->name, hex);
}

static enum ifg_status check_file_header(struct trace_reader *reader, size_t *out_first,
                                         struct ifg_error *err)
{
    const uint8_t *data = reader->data;
    uint64_t required;
    uint32_t header_bytes;

    if (reader->size < TRACE_FILE_MAGIC_BYTES ||
        memcmp(data, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES) != 0)
        return fail_not_a_trace(reader, err);
    if (reader->size < TRACE_FILE_HEADER_BYTES)
        return ifg_fail(err, IFG_CORRUPT,
                        "%s: the file ends inside its header (%zu of %u bytes); nothing was "
                        "recorded or the copy is incomplete",
                        reader->name, reader->size, TRACE_FILE_HEADER_BYTES);
    if (load_u32(data + FILE_CRC) != trace_crc(data, FILE_CRC))
        return ifg_fail(err, IFG_CORRUPT, "%s: the file header is damaged (its checksum is wrong)",
                        reader->name);
    reader->info.major = load_u16(data + FILE_MAJOR);
    reader->info.minor = load_u16(data + FILE_MINOR);
    if (reader->info.major != TRACE_MAJOR)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s: trace format %u.%u; this program reads %u.x; use a %s Inferogram",
                        reader->name, reader->info.major, reader->info.minor, TRACE_MAJOR,
                        reader->info.major > TRACE_MAJOR ? "newer" : "suitable");
    required = load_u64(data + FILE_REQUIRED);
    if (required)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s: needs trace features 0x%llx that this program does not know; use a "
                        "newer Inferogram",
                        reader->name, (unsigned long long)required);
    header_bytes = load_u32(data + FILE_HEADER_BYTES);
    if (header_bytes < TRACE_FILE_HEADER_BYTES || header_bytes > TRACE_FILE_HEADER_MAX)
        return ifg_fail(err, IFG_CORRUPT, "%s: impossible header size %u", reader->name,
                        header_bytes);
    memcpy(reader->info.trace_id, data + FILE_TRACE_ID, sizeof reader->info.trace_id);
    reader->info.created_realtime_ns = load_u64(data + FILE_CREATED);
    reader->info.file_bytes = reader->size;
    *out_first = header_bytes < reader->size ? header_bytes : reader->size;
    return IFG_OK;
}

void trace_reader_touch(const struct trace_reader *reader, size_t bytes)
{
    struct trace_reader *counted = (struct trace_reader *)(uintptr_t)reader;
    size_t before = atomic_fetch_add(&counted->touched, bytes);

    if (reader->mapped && before / RESIDENT_MOST != (before + bytes) / RESIDENT_MOST)
        madvise((void *)(uintptr_t)reader->data, reader->size, MADV_DONTNEED);
}

void trace_reader_rest(const struct trace_reader *reader)
{
    if (reader->mapped)
        madvise((void *)(uintptr_t)reader->data, reader->size, MADV_DONTNEED);
}

bool trace_block_at(const uint8_t *data, size_t size, uint64_t offset,
                    struct trace_block_head *out_head, const uint8_t **out_payload)
{
    if (size < TRACE_BLOCK_HEADER_BYTES || offset > size - TRACE_BLOCK_HEADER_BYTES ||
        !trace_block_head_get(data + offset, out_head) ||
        out_head->payload_bytes > size - TRACE_BLOCK_HEADER_BYTES - offset)
        return false;
    *out_payload = data + offset + TRACE_BLOCK_HEADER_BYTES;
    return trace_crc(*out_payload, out_head->payload_bytes) == out_head->payload_crc;
}

/* Puts a block into the list if it is of a kind that this version knows. False: no memory. */
static bool list_block(struct trace_reader *reader, const struct trace_block *given)
{
    struct trace_block copy = *given;
    struct trace_block *block = &copy;

    block->type = (enum trace_block_type)trace_block_plain((uint16_t)block->type);
    /* Decoding will refuse it; nobody should make room for it before. */
    if ((block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS) &&
        block->count > TRACE_COUNT_MAX)
        block->count = 0;
    if (block->type < TRACE_BLOCK_DEFINITIONS || block->type >= TRACE_BLOCK_TYPES ||
        block->type == TRACE_BLOCK_FOOTER)
        return true;
    if (!IFG_ARRAY_ROOM(reader->blocks, reader->block_capacity, reader->block_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    reader->blocks[reader->block_count++] = *block;
    return true;
}

static void note_damage(struct trace_reader *reader, uint64_t offset, uint64_t bytes,
                        uint64_t blocks)
{
    if (bytes && (reader->info.skipped_bytes == 0 || offset < reader->info.first_damage))
        reader->info.first_damage = offset;
    reader->info.skipped_bytes += bytes;
    reader->info.damaged_blocks += blocks;
}

/* What a scan knows besides the blocks it has found. */
struct scan {
    uint64_t next_sequence;
    bool have_footer;
    uint64_t footer_offset;
};

/* Where the next block may begin after a place where there was none. */
static size_t find_magic(const uint8_t *data, size_t size, size_t from)
{
    const uint8_t *found = from < size ? memmem(data + from, size - from, "IFGb", 4) : NULL;

    return found ? (size_t)(found - data) : size;
}

static enum ifg_status scan_blocks(struct trace_reader *reader, size_t first, struct scan *scan)
{
    size_t at = first;
    size_t good_end = first;

    while (at < reader->data_end) {
        struct trace_block_head head;
        const uint8_t *payload;
        struct trace_block block;

        if (!trace_block_at(reader->data, reader->size, at, &head, &payload)) {
            at = find_magic(reader->data, reader->data_end, at + 1);
            continue;
        }
        if (at > good_end)
            note_damage(reader, good_end, at - good_end, 0);
        if (head.sequence > scan->next_sequence)
            note_damage(reader, at, 0, head.sequence - scan->next_sequence);
        if (head.sequence >= scan->next_sequence)
            scan->next_sequence = head.sequence + 1;
        block = (struct trace_block){ at,          (enum trace_block_type)head.type,
                                      head.stream, head.count,
                                      head.t0,     head.t1,
                                      head.dropped };
        if (!list_block(reader, &block))
            return IFG_NO_MEMORY;
        if (head.type == TRACE_BLOCK_FOOTER) {
            scan->have_footer = true;
            scan->footer_offset = at;
        }
        at += TRACE_BLOCK_HEADER_BYTES + head.payload_bytes;
        trace_reader_touch(reader, at - good_end);
        good_end = at;
    }
    if (reader->size > good_end)
        /* Behind a footer it is the trailer that is damaged; else a block that was cut. */
        note_damage(reader, good_end, reader->size - good_end, scan->have_footer ? 0 : 1);
    return IFG_OK;
}

/* Whether the block itself says the same as the index: room is made by what the index says. */
static bool is_header_of(const struct trace_reader *reader, uint64_t offset, uint64_t type,
                         uint64_t stream, uint64_t count)
{
    struct trace_block_head head;

    return offset <= reader->size - TRACE_BLOCK_HEADER_BYTES &&
           trace_block_head_get(reader->data + offset, &head) && head.type == type &&
           head.stream == stream && head.count == count;
}

static bool read_index(struct trace_reader *reader, uint64_t first, uint64_t footer, uint64_t count,
                       enum ifg_status *out_status)
{
    struct ifg_cursor cursor = ifg_cursor_over(reader->unpacker.columns[FOOTER_INDEX],
                                               reader->unpacker.sizes[FOOTER_INDEX]);
    uint64_t offset = 0;
    uint64_t earliest = first;

    for (uint64_t i = 0; i < count; i++) {
        struct trace_block block;
        uint64_t type;
        uint64_t stream;
        uint64_t events;

        offset += ifg_cursor_varint(&cursor);
        type = ifg_cursor_varint(&cursor);
        stream = ifg_cursor_varint(&cursor);
        events = ifg_cursor_varint(&cursor);
        trace_reader_touch(reader, HEADER_TOUCHES);
        block.offset = offset;
        block.t0 = ifg_cursor_varint(&cursor);
        block.t1 = block.t0 + ifg_cursor_varint(&cursor);
        block.dropped = ifg_cursor_varint(&cursor);
        if (cursor.failed || offset < earliest || offset >= footer ||
            !is_header_of(reader, offset, type, stream, events))
            return false;
        block.type = (enum trace_block_type)type;
        block.stream = (uint32_t)stream;
        block.count = (uint32_t)events;
        if (!list_block(reader, &block)) {
            *out_status = IFG_NO_MEMORY;
            return false;
        }
        earliest = offset + TRACE_BLOCK_HEADER_BYTES;
    }
    return ifg_cursor_left(&cursor) == 0;
}

/* True when the trailer and the footer hold and gave blocks and definitions. */
static bool use_footer(struct trace_reader *reader, size_t first, enum ifg_status *out_status)
{
    const uint8_t *trailer;
    const uint8_t *payload;
    struct trace_block_head head;
    uint64_t footer;
    size_t before_trailer;

    *out_status = IFG_OK;
    if (reader->size - first < TRACE_BLOCK_HEADER_BYTES + TRACE_TRAILER_BYTES)
        return false;
    before_trailer = reader->size - TRACE_TRAILER_BYTES;
    trailer = reader->data + before_trailer;
    footer = load_u64(trailer);
    if (load_u32(trailer + 28) != TRACE_TRAILER_MAGIC ||
        load_u32(trailer + 24) != trace_crc(trailer, 24) || load_u64(trailer + 8) != reader->size ||
        footer < first || !trace_block_at(reader->data, before_trailer, footer, &head, &payload) ||
        head.type != TRACE_BLOCK_FOOTER ||
        footer + TRACE_BLOCK_HEADER_BYTES + head.payload_bytes != before_trailer)
        return false;
    *out_status = trace_unpack(&reader->unpacker, TRACE_BLOCK_FOOTER, payload, head.payload_bytes);
    if (*out_status == IFG_CORRUPT)
        *out_status = IFG_OK;
    else if (*out_status == IFG_OK &&
             read_index(reader, first, footer, load_u64(trailer + 16), out_status)) {
        *out_status =
            trace_tables_add(&reader->tables, reader->unpacker.columns[FOOTER_DEFINITIONS],
                             reader->unpacker.sizes[FOOTER_DEFINITIONS]);
        if (*out_status == IFG_OK)
            return true;
        if (*out_status == IFG_CORRUPT)
            *out_status = IFG_OK;
    }
    reader->block_count = 0;
    return false;
}

/* Definitions from their own blocks and, if a footer was met, from there what is missing. */
static enum ifg_status add_scanned_definitions(struct trace_reader *reader, const struct scan *scan)
{
    enum ifg_status status;

    for (size_t i = 0; i <= reader->block_count; i++) {
        bool is_footer = i == reader->block_count;
        size_t column = is_footer ? FOOTER_DEFINITIONS : 0;
        uint64_t offset = is_footer ? scan->footer_offset : reader->blocks[i].offset;
        struct trace_block_head head;
        const uint8_t *payload;

        if (is_footer ? !scan->have_footer : reader->blocks[i].type != TRACE_BLOCK_DEFINITIONS)
            continue;
        if (!trace_block_at(reader->data, reader->size, offset, &head, &payload))
            continue;
        status = trace_unpack(&reader->unpacker, head.type, payload, head.payload_bytes);
        if (!status)
            status = trace_tables_add(&reader->tables, reader->unpacker.columns[column],
                                      reader->unpacker.sizes[column]);
        if (status == IFG_NO_MEMORY)
            return status;
        if (status)
            note_damage(reader, offset, 0, 1);
    }
    return IFG_OK;
}

/* Reads the clock pairs, and drops blocks of streams that cannot be. */
static enum ifg_status settle_blocks(struct trace_reader *reader)
{
    size_t kept = 0;

    for (size_t i = 0; i < reader->block_count; i++) {
        struct trace_block *block = &reader->blocks[i];
        enum ifg_status status = IFG_OK;
        struct trace_block_head head;
        const uint8_t *payload;

        if (block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS) {
            status = trace_tables_cover_thread(&reader->tables, block->stream);
        } else if (block->type == TRACE_BLOCK_CLOCK) {
            status = IFG_CORRUPT;
            if (trace_block_at(reader->data, reader->size, block->offset, &head, &payload) &&
                head.type == TRACE_BLOCK_CLOCK)
                status = trace_unpack(&reader->unpacker, head.type, payload, head.payload_bytes);
            if (!status)
                status = trace_tables_cover_clock(&reader->tables, head.stream);
            if (!status)
                status = trace_clocks_add(&reader->clocks, head.stream, head.count,
                                          reader->unpacker.columns[0], reader->unpacker.sizes[0]);
        }
        if (status == IFG_NO_MEMORY)
            return status;
        if (status) {
            uint64_t end = i + 1 < reader->block_count ? reader->blocks[i + 1].offset
                                                       : block->offset + TRACE_BLOCK_HEADER_BYTES;
            note_damage(reader, block->offset, end - block->offset, 1);
            continue;
        }
        reader->blocks[kept++] = *block;
    }
    reader->block_count = kept;
    return IFG_OK;
}

static enum ifg_status load(struct trace_reader *reader, struct ifg_error *err)
{
    enum ifg_status status;
    size_t first = 0;

    status = check_file_header(reader, &first, err);
    if (status)
        return status;
    reader->info.finished = use_footer(reader, first, &status);
    if (!status && !reader->info.finished) {
        struct scan scan = { 0 };

        trace_tables_fini(&reader->tables); /* whatever a bad footer has put there */
        status = scan_blocks(reader, first, &scan);
        if (!status)
            status = add_scanned_definitions(reader, &scan);
    }
    if (!status)
        status = settle_blocks(reader);
    if (!status)
        status = trace_tables_finish(&reader->tables);
    if (status)
        return ifg_fail_no_memory(err, "to open %s", reader->name);
    trace_clocks_finish(&reader->clocks, &reader->tables.view);
    trace_unpacker_fini(&reader->unpacker);
    return IFG_OK;
}

/* Where the last data of a file ends. A file that was made long before it was filled is not read to
 * its end: gigabytes of holes take seconds to search. Files have few pieces of data, or one. */
static size_t find_data_end(int fd, size_t size)
{
    off_t end = 0;

    for (unsigned pieces = 0; pieces < PIECES_MOST; pieces++) {
        off_t data = lseek(fd, end, SEEK_DATA);

        if (data < 0 && errno == ENXIO)
            return end > 0 && (size_t)end < size ? (size_t)end : size;
        end = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (end < 0)
            break; /* not every file system knows */
        if ((size_t)end >= size)
            break;
    }
    return size;
}

/* Takes over the mapping, also when it fails. */
static enum ifg_status open_bytes(const void *data, size_t size, size_t data_end, bool mapped,
                                  const char *name, struct trace_reader **out_reader,
                                  struct ifg_error *err)
{
    struct trace_reader *reader = ifg_alloc(1, sizeof *reader);
    enum ifg_status status;

    if (!reader) {
        if (mapped)
            munmap((void *)(uintptr_t)data, size);
        return ifg_fail_no_memory(err, "to open %s", name);
    }
    reader->data = data;
    reader->size = size;
    reader->data_end = data_end;
    reader->mapped = mapped;
    reader->name = ifg_strdup(name);
    status = reader->name ? load(reader, err) : ifg_fail_no_memory(err, "to open %s", name);
    if (status) {
        trace_reader_close(reader);
        return status;
    }
    *out_reader = reader;
    return IFG_OK;
}

enum ifg_status trace_reader_open_memory(const void *data, size_t size, const char *name,
                                         struct trace_reader **out_reader, struct ifg_error *err)
{
    *out_reader = NULL;
    return open_bytes(data, size, size, false, name, out_reader, err);
}

enum ifg_status trace_reader_open(const char *path, struct trace_reader **out_reader,
                                  struct ifg_error *err)
{
    enum ifg_status status;
    struct stat info;
    void *data;
    int fd;

    *out_reader = NULL;
    /* Not blocking: a pipe of that name must not hold us up before we see that it is one. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ifg_fail_errno(err, "cannot open %s", path);
    if (fstat(fd, &info) < 0) {
        status = ifg_fail_errno(err, "cannot look at %s", path);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        status = ifg_fail(err, IFG_INVALID, "%s is %s, not a trace file", path,
                          S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
        goto out;
    }
    if (info.st_size == 0) {
        status = open_bytes("", 0, 0, false, path, out_reader, err);
        goto out;
    }
    data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        status = ifg_fail_errno(err, "cannot map %s", path);
        goto out;
    }
    status = open_bytes(data, (size_t)info.st_size, find_data_end(fd, (size_t)info.st_size), true,
                        path, out_reader, err);
out:
    close(fd);
    return status;
}

void trace_reader_close(struct trace_reader *reader)
{
    if (!reader)
        return;
    trace_unpacker_fini(&reader->unpacker);
    trace_tables_fini(&reader->tables);
    trace_clocks_fini(&reader->clocks);
    ifg_free(reader->blocks);
    ifg_free(reader->name);
    if (reader->mapped)
        munmap((void *)(uintptr_t)reader->data, reader->size);
    ifg_free(reader);
}

const char *trace_reader_name(const struct trace_reader *reader)
{
    return reader->name;
}

const struct trace_file_info *trace_reader_file(const struct trace_reader *reader)
{
    return &reader->info;
}

const struct trace_tables *trace_reader_tables(const struct trace_reader *reader)
{
    return &reader->tables.view;
}

size_t trace_reader_block_count(const struct trace_reader *reader)
{
    return reader->block_count;
}

const struct trace_block *trace_reader_block(const struct trace_reader *reader, size_t index)
{
    return index < reader->block_count ? &reader->blocks[index] : NULL;
}
