// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks: a checked header, and columns that are compressed one by one. Both directions are here,
 * so that what is written and what is believed stay side by side.
 */
#include "trace/trace_internal.h"

#include <libdeflate.h>
#include <zstd.h>

#include "base/alloc.h"

#define ZSTD_LEVEL             1   /* higher levels gain nothing on these columns */
#define COMPRESSION_WORTHWHILE 64u /* bytes; below, the frame costs more than it saves */
#define COLUMN_HEADER_BYTES    12u

enum { CODEC_STORED = 0, CODEC_ZSTD = 1 };

enum {
    HEAD_MAGIC = 0,
    HEAD_TYPE = 4,
    HEAD_FLAGS = 6,
    HEAD_STREAM = 8,
    HEAD_COUNT = 12,
    HEAD_T0 = 16,
    HEAD_T1 = 24,
    HEAD_DROPPED = 32,
    HEAD_PAYLOAD_BYTES = 40,
    HEAD_PAYLOAD_CRC = 44,
    HEAD_SEQUENCE = 48,
    HEAD_RESERVED = 56,
    HEAD_CRC = 60,
};
_Static_assert(HEAD_CRC + 4 == TRACE_BLOCK_HEADER_BYTES, "the checksum ends the header");

uint32_t trace_crc(const uint8_t *data, size_t size)
{
    return (uint32_t)libdeflate_crc32(0, data, size);
}

void trace_file_header_put(uint8_t out[TRACE_FILE_HEADER_BYTES],
                           const struct trace_identity *identity)
{
    memset(out, 0, TRACE_FILE_HEADER_BYTES);
    memcpy(out, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES);
    store_u16(out + FILE_MAJOR, TRACE_MAJOR);
    store_u16(out + FILE_MINOR, TRACE_MINOR);
    store_u32(out + FILE_HEADER_BYTES, TRACE_FILE_HEADER_BYTES);
    memcpy(out + FILE_TRACE_ID, identity->trace_id, sizeof identity->trace_id);
    store_u64(out + FILE_CREATED, identity->created_realtime_ns);
    store_u32(out + FILE_CRC, trace_crc(out, FILE_CRC));
}

uint32_t trace_block_limit(uint16_t type)
{
    return type == TRACE_BLOCK_FOOTER ? TRACE_FOOTER_MAX : TRACE_PAYLOAD_MAX;
}

void trace_block_head_put(uint8_t out[TRACE_BLOCK_HEADER_BYTES],
                          const struct trace_block_head *head)
{
    memset(out, 0, TRACE_BLOCK_HEADER_BYTES);
    store_u32(out + HEAD_MAGIC, TRACE_BLOCK_MAGIC);
    store_u16(out + HEAD_TYPE, head->type);
    store_u32(out + HEAD_STREAM, head->stream);
    store_u32(out + HEAD_COUNT, head->count);
    store_u64(out + HEAD_T0, head->t0);
    store_u64(out + HEAD_T1, head->t1);
    store_u64(out + HEAD_DROPPED, head->dropped);
    store_u32(out + HEAD_PAYLOAD_BYTES, head->payload_bytes);
    store_u32(out + HEAD_PAYLOAD_CRC, head->payload_crc);
    store_u64(out + HEAD_SEQUENCE, head->sequence);
    store_u32(out + HEAD_CRC, trace_crc(out, HEAD_CRC));
}

bool trace_block_head_get(const uint8_t in[TRACE_BLOCK_HEADER_BYTES],
                          struct trace_block_head *out_head)
{
    if (load_u32(in + HEAD_MAGIC) != TRACE_BLOCK_MAGIC ||
        load_u32(in + HEAD_CRC) != trace_crc(in, HEAD_CRC))
        return false;
    out_head->type = load_u16(in + HEAD_TYPE);
    out_head->stream = load_u32(in + HEAD_STREAM);
    out_head->count = load_u32(in + HEAD_COUNT);
    out_head->t0 = load_u64(in + HEAD_T0);
    out_head->t1 = load_u64(in + HEAD_T1);
    out_head->dropped = load_u64(in + HEAD_DROPPED);
    out_head->payload_bytes = load_u32(in + HEAD_PAYLOAD_BYTES);
    out_head->payload_crc = load_u32(in + HEAD_PAYLOAD_CRC);
    out_head->sequence = load_u64(in + HEAD_SEQUENCE);
    return out_head->payload_bytes <= trace_block_limit(out_head->type);
}

