// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes made small enough for a page that is one file: deflate without a header, which browsers
 * undo by themselves, and base64, which is text that needs no escaping anywhere in HTML.
 */
#ifndef IFG_EXPORT_PACK_H
#define IFG_EXPORT_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

#define PACK_SHA256_BYTES 32u

/* Appends; nothing of it is undone when memory ends (out->failed). */
enum ifg_status pack_deflate(const void *data, size_t size, struct ifg_bytes *out) IFG_MUST_CHECK;
void pack_base64(const void *data, size_t size, struct ifg_bytes *out);

/* What a page's policy names a script by. */
void pack_sha256(const void *data, size_t size, uint8_t out[PACK_SHA256_BYTES]);

#endif
