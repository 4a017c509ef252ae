// SPDX-License-Identifier: Apache-2.0
/*
 * Writing JSON into growable bytes: escapes what must be escaped, puts the commas, and replaces
 * bytes that are not UTF-8, so that what comes out is always valid.
 *
 *     ifg_json_open(j, '{'); ifg_json_key(j, "name"); ifg_json_string(j, text); ifg_json_close(j,
 * '}');
 */
#ifndef IFG_BASE_JSON_H
#define IFG_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct ifg_json {
    struct ifg_bytes *out;
    bool need_comma;
};

void ifg_json_open(struct ifg_json *json, char bracket);
void ifg_json_close(struct ifg_json *json, char bracket);
void ifg_json_key(struct ifg_json *json, const char *key);
void ifg_json_string(struct ifg_json *json, const char *text);
void ifg_json_string_n(struct ifg_json *json, const char *text, size_t length);
void ifg_json_uint(struct ifg_json *json, uint64_t value);
void ifg_json_int(struct ifg_json *json, int64_t value);
void ifg_json_double(struct ifg_json *json,
                     double value); /* null where JSON has no number for it */
void ifg_json_bool(struct ifg_json *json, bool value);

/* A key and its value at once. */
void ifg_json_put_open(struct ifg_json *json, const char *key, char bracket);
void ifg_json_put_string(struct ifg_json *json, const char *key, const char *text);
void ifg_json_put_uint(struct ifg_json *json, const char *key, uint64_t value);
void ifg_json_put_int(struct ifg_json *json, const char *key, int64_t value);
void ifg_json_put_double(struct ifg_json *json, const char *key, double value);
void ifg_json_put_bool(struct ifg_json *json, const char *key, bool value);

/* The length of the valid UTF-8 sequence at text, or 0; left is at least 1. */
size_t ifg_utf8_length(const unsigned char *text, size_t left);

#endif
