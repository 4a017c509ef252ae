// SPDX-License-Identifier: Apache-2.0
/* One number out of what a program printed. */
#ifndef IFG_BENCH_JSON_NUMBER_H
#define IFG_BENCH_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The number under `key` ("a.b" is b within a) in the JSON object that ends the text: other lines
 * may come before it. False if there is none. */
bool json_last_number(const char *text, size_t bytes, const char *key, double *out_number);

#endif
