// SPDX-License-Identifier: Apache-2.0
/* What the files about IREE's profiles share. */
#ifndef IFG_IMPORT_IREEPERF_INTERNAL_H
#define IFG_IMPORT_IREEPERF_INTERNAL_H

#include "import/import_internal.h"
#include "import/ireeperf.h"
#include "import/ireeperf_clock.h"

#define IREEPERF_KINDS 24
#define TEXT_BYTES     64

/* What has to wait for the last clock relation: a line, in the store of details. */
struct waiting {
    uint64_t details;
    uint64_t line;
};

struct counter {
    uint64_t set;
    uint64_t offset; /* of its first value in a sample */
    uint64_t values;
    uint32_t name; /* in importer->texts */
};

struct ireeperf {
    struct importer *importer;
    struct event_parser *parser;
    struct event_parser *inner; /* of objects inside a record */
    struct event made;
    struct ireeperf_clocks clocks;
    struct waiting *waiting;
    size_t waiting_count, waiting_capacity;
    struct counter *counters;
    size_t counter_count, counter_capacity;
    uint64_t records[IREEPERF_KINDS];
    bool has_schema;
    char lane[TEXT_BYTES];
    char name[NAME_MAX_BYTES];
    char begin[TEXT_BYTES];
    char length[TEXT_BYTES];
};

/* Fields of a record. A missing one has the kind VALUE_MISSING. */
const struct value *ireeperf_field(const struct event *record, const char *key);
bool ireeperf_number(const struct event *record, const char *key, uint64_t *out);

/* A time of the host, which 0 is not. */
bool ireeperf_host_time(const struct event *record, const char *key, int64_t *out_ns);

struct value ireeperf_text(const char *text);

/* Chrome's times are microseconds; out has TEXT_BYTES and lasts as long as the value. */
struct value ireeperf_time(int64_t ns, char *out);

/* An event of this phase on a lane, with nothing in it yet; the one before is gone. */
struct event *ireeperf_make(struct ireeperf *profile, const char *phase, const char *lane);
void ireeperf_add_arg(struct event *made, const char *key, struct value value);

/* On profile->lane. */
enum ifg_status ireeperf_add_counter(struct ireeperf *profile, const char *name, int64_t ns,
                                     struct value value) IFG_MUST_CHECK;

/* Metrics of a device at the time in this field, on profile->lane. */
enum ifg_status ireeperf_take_metrics(struct ireeperf *profile, const struct event *record,
                                      const char *time) IFG_MUST_CHECK;

/* The name of a counter, and a sample of a set of them, on profile->lane. */
enum ifg_status ireeperf_take_counter(struct ireeperf *profile,
                                      const struct event *record) IFG_MUST_CHECK;
enum ifg_status ireeperf_add_counts(struct ireeperf *profile, const struct event *record,
                                    int64_t ns) IFG_MUST_CHECK;

#endif
