// SPDX-License-Identifier: Apache-2.0
/*
 * Arrays as numpy saves them: a magic, a version, a dictionary in Python's notation, the items. The
 * parser takes what numpy writes (1.0, 2.0, 3.0) and nothing beyond it. Sizes are checked before
 * anything is allocated for them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "bench/inputs/inputs_internal.h"

#define HEADER_MAX (64u << 10) /* bytes of the dictionary; numpy itself stops at 10000 */
#define EMPTY_MAX  (1u << 20)  /* texts without a letter: they take no bytes, but time */

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

/* ---- the dictionary ---- */

struct parser {
    const char *at;
    const char *end;
};

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && strchr(" \t\n\r", *parser->at) && *parser->at)
        parser->at++;
}

/* Whether the next thing is this character; takes it. */
static bool take(struct parser *parser, char wanted)
{
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

/* A string in single or double quotes without escapes; numpy writes no others. */
static bool take_string(struct parser *parser, char *out, size_t size)
{
    char quote;
    size_t used = 0;

    skip_blanks(parser);
    if (parser->at == parser->end || (*parser->at != '\'' && *parser->at != '"'))
        return false;
    quote = *parser->at++;
    for (; parser->at < parser->end && *parser->at != quote; parser->at++) {
        if (*parser->at < ' ' || *parser->at == '\\' || used + 1 == size)
            return false;
        out[used++] = *parser->at;
    }
    out[used] = '\0';
    return take(parser, quote);
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(parser);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static bool take_size(struct parser *parser, int64_t *out)
{
    int64_t value = 0;
    const char *begin;

    skip_blanks(parser);
    begin = parser->at;
    for (; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9'; parser->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *parser->at - '0', &value))
            return false;
    if (parser->at == begin)
        return false;
    take_word(parser, "L"); /* Python 2 marks long ones */
    *out = value;
    return true;
}

/* "()", "(3,)", "(3, 4)": one number alone must have its comma, as in Python. */
static bool take_shape(struct parser *parser, struct npy_header *out, bool *out_too_deep)
{
    bool comma = true;

    out->rank = 0;
    if (!take(parser, '('))
        return false;
    while (!take(parser, ')')) {
        int64_t size;

        if (!comma || !take_size(parser, &size))
            return false;
        if (out->rank == IFG_BENCH_RANK_MAX) {
            *out_too_deep = true;
            return false;
        }
        out->dims[out->rank++] = size;
        comma = take(parser, ',');
    }
    return out->rank != 1 || comma;
}

/* "<f4": byte order, kind, bytes (characters for U). False: numpy has no such items. */
static bool parse_descr(const char *text, struct npy_header *out)
{
    static const char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    char order = text[0];
    uint32_t size = 0;
    const char *at = text + 2;

    if (!order || !strchr("<>|=", order) || !text[1] || !strchr("biufcOSUVmM", text[1]))
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (size > 100000000)
            return false;
        size = size * 10 + (uint32_t)(*at - '0');
    }
    if (*at && !strchr("mM", text[1])) /* dates have a unit there; they are refused later */
        return false;
    out->kind = text[1];
    out->item_bytes = out->kind == 'U' ? 4 * size : size;
    out->swapped = (order == '<' || order == '>') && order != native && out->item_bytes > 1;
    return true;
}

static void name_type(const char *descr, struct npy_header *out)
{
    const char *base = out->kind == 'f'   ? "float"
                       : out->kind == 'i' ? "int"
                       : out->kind == 'u' ? "uint"
                       : out->kind == 'c' ? "complex"
                                          : NULL;

    if (out->kind == 'b' && out->item_bytes == 1)
        snprintf(out->type_name, sizeof out->type_name, "bool");
    else if (out->kind == 'O')
        snprintf(out->type_name, sizeof out->type_name, "object");
    else if (base)
        snprintf(out->type_name, sizeof out->type_name, "%s%u", base, 8 * out->item_bytes);
    else
        snprintf(out->type_name, sizeof out->type_name, "%.20s", descr);
}

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, ALL_KEYS = 7 };

static enum ifg_status parse_dictionary(const char *name, const char *text, size_t size,
                                        struct npy_header *out, struct ifg_error *err)
{
    struct parser parser = { text, text + size };
    char key[16], descr[32] = "";
    bool too_deep = false, good = take(&parser, '{'), comma = true;
    unsigned seen = 0;

    while (good && !take(&parser, '}')) {
        unsigned which = 0;

        good = comma && take_string(&parser, key, sizeof key) && take(&parser, ':');
        if (!good)
            break;
        skip_blanks(&parser);
        if (strcmp(key, "descr") == 0) {
            which = KEY_DESCR;
            if (parser.at < parser.end && *parser.at == '[')
                return ifg_fail(err, IFG_INVALID,
                                "%s holds records with fields; a model takes plain arrays: save "
                                "one field, np.save(FILE, x[\"field\"])",
                                name);
            good = take_string(&parser, descr, sizeof descr) && parse_descr(descr, out);
        } else if (strcmp(key, "fortran_order") == 0) {
            which = KEY_ORDER;
            out->fortran_order = take_word(&parser, "True");
            good = out->fortran_order || take_word(&parser, "False");
        } else if (strcmp(key, "shape") == 0) {
            which = KEY_SHAPE;
            good = take_shape(&parser, out, &too_deep);
        }
        good = good && which && !(seen & which);
        seen |= which;
        comma = take(&parser, ',');
    }
    skip_blanks(&parser);
    if (too_deep)
        return ifg_fail(err, IFG_INVALID, "%s has more than %u dimensions", name,
                        IFG_BENCH_RANK_MAX);
    if (!good || seen != ALL_KEYS || parser.at != parser.end)
        return ifg_fail(err, IFG_CORRUPT,
                        "%s: the header at byte %td is not what numpy writes; save it again with "
                        "np.save",
                        name, parser.at - text);
    if (out->kind == 'O')
        return ifg_fail(err, IFG_INVALID,
                        "%s holds Python objects, which only Python can read; save numbers, or "
                        "texts as np.array(x, dtype=str)",
                        name);
    name_type(descr, out);
    return IFG_OK;
}

/* ---- the header ---- */

static enum ifg_status ends_early(const struct npy_source *source, struct ifg_error *err)
{
    return ifg_fail(err, IFG_CORRUPT, "%s ends too early or cannot be read (%" PRIu64 " bytes)",
                    source->name, source->bytes);
}

static enum ifg_status check_sizes(const struct npy_source *source, uint64_t header_bytes,
                                   struct npy_header *out, struct ifg_error *err)
{
    char shape[256];

    if (!tensor_elements(out->dims, out->rank, &out->elements) ||
        __builtin_mul_overflow(out->elements, out->item_bytes, &out->data_bytes) ||
        out->data_bytes > INPUTS_BYTES_MAX || (out->item_bytes == 0 && out->elements > EMPTY_MAX))
        return ifg_fail(
            err, IFG_CORRUPT, "%s says that it holds %s items of %u bytes: too many", source->name,
            tensor_shape_text(out->dims, NULL, out->rank, shape, sizeof shape), out->item_bytes);
    if (source->bytes - header_bytes != out->data_bytes)
        return ifg_fail(err, IFG_CORRUPT,
                        "%s is damaged: %s %s are %" PRIu64 " bytes, but %" PRIu64 " are there",
                        source->name,
                        tensor_shape_text(out->dims, NULL, out->rank, shape, sizeof shape),
                        out->type_name, out->data_bytes, source->bytes - header_bytes);
    return IFG_OK;
}

enum ifg_status npy_read_header(struct npy_source *source, struct npy_header *out_header,
                                struct ifg_error *err)
{
    uint8_t start[12];
    size_t start_bytes = 10;
    uint32_t length;
    enum ifg_status status;
    char *text;

    memset(out_header, 0, sizeof *out_header);
    if (source->bytes < 10 || !source->read(source->context, start, 10))
        return ends_early(source, err);
    if (memcmp(start, magic, sizeof magic) != 0)
        return ifg_fail(err, IFG_CORRUPT,
                        "%s is not an array of numpy (it does not begin with \\x93NUMPY)",
                        source->name);
    length = start[8] | (uint32_t)start[9] << 8;
    if (start[6] == 2 || start[6] == 3) { /* 3 differs in that names of fields are UTF-8 */
        if (source->bytes < 12 || !source->read(source->context, start + 10, 2))
            return ends_early(source, err);
        length |= (uint32_t)start[10] << 16 | (uint32_t)start[11] << 24;
        start_bytes = 12;
    } else if (start[6] != 1) {
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s is in version %u.%u of numpy's format; 1.0 to 3.0 are known",
                        source->name, start[6], start[7]);
    }
    if (length > source->bytes - start_bytes)
        return ends_early(source, err);
    if (length > HEADER_MAX)
        return ifg_fail(err, IFG_CORRUPT, "%s has a header of %u bytes; at most %u make sense",
                        source->name, length, HEADER_MAX);
    text = ifg_alloc((size_t)length + 1, 1);
    if (!text)
        return ifg_fail_no_memory(err, "to read %s", source->name);
    if (source->read(source->context, text, length))
        status = parse_dictionary(source->name, text, length, out_header, err);
    else
        status = ends_early(source, err);
    ifg_free(text);
    return status == IFG_OK ? check_sizes(source, start_bytes + length, out_header, err) : status;
}

