// SPDX-License-Identifier: Apache-2.0
/*
 * See jitdump.h; the layout is that of tools/perf/Documentation/jitdump-specification.txt of Linux:
 * a header, then records, each with its kind, size and time.
 */
#include "collect/perf/jitdump.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"

#define MAGIC           0x4a695444u /* "JiTD"; the other way round on another kind of machine */
#define VERSION         1u
#define READ_FIRST      (1u << 20)
#define HEADER_SIZE     40u
#define PREFIX_SIZE     16u
#define LOAD_SIZE       40u
#define MOVE_SIZE       48u
#define DEBUG_SIZE      16u
#define LINE_SIZE       16u
#define PADDED          8u /* records are a multiple of that */
#define OTHER_CLOCK     1u /* a flag: times are those of a register */
#define FUNCTION_MAX    ((uint64_t)64 << 20)
#define ENTRIES_MAX     (4u << 20)
#define LINES_MAX       (16u << 20)
#define STEPS_MAX       4096u /* of a search, through functions that overlap */
#define ELF_HEADER_SIZE 64u

enum { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2, CODE_CLOSE = 3 };

struct line {
    uint64_t distance; /* from the function's start */
    uint32_t line;
    uint32_t order;
    const char *file;
};

/* What the dump calls a function by, wherever it moves. */
struct code {
    uint64_t index;
    size_t entry; /* the last one with it */
};

