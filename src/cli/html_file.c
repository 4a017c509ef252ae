// SPDX-License-Identifier: Apache-2.0
/* Pages that are one file: see html_file.h. */
#include "cli/html_file.h"

#include <string.h>

#include "cli/cli.h"
#include "export/sink.h"
#include "server/snapshot.h"

#define PAGE_MAX ((size_t)1 << 30)

int html_check(const char *path, bool overwrite)
{
    struct export_sink sink;
    struct ifg_error err = { 0 };

    if (strcmp(path, "-") == 0)
        return CLI_YES;
    if (export_sink_open(&sink, path, overwrite, &err)) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    /* What was opened is removed again, so that a measurement that fails leaves nothing. */
    return export_sink_close(&sink, false, NULL) == IFG_IO ? CLI_NO : CLI_YES;
}

/* Puts the page to where it goes, unless it could not be made. CLI_YES, or the exit status. */
static int finish(struct export_sink *sink, const struct ifg_bytes *page, enum ifg_status made,
                  struct ifg_error *err)
{
    enum ifg_status written;

    if (!made)
        export_put(sink, page->data, page->size);
    written = export_sink_close(sink, made == IFG_OK, made ? NULL : err);
    if (!made && !written)
        return CLI_YES;
    cli_say("%s", err->message);
    if (!made)
        return CLI_NO;
    if (made == IFG_NO_MEMORY)
        return CLI_NO;
    return made == IFG_UNSUPPORTED ? CLI_LACKS : CLI_USAGE;
}

static void say_written(const char *path, size_t bytes)
{
    char size[32];

    if (strcmp(path, "-") != 0)
        cli_say("%s: %s, opens in a browser without a network", path, cli_size(bytes, size));
}

int html_write_trace(const char *trace, const char *path, bool overwrite, size_t max_bytes)
{
    struct snapshot_result result = { 0 };
    struct ifg_error err = { 0 };
    struct export_sink sink;
    struct ifg_bytes page;
    enum ifg_status status;
    int code;

    /* First, because making the page takes a while and this may be refused. */
    if (export_sink_open(&sink, path, overwrite, &err)) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    ifg_bytes_init(&page, PAGE_MAX);
    status = snapshot_trace(trace, max_bytes, &page, &result, &err);
    code = finish(&sink, &page, status, &err);
    for (size_t i = 0; !code && i < result.note_count; i++)
        cli_say("%s", result.notes[i]);
    if (!code)
        say_written(path, page.size);
    ifg_bytes_fini(&page);
    return code;
}

int html_write_document(const char *kind, const char *title, const struct ifg_bytes *json,
                        const char *path, bool overwrite)
{
    struct ifg_error err = { 0 };
    struct export_sink sink;
    struct ifg_bytes page;
    enum ifg_status status;
    int code;

    if (export_sink_open(&sink, path, overwrite, &err)) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    ifg_bytes_init(&page, PAGE_MAX);
    status = snapshot_document(kind, title, json->data, json->size, &page, &err);
    code = finish(&sink, &page, status, &err);
    if (!code)
        say_written(path, page.size);
    ifg_bytes_fini(&page);
    return code;
}
