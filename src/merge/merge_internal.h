// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share: the inputs while they are merged. */
#ifndef IFG_MERGE_INTERNAL_H
#define IFG_MERGE_INTERNAL_H

#include "base/strings.h"
#include "merge/merge.h"
#include "trace/reader.h"

struct trace_writer;

#define MERGE_RANGES (UINT32_MAX / MERGE_NUMBERS_EACH)

/* One trace in an input: the whole of it, or one of those that it was merged from. */
struct part {
    size_t input;
    char prefix[24];     /* of the facts about it: "merge.2."; "" if all are */
    const char *boot_id; /* of its machine; "" unknown */
};

struct input {
    const char *path;
    struct trace_reader *reader;
    const struct trace_fact_entry **facts; /* by key */
    size_t first_part;
    size_t part_count;
    bool has_offset; /* by hand */
    int64_t given_ns;

    /* offsets.c: where its axis is */
    const char *boot_id; /* of the machine whose clock the axis is */
    int64_t axis_ns;     /* less this, times are that machine's CLOCK_MONOTONIC */
    int64_t realtime_ns; /* plus this, times of day */
    bool has_realtime;
    bool captured;
    const char *captured_on; /* the boot id of the machine that captured it; "" unknown */
    int64_t ahead_ns;        /* its time of day, of that one's */
    uint64_t ahead_error_ns;
    uint64_t begin_ns; /* the first time in it; UINT64_MAX: there is none */
    enum merge_method method;
    int64_t offset_ns;
    bool has_error;
    uint64_t error_ns;
    int64_t shift_ns;

    /* numbers.c: what multiple each of its ranges gets; 0: none yet, else 1 more */
    uint16_t ranges[MERGE_RANGES + 1];
};

struct merging {
    const struct merge_options *options;
    struct merge_result *result;
    struct input *inputs;
    size_t input_count;
    struct part *parts;
    struct ifg_strings texts;
    struct ifg_strings taken; /* (range, pid) of the processes so far */
    uint32_t next_range;
    bool numbers_failed; /* no range is left */
};

enum merge_method merge_method_of(const char *key);

/* How many traces are in a merged one; 0: it was not merged. */
size_t merge_stored_count(const struct trace_tables *tables);

/* Makes the facts of an input findable. */
enum ifg_status merge_sort_facts(struct input *input, struct ifg_error *err) IFG_MUST_CHECK;

/* A fact about one part; NULL: there is none. */
const char *merge_fact(const struct merging *merging, const struct part *part, const char *key);

/* A number among the facts. */
bool merge_fact_number(const struct merging *merging, const struct part *part, const char *key,
                       int64_t *out);

/* Fills method, offset, error and shift of all inputs and parts. */
void merge_find_offsets(struct merging *merging);

/* Decides on the numbers of an input, which is the next to be copied. */
enum ifg_status merge_begin_numbers(struct merging *merging, size_t input,
                                    struct ifg_error *err) IFG_MUST_CHECK;
uint32_t merge_number(struct merging *merging, struct input *input, uint32_t number);

/* Facts and instruments of the whole, and those of each part. */
enum ifg_status merge_write_facts(struct merging *merging, struct trace_writer *writer,
                                  struct ifg_error *err) IFG_MUST_CHECK;

#endif
