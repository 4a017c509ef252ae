// SPDX-License-Identifier: Apache-2.0
/* The helper's answers, written and read: see answer.h. What is read is hostile. */
#include "collect/ort_helper/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/ort_helper/fields.h"

#define TEXT_BYTES 4096
#define TEXTS_MAX  (64u << 20)
#define DEPTH_MAX  32 /* of graphs inside of nodes */

static const struct {
    const char *name;
    size_t offset;
} points[] = {
    { "execute_kernel", offsetof(struct ort_backtrace, execute_kernel) },
    { "run", offsetof(struct ort_backtrace, run) },
    { "api_run", offsetof(struct ort_backtrace, api_run) },
    { "initialize", offsetof(struct ort_backtrace, initialize) },
    { "load", offsetof(struct ort_backtrace, load) },
    { "load_path", offsetof(struct ort_backtrace, load_path) },
    { "load_array", offsetof(struct ort_backtrace, load_array) },
};
#define POINTS (sizeof points / sizeof points[0])

/* ---- writing ---- */

void answer_put(struct ifg_bytes *out, const char *format, ...)
{
    char text[1024];
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length > 0)
        ifg_bytes_put(out, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void answer_put_text(struct ifg_bytes *out, const char *text)
{
    ifg_bytes_put(out, *text ? " " : " %", *text ? 1 : 2);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte <= ' ' || byte == '%' || byte == 0x7f)
            answer_put(out, "%%%02x", byte);
        else
            ifg_bytes_put(out, text, 1);
    }
}

void answer_put_backtrace(struct ifg_bytes *out, const struct ort_backtrace *backtrace)
{
    for (size_t i = 0; i < POINTS; i++) {
        const struct ort_point *point = (const void *)((const char *)backtrace + points[i].offset);

        if (!point->file_offset)
            continue;
        answer_put(out, "%s 0x%" PRIx64 " 0x%" PRIx64 " argument %u", points[i].name,
                   point->file_offset, point->probe_offset, point->argument);
        if (point->path)
            answer_put(out, " path %u", point->path);
        answer_put(out, " checked %u\n", point->checked);
    }
    if (backtrace->names.argument) {
        answer_put(out, "node_names argument %u offsets", backtrace->names.argument);
        for (size_t i = 0; i < 5; i++)
            answer_put(out, " %u", backtrace->names.offsets[i]);
        answer_put(out, " checked %u\n", backtrace->names.checked);
    }
    if (backtrace->missing[0])
        answer_put(out, "missing execute_kernel: %s\n", backtrace->missing);
}

/* ---- reading ---- */

struct answer {
    const char *at;
    const char *end;
};

static bool next_line(struct answer *answer, struct fields *out_fields)
{
    const char *stop = NULL;

    if (answer->at < answer->end)
        stop = memchr(answer->at, '\n', (size_t)(answer->end - answer->at));
    if (!stop)
        return false;
    fields_over(out_fields, answer->at, (size_t)(stop - answer->at));
    answer->at = stop + 1;
    return true;
}

static enum ifg_status read_first(struct answer *answer, const char *text, size_t bytes,
                                  struct ifg_error *err)
{
    struct fields fields;
    char word[400];

    if (!text)
        text = ""; /* and bytes is 0 */
    *answer = (struct answer){ text, text + bytes };
    if (!next_line(answer, &fields))
        return ifg_fail(err, IFG_CORRUPT, "the helper for ONNX Runtime said nothing");
    if (fields.end - fields.at > 6 && memcmp(fields.at, "error ", 6) == 0) {
        fields.at += 6;
        fields_rest(&fields, word, sizeof word);
        return ifg_fail(err, IFG_UNSUPPORTED, "%s", word);
    }
    fields_rest(&fields, word, sizeof word);
    if (strcmp(word, ANSWER_FIRST_LINE) != 0)
        return ifg_fail(err, IFG_CORRUPT,
                        "the helper for ONNX Runtime is of another version than this program; "
                        "install all of Inferogram again");
    return IFG_OK;
}

static enum ifg_status not_whole(struct ifg_error *err)
{
    return ifg_fail(err, IFG_CORRUPT, "the answer of the helper for ONNX Runtime makes no sense");
}

static bool read_small(struct fields *fields, unsigned *out)
{
    uint64_t number;

    if (!fields_number(fields, &number) || number > 1000000)
        return false;
    *out = (unsigned)number;
    return true;
}

