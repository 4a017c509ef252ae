// SPDX-License-Identifier: Apache-2.0
/*
 * Where a trace goes, and where one that still grows is read.
 *
 * The writer appends whole pieces to an output: the file header, one block, the trailer. A follower
 * (follow.h) reads the same bytes from an input, by the offsets that the writer counted. A file is
 * both, by its path; so is the memory of this process. Another destination, a connection say, is
 * another table of functions: nothing in the writer knows which it has.
 *
 * One thread owns an output, and all inputs over a memory are that thread's.
 */
#ifndef IFG_TRACE_OUTPUT_H
#define IFG_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct trace_output;
struct trace_input;
struct trace_memory;

struct trace_output_functions {
    /* As write(2): appends some of the bytes at least and returns how many; -1 and errno when none
     * could be. A call begins with a new piece unless the one before was short. */
    ssize_t (*write)(struct trace_output *output, const void *data, size_t size);

    /* Takes back what is behind so many bytes, after a piece that failed half-way. Where that is
     * impossible it stays, and a reader skips it by its checksum. */
    void (*cut)(struct trace_output *output, uint64_t bytes);

    /* Called every few milliseconds while something is recorded, so that an output can pass on what
     * it holds. False: it holds much already, and what can wait elsewhere, where losses count, had
     * better wait. May be NULL: it always takes more. */
    bool (*accepts)(struct trace_output *output);

    /* The trace has come to nothing: leave no trace of it. May be NULL. */
    void (*remove)(struct trace_output *output);

    /* Ends it; name and structure are freed by trace_output_close. -1 and errno: what was written
     * may not be there. */
    int (*close)(struct trace_output *output);
};

/* Begins the structure of every kind of output, which ifg_alloc has allocated. */
struct trace_output {
    const struct trace_output_functions *functions;
    char *name; /* for messages: a path, an address; allocated */
};

/* Creates path. An existing file is IFG_INVALID unless overwrite (then it is replaced, not
 * truncated, so that whoever has the old one mapped keeps it). mode: its rights from its first
 * moment on, whatever the umask is; 0: as the umask has it. */
enum ifg_status trace_output_file(const char *path, bool overwrite, uint32_t mode,
                                  struct trace_output **out_output,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* What an input looks like now. */
struct trace_look {
    bool there;     /* there is something to read */
    bool other;     /* it is not what was read before: everything begins anew */
    uint64_t bytes; /* up to here there is something */
};

struct trace_input_functions {
    /* read_to: what the reader has had of it; an input that is shorter now is another one. */
    enum ifg_status (*look)(struct trace_input *input, uint64_t read_to,
                            struct trace_look *out_look, struct ifg_error *err);

    /* Exactly so many bytes, or false. */
    bool (*read)(struct trace_input *input, uint64_t offset, void *out, size_t size);

    /* The first offset from this one on that is not lost for ever; NULL: nothing ever is. */
    uint64_t (*skip_lost)(struct trace_input *input, uint64_t offset);

    /* Whether nobody writes to it any more. False where that is not known. */
    bool (*is_abandoned)(struct trace_input *input);

    void (*close)(struct trace_input *input);
};

struct trace_input {
    const struct trace_input_functions *functions;
    char *name;
};

/* The file need not be there yet. Fails only for want of memory. */
enum ifg_status trace_input_file(const char *path, struct trace_input **out_input,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* What each piece of a memory counts for besides its bytes. */
#define TRACE_MEMORY_EACH 96u

/*
 * A trace in memory of at most limit_bytes. When it is full, the oldest zones, events, samples,
 * switches and allocations make room; definitions, clocks, stacks and what explains them stay. When
 * these alone fill it, writing fails as on a full disk.
 *
 * The memory outlives its output and its inputs: whoever made it destroys it, after them.
 */
enum ifg_status trace_memory_create(const char *name, uint64_t limit_bytes,
                                    struct trace_memory **out_memory,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void trace_memory_destroy(struct trace_memory *memory); /* accepts NULL */

/* A new trace begins: what was there is forgotten. Closing the output leaves the bytes. */
enum ifg_status trace_output_memory(struct trace_memory *memory, struct trace_output **out_output,
                                    struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_input_memory(struct trace_memory *memory, struct trace_input **out_input,
                                   struct ifg_error *err) IFG_MUST_CHECK;

uint64_t trace_memory_bytes(const struct trace_memory *memory);       /* held now */
uint64_t trace_memory_fixed_bytes(const struct trace_memory *memory); /* that never make room */
uint64_t trace_memory_lost(const struct trace_memory *memory);        /* blocks that made room */

/* From now on it may have more, or less. */
void trace_memory_set_limit(struct trace_memory *memory, uint64_t limit_bytes);

/* What was written before this time of CLOCK_MONOTONIC makes room even if there is enough; and of
 * the readings of clocks, those that nothing here needs any more. To be called now and then by
 * whoever writes for long: with 0 for the clocks alone. */
void trace_memory_age(struct trace_memory *memory, uint64_t before_ns);

/* When the oldest was written of all that might make room, by CLOCK_MONOTONIC; 0: nothing has made
 * room yet, UINT64_MAX: nothing of it is left. */
uint64_t trace_memory_kept_since(struct trace_memory *memory);

/* Appends a whole trace to output, which stays the caller's: byte for byte what was written, if
 * that was finished and nothing had to make room; else with an index of its own and, if anything
 * made room, with a loss that says how many blocks did. What a writer has not flushed yet is not in
 * it; the writer may go on. */
enum ifg_status trace_memory_copy(const struct trace_memory *memory, struct trace_output *output,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The same as a file, as trace_output_file makes it. When the disk is full, what is there can be
 * read. */
enum ifg_status trace_memory_save(const struct trace_memory *memory, const char *path,
                                  bool overwrite, uint32_t mode,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Appends all of it. On failure nothing of it stays and err says why; written: what came before. */
enum ifg_status trace_output_append(struct trace_output *output, uint64_t written, const void *data,
                                    size_t size, struct ifg_error *err) IFG_MUST_CHECK;

void trace_output_remove(struct trace_output *output);

/* Accepts NULL. */
enum ifg_status trace_output_close(struct trace_output *output, struct ifg_error *err);
void trace_input_close(struct trace_input *input);

#endif
