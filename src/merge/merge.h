// SPDX-License-Identifier: Apache-2.0
/*
 * Several traces into one, on one timeline.
 *
 * The time of the result is the CLOCK_MONOTONIC of the first trace's machine. How the others are
 * put beside it is found out (enum merge_method), reported and stored. The output appears whole or
 * not at all.
 */
#ifndef IFG_MERGE_MERGE_H
#define IFG_MERGE_MERGE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct trace_tables;

#define MERGE_INPUTS_MAX 1024u
#define MERGE_PARTS_MAX  4096u

/* Process and thread numbers of the system are below this; those of a machine whose numbers others
 * have, too, get a multiple of it added. */
#define MERGE_NUMBERS_EACH 10000000u

/* How the time of a trace was found, the surest first. */
enum merge_method {
    MERGE_FIRST,      /* it is the one that the others are put beside */
    MERGE_SAME_CLOCK, /* recorded in the same boot of the same machine */
    MERGE_MEASURED,   /* by `capture` */
    MERGE_GIVEN,      /* by the user */
    MERGE_WALL_CLOCK, /* times of day are taken for equal */
    MERGE_START,      /* it has no time of day: begins when the first one does */
    MERGE_METHODS,
};

struct merge_input {
    const char *path;
    bool has_offset;
    int64_t offset_ns; /* later (+) or earlier than its clock says */
};

struct merge_options {
    const struct merge_input *inputs;
    size_t count;
    const char *output;
    bool overwrite;
    const char *tool_version;
    const volatile sig_atomic_t *cancel; /* not 0: stop. May be NULL */
    /* Called now and then. May be NULL. */
    void (*progress)(uint64_t done_bytes, uint64_t total_bytes, void *user);
    void *user;
};

/* One of the traces in the result. A merged trace that is merged again gives several. */
struct merge_part {
    const char *file;
    const char *host; /* "" unknown */
    enum merge_method method;
    int64_t offset_ns; /* beyond what its clock says: later (+) or earlier */
    bool has_error;
    uint64_t error_ns; /* how far that can be off */
    int64_t shift_ns;  /* added to its CLOCK_MONOTONIC */
    uint32_t first_process;
    uint32_t numbers_from; /* added to its process and thread numbers */
};

/* What there is to say about a file. */
struct merge_source {
    bool unfinished;
    bool newer; /* of a later version of the format */
    uint64_t skipped_bytes;
    uint64_t damaged_blocks; /* that are not in the result */
};

struct merge_result {
    struct merge_part *parts;
    size_t part_count;
    struct merge_source *sources; /* by input */
    size_t source_count;
    size_t machines; /* as far as they can be told apart */
    uint64_t input_bytes;
    uint64_t output_bytes;
    void *memory; /* of the texts */
};

/* IFG_CANCELLED, and every other failure: there is no output, and a file that was to be replaced is
 * still there. merge_result_fini in any case. */
enum ifg_status merge_run(const struct merge_options *options, struct merge_result *out_result,
                          struct ifg_error *err) IFG_MUST_CHECK;
void merge_result_fini(struct merge_result *result);

/* What a merged trace says of the traces in it; none: it was not merged. To be freed with ifg_free;
 * texts are the tables' own. */
enum ifg_status merge_stored_parts(const struct trace_tables *tables, struct merge_part **out_parts,
                                   size_t *out_count, struct ifg_error *err) IFG_MUST_CHECK;

/* "same-clock", for scripts and in traces; and for people. */
const char *merge_method_key(enum merge_method method);
const char *merge_method_text(enum merge_method method);

#endif
