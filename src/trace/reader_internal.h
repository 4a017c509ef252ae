// SPDX-License-Identifier: Apache-2.0
/* The reader's own parts: the mapped file, its blocks, tables and clocks. */
#ifndef IFG_TRACE_READER_INTERNAL_H
#define IFG_TRACE_READER_INTERNAL_H

#include <stdatomic.h>

#include "trace/reader.h"
#include "trace/trace_internal.h"

/* Memory that lives as long as the reader: the strings of the tables. */
struct trace_arena {
    struct trace_arena_chunk *chunks;
    size_t left; /* bytes in the newest chunk */
};

/* Tables while they are filled; what the caller sees is `view`. */
struct trace_table_set {
    struct trace_arena arena;
    struct trace_tables view;
    struct trace_process_entry *processes;
    struct trace_thread_entry *threads;
    struct trace_location *locations;
    struct trace_model *models;
    struct trace_property_entry *properties;
    struct trace_clock_entry *clocks;
    struct trace_instrument_entry *instruments;
    struct trace_fact_entry *facts;
    struct trace_loss_entry *losses;
    size_t process_capacity;
    size_t thread_capacity;
    size_t location_capacity;
    size_t model_capacity;
    size_t property_capacity;
    size_t clock_capacity;
    size_t instrument_capacity;
    size_t fact_capacity;
    size_t loss_capacity;
    size_t definitions; /* that were read */
    size_t settled;     /* entries that were left when replaced ones were removed last */
};

/* Adds every definition of a definitions column. IFG_CORRUPT when the column ends inside one (those
 * before it are kept). */
enum ifg_status trace_tables_add(struct trace_table_set *set, const uint8_t *data,
                                 size_t size) IFG_MUST_CHECK;

/* Makes sure that an index has an entry, so that whoever follows it stays inside the array. */
enum ifg_status trace_tables_cover_thread(struct trace_table_set *set, size_t index) IFG_MUST_CHECK;
enum ifg_status trace_tables_cover_clock(struct trace_table_set *set, size_t index) IFG_MUST_CHECK;

/* Removes what was replaced. */
enum ifg_status trace_tables_keep_latest(struct trace_table_set *set) IFG_MUST_CHECK;

/* Sorts, removes what was replaced, and publishes the view. */
enum ifg_status trace_tables_finish(struct trace_table_set *set) IFG_MUST_CHECK;
void trace_tables_fini(struct trace_table_set *set);

struct trace_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

struct trace_clock_line {
    struct trace_pair *pairs; /* ticks rise, and nanoseconds do not fall */
    size_t count;
    size_t contradictions; /* pairs that were left out for that */
    size_t capacity;
    uint64_t nominal_hz;
    atomic_size_t hint; /* the interval that was used last */
};

struct trace_clock_set {
    struct trace_clock_line *lines;
    size_t count, capacity;
};

enum ifg_status trace_clocks_add(struct trace_clock_set *set, uint32_t clock, uint32_t count,
                                 const uint8_t *data, size_t size) IFG_MUST_CHECK;
void trace_clocks_finish(struct trace_clock_set *set, const struct trace_tables *tables);
void trace_clocks_fini(struct trace_clock_set *set);
uint64_t trace_clock_line_to_ns(struct trace_clock_line *line, uint64_t ticks);

struct trace_reader {
    const uint8_t *data;
    size_t size;
    size_t data_end; /* behind it are zeros that take no room on the disk */
    bool mapped;
    atomic_size_t touched; /* bytes of blocks that were read so far, again and again */
    char *name;
    struct trace_file_info info;
    struct trace_block *blocks;
    size_t block_count;
    size_t block_capacity;
    struct trace_table_set tables;
    struct trace_clock_set clocks;
    struct trace_unpacker unpacker; /* only while opening */
};

/* So many bytes of the mapped file were read. They stay in the system's cache but not in our
 * memory, where a large file would soon take more room than what was made from it. */
void trace_reader_touch(const struct trace_reader *reader, size_t bytes);

/* Unpacks the block with this number, if it is of this type, with its checks. */
enum ifg_status trace_open_block(const struct trace_reader *reader, size_t index,
                                 enum trace_block_type type, struct trace_unpacker *unpacker,
                                 struct trace_block_head *out_head,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* A string of the cursor in the arena: valid UTF-8 that ends in NUL. "" also when there is none;
 * *out_no_memory is set when memory is short. */
const char *trace_arena_string(struct trace_arena *arena, struct ifg_cursor *cursor,
                               bool *out_no_memory);
void trace_arena_fini(struct trace_arena *arena);
char *trace_arena_alloc(struct trace_arena *arena, size_t size); /* not aligned */

/* The block at offset, if its header and payload are whole. */
bool trace_block_at(const uint8_t *data, size_t size, uint64_t offset,
                    struct trace_block_head *out_head, const uint8_t **out_payload);

#endif
