// SPDX-License-Identifier: Apache-2.0
/*
 * A page with its data in one file: opens from a disk or a mail, asks nobody for anything.
 *
 * The page's own files come from the caller. Data comes as sections, each deflated and in base64,
 * so that no byte of a trace is ever read as HTML; ui/src/api/embedded.ts unpacks them by name. The
 * policy in the page allows one script, by its hash, and no request of any kind.
 */
#ifndef IFG_EXPORT_HTML_H
#define IFG_EXPORT_HTML_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

struct html_file {
    const void *data;
    size_t size;
};

struct html_page {
    const char *title; /* foreign text is escaped */
    struct html_file script;
    struct html_file style;
    struct html_file icon; /* SVG; may be empty */
};

/* In this order: begin, sections, end. out->failed tells in the end whether memory was enough. */
enum ifg_status html_begin(const struct html_page *page, struct ifg_bytes *out,
                           struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status html_section(const char *name, const void *data, size_t size,
                             struct ifg_bytes *out) IFG_MUST_CHECK;
void html_end(const struct html_page *page, struct ifg_bytes *out);

#endif