static bool read_point(struct fields *fields, struct ort_point *out)
{
    char word[16];
    struct ort_point point = { 0 };

    if (!fields_number(fields, &point.file_offset) || !fields_number(fields, &point.probe_offset) ||
        !point.file_offset || point.probe_offset < point.file_offset ||
        point.probe_offset - point.file_offset > 16)
        return false;
    while (fields_text(fields, word, sizeof word)) {
        unsigned *number = strcmp(word, "argument") == 0  ? &point.argument
                           : strcmp(word, "path") == 0    ? &point.path
                           : strcmp(word, "checked") == 0 ? &point.checked
                                                          : NULL;

        if (!number || !read_small(fields, number))
            return false;
    }
    if (!fields_at_end(fields) || point.argument > 8 || point.path > 8)
        return false;
    *out = point;
    return true;
}

static bool read_word(struct fields *fields, const char *wanted)
{
    char word[16];

    return fields_text(fields, word, sizeof word) && strcmp(word, wanted) == 0;
}

static bool read_names(struct fields *fields, struct ort_name_path *out)
{
    struct ort_name_path names = { 0 };

    if (!read_word(fields, "argument") || !read_small(fields, &names.argument) || !names.argument ||
        names.argument > 8 || !read_word(fields, "offsets"))
        return false;
    for (size_t i = 0; i < 5; i++)
        if (!read_small(fields, &names.offsets[i]) || names.offsets[i] > 65536)
            return false;
    if (!read_word(fields, "checked") || !read_small(fields, &names.checked))
        return false;
    *out = names;
    return true;
}

/* False: a line that should be understood is not. */
static bool read_backtrace_line(struct fields *fields, struct ort_backtrace *out)
{
    char word[32];

    if (!fields_text(fields, word, sizeof word))
        return false;
    if (strcmp(word, "version") == 0)
        return fields_text(fields, out->version, sizeof out->version);
    if (strcmp(word, "build-id") == 0)
        return fields_text(fields, out->build_id, sizeof out->build_id);
    if (strcmp(word, "missing") == 0) {
        if (!fields_text(fields, word, sizeof word))
            return false;
        fields_rest(fields, out->missing, sizeof out->missing);
        return true;
    }
    if (strcmp(word, "node_names") == 0)
        return read_names(fields, &out->names);
    for (size_t i = 0; i < POINTS; i++)
        if (strcmp(word, points[i].name) == 0)
            return read_point(fields, (void *)((char *)out + points[i].offset));
    return true; /* of a later version, or for people */
}

static bool is_end(const struct fields *fields)
{
    return fields->end - fields->at == 3 && memcmp(fields->at, "end", 3) == 0;
}

enum ifg_status answer_read_backtrace(const char *text, size_t bytes, struct ort_backtrace *out,
                                      struct ifg_error *err)
{
    struct answer answer;
    struct fields fields;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    status = read_first(&answer, text, bytes, err);
    if (status)
        return status;
    while (next_line(&answer, &fields)) {
        if (is_end(&fields) && out->version[0])
            return IFG_OK;
        if (!read_backtrace_line(&fields, out))
            break;
    }
    memset(out, 0, sizeof *out);
    return not_whole(err);
}

/* Texts are kept as offsets until all are there: the buffer may move. */
static bool keep_text(struct ort_nodes *nodes, struct fields *fields, const char **out)
{
    char text[TEXT_BYTES];

    if (!fields_text(fields, text, sizeof text))
        return false;
    *out = (const char *)(uintptr_t)nodes->texts.size;
    ifg_bytes_put(&nodes->texts, text, strlen(text) + 1);
    return !nodes->texts.failed;
}

static bool read_node(struct fields *fields, struct ort_nodes *nodes, bool failed, size_t *capacity)
{
    struct ort_node node = { .is_of_failed_run = failed };

    if (nodes->count == ORT_HELPER_NODES_MAX || !fields_number(fields, &node.index) ||
        !keep_text(nodes, fields, &node.parent) || !keep_text(nodes, fields, &node.name) ||
        !keep_text(nodes, fields, &node.type) || !keep_text(nodes, fields, &node.provider) ||
        !fields_at_end(fields))
        return false;
    if (!IFG_ARRAY_ROOM(nodes->items, *capacity, nodes->count + 1, ORT_HELPER_NODES_MAX))
        return false;
    nodes->items[nodes->count++] = node;
    return true;
}