int32_t npy_type(const struct npy_header *header, int32_t wanted_type)
{
    static const struct {
        char kind;
        uint8_t bytes;
        int32_t type;
    } known[] = {
        { 'b', 1, IFG_BENCH_BOOL },    { 'i', 1, IFG_BENCH_INT8 },   { 'i', 2, IFG_BENCH_INT16 },
        { 'i', 4, IFG_BENCH_INT32 },   { 'i', 8, IFG_BENCH_INT64 },  { 'u', 1, IFG_BENCH_UINT8 },
        { 'u', 2, IFG_BENCH_UINT16 },  { 'u', 4, IFG_BENCH_UINT32 }, { 'u', 8, IFG_BENCH_UINT64 },
        { 'f', 2, IFG_BENCH_FLOAT16 }, { 'f', 4, IFG_BENCH_FLOAT },  { 'f', 8, IFG_BENCH_DOUBLE },
    };

    if (header->kind == 'U' || header->kind == 'S')
        return IFG_BENCH_STRING;
    if (header->kind == 'V' && header->item_bytes == 2 && wanted_type == IFG_BENCH_BFLOAT16)
        return IFG_BENCH_BFLOAT16;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == header->kind && known[i].bytes == header->item_bytes)
            return known[i].type;
    return 0;
}

