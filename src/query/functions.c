// SPDX-License-Identifier: Apache-2.0
/* Aggregates that SQLite lacks: percentile(value, p), median(value), stddev(value). */
#include "query/query_internal.h"

#include <math.h>

#include "base/quantile.h"

/* Grows in SQLite's memory, so that its limit covers it. */
struct sample {
    double *values;
    size_t count;
    size_t capacity;
    double p;
};

struct spread {
    uint64_t count;
    double mean;
    double squares;
};

static void sample_fini(struct sample *sample)
{
    sqlite3_free(sample->values);
    sample->values = NULL;
    sample->count = sample->capacity = 0;
}

static bool sample_put(struct sample *sample, double value)
{
    if (sample->count == sample->capacity) {
        size_t capacity = sample->capacity ? sample->capacity * 2 : 64;
        double *more = sqlite3_realloc64(sample->values, capacity * sizeof *more);

        if (!more)
            return false;
        sample->values = more;
        sample->capacity = capacity;
    }
    sample->values[sample->count++] = value;
    return true;
}

static void percentile_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct sample *sample = sqlite3_aggregate_context(context, sizeof *sample);
    double p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;
    int type = sqlite3_value_numeric_type(argv[0]);

    if (!sample) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (argc > 1 && ((sqlite3_value_numeric_type(argv[1]) != SQLITE_INTEGER &&
                      sqlite3_value_numeric_type(argv[1]) != SQLITE_FLOAT) ||
                     !(p >= 0 && p <= 100))) {
        sqlite3_result_error(context, "percentile(): p must be a number from 0 to 100", -1);
        return;
    }
    if (type == SQLITE_NULL)
        return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "percentile() and median() take numbers only", -1);
        return;
    }
    if (sample->count && sample->p != p) {
        sqlite3_result_error(context, "percentile(): p must be the same for all rows", -1);
        return;
    }
    sample->p = p;
    if (!sample_put(sample, sqlite3_value_double(argv[0])))
        sqlite3_result_error_nomem(context);
}

static void percentile_final(sqlite3_context *context)
{
    struct sample *sample = sqlite3_aggregate_context(context, 0);

    if (!sample)
        return;
    if (sample->count)
        sqlite3_result_double(context,
                              ifg_quantile(sample->values, sample->count, sample->p / 100));
    sample_fini(sample);
}

static void stddev_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct spread *spread = sqlite3_aggregate_context(context, sizeof *spread);
    int type = sqlite3_value_numeric_type(argv[0]);
    double difference;

    (void)argc;
    if (!spread) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return;
    spread->count++;
    difference = sqlite3_value_double(argv[0]) - spread->mean;
    spread->mean += difference / (double)spread->count;
    spread->squares += difference * (sqlite3_value_double(argv[0]) - spread->mean);
}

static void stddev_final(sqlite3_context *context)
{
    const struct spread *spread = sqlite3_aggregate_context(context, 0);

    if (spread && spread->count > 1)
        sqlite3_result_double(context, sqrt(spread->squares / (double)(spread->count - 1)));
}

int functions_register(sqlite3 *db)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    int code = sqlite3_create_function_v2(db, "percentile", 2, flags, NULL, NULL, percentile_step,
                                          percentile_final, NULL);

    if (!code)
        code = sqlite3_create_function_v2(db, "median", 1, flags, NULL, NULL, percentile_step,
                                          percentile_final, NULL);
    if (!code)
        code = sqlite3_create_function_v2(db, "stddev", 1, flags, NULL, NULL, stddev_step,
                                          stddev_final, NULL);
    return code;
}
