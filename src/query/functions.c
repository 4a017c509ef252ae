// SPDX-License-Identifier: Apache-2.0
/* Aggregates that SQLite lacks: percentile(value, p), median(value), stddev(value). */
#include "query/query_internal.h"

#include <math.h>

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

static void swap(double *a, double *b)
{
    double keep = *a;

    *a = *b;
    *b = keep;
}

/* Reorders so that values[rank] is what it would be if sorted, with nothing larger before it. */
static void select_rank(double *values, size_t count, size_t rank)
{
    size_t low = 0;
    size_t high = count; /* one past */
    uint64_t seed = 0x9e3779b97f4a7c15u;

    while (high - low > 1) {
        size_t smaller = low; /* values before are below the pivot */
        size_t larger = high; /* values from here on are above it */
        size_t at = low;
        double pivot;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        pivot = values[low + (seed >> 33) % (high - low)];
        while (at < larger) {
            if (values[at] < pivot)
                swap(&values[at++], &values[smaller++]);
            else if (values[at] > pivot)
                swap(&values[at], &values[--larger]);
            else
                at++;
        }
        if (rank < smaller)
            high = smaller;
        else if (rank >= larger)
            low = larger;
        else
            return;
    }
}

static void percentile_final(sqlite3_context *context)
{
    struct sample *sample = sqlite3_aggregate_context(context, 0);
    double rank;
    size_t below;
    double value;

    if (!sample)
        return;
    if (sample->count) {
        rank = sample->p / 100 * (double)(sample->count - 1);
        below = (size_t)floor(rank);
        select_rank(sample->values, sample->count, below);
        value = sample->values[below];
        if (rank > (double)below && below + 1 < sample->count) {
            double above = sample->values[below + 1];

            for (size_t i = below + 2; i < sample->count; i++)
                if (sample->values[i] < above)
                    above = sample->values[i];
            value += (above - value) * (rank - (double)below);
        }
        sqlite3_result_double(context, value);
    }
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