/* ---- the data ---- */

static void swap_bytes(uint8_t *data, uint64_t bytes, size_t unit)
{
    for (uint64_t at = 0; at + unit <= bytes; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t kept = data[at + i];

            data[at + i] = data[at + unit - 1 - i];
            data[at + unit - 1 - i] = kept;
        }
}

/* Items whose first index moves fastest, put in the order where the last one does. */
static void transpose(const struct npy_header *header, const uint8_t *from, uint8_t *to)
{
    uint64_t strides[IFG_BENCH_RANK_MAX];
    uint64_t index[IFG_BENCH_RANK_MAX] = { 0 };
    uint64_t stride = 1, at = 0;

    for (uint32_t i = 0; i < header->rank; i++) {
        strides[i] = stride;
        stride *= (uint64_t)header->dims[i];
    }
    for (uint64_t done = 0; done < header->elements; done++) {
        memcpy(to + done * header->item_bytes, from + at * header->item_bytes, header->item_bytes);
        for (uint32_t dim = header->rank; dim-- > 0;) {
            at += strides[dim];
            if (++index[dim] < (uint64_t)header->dims[dim])
                break;
            at -= strides[dim] * index[dim];
            index[dim] = 0;
        }
    }
}

static size_t put_utf8(uint32_t code, uint8_t *out)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}