void trace_index_add(struct trace_index *index, const struct trace_block_head *head,
                     uint64_t offset)
{
    struct ifg_bytes *bytes = &index->bytes;

    ifg_bytes_put_varint(bytes, offset - index->last_offset);
    ifg_bytes_put_varint(bytes, head->type);
    ifg_bytes_put_varint(bytes, head->stream);
    ifg_bytes_put_varint(bytes, head->count);
    ifg_bytes_put_varint(bytes, head->t0);
    ifg_bytes_put_varint(bytes, head->t1 - head->t0);
    ifg_bytes_put_varint(bytes, head->dropped);
    index->last_offset = offset;
}

void trace_trailer_put(uint8_t out[TRACE_TRAILER_BYTES], uint64_t footer, uint64_t file_bytes,
                       uint64_t blocks)
{
    store_u64(out, footer);
    store_u64(out + 8, file_bytes + TRACE_TRAILER_BYTES);
    store_u64(out + 16, blocks);
    store_u32(out + 24, trace_crc(out, 24));
    store_u32(out + 28, TRACE_TRAILER_MAGIC);
}

enum ifg_status trace_packer_init(struct trace_packer *packer)
{
    memset(packer, 0, sizeof *packer);
    packer->zstd = ZSTD_createCCtx();
    return packer->zstd ? IFG_OK : IFG_NO_MEMORY;
}

void trace_packer_fini(struct trace_packer *packer)
{
    ZSTD_freeCCtx(packer->zstd);
    ifg_free(packer->data);
    memset(packer, 0, sizeof *packer);
}

static bool packer_room(struct trace_packer *packer, size_t needed)
{
    uint8_t *data;

    if (needed <= packer->capacity)
        return true;
    data = ifg_alloc(needed, 1);
    if (!data)
        return false;
    ifg_free(packer->data);
    packer->data = data;
    packer->capacity = needed;
    return true;
}

/* Room for the worst case, so that packing itself needs no checks. */
static bool packer_reserve(struct trace_packer *packer, const struct trace_column *columns,
                           size_t count)
{
    size_t needed = TRACE_BLOCK_HEADER_BYTES + 4 + count * COLUMN_HEADER_BYTES;

    for (size_t i = 0; i < count; i++)
        needed += ZSTD_compressBound(columns[i].size);
    return packer_room(packer, needed);
}

enum ifg_status trace_pack_again(struct trace_packer *packer, const struct trace_block_head *head,
                                 const uint8_t *payload)
{
    size_t size = TRACE_BLOCK_HEADER_BYTES + (size_t)head->payload_bytes;

    if (!packer_room(packer, size))
        return IFG_NO_MEMORY;
    trace_block_head_put(packer->data, head);
    memcpy(packer->data + TRACE_BLOCK_HEADER_BYTES, payload, head->payload_bytes);
    packer->size = size;
    return IFG_OK;
}

/* Appends the column at out and describes it at header; returns how many bytes it took. */
static size_t pack_column(struct trace_packer *packer, const struct trace_column *column,
                          uint8_t *header, uint8_t *out)
{
    size_t stored = column->size;
    uint32_t codec = CODEC_STORED;

    if (column->size >= COMPRESSION_WORTHWHILE) {
        size_t packed = ZSTD_compressCCtx(packer->zstd, out, ZSTD_compressBound(column->size),
                                          column->data, column->size, ZSTD_LEVEL);
        if (!ZSTD_isError(packed) && packed < column->size) {
            stored = packed;
            codec = CODEC_ZSTD;
        }
    }
    if (codec == CODEC_STORED && column->size)
        memcpy(out, column->data, column->size);
    store_u32(header, codec);
    store_u32(header + 4, (uint32_t)column->size);
    store_u32(header + 8, (uint32_t)stored);
    return stored;
}

enum ifg_status trace_pack(struct trace_packer *packer, struct trace_block_head *head,
                           const struct trace_column *columns, size_t count)
{
    size_t limit = trace_block_limit(head->type);
    size_t raw_total = 0;
    uint8_t *payload;
    uint8_t *header;
    uint8_t *out;

    for (size_t i = 0; i < count; i++) {
        if (columns[i].size > limit - raw_total)
            return IFG_INVALID;
        raw_total += columns[i].size;
    }
    if (4 + count * COLUMN_HEADER_BYTES > limit - raw_total)
        return IFG_INVALID;
    if (!packer_reserve(packer, columns, count))
        return IFG_NO_MEMORY;

    payload = packer->data + TRACE_BLOCK_HEADER_BYTES;
    store_u32(payload, (uint32_t)count);
    header = payload + 4;
    out = header + count * COLUMN_HEADER_BYTES;
    for (size_t i = 0; i < count; i++) {
        out += pack_column(packer, &columns[i], header, out);
        header += COLUMN_HEADER_BYTES;
    }
    head->payload_bytes = (uint32_t)(out - payload);
    head->payload_crc = trace_crc(payload, head->payload_bytes);
    trace_block_head_put(packer->data, head);
    packer->size = TRACE_BLOCK_HEADER_BYTES + head->payload_bytes;
    return IFG_OK;
}

