// SPDX-License-Identifier: Apache-2.0
/*
 * The form of AIC100's latency files: four lines, a line of column names, a row of padded columns
 * for each inference. Header-only: profiling handles write it in the watched process, the exporter
 * from a trace.
 */
#ifndef IFG_BASE_LATENCY_TABLE_H
#define IFG_BASE_LATENCY_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum latency_column {
    LATENCY_SAMPLE,
    LATENCY_DEV_INF_PER_SEC,
    LATENCY_DEV_EXEC,
    LATENCY_DEV_IN_WAIT,
    LATENCY_DEV_OUT_WAIT,
    LATENCY_HOST_ROUND_TRIP,
    LATENCY_ENQUEUE,
    LATENCY_PRE,
    LATENCY_SUBMIT,
    LATENCY_EXEC_TOTAL,
    LATENCY_EXEC_TO_VC,
    LATENCY_EXEC_TO_COMPLETE,
    LATENCY_POST,
    LATENCY_TOTAL,
    LATENCY_QUEUE_DEPTH,
    LATENCY_IN_QUEUE,
    LATENCY_COLUMNS,
};

/* One inference; times in nanoseconds. What is not in `known` is N/A. */
struct latency_row {
    uint64_t values[LATENCY_COLUMNS];
    uint32_t known; /* 1u << column */
};

#define LATENCY_KNOWN(column) (1u << (column))
#define LATENCY_WIDTH         20
#define LATENCY_ROW_BYTES     (LATENCY_COLUMNS * (LATENCY_WIDTH + 12) + 1)
#define LATENCY_HEAD_BYTES    (160 + LATENCY_ROW_BYTES) /* and the name */

/* Writes one field; returns its end. */
static inline char *latency_put(char *out, const char *text, enum latency_column column)
{
    int length = snprintf(out, LATENCY_WIDTH + 12, "%*s%s", LATENCY_WIDTH, text,
                          column == LATENCY_COLUMNS - 1 ? "\n" : ", ");

    return out + length;
}

/* The four lines and the names of the columns, into LATENCY_HEAD_BYTES + strlen(name) bytes.
 * Returns their length, without the 0 byte at the end. */
static inline size_t latency_write_head(char *out, uint64_t program, const char *name,
                                        uint64_t collected, uint64_t requested)
{
    static const char *const names[LATENCY_COLUMNS] = {
        "Sample",           "devInfPerSec",         "devExecUs",  "devInWaitTimeUs",
        "devOutWaitTimeUs", "hostRoundTripUs",      "enqTimeUs",  "preProcTimeUs",
        "submitTimeUs",     "execTotalUs",          "exectoVcUs", "execToCompleteUs",
        "postProcUs",       "totalRoundtripTimeUs", "queueDepth", "numInfInQueue",
    };
    char *at = out + snprintf(out, 80, "Profiling Data\nProgramId:%llu\nProgramName: ",
                              (unsigned long long)program);

    for (; *name; name++)
        *at++ = *name == '\n' || *name == '\r' ? ' ' : *name;
    at += snprintf(at, 80, "\nNumSamples collected: %llu Num Requested: %llu\n",
                   (unsigned long long)collected, (unsigned long long)requested);
    for (int i = 0; i < LATENCY_COLUMNS; i++)
        at = latency_put(at, names[i], (enum latency_column)i);
    return (size_t)(at - out);
}

/* One row, into LATENCY_ROW_BYTES bytes. Returns its length. */
static inline size_t latency_write_row(char *out, const struct latency_row *row)
{
    char *at = out;

    for (int i = 0; i < LATENCY_COLUMNS; i++) {
        unsigned long long value = row->values[i];
        char text[40] = "N/A";

        if (!(row->known & LATENCY_KNOWN(i)))
            ;
        else if (i == LATENCY_SAMPLE || i == LATENCY_QUEUE_DEPTH)
            snprintf(text, sizeof text, "%llu", value);
        else
            snprintf(text, sizeof text, "%llu.%03llu", value / 1000, value % 1000);
        at = latency_put(at, text, (enum latency_column)i);
    }
    return (size_t)(at - out);
}

#endif
