// SPDX-License-Identifier: Apache-2.0
/*
 * Writing a trace, block by block, so that whatever has arrived can always be read.
 *
 * It goes to a file, or to any other output of trace/output.h. One thread owns a writer and its
 * streams. A write error (disk full, say) is remembered: the partial block is cut off again, every
 * later call does nothing, and trace_writer_status() tells. Each block is one write; nothing is
 * buffered here beyond the block that a stream is filling.
 */
#ifndef IFG_TRACE_WRITER_H
#define IFG_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format.h"

struct trace_output;
struct trace_stream;
struct trace_writer;

struct trace_process {
    uint32_t index;
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t clock;
    uint64_t start_ticks;
    const char *program;
    const char *arguments; /* NUL between them */
    size_t arguments_bytes;
    const char *directory;
};

struct trace_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

struct trace_open_zone {
    uint64_t start;
    uint32_t location;
};

/* Writes the file header to the output, which is the writer's from now on, also on failure: then it
 * is removed and closed. */
enum ifg_status trace_writer_create_on(struct trace_output *output,
                                       struct trace_writer **out_writer,
                                       struct ifg_error *err) IFG_MUST_CHECK;

/* The same on the file that trace_output_file makes with mode 0, and with this mode. */
enum ifg_status trace_writer_create(const char *path, bool overwrite,
                                    struct trace_writer **out_writer,
                                    struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_writer_create_private(const char *path, bool overwrite, uint32_t mode,
                                            struct trace_writer **out_writer,
                                            struct ifg_error *err) IFG_MUST_CHECK;

/* Nothing is remembered for a footer, which grows with the trace, and none is written: for outputs
 * that make an index of their own, as a memory does when it is copied. */
void trace_writer_keep_no_index(struct trace_writer *writer);

/* Writes the footer, closes the output, frees the writer and its streams (unflushed events are
 * flushed first). The writer is gone whatever is returned. Accepts NULL. */
enum ifg_status trace_writer_close(struct trace_writer *writer, struct ifg_error *err);

/* IFG_OK, or the first error; err gets its sentence. */
enum ifg_status trace_writer_status(const struct trace_writer *writer, struct ifg_error *err);
uint64_t trace_writer_bytes(const struct trace_writer *writer);   /* written so far */
const char *trace_writer_path(const struct trace_writer *writer); /* the output's name */

/* To be asked every few milliseconds: see `accepts` in trace/output.h. */
bool trace_writer_accepts(struct trace_writer *writer);

/* Definitions. They wait in memory until trace_writer_flush_definitions, or until any stream of
 * this writer is flushed, whichever is first: so they always precede their use. NULL strings are
 * empty. */
void trace_writer_process(struct trace_writer *writer, const struct trace_process *process);
void trace_writer_process_end(struct trace_writer *writer, uint32_t index, uint64_t ticks,
                              enum trace_process_fate fate, uint32_t code);
void trace_writer_thread(struct trace_writer *writer, uint32_t index, uint32_t process,
                         uint32_t tid, const char *name);
void trace_writer_location(struct trace_writer *writer, const struct trace_location *location);
void trace_writer_model(struct trace_writer *writer, const struct trace_model *model);
void trace_writer_model_property(struct trace_writer *writer, uint32_t process, uint32_t model,
                                 const char *key, const char *value);

/* Says that a thread, defined before or after, is a stream of a device. */
void trace_writer_device_stream(struct trace_writer *writer,
                                const struct trace_device_stream *stream);

/* A clock that was set back or began anew is another one from then on: define one, and go on in
 * other streams. */
void trace_writer_clock(struct trace_writer *writer, uint32_t index, enum trace_clock_kind kind,
                        uint64_t nominal_hz, const char *name);
void trace_writer_instrument(struct trace_writer *writer, const char *name,
                             enum trace_instrument_state state, const char *reason);
void trace_writer_fact(struct trace_writer *writer, const char *key, const char *value);
void trace_writer_loss(struct trace_writer *writer, uint32_t process, const char *what,
                       uint64_t count);
void trace_writer_flush_definitions(struct trace_writer *writer);

/* A block of clock pairs: readings of a clock, each beside CLOCK_MONOTONIC. A time between two is
 * found on the straight line between them, so that pairs a few seconds apart follow a clock that
 * drifts; one beyond them by the rate of the whole, one pair alone by the nominal rate. */
void trace_writer_clock_pairs(struct trace_writer *writer, uint32_t clock,
                              const struct trace_clock_pair *pairs, size_t count);

/* One stream per thread; owned by the writer. NULL when memory is short (remembered in status). */
struct trace_stream *trace_stream_create(struct trace_writer *writer, uint32_t thread);
uint64_t trace_stream_written(const struct trace_stream *stream); /* zones and events in the file */
void trace_stream_destroy(struct trace_stream *stream); /* flushes; for threads that are gone */

/* A stream for a thread that had one before, which told of so many zones and losses. What was known
 * too late goes there; flush between it and what was known in time, so that each is in blocks of
 * its own. */
struct trace_stream *trace_stream_resume(struct trace_writer *writer, uint32_t thread,
                                         uint64_t zones, uint64_t dropped);
uint64_t trace_stream_zones(const struct trace_stream *stream); /* flushed so far */

/* Times of this stream are ticks of this clock, not of its process's. Before anything is in it, and
 * the same for all streams that its thread ever has. */
void trace_stream_set_clock(struct trace_stream *stream, uint32_t clock);

/* Appends one finished zone; zones come in the order of their ends. A full block is written at
 * once. */
void trace_stream_zone(struct trace_stream *stream, uint64_t start, uint64_t duration,
                       uint32_t location);

/* Appends one event with an encoded payload (see the table in docs/trace-format.md). Not for
 * attributes. An event with more than 1 MiB of payload is not written but counted as dropped, as is
 * anything for which there is no memory. */
void trace_stream_event(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ticks,
                        uint32_t reference, const void *payload, size_t payload_bytes);

/* An attribute of the zone (start, location) that has not ended yet on this thread. value is the
 * text of a string, or points to the eight bytes of an int64_t, double or uint64_t. */
void trace_stream_attribute(struct trace_stream *stream, uint64_t zone_start,
                            uint32_t zone_location, enum trace_value_type type, const char *key,
                            size_t key_bytes, const void *value, size_t value_bytes);

/* The number of lost events, in all, that the next block of this stream reports. */
void trace_stream_set_dropped(struct trace_stream *stream, uint64_t dropped);

/* True when something waits to be written. */
bool trace_stream_pending(const struct trace_stream *stream);

/* Writes what waits. With open != NULL the zones block carries the stack of open zones as seen at
 * as_of (count may be 0: nothing is open), and is written even if no zone waits. */
void trace_stream_flush(struct trace_stream *stream, const struct trace_open_zone *open,
                        size_t open_count, uint64_t as_of);

#endif