void trace_unpacker_fini(struct trace_unpacker *unpacker)
{
    ZSTD_freeDCtx(unpacker->zstd);
    ifg_free(unpacker->data);
    memset(unpacker, 0, sizeof *unpacker);
}

/* One column as the payload describes it; none of it is to be trusted. */
struct packed_column {
    uint32_t codec;
    uint32_t raw_bytes;
    uint32_t stored_bytes;
};

/* Reads the column headers and checks that they fit the payload exactly. */
static bool parse_columns(const uint8_t *payload, size_t size, size_t limit,
                          struct packed_column columns[TRACE_COLUMNS_MAX], size_t *out_count)
{
    size_t raw_total = 0;
    size_t left;
    uint32_t count;

    if (size < 4)
        return false;
    count = load_u32(payload);
    if (count > TRACE_COLUMNS_MAX || size - 4 < count * COLUMN_HEADER_BYTES)
        return false;
    left = size - 4 - count * COLUMN_HEADER_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *header = payload + 4 + i * COLUMN_HEADER_BYTES;

        columns[i].codec = load_u32(header);
        columns[i].raw_bytes = load_u32(header + 4);
        columns[i].stored_bytes = load_u32(header + 8);
        if (columns[i].stored_bytes > left || columns[i].raw_bytes > limit - raw_total)
            return false;
        left -= columns[i].stored_bytes;
        raw_total += columns[i].raw_bytes;
    }
    *out_count = count;
    return left == 0;
}

static bool unpacker_reserve(struct trace_unpacker *unpacker, const struct packed_column *columns,
                             size_t count)
{
    size_t needed = TRACE_COLUMN_PADDING; /* shared by the columns that are not there */
    uint8_t *data;

    for (size_t i = 0; i < count; i++)
        needed += (size_t)columns[i].raw_bytes + TRACE_COLUMN_PADDING;
    if (needed <= unpacker->capacity)
        return true;
    data = ifg_alloc(needed, 1);
    if (!data)
        return false;
    ifg_free(unpacker->data);
    unpacker->data = data;
    unpacker->capacity = needed;
    return true;
}

static bool unpack_column(struct trace_unpacker *unpacker, const struct packed_column *column,
                          const uint8_t *stored, uint8_t *out)
{
    if (column->codec == CODEC_STORED) {
        if (column->stored_bytes != column->raw_bytes)
            return false;
        memcpy(out, stored, column->raw_bytes);
        return true;
    }
    if (column->codec != CODEC_ZSTD ||
        ZSTD_getFrameContentSize(stored, column->stored_bytes) != column->raw_bytes)
        return false;
    return ZSTD_decompressDCtx(unpacker->zstd, out, column->raw_bytes, stored,
                               column->stored_bytes) == column->raw_bytes;
}

enum ifg_status trace_unpack(struct trace_unpacker *unpacker, uint16_t type, const uint8_t *payload,
                             size_t size)
{
    struct packed_column columns[TRACE_COLUMNS_MAX];
    const uint8_t *stored;
    uint8_t *out;
    size_t count;

    if (!parse_columns(payload, size, trace_block_limit(type), columns, &count))
        return IFG_CORRUPT;
    if (!unpacker->zstd) {
        unpacker->zstd = ZSTD_createDCtx();
        if (!unpacker->zstd)
            return IFG_NO_MEMORY;
    }
    if (!unpacker_reserve(unpacker, columns, count))
        return IFG_NO_MEMORY;

    stored = payload + 4 + count * COLUMN_HEADER_BYTES;
    out = unpacker->data;
    memset(out, 0, TRACE_COLUMN_PADDING);
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++) {
        unpacker->columns[i] = unpacker->data;
        unpacker->sizes[i] = 0;
    }
    unpacker->count = count;
    out += TRACE_COLUMN_PADDING;
    for (size_t i = 0; i < count; i++) {
        if (!unpack_column(unpacker, &columns[i], stored, out))
            return IFG_CORRUPT;
        unpacker->columns[i] = out;
        unpacker->sizes[i] = columns[i].raw_bytes;
        memset(out + columns[i].raw_bytes, 0, TRACE_COLUMN_PADDING);
        stored += columns[i].stored_bytes;
        out += columns[i].raw_bytes + TRACE_COLUMN_PADDING;
    }
    return IFG_OK;
}
