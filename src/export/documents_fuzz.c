// SPDX-License-Identifier: Apache-2.0
/*
 * The documents about one trace and about the difference of two, whatever they may say.
 *
 * Strategies:
 *   - the input is two trace files, one behind the other, cut where its first two bytes say;
 *     checksums are made right first, so that mutations reach what is behind them
 *   - a trace that cannot be read is replaced by the other one: both are compared with themselves
 *   - the difference has the rows it counts, with numbers that are numbers; the documents are JSON
 *     as far as a count of braces and the absence of control characters can tell
 */
#include "export/documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mended.h"

#define DOCUMENT_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
    uint8_t *file;
    struct trace_reader *reader;
    const struct timeline *timeline;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static bool load(struct side *side, const uint8_t *data, size_t size)
{
    static const struct timeline_options options = { .threads = 1 };

    side->file = ifg_alloc(size + 1, 1);
    if (!side->file)
        return false;
    if (size)
        memcpy(side->file, data, size);
    mended_trace(side->file, size);
    return trace_reader_open_memory(side->file, size, "fuzz", &side->reader, NULL) == IFG_OK &&
           timeline_create(side->reader, &options, &side->timeline, NULL) == IFG_OK;
}

static void unload(struct side *side)
{
    timeline_destroy(side->timeline);
    trace_reader_close(side->reader);
    ifg_free(side->file);
}

static void check_document(const struct ifg_bytes *text)
{
    bool quoted = false;
    long depth = 0;

    for (size_t i = 0; !text->failed && i < text->size; i++) {
        unsigned char byte = text->data[i];

        if (quoted) {
            require(byte >= 0x20);
            if (byte == '\\')
                i++;
            else if (byte == '"')
                quoted = false;
        } else if (byte == '"') {
            quoted = true;
        } else {
            depth += (byte == '{') + (byte == '[') - (byte == '}') - (byte == ']');
            require(depth >= 0);
        }
    }
    require(text->failed || (!quoted && !depth));
}

static void check_diff(const struct diff *diff)
{
    size_t sum = 0;

    for (size_t i = 0; i < DIFF_VERDICTS; i++)
        sum += diff->verdicts[i];
    require(sum == diff->row_count && diff->compared <= diff->row_count);
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];

        require(row->verdict < DIFF_VERDICTS && row->name && row->model && row->function);
        require(!isnan(row->weight_ns) && !isnan(row->change));
        require(row->side[DIFF_A].count || row->side[DIFF_B].count || row->verdict == DIFF_UNSURE);
    }
}

static void try_diff(const struct timeline *a, const struct timeline *b)
{
    struct diff_document document = { { "a", "b" }, { a, b }, DIFF_THRESHOLD, NULL };
    struct diff *diff = NULL;
    struct ifg_bytes text;

    if (diff_create(a, b, DIFF_THRESHOLD, &diff, NULL))
        return;
    check_diff(diff);
    document.diff = diff;
    ifg_bytes_init(&text, DOCUMENT_MAX);
    document_diff(&document, &text);
    check_document(&text);
    ifg_bytes_fini(&text);
    diff_destroy(diff);
}

static void try_report(const struct timeline *timeline)
{
    struct report *report = NULL;
    struct ifg_bytes text;

    if (report_create(timeline, &report, NULL))
        return;
    ifg_bytes_init(&text, DOCUMENT_MAX);
    document_report(report, SIZE_MAX, &text);
    check_document(&text);
    ifg_bytes_fini(&text);
    report_destroy(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side a = { 0 };
    struct side b = { 0 };
    size_t cut;
    bool has_a, has_b;

    if (size < 2)
        return 0;
    cut = data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    if (cut > size)
        cut = size;
    has_a = load(&a, data, cut);
    has_b = load(&b, data + cut, size - cut);
    if (has_a || has_b)
        try_diff(has_a ? a.timeline : b.timeline, has_b ? b.timeline : a.timeline);
    if (has_a)
        try_report(a.timeline);
    if (has_b)
        try_report(b.timeline);
    unload(&b);
    unload(&a);
    return 0;
}