/* One text of fixed width, padded with NULs, as UTF-8; false for what is no character, and for a
 * NUL inside, which would end the text early. */
static bool put_text(struct ifg_bytes *out, const struct npy_header *header, const uint8_t *item)
{
    size_t unit = header->kind == 'U' ? 4 : 1;
    size_t length = header->item_bytes / unit;
    uint8_t encoded[4];

    for (size_t i = 0; i < length; i++) {
        uint32_t code = item[i];

        if (unit == 4)
            memcpy(&code, item + 4 * i, 4);
        if (code == 0) {
            for (i *= unit; i < header->item_bytes; i++)
                if (item[i])
                    return false;
            break;
        }
        if (unit == 1) {
            ifg_bytes_put(out, &item[i], 1);
            continue;
        }
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        ifg_bytes_put(out, encoded, put_utf8(code, encoded));
    }
    ifg_bytes_put(out, "", 1);
    return true;
}

static enum ifg_status take_texts(const struct npy_source *source, const struct npy_header *header,
                                  const uint8_t *data, struct tensor *tensor, struct ifg_error *err)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, INPUTS_BYTES_MAX);
    for (uint64_t i = 0; i < header->elements; i++)
        if (!put_text(&out, header, data + i * header->item_bytes)) {
            ifg_bytes_fini(&out);
            return ifg_fail(err, IFG_CORRUPT,
                            "%s: text %" PRIu64 " is not Unicode, or has a NUL in it", source->name,
                            i);
        }
    ifg_bytes_put(&out, "", 1); /* so that there is memory even for no text at all */
    if (out.failed) {
        ifg_bytes_fini(&out);
        return ifg_fail_no_memory(err, "for the texts of %s", source->name);
    }
    tensor->data = out.data;
    tensor->bytes = out.size - 1;
    return IFG_OK;
}

/* What numpy has as an array in memory becomes a tensor; takes *data over if it is used as is. */
static enum ifg_status arrange(const struct npy_source *source, const struct npy_header *header,
                               uint8_t **data, struct tensor *tensor, struct ifg_error *err)
{
    if (header->swapped)
        swap_bytes(*data, header->data_bytes, header->kind == 'U' ? 4 : header->item_bytes);
    if (header->fortran_order && header->rank > 1 && header->elements) {
        uint8_t *ordered = ifg_alloc(header->data_bytes, 1);

        if (!ordered)
            return ifg_fail_no_memory(err, "to transpose %s", source->name);
        transpose(header, *data, ordered);
        ifg_free(*data);
        *data = ordered;
    }
    if (tensor->type == IFG_BENCH_STRING)
        return take_texts(source, header, *data, tensor, err);
    if (tensor->type == IFG_BENCH_BOOL)
        for (uint64_t i = 0; i < header->data_bytes; i++)
            (*data)[i] = (*data)[i] != 0;
    tensor->data = *data;
    tensor->bytes = header->data_bytes;
    *data = NULL;
    return IFG_OK;
}

enum ifg_status npy_read_data(struct npy_source *source, const struct npy_header *header,
                              struct tensor *tensor, struct ifg_error *err)
{
    uint8_t *data = ifg_alloc(header->data_bytes ? header->data_bytes : 1, 1);
    enum ifg_status status;

    if (!data)
        return ifg_fail_no_memory(err, "for the %" PRIu64 " bytes of %s", header->data_bytes,
                                  source->name);
    if (header->data_bytes == 0 || source->read(source->context, data, header->data_bytes))
        status = arrange(source, header, &data, tensor, err);
    else
        status = ends_early(source, err);
    ifg_free(data);
    return status;
}
