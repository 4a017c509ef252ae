// SPDX-License-Identifier: Apache-2.0
/* Where foreign text comes from: a file, standard input or memory, unpacked if it is gzip. */
#ifndef IFG_IMPORT_SOURCE_H
#define IFG_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct source;

enum ifg_status source_open(const char *path, struct source **out_source,
                            struct ifg_error *err) IFG_MUST_CHECK;
/* chunk: the most that is read at once; 0 for any number of bytes. */
enum ifg_status source_open_memory(const void *data, size_t size, size_t chunk,
                                   struct source **out_source,
                                   struct ifg_error *err) IFG_MUST_CHECK;
void source_close(struct source *source);

/* Fills up to size bytes of text; *out_bytes 0 means the end. */
enum ifg_status source_read(struct source *source, void *out, size_t size, size_t *out_bytes,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* The first bytes of the text, before anything was read; the next read has them again. */
#define SOURCE_PEEK_MAX 256u
enum ifg_status source_peek(struct source *source, void *out, size_t size, size_t *out_bytes,
                            struct ifg_error *err) IFG_MUST_CHECK;

bool source_is_gzip(const struct source *source);
bool source_is_damaged(
    const struct source *source); /* compressed data end early or make no sense */
uint64_t source_raw_bytes(const struct source *source);   /* read so far, as stored */
uint64_t source_total_bytes(const struct source *source); /* of the file; 0 if unknown */

#endif
