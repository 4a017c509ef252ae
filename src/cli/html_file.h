// SPDX-License-Identifier: Apache-2.0
/* Pages that are one file: what the commands with --html share. */
#ifndef IFG_CLI_HTML_FILE_H
#define IFG_CLI_HTML_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

/* Whether a page could be written there, said before time is spent. CLI_YES, or CLI_NO. */
int html_check(const char *path, bool overwrite);

/* A trace as a page: `report --html`. "-" is stdout; an existing file is kept unless overwrite. */
int html_write_trace(const char *trace, const char *path, bool overwrite, size_t max_bytes);

/* A JSON document as a page: "bench" or "compare". */
int html_write_document(const char *kind, const char *title, const struct ifg_bytes *json,
                        const char *path, bool overwrite);

#endif