struct jitdump {
    uint8_t *bytes;
    size_t size;
    bool no_times;
    bool shifted;                  /* lines are told behind an ELF header that is not there */
    struct jitdump_entry *entries; /* by start, then as in the file */
    uint64_t *reach;               /* of each entry: the highest end up to it */
    size_t count, room;
    struct code *codes; /* while it is read */
    size_t code_count, code_room;
    struct ifg_index by_code_index;
    struct line *lines; /* of each function together, by address */
    size_t line_count, line_room;
    const uint8_t *pending; /* lines of the function that comes next; NULL: none */
    size_t pending_size;
    char *names; /* of files, which the dump does not tell as texts */
    size_t name_size, name_room;
};

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t long_at(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

/* ---- lines ---- */

static bool add_line(struct jitdump *dump, const struct line *line)
{
    if (!IFG_ARRAY_ROOM(dump->lines, dump->line_room, dump->line_count + 1, LINES_MAX))
        return false;
    dump->lines[dump->line_count++] = *line;
    return true;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;

    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_text(const char *text)
{
    for (; *text; text++)
        if ((uint8_t)*text < 32 || *text == 127)
            return false;
    return true;
}

/* One line; false if it is none of this function. */
static bool take_line(struct jitdump *dump, const struct jitdump_entry *entry, const uint8_t *at,
                      const char *file)
{
    struct line line = { long_at(at) - entry->start, word_at(at + 8), 0, file };

    line.order = (uint32_t)(dump->line_count - entry->first_line);
    if (line.distance > entry->size + ELF_HEADER_SIZE || line.line > INT_MAX || !is_text(file))
        return false;
    return !line.line || add_line(dump, &line);
}

/* As the specification has it: a name of one byte 0xff is that of the line before. */
static bool take_lines(struct jitdump *dump, const struct jitdump_entry *entry)
{
    const uint8_t *at = dump->pending + DEBUG_SIZE;
    size_t left = dump->pending_size - DEBUG_SIZE;
    const char *file = "";

    for (uint64_t count = long_at(dump->pending + 8); count; count--) {
        const char *name = (const char *)at + LINE_SIZE;
        size_t length = left > LINE_SIZE ? strnlen(name, left - LINE_SIZE) : left;

        if (left <= LINE_SIZE || length == left - LINE_SIZE)
            return false; /* without an end */
        if (strcmp(name, "\xff") != 0)
            file = name;
        if (!take_line(dump, entry, at, file))
            return false;
        at += LINE_SIZE + length + 1;
        left -= LINE_SIZE + length + 1;
    }
    return true;
}

/* Lines whose names are as long as this one, whatever bytes they have; with `marked` only the first
 * has one, and the others the mark for the same again. */
static bool take_lines_as(struct jitdump *dump, const struct jitdump_entry *entry, const char *file,
                          size_t length, bool marked)
{
    const uint8_t *at = dump->pending + DEBUG_SIZE;
    size_t left = dump->pending_size - DEBUG_SIZE;
    uint64_t count = long_at(dump->pending + 8);

    for (uint64_t i = 0; i < count; i++) {
        size_t size = LINE_SIZE + (marked && i ? 1 : length) + 1;

        if (left < size || (marked && i && memcmp(at + LINE_SIZE, "\xff", 2) != 0) ||
            !take_line(dump, entry, at, file))
            return false;
        at += size;
        left -= size;
    }
    return left < PADDED;
}

/* V8 of Node.js 18 and 20 writes names from memory that it has freed, but as many bytes as they
 * had. Its functions are called "JS:*name FILE:LINE:COLUMN" (18: "LazyCompile:*name FILE:LINE"): if
 * a file name of that length fits, it is the one. */
static bool guess_lines(struct jitdump *dump, const struct jitdump_entry *entry)
{
    const char *name = strrchr(entry->name, ' ');
    size_t length = name ? strlen(++name) : 0;
    char *file;

    if (dump->name_room - dump->name_size <= length)
        return false;
    file = dump->names + dump->name_size;
    for (int colons = 0; length && colons < 2; colons++) {
        while (length && name[--length] != ':')
            continue;
        memcpy(file, name, length);
        file[length] = '\0';
        for (int marked = 0; length && marked < 2; marked++) {
            dump->line_count = entry->first_line;
            if (take_lines_as(dump, entry, file, length, marked)) {
                dump->name_size += length + 1;
                return true;
            }
        }
    }
    return false;
}

/* Lines come before their function. They are kept as distances from its start, which stay right
 * when it moves. What is no line of it makes all of them worthless. */
static void attach_lines(struct jitdump *dump, struct jitdump_entry *entry)
{
    bool ours = dump->pending && long_at(dump->pending) == entry->start;

    entry->first_line = dump->line_count;
    if (ours && !take_lines(dump, entry)) {
        dump->line_count = entry->first_line;
        if (!guess_lines(dump, entry))
            dump->line_count = entry->first_line;
    }
    entry->line_count = dump->line_count - entry->first_line;
    if (entry->line_count)
        qsort(dump->lines + entry->first_line, entry->line_count, sizeof *dump->lines,
              compare_lines);
    dump->pending = NULL;
}

/* ---- functions ---- */

static uint64_t hash_code(const void *codes, size_t position)
{
    return ifg_hash_pair(((const struct code *)codes)[position].index, 0);
}

static bool is_same_code(const void *codes, size_t position, const void *wanted)
{
    return ((const struct code *)codes)[position].index == ((const struct code *)wanted)->index;
}

/* NULL: there is none. */
static struct code *find_code(const struct jitdump *dump, uint64_t index)
{
    struct code wanted = { index, 0 };
    uint32_t found = ifg_index_find(&dump->by_code_index, hash_code(&wanted, 0), is_same_code,
                                    dump->codes, &wanted);

    return found ? &dump->codes[found - 1] : NULL;
}

static bool add_entry(struct jitdump *dump, const struct jitdump_entry *entry, uint64_t index)
{
    struct code *code = find_code(dump, index);

    if (!IFG_ARRAY_ROOM(dump->entries, dump->room, dump->count + 1, ENTRIES_MAX))
        return false;
    if (!code) {
        if (!IFG_ARRAY_ROOM(dump->codes, dump->code_room, dump->code_count + 1, ENTRIES_MAX) ||
            !ifg_index_room(&dump->by_code_index, dump->code_count, hash_code, dump->codes))
            return false;
        code = &dump->codes[dump->code_count];
        code->index = index;
        ifg_index_put(&dump->by_code_index, hash_code(code, 0), dump->code_count++);
    }
    code->entry = dump->count;
    dump->entries[dump->count] = *entry;
    dump->entries[dump->count].order = dump->count;
    dump->count++;
    return true;
}

static bool is_range(uint64_t start, uint64_t size)
{
    return size && size <= FUNCTION_MAX && start <= UINT64_MAX - size;
}

static bool take_load(struct jitdump *dump, uint64_t time_ns, const uint8_t *body, size_t size)
{
    struct jitdump_entry entry = { .time_ns = time_ns, .end_ns = UINT64_MAX };
    size_t name;

    if (size < LOAD_SIZE)
        return true;
    entry.start = long_at(body + 16);
    entry.size = long_at(body + 24);
    name = strnlen((const char *)body + LOAD_SIZE, size - LOAD_SIZE);
    if (LOAD_SIZE + name + 1 > size || !is_range(entry.start, entry.size) ||
        entry.size > size - LOAD_SIZE - name - 1)
        return true;
    entry.name = (const char *)body + LOAD_SIZE;
    entry.code = body + LOAD_SIZE + name + 1;
    attach_lines(dump, &entry);
    return add_entry(dump, &entry, long_at(body + 32));
}

/* The same function is somewhere else from now on, with the same lines as seen from its start. */
static bool take_move(struct jitdump *dump, uint64_t time_ns, const uint8_t *body, size_t size)
{
    uint64_t index = size < MOVE_SIZE ? 0 : long_at(body + 40);
    uint64_t to = size < MOVE_SIZE ? 0 : long_at(body + 24);
    const struct code *code = size < MOVE_SIZE ? NULL : find_code(dump, index);
    struct jitdump_entry *old = code ? &dump->entries[code->entry] : NULL;
    struct jitdump_entry moved;

    if (!old || old->start != long_at(body + 16) || !is_range(to, old->size))
        return true;
    old->end_ns = time_ns;
    moved = *old;
    moved.start = to;
    moved.time_ns = time_ns;
    moved.end_ns = UINT64_MAX;
    return add_entry(dump, &moved, index);
}

/* ---- all of it ---- */

/* perf once put code behind an ELF header without telling so, and V8 adds its size to every line:
 * then no line of any function is before that. */
static bool are_shifted(const struct jitdump *dump)
{
    bool any = false;

    for (size_t i = 0; i < dump->count; i++) {
        const struct jitdump_entry *entry = &dump->entries[i];

        any = any || entry->line_count;
        if (entry->line_count && dump->lines[entry->first_line].distance < ELF_HEADER_SIZE)
            return false;
    }
    return any;
}

static bool take_records(struct jitdump *dump, size_t at)
{
    while (at <= dump->size && dump->size - at >= PREFIX_SIZE) {
        const uint8_t *record = dump->bytes + at;
        uint32_t kind = word_at(record);
        uint32_t size = word_at(record + 4);
        uint64_t time_ns = dump->no_times ? 0 : long_at(record + 8);
        bool good = true;

        if (size < PREFIX_SIZE || size > dump->size - at || kind == CODE_CLOSE)
            break;
        if (kind == CODE_LOAD) {
            good = take_load(dump, time_ns, record + PREFIX_SIZE, size - PREFIX_SIZE);
        } else if (kind == CODE_MOVE) {
            good = take_move(dump, time_ns, record + PREFIX_SIZE, size - PREFIX_SIZE);
        } else if (kind == CODE_DEBUG_INFO && size >= PREFIX_SIZE + DEBUG_SIZE) {
            dump->pending = record + PREFIX_SIZE;
            dump->pending_size = size - PREFIX_SIZE;
        }
        if (!good)
            return false;
        at += size;
    }
    return true;
}

static int compare_entries(const void *left, const void *right)
{
    const struct jitdump_entry *a = left;
    const struct jitdump_entry *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool finish(struct jitdump *dump)
{
    uint64_t highest = 0;

    ifg_free(dump->codes);
    dump->codes = NULL;
    ifg_index_fini(&dump->by_code_index);
    dump->shifted = are_shifted(dump);
    if (!dump->count)
        return false;
    qsort(dump->entries, dump->count, sizeof *dump->entries, compare_entries);
    dump->reach = ifg_alloc(dump->count, sizeof *dump->reach);
    for (size_t i = 0; dump->reach && i < dump->count; i++) {
        uint64_t end = dump->entries[i].start + dump->entries[i].size;

        highest = end > highest ? end : highest;
        dump->reach[i] = highest;
    }
    return dump->reach != NULL;
}

/* Takes the bytes over; what memory was enough for is there even if it was not for all. */
static struct jitdump *parse_owned(uint8_t *bytes, size_t size)
{
    struct jitdump *dump = ifg_alloc(1, sizeof *dump);
    uint32_t header;

    if (!dump) {
        ifg_free(bytes);
        return NULL;
    }
    dump->bytes = bytes;
    dump->size = size;
    header = size < HEADER_SIZE ? 0 : word_at(bytes + 8);
    if (header < HEADER_SIZE || header > size || word_at(bytes) != MAGIC ||
        word_at(bytes + 4) != VERSION) {
        jitdump_destroy(dump);
        return NULL;
    }
    dump->names =
        ifg_alloc(size, 1); /* names of functions are longer than those of files in them */
    dump->name_room = dump->names ? size : 0;
    dump->no_times = long_at(bytes + 32) & OTHER_CLOCK;
    take_records(dump, header);
    if (finish(dump))
        return dump;
    jitdump_destroy(dump);
    return NULL;
}

struct jitdump *jitdump_parse(const void *bytes, size_t size)
{
    uint8_t *copy = size ? ifg_alloc(size, 1) : NULL;

    if (!copy)
        return NULL;
    memcpy(copy, bytes, size);
    return parse_owned(copy, size);
}

struct jitdump *jitdump_read(int fd)
{
    size_t size = 0, room = 0;
    uint8_t *bytes = NULL;

    if (!IFG_ARRAY_ROOM(bytes, room, READ_FIRST, JITDUMP_BYTES_MAX))
        return NULL;
    for (;;) {
        ssize_t got;

        if (!IFG_ARRAY_ROOM(bytes, room, size + 1, JITDUMP_BYTES_MAX))
            break;
        got = pread(fd, bytes + size, room - size, (off_t)size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    return parse_owned(bytes, size);
}

void jitdump_destroy(struct jitdump *dump)
{
    if (!dump)
        return;
    ifg_free(dump->bytes);
    ifg_free(dump->entries);
    ifg_free(dump->reach);
    ifg_free(dump->codes);
    ifg_index_fini(&dump->by_code_index);
    ifg_free(dump->lines);
    ifg_free(dump->names);
    ifg_free(dump);
}

size_t jitdump_count(const struct jitdump *dump)
{
    return dump->count;
}

/* Whether a is a better answer than b (NULL: there was none) for that time. */
static bool is_better(const struct jitdump_entry *a, const struct jitdump_entry *b,
                      uint64_t time_ns)
{
    bool a_before = a->time_ns <= time_ns;
    bool b_before = b && b->time_ns <= time_ns;

    if (!b || a_before != b_before)
        return !b || a_before;
    if (!a_before) /* both came later: the earlier one */
        return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
    if ((a->end_ns > time_ns) != (b->end_ns > time_ns))
        return a->end_ns > time_ns;
    return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->order > b->order;
}

const struct jitdump_entry *jitdump_find(const struct jitdump *dump, uint64_t address,
                                         uint64_t time_ns)
{
    const struct jitdump_entry *best = NULL;
    size_t low = 0, high = dump->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dump->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t step = 0; low-- > 0 && step < STEPS_MAX && dump->reach[low] > address; step++)
        if (address - dump->entries[low].start < dump->entries[low].size &&
            is_better(&dump->entries[low], best, time_ns))
            best = &dump->entries[low];
    return best;
}

bool jitdump_line(const struct jitdump *dump, const struct jitdump_entry *entry, uint64_t address,
                  const char **out_file, uint32_t *out_line)
{
    const struct line *lines = entry->line_count ? dump->lines + entry->first_line : NULL;
    uint64_t distance = address - entry->start + (dump->shifted ? ELF_HEADER_SIZE : 0);
    size_t low = 0, high = entry->line_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lines[middle].distance <= distance)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !*lines[low - 1].file)
        return false;
    *out_file = lines[low - 1].file;
    *out_line = lines[low - 1].line;
    return true;
}
