// SPDX-License-Identifier: Apache-2.0
/*
 * Binary answers: a header, then columns, each padded to 8 bytes, little-endian, so that a page can
 * look at them as typed arrays without parsing.
 */
#ifndef IFG_SERVER_COLUMNS_H
#define IFG_SERVER_COLUMNS_H

#include <stdint.h>

#include "base/bytes.h"

#define COLUMNS_SLICES   0x4c474649u /* "IFGL" */
#define COLUMNS_COUNTERS 0x43474649u /* "IFGC" */
#define COLUMNS_POINTS   0x50474649u /* "IFGP" */

/* 32 bytes; t0 and t1 are nanoseconds since the trace's begin. */
void columns_header(struct ifg_bytes *out, uint32_t magic, uint32_t count, uint32_t rows, double t0,
                    double t1);

/* One column of count values of so many bytes each. */
void columns_put(struct ifg_bytes *out, const void *values, size_t count, size_t size);

#endif
