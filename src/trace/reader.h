// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a trace file that may be cut, damaged or hostile.
 *
 * Opening maps the file, checks the header, and gets the list of blocks from the footer or, without
 * a good one, by scanning. Definitions are parsed into tables; zones and events are decoded block
 * by block on request, into memory that the caller reuses. A damaged block is skipped and counted,
 * never fatal. Reading is thread-safe once open: decode calls only read the reader.
 */
#ifndef IFG_TRACE_READER_H
#define IFG_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format.h"

struct trace_attribute;
struct trace_reader;

struct trace_block {
    uint64_t offset;
    enum trace_block_type type;
    uint32_t stream;
    uint32_t count;
    uint64_t t0;
    uint64_t t1;
    uint64_t dropped;
};

/* What is known of the file as a whole. In a finished file the blocks are not looked at when it is
 * opened: damage inside one shows as IFG_CORRUPT when that block is decoded. */
struct trace_file_info {
    uint16_t major;
    uint16_t minor;
    uint8_t trace_id[16];
    uint64_t created_realtime_ns;
    uint64_t file_bytes;
    uint64_t skipped_bytes;  /* bytes that belong to no good block */
    uint64_t damaged_blocks; /* blocks known to be missing or failing their checksum */
    uint64_t first_damage;   /* offset of the first damage; meaningful if skipped_bytes > 0 */
    bool finished;           /* false: no good footer; read by scanning */
};

/* Strings in the tables belong to the reader and are NUL-terminated; never NULL. */
struct trace_process_entry {
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t clock;
    uint64_t start_ticks;
    const char *program;
    const char *arguments; /* joined by single spaces, for people */
    const char *directory;
    bool ended;
    uint64_t end_ticks;
    enum trace_process_fate fate;
    uint32_t fate_code;
};

struct trace_thread_entry {
    uint32_t process;
    uint32_t tid;
    bool has_clock; /* of its own; see trace_thread_clock */
    uint32_t clock;
    const char *name;
    bool is_device; /* the stream of a device that follows; its thread is this one */
    struct trace_device_stream device;
};

struct trace_property_entry {
    uint32_t process;
    uint32_t model;
    const char *key;
    const char *value;
};

struct trace_instrument_entry {
    const char *name;
    enum trace_instrument_state state;
    const char *reason;
};

struct trace_fact_entry {
    const char *key;
    const char *value;
};

struct trace_loss_entry {
    uint32_t process;
    const char *what;
    uint64_t count;
};

struct trace_clock_entry {
    enum trace_clock_kind kind;
    uint64_t nominal_hz;
    const char *name;
};

/* Process, thread and clock indices are positions in their arrays. An index that was never defined
 * has an entry with empty strings; every process, thread or clock index in these tables and every
 * stream of a block is inside its array. Strings are valid UTF-8. Enumerations have known values: a
 * category or state of a later version reads as 0, a location kind as TRACE_LOCATION_ZONE. */
struct trace_tables {
    const struct trace_process_entry *processes;
    size_t process_count;
    const struct trace_thread_entry *threads;
    size_t thread_count;
    const struct trace_location *locations; /* sorted by (process, id) */
    size_t location_count;
    const struct trace_model *models; /* sorted by (process, id) */
    size_t model_count;
    const struct trace_property_entry *properties;
    size_t property_count;
    const struct trace_clock_entry *clocks;
    size_t clock_count;
    const struct trace_instrument_entry *instruments; /* the latest state of each name */
    size_t instrument_count;
    const struct trace_fact_entry *facts;
    size_t fact_count;
    const struct trace_loss_entry *losses;
    size_t loss_count;
};

/* Zones of one block in the order of their ends. Reuse one of these for many blocks. */
struct trace_zones {
    uint64_t *starts;
    uint64_t *durations;
    uint32_t *locations;
    uint32_t *inside; /* how many of the entries before it, in this block, lie inside it */
    size_t count;
    uint64_t first_zone; /* how many zones of this thread came in earlier blocks, lost ones too */
    bool has_open;
    uint64_t open_as_of;
    uint64_t *open_starts;
    uint32_t *open_locations;
    size_t open_count;
    void *scratch; /* the decoder's own */
};

/* The payload is as in docs/trace-format.md and not checked: use a cursor of base/bytes.h.
 * Attributes are already parsed. */
