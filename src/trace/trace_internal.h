// SPDX-License-Identifier: Apache-2.0
/*
 * What the writer and the reader of this room share: file offsets, limits, the framing of blocks,
 * and integers in the file's byte order. docs/trace-format.md is the text that this mirrors.
 */
#ifndef IFG_TRACE_INTERNAL_H
#define IFG_TRACE_INTERNAL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/status.h"
#include "trace/format.h"

#define TRACE_FILE_HEADER_BYTES  64u
#define TRACE_BLOCK_HEADER_BYTES 64u
#define TRACE_TRAILER_BYTES      32u
#define TRACE_FILE_HEADER_MAX    (1u << 20)
#define TRACE_BLOCK_MAGIC        0x62474649u /* "IFGb" */
#define TRACE_TRAILER_MAGIC      0x65474649u /* "IFGe" */
#define TRACE_FILE_MAGIC         "\x89IFG\r\n\x1a\n"
#define TRACE_FILE_MAGIC_BYTES   8u

/* What a reader accepts, so that no length in a file can ask for much memory. */
#define TRACE_COUNT_MAX  (1u << 16)   /* zones or events in a block */
#define TRACE_FOOTER_MAX (256u << 20) /* the footer may be larger than other blocks */
#define TRACE_INDEX_MAX  (1u << 20)   /* process and thread indices are below this, */
#define TRACE_INDEX_FREE (1u << 16)   /* and those above this need definitions that back them: */
#define TRACE_INDEX_EACH 64u          /* each for so many */
#define TRACE_CLOCK_MAX  (1u << 16)   /* clock indices are below this */

/* Every unpacked column is followed by zeros, so that a varint can be read eight bytes at a time.
 */
#define TRACE_COLUMN_PADDING 16u

enum { ZONE_CODES, ZONE_GAPS, ZONE_DURATIONS, ZONE_CHILDREN, ZONE_OPEN, ZONE_COLUMNS };
enum {
    EVENT_KINDS,
    EVENT_TIMES,
    EVENT_REFERENCES,
    EVENT_SIZES,
    EVENT_PAYLOADS,
    EVENT_ATTRIBUTES,
    EVENT_KEYS,
    EVENT_COLUMNS
};
enum { INPUT_BYTES_NUMBERS, INPUT_BYTES_BYTES, INPUT_BYTES_COLUMNS };
enum { INPUTS_NUMBERS, INPUTS_NAMES, INPUTS_COLUMNS };
enum { FOOTER_INDEX, FOOTER_DEFINITIONS, FOOTER_COLUMNS };

enum zone_shape { ZONE_LEAF = 0, ZONE_PARENT = 1, ZONE_FREE = 2 };

/* Numeric attribute values are stored as differences to the last one in the same slot. */
#define TRACE_VALUE_SLOTS 256u

static inline uint32_t trace_value_slot(uint32_t location, uint32_t key)
{
    return (location + key * 61) & (TRACE_VALUE_SLOTS - 1);
}

static inline uint16_t load_u16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint32_t load_u32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t load_u64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static inline void store_u16(uint8_t *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static inline void store_u32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void store_u64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

uint32_t trace_crc(const uint8_t *data, size_t size);

/* The file header. */
enum {
    FILE_MAJOR = 8,
    FILE_MINOR = 10,
    FILE_HEADER_BYTES = 12,
    FILE_REQUIRED = 16,
    FILE_OPTIONAL = 24,
    FILE_TRACE_ID = 32,
    FILE_CREATED = 48,
    FILE_RESERVED = 56,
    FILE_CRC = 60,
};
_Static_assert(FILE_CRC + 4 == TRACE_FILE_HEADER_BYTES, "the checksum ends the header");

/* What makes one trace different from another even if the same was recorded. */
struct trace_identity {
    uint8_t trace_id[16];
    uint64_t created_realtime_ns;
};

void trace_file_header_put(uint8_t out[TRACE_FILE_HEADER_BYTES],
                           const struct trace_identity *identity);

/* The header of a block, as numbers. */
struct trace_block_head {
    uint16_t type;
    uint32_t stream;
    uint32_t count;
    uint64_t t0;
    uint64_t t1;
    uint64_t dropped;
    uint32_t payload_bytes;
    uint32_t payload_crc;
    uint64_t sequence;
};

void trace_block_head_put(uint8_t out[TRACE_BLOCK_HEADER_BYTES],
                          const struct trace_block_head *head);

/* False unless magic, checksum and payload limit hold. */
bool trace_block_head_get(const uint8_t in[TRACE_BLOCK_HEADER_BYTES],
                          struct trace_block_head *out_head);

/* What the block holds: streams that have their own clock have their own types, so that a reader
 * that does not know of such clocks does not take their times for those of another. */
static inline uint16_t trace_block_plain(uint16_t type)
{
    if (type == TRACE_BLOCK_CLOCKED_ZONES)
        return TRACE_BLOCK_ZONES;
    return type == TRACE_BLOCK_CLOCKED_EVENTS ? TRACE_BLOCK_EVENTS : type;
}

/* The most bytes that the payload, or all columns together once unpacked, may have. */
uint32_t trace_block_limit(uint16_t type);

/* Writing: the bytes of one column before compression. */
struct trace_column {
    const uint8_t *data;
    size_t size;
};

/* Turns columns into block bytes; reused for block after block. */
struct trace_packer {
    void *zstd;
    uint8_t *data; /* header and payload of the latest block */
    size_t size;
    size_t capacity;
};

enum ifg_status trace_packer_init(struct trace_packer *packer);
void trace_packer_fini(struct trace_packer *packer);

/* Fills packer->data with a whole block; payload bytes and checksum in head are set here.
 * IFG_INVALID when it would be larger than its type allows. */
enum ifg_status trace_pack(struct trace_packer *packer, struct trace_block_head *head,
                           const struct trace_column *columns, size_t count) IFG_MUST_CHECK;

/* The same from a payload that is packed: head has its bytes and checksum. IFG_NO_MEMORY only. */
enum ifg_status trace_pack_again(struct trace_packer *packer, const struct trace_block_head *head,
                                 const uint8_t *payload) IFG_MUST_CHECK;

/* What a footer says of the blocks before it. */
struct trace_index {
    struct ifg_bytes bytes;
    uint64_t last_offset; /* of the latest block */
};

void trace_index_add(struct trace_index *index, const struct trace_block_head *head,
                     uint64_t offset);

/* The last bytes of a finished file, whose other bytes are file_bytes. */
void trace_trailer_put(uint8_t out[TRACE_TRAILER_BYTES], uint64_t footer, uint64_t file_bytes,
                       uint64_t blocks);

/* Reading: memory for the columns of one block. */
struct trace_unpacker {
    void *zstd;
    uint8_t *data;
    size_t capacity;
    size_t count;
    const uint8_t *columns[TRACE_COLUMNS_MAX]; /* each with TRACE_COLUMN_PADDING zeros behind */
    size_t sizes[TRACE_COLUMNS_MAX];
};

void trace_unpacker_fini(struct trace_unpacker *unpacker);

/* Splits and decompresses a payload; columns that are not there are empty. */
enum ifg_status trace_unpack(struct trace_unpacker *unpacker, uint16_t type, const uint8_t *payload,
                             size_t size) IFG_MUST_CHECK;

#endif