static bool read_nodes_line(struct fields *fields, struct ort_nodes *nodes, size_t *capacity)
{
    char word[16];

    if (!fields_text(fields, word, sizeof word))
        return false;
    if (strcmp(word, "node") == 0 || strcmp(word, "other") == 0)
        return read_node(fields, nodes, word[0] == 'o', capacity);
    if (strcmp(word, "run") == 0 && fields_text(fields, word, sizeof word)) {
        nodes->complete = strcmp(word, "ok") == 0;
        if (!nodes->complete)
            fields_rest(fields, nodes->note, sizeof nodes->note);
    }
    return true;
}

static int by_parent_and_index(const void *left, const void *right)
{
    const struct ort_node *a = left;
    const struct ort_node *b = right;
    int order = strcmp(a->parent, b->parent);

    if (order)
        return order;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->is_of_failed_run != b->is_of_failed_run)
        return a->is_of_failed_run ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* The first node that is not before this place. */
static size_t lower_bound(const struct ort_nodes *nodes, const char *parent, uint64_t index)
{
    struct ort_node wanted = { .index = index, .parent = parent, .name = "" };
    size_t low = 0;
    size_t high = nodes->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_parent_and_index(&nodes->items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct ort_nodes *nodes, size_t i, const char *parent, uint64_t index)
{
    return i < nodes->count && nodes->items[i].index == index &&
           strcmp(nodes->items[i].parent, parent) == 0;
}

/* Whether there is an If with this index in the graph whose path is the first bytes of `path`. */
static bool is_if(const struct ort_nodes *nodes, const char *path, size_t bytes, uint64_t index)
{
    char parent[TEXT_BYTES];

    if (bytes >= sizeof parent)
        return false;
    memcpy(parent, path, bytes);
    parent[bytes] = '\0';
    for (size_t i = lower_bound(nodes, parent, index); is_at(nodes, i, parent, index); i++)
        if (strcmp(nodes->items[i].type, "If") == 0)
            return true;
    return false;
}

/* Whether a node on this path of indices is an If. */
static bool is_under_if(const struct ort_nodes *nodes, const char *path)
{
    const char *at = path;

    for (unsigned depth = 0; *at && depth < DEPTH_MAX; depth++) {
        size_t bytes = at > path ? (size_t)(at - path) - 1 : 0;
        char *end;
        uint64_t index = strtoull(at, &end, 10);

        if (is_if(nodes, path, bytes, index))
            return true;
        if (*end != '/')
            return false;
        at = end + 1;
    }
    return false;
}

static void finish_nodes(struct ort_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const char **texts[] = { &nodes->items[i].parent, &nodes->items[i].name,
                                 &nodes->items[i].type, &nodes->items[i].provider };

        for (size_t t = 0; t < 4; t++)
            *texts[t] = (const char *)nodes->texts.data + (uintptr_t)*texts[t];
    }
    if (nodes->count)
        qsort(nodes->items, nodes->count, sizeof *nodes->items, by_parent_and_index);
    for (size_t i = 0; i < nodes->count; i++) {
        struct ort_node *node = &nodes->items[i];
        struct ort_node *before = i ? node - 1 : NULL;

        if (before && before->index == node->index && strcmp(before->parent, node->parent) == 0) {
            node->is_ambiguous = before->is_ambiguous || strcmp(before->name, node->name) != 0;
            before->is_ambiguous = node->is_ambiguous;
        }
        node->is_in_branch = before && strcmp(before->parent, node->parent) == 0
                                 ? before->is_in_branch
                                 : is_under_if(nodes, node->parent);
    }
}

enum ifg_status answer_read_nodes(const char *text, size_t bytes, struct ort_nodes *out,
                                  struct ifg_error *err)
{
    struct answer answer;
    struct fields fields;
    size_t capacity = 0;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    ifg_bytes_init(&out->texts, TEXTS_MAX);
    status = read_first(&answer, text, bytes, err);
    while (!status && next_line(&answer, &fields)) {
        if (is_end(&fields)) {
            finish_nodes(out);
            return IFG_OK;
        }
        if (!read_nodes_line(&fields, out, &capacity))
            break;
    }
    ort_nodes_fini(out);
    return status ? status : not_whole(err);
}

void ort_nodes_fini(struct ort_nodes *nodes)
{
    ifg_free(nodes->items);
    ifg_bytes_fini(&nodes->texts);
    memset(nodes, 0, sizeof *nodes);
}

const struct ort_node *ort_nodes_find(const struct ort_nodes *nodes, const char *parent,
                                      uint64_t index)
{
    size_t i = lower_bound(nodes, parent, index);

    return is_at(nodes, i, parent, index) ? &nodes->items[i] : NULL;
}
