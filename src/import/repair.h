// SPDX-License-Identifier: Apache-2.0
/*
 * Making JSON of text that its writer took for JSON: names with unescaped quotes and backslashes,
 * raw control characters, NaN and Infinity, commas before a closing bracket.
 */
#ifndef IFG_IMPORT_REPAIR_H
#define IFG_IMPORT_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* ONNX Runtime 1.20 writes backslashes as they are: "C:\net" would be read as a line break. True if
 * the text is laid out as ONNX Runtime does it and has a backslash that can only be meant that way.
 */
bool repair_is_raw_ort(const char *text, size_t bytes);

/* Appends a repaired copy of one event to out. With raw_backslashes only \\ and \" are escapes, all
 * other backslashes stand for themselves. *out_not_numbers counts the values that became null.
 * What comes out may still be wrong: the parser decides. */
void repair_json(const char *text, size_t bytes, bool raw_backslashes, struct ifg_bytes *out,
                 uint64_t *out_not_numbers);

#endif
