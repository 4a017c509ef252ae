// SPDX-License-Identifier: Apache-2.0
/* See lines.h. What was read stays in one buffer until its line is over. */
#include "import/lines.h"

#include <string.h>

#define READ_BYTES (64u << 10)

void lines_init(struct lines *lines, struct source *source)
{
    memset(lines, 0, sizeof *lines);
    lines->source = source;
    ifg_bytes_init(&lines->text, LINE_MAX_BYTES + 2 * READ_BYTES);
}

void lines_fini(struct lines *lines)
{
    ifg_bytes_fini(&lines->text);
}

/* More text behind what is there, which moves to the front. */
static enum ifg_status read_more(struct lines *lines, struct ifg_error *err)
{
    struct ifg_bytes *text = &lines->text;
    enum ifg_status status;
    size_t got;

    if (lines->at) {
        memmove(text->data, text->data + lines->at, text->size - lines->at);
        text->size -= lines->at;
        lines->at = 0;
    }
    if (!ifg_bytes_reserve(text, READ_BYTES))
        return ifg_fail_no_memory(err, "to import");
    status = source_read(lines->source, text->data + text->size, READ_BYTES, &got, err);
    if (status)
        return status;
    text->size += got;
    lines->bytes += got;
    lines->is_over = got == 0;
    return IFG_OK;
}

static const uint8_t *find_end(const struct lines *lines, size_t from)
{
    const struct ifg_bytes *text = &lines->text;

    return lines->at + from < text->size
               ? memchr(text->data + lines->at + from, '\n', text->size - lines->at - from)
               : NULL;
}

/* What is left of a line that is too long. */
static enum ifg_status skip_line(struct lines *lines, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    const uint8_t *end = NULL;

    while (!status && !lines->is_over && !end) {
        lines->at = lines->text.size;
        status = read_more(lines, err);
        end = find_end(lines, 0);
    }
    lines->at = end ? (size_t)(end - lines->text.data) + 1 : lines->text.size;
    return status;
}

enum ifg_status lines_next(struct lines *lines, struct line *out, bool *out_has_line,
                           struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    const uint8_t *end = find_end(lines, 0);

    memset(out, 0, sizeof *out);
    while (!status && !end && !lines->is_over && lines->text.size - lines->at <= LINE_MAX_BYTES) {
        size_t searched = lines->text.size - lines->at;

        status = read_more(lines, err);
        end = find_end(lines, searched);
    }
    out->bytes = end ? (size_t)(end - lines->text.data) - lines->at : lines->text.size - lines->at;
    *out_has_line = !status && (end || out->bytes > 0);
    if (!*out_has_line)
        return status;
    lines->number++;
    out->is_cut = !end;
    out->is_too_long = out->bytes > LINE_MAX_BYTES;
    if (out->is_too_long && !end) {
        out->text = "";
        out->bytes = 0;
        return skip_line(lines, err);
    }
    out->text = (const char *)lines->text.data + lines->at;
    lines->at += out->bytes + (end ? 1 : 0);
    return IFG_OK;
}
