// SPDX-License-Identifier: Apache-2.0
/*
 * Where a value that is measured again and again has come to rest: power after work, for one.
 */
#ifndef IFG_BASE_REST_H
#define IFG_BASE_REST_H

#include <stdbool.h>
#include <stddef.h>

/* The first of the values from which on their two halves agree, within a few percent and what
 * single values are off by (noise: 0.2 is a fifth). *out_falls: too few are left behind a fall to
 * tell. */
size_t ifg_rest_from(const double *values, size_t count, double noise, bool *out_falls);

#endif
