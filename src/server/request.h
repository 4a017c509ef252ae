// SPDX-License-Identifier: Apache-2.0
/*
 * What a request asks for: its path and its parameters, parsed here because both are hostile.
 *
 * A path is /api/NAME, /api/live/NAME or /api/t/ID/NAME; a parameter is name=value with %XX and +
 * undone. Strict: control characters, broken escapes, parameters without a name or twice, and
 * everything that is too long or too much are errors, never guessed at. Nothing is allocated.
 */
#ifndef IFG_SERVER_REQUEST_H
#define IFG_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_TARGET_MAX     8192u /* bytes of an address with its parameters */
#define REQUEST_PARAMETERS_MAX 16u
#define REQUEST_NAME_MAX       24u
#define REQUEST_NO_TRACE       UINT32_MAX

struct request_parameter {
    const char *name;
    const char *value; /* never NULL; no control characters; may be any bytes above 0x20 */
};

struct request {
    char name[REQUEST_NAME_MAX]; /* last part of the path: "lod" */
    uint32_t trace;              /* ID, or REQUEST_NO_TRACE */
    struct request_parameter parameters[REQUEST_PARAMETERS_MAX];
    size_t parameter_count;
    char text[REQUEST_TARGET_MAX + 1]; /* names and values */
};

enum request_result {
    REQUEST_OK,
    REQUEST_UNKNOWN,  /* a path that nothing can be at: 404 */
    REQUEST_TOO_LONG, /* 414 */
    REQUEST_BAD,      /* 400 */
};

/* The target as the request line has it: path and query, still escaped. *out_why is a sentence when
 * the result is not REQUEST_OK. */
enum request_result request_parse(const char *target, size_t length, struct request *out_request,
                                  const char **out_why);

/* The value, or NULL. */
const char *request_find(const struct request *request, const char *name);

/* A whole decimal number, digits only. */
bool request_parse_u64(const char *text, uint64_t *out_value);

/* A finite number such as 12, -3.5, 1e9; at most 40 bytes, no hexadecimal, no blanks. */
bool request_parse_double(const char *text, double *out_value);

/* "1,2,3": at most max numbers, each below 2^32. The count, or SIZE_MAX if it is no such list. */
size_t request_parse_list(const char *text, uint32_t *out_values, size_t max);

#endif