struct trace_event {
    enum trace_event_kind kind;
    uint64_t ticks;
    uint32_t reference;
    const uint8_t *payload; /* inside trace_events, valid until the next decode */
    uint32_t payload_bytes;
    const struct trace_attribute *attribute; /* of attribute events; NULL when it makes no sense */
};

struct trace_events {
    struct trace_event *events;
    size_t count;
    void *scratch;
};

/* A parsed attribute event; key and text live as long as its event. */
struct trace_attribute {
    uint64_t zone_start;
    uint32_t zone_location;
    uint64_t first_zone; /* ordinal on the thread from which the zone is to be looked for */
    enum trace_value_type type;
    const char *key;
    size_t key_bytes;
    const char *text; /* strings only; not NUL-terminated */
    size_t text_bytes;
    int64_t signed_value;
    uint64_t unsigned_value;
    double f64_value;
};

enum ifg_status trace_reader_open(const char *path, struct trace_reader **out_reader,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The same over bytes that the caller keeps alive; name appears in messages. */
enum ifg_status trace_reader_open_memory(const void *data, size_t size, const char *name,
                                         struct trace_reader **out_reader,
                                         struct ifg_error *err) IFG_MUST_CHECK;
void trace_reader_close(struct trace_reader *reader);

/* What was read of the file need not stay in this process's memory: nobody reads it again soon. */
void trace_reader_rest(const struct trace_reader *reader);

/* The path, or the name that was given with the memory. */
const char *trace_reader_name(const struct trace_reader *reader);
const struct trace_file_info *trace_reader_file(const struct trace_reader *reader);
const struct trace_tables *trace_reader_tables(const struct trace_reader *reader);
size_t trace_reader_block_count(const struct trace_reader *reader);
const struct trace_block *trace_reader_block(const struct trace_reader *reader, size_t index);

/* NULL when there is none. */
const struct trace_location *trace_find_location(const struct trace_tables *tables,
                                                 uint32_t process, uint32_t id);
const struct trace_model *trace_find_model(const struct trace_tables *tables, uint32_t process,
                                           uint32_t id);

/* The clock that the times of a thread's stream belong to: its own, or that of its process. */
uint32_t trace_thread_clock(const struct trace_tables *tables, uint32_t thread);
const char *trace_find_fact(const struct trace_tables *tables, const char *key);

enum ifg_status trace_decode_zones(const struct trace_reader *reader, size_t block,
                                   struct trace_zones *out_zones,
                                   struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_decode_events(const struct trace_reader *reader, size_t block,
                                    struct trace_events *out_events,
                                    struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_parse_attribute(const struct trace_event *event,
                                      struct trace_attribute *out_attribute) IFG_MUST_CHECK;
void trace_zones_fini(struct trace_zones *zones);
void trace_events_fini(struct trace_events *events);

/* Ticks of a clock to CLOCK_MONOTONIC nanoseconds; for many at once it is cheap to call in time
 * order. Unknown clocks and clocks without pairs return the ticks as they are. */
uint64_t trace_clock_to_ns(const struct trace_reader *reader, uint32_t clock, uint64_t ticks);

/* The same for a column, in place: equal results, several times faster. */
void trace_clock_convert(const struct trace_reader *reader, uint32_t clock, uint64_t *times,
                         size_t count);

/* The same for times[i] + add[i]: ends from durations and starts. */
void trace_clock_convert_sums(const struct trace_reader *reader, uint32_t clock, uint64_t *times,
                              const uint64_t *add, size_t count);

/* What is known of a clock's rate. */
struct trace_clock_rate {
    size_t pairs;          /* that make its line */
    size_t contradictions; /* pairs that make no sense beside the others, and are not used */
    uint64_t begin_ns;     /* CLOCK_MONOTONIC of the first pair and of the last */
    uint64_t end_ns;
    double hz; /* ticks per second between them; 0: unknown */
};

const char *trace_clock_kind_name(enum trace_clock_kind kind); /* NULL: unknown */
struct trace_clock_rate trace_clock_rate(const struct trace_reader *reader, uint32_t clock);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC at the first pair, for wall-clock display; 0 when unknown.
 */
int64_t trace_realtime_offset_ns(const struct trace_reader *reader);

#endif
