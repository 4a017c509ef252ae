// SPDX-License-Identifier: Apache-2.0
/* See unwind_table.h. Functions overlap in no sound file; where they do, the first one counts. */
#include "symbol/unwind_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/array.h"
#include "symbol/cfi.h"
#include "symbol/elf_file_internal.h"

#define ROWS_MAX     (64u << 20)
#define SPAN_MAX     ((uint64_t)UINT32_MAX) /* from the first to the last function */
#define WORD         8
#define INDEX_MIN    8  /* bytes of a .eh_frame_hdr that are looked at */
#define FIND_COST    64 /* bytes of entries that could be read while one is searched for */
#define FRAMES_PIECE ((size_t)16 << 10) /* bytes of .eh_frame that are read at once */

/* While it is built: functions as they come, each with its rows behind the others'. */
struct built_function {
    uint64_t start;
    uint64_t size;
    size_t first_row;
    size_t row_count;
};

struct builder {
    bool arm;
    struct built_function *functions;
    size_t function_count, function_room;
    struct unwind_row *rows; /* from the begin of their function */
    size_t row_count, row_room;
    bool failed;
};

/* An entry of .eh_frame_hdr, from the begin of that. */
struct index_entry {
    int32_t function;
    int32_t entry; /* in .eh_frame */
};

struct unwind_search {
    struct elf_file *elf;
    uint64_t index;             /* address of .eh_frame_hdr */
    uint64_t entries;           /* address of what follows; 0: not of the usual form */
    struct index_entry *sorted; /* NULL: not read yet */
    size_t count;
    struct cfi cfi;
    void *frames;           /* of cfi: a place for all of them, of which some were read */
    uint64_t frames_at;     /* in the file */
    bool *pieces;           /* which FRAMES_PIECE of them were read */
    struct builder builder; /* of one function */
    uint64_t spent;         /* bytes of entries that were read */
};

static bool add_function(const struct cfi_function *function, void *user)
{
    struct builder *builder = user;

    if (!IFG_ARRAY_ROOM(builder->functions, builder->function_room, builder->function_count + 1,
                        ROWS_MAX)) {
        builder->failed = true;
        return false;
    }
    builder->functions[builder->function_count++] =
        (struct built_function){ function->start, function->size, builder->row_count, 0 };
    return true;
}

static struct unwind_row pack(const struct cfi_row *row, uint64_t first, bool arm)
{
    struct unwind_row packed = { .at = (uint32_t)(row->address - first) };
    int64_t ra = row->saved_ra / WORD;
    int64_t fp = row->saved_fp / WORD;
    bool fits = row->offset >= INT32_MIN && row->offset <= INT32_MAX;

    packed.rule = (fits ? (unsigned)row->rule : UNWIND_UNKNOWN) & 0xfu;
    packed.offset = fits ? (int32_t)row->offset : 0;
    packed.saved = (unsigned)row->saved & 0xfu;
    if (row->saved == UNWIND_AT_CFA) {
        if (row->saved_fp % WORD || fp < INT16_MIN || fp > INT16_MAX)
            packed.saved = UNWIND_LOST;
        else
            packed.saved_fp = (int16_t)fp;
    }
    /* Of x86-64 the return address is always the word below the frame's address. */
    if (row->saved_ra % WORD || ra < INT8_MIN || ra > INT8_MAX || (!arm && ra != -1 && ra != 0))
        packed.rule = row->rule == UNWIND_ROOT ? UNWIND_ROOT : UNWIND_UNKNOWN;
    else
        packed.saved_ra = (int8_t)ra;
    return packed;
}

static bool same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
    return a->rule == b->rule && a->offset == b->offset && a->saved == b->saved &&
           a->saved_fp == b->saved_fp && a->saved_ra == b->saved_ra;
}

static bool add_row(const struct cfi_row *row, void *user)
{
    struct builder *builder = user;
    struct built_function *function = &builder->functions[builder->function_count - 1];
    struct unwind_row *last = function->row_count ? &builder->rows[builder->row_count - 1] : NULL;
    struct unwind_row packed;

    if (row->address < function->start || row->address - function->start > SPAN_MAX)
        return true;
    packed = pack(row, function->start, builder->arm);
    if (last) {
        if (packed.at < last->at)
            return true; /* a program that goes back: what came first counts */
        if (packed.at == last->at) {
            *last = packed;
            return true;
        }
        if (same_rule(&packed, last))
            return true;
    } else if (packed.at) {
        return true;
    }
    if (!IFG_ARRAY_ROOM(builder->rows, builder->row_room, builder->row_count + 1, ROWS_MAX)) {
        builder->failed = true;
        return false;
    }
    builder->rows[builder->row_count++] = packed;
    function->row_count++;
    return true;
}

static int compare_functions(const void *left, const void *right)
{
    const struct built_function *a = left;
    const struct built_function *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static void put_row(struct unwind_table *table, struct unwind_row row)
{
    struct unwind_row *last = table->row_count ? &table->rows[table->row_count - 1] : NULL;

    if (last && last->at == row.at)
        *last = row;
    else
        table->rows[table->row_count++] = row;
    table->unknown += row.rule == UNWIND_UNKNOWN;
}

/* Functions in order, without those that overlap an earlier one or are too far away. */
static void lay_out(struct unwind_table *table, const struct builder *builder)
{
    uint64_t free_from = 0;

    table->first = builder->functions[0].start;
    for (size_t i = 0; i < builder->function_count; i++) {
        const struct built_function *function = &builder->functions[i];
        uint64_t end = function->start + function->size;

        if (function->start < free_from || end - table->first > SPAN_MAX || !function->row_count)
            continue;
        for (size_t k = 0; k < function->row_count; k++) {
            struct unwind_row row = builder->rows[function->first_row + k];

            row.at += (uint32_t)(function->start - table->first);
            put_row(table, row);
        }
        /* Behind it nothing is known, unless the next function begins there. */
        put_row(table, (struct unwind_row){ .at = (uint32_t)(end - table->first) });
        table->functions[table->function_count++] =
            (struct unwind_function){ (uint32_t)(function->start - table->first),
                                      (uint32_t)function->size };
        free_from = end;
    }
    table->end = free_from;
}

static bool make_index(struct unwind_table *table)
{
    size_t row = 0;

    table->index_count = (size_t)((table->end - table->first) / UNWIND_PAGE) + 2;
    table->index = ifg_alloc(table->index_count, sizeof *table->index);
    if (!table->index)
        return false;
    for (size_t page = 0; page < table->index_count; page++) {
        while (row + 1 < table->row_count &&
               table->rows[row + 1].at <= (uint64_t)page * UNWIND_PAGE)
            row++;
        table->index[page] = (uint32_t)row;
    }
    return true;
}

/* Where .eh_frame begins: the first pointer of its index. Then come, in the form that all linkers
 * write, a count and as many entries of two numbers of 4 bytes. */
static bool find_frames(struct elf_file *elf, struct unwind_search *search)
{
    uint8_t header[32];
    const uint8_t *at = header + 4;
    uint64_t count;
    size_t got;

    if (!elf_file_unwind_index(elf, &search->index))
        return false;
    got = elf_file_read(elf, search->index, header, sizeof header);
    if (got < INDEX_MIN || header[0] != 1 || header[1] == DW_EH_PE_omit ||
        !cfi_read_pointer(&at, header + got, header[1], search->index + 4, search->index,
                          &search->cfi.address))
        return false;
    if (header[2] == DW_EH_PE_udata4 && header[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
        cfi_read_pointer(&at, header + got, header[2], 0, 0, &count) && count) {
        search->count = (size_t)count;
        search->entries = search->index + (uint64_t)(at - header);
    }
    return true;
}

static void close_search(struct unwind_search *search)
{
    if (!search)
        return;
    ifg_free(search->builder.functions);
    ifg_free(search->builder.rows);
    ifg_free(search->sorted);
    if (search->frames)
        munmap(search->frames, search->cfi.size);
    ifg_free(search->pieces);
    ifg_free(search);
}

static enum ifg_status finish(struct unwind_table *table, struct builder *builder, const char *name,
                              struct ifg_error *err)
{
    if (builder->failed)
        return ifg_fail_no_memory(err, "for the unwind table of %s", name);
    if (!builder->function_count)
        return ifg_fail(err, IFG_NOT_FOUND, "%s: its .eh_frame describes no function", name);
    qsort(builder->functions, builder->function_count, sizeof *builder->functions,
          compare_functions);
    table->rows = ifg_alloc(builder->row_count + builder->function_count, sizeof *table->rows);
    table->functions = ifg_alloc(builder->function_count, sizeof *table->functions);
    if (!table->rows || !table->functions)
        return ifg_fail_no_memory(err, "for the unwind table of %s", name);
    lay_out(table, builder);
    if (!table->function_count)
        return ifg_fail(err, IFG_NOT_FOUND, "%s: its .eh_frame describes no function", name);
    if (!make_index(table))
        return ifg_fail_no_memory(err, "for the unwind table of %s", name);
    return IFG_OK;
}

/*
 * A place for all frames. Nothing but sections tells where .eh_frame ends, so this goes to the end
 * of the segment, and in libraries for GPUs that holds hundreds of megabytes of other things: what
 * is not asked for is not read, and takes no memory.
 */
static enum ifg_status place_frames(struct unwind_search *search, struct ifg_error *err)
{
    struct elf_position position;
    void *memory;
    size_t size;

    if (search->frames)
        return IFG_OK;
    if (!elf_file_locate(search->elf, search->cfi.address, &position) || !position.left)
        return ifg_fail(err, IFG_NOT_FOUND, "%s has no .eh_frame", elf_file_name(search->elf));
    size = (size_t)(position.left > ELF_TABLE_MAX ? ELF_TABLE_MAX : position.left);
    search->pieces = ifg_alloc(size / FRAMES_PIECE + 1, sizeof *search->pieces);
    memory = search->pieces ? mmap(NULL, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                            : MAP_FAILED;
    if (memory == MAP_FAILED)
        return ifg_fail_no_memory(err, "for the call frames of %s", elf_file_name(search->elf));
    search->frames = memory;
    search->frames_at = position.file_offset;
    search->cfi.data = memory;
    search->cfi.size = size;
    return IFG_OK;
}

/* Reads what is not there yet of these bytes. False: they are not all in the file. */
static bool read_frames(struct unwind_search *search, uint64_t offset, uint64_t size)
{
    if (offset > search->cfi.size || size > search->cfi.size - offset)
        return false;
    for (uint64_t piece = offset / FRAMES_PIECE; piece * FRAMES_PIECE < offset + size; piece++) {
        uint64_t at = piece * FRAMES_PIECE;
        size_t bytes =
            (size_t)(search->cfi.size - at < FRAMES_PIECE ? search->cfi.size - at : FRAMES_PIECE);

        if (!search->pieces[piece] &&
            elf_file_read_at(search->elf, search->frames_at + at, (uint8_t *)search->frames + at,
                             bytes) != bytes)
            return false; /* the file was cut meanwhile */
        search->pieces[piece] = true;
    }
    return true;
}

/* One entry, whose length comes first: four bytes, or these full of ones and eight more. */
static bool read_entry(struct unwind_search *search, uint64_t offset, uint64_t *out_id_at)
{
    const uint8_t *frames = search->frames;
    uint32_t word;
    uint64_t length;

    if (!read_frames(search, offset, sizeof word))
        return false;
    memcpy(&word, frames + offset, sizeof word);
    length = word;
    *out_id_at = offset + sizeof word;
    if (word == UINT32_MAX) {
        if (!read_frames(search, *out_id_at, sizeof length))
            return false;
        memcpy(&length, frames + *out_id_at, sizeof length);
        *out_id_at += sizeof length;
    }
    return read_frames(search, *out_id_at, length);
}

/* An entry, and what it has in common with others, which lies before it. */
static bool read_function(struct unwind_search *search, uint64_t offset)
{
    uint64_t id_at, ignored;
    uint32_t back;

    if (!read_entry(search, offset, &id_at) || !read_frames(search, id_at, sizeof back))
        return false;
    memcpy(&back, (const uint8_t *)search->frames + id_at, sizeof back);
    return back && back <= id_at && read_entry(search, id_at - back, &ignored);
}

/* All entries: the last one has no length, and what follows it is something else. */
static bool read_to_end(struct unwind_search *search)
{
    const uint8_t *frames = search->frames;
    uint64_t offset = 0;

    while (search->cfi.size - offset >= sizeof(uint32_t)) {
        uint64_t begin = offset, id_at;
        uint32_t length;

        if (!read_frames(search, begin, sizeof length))
            return false;
        memcpy(&length, frames + begin, sizeof length);
        if (!length || !read_entry(search, begin, &id_at))
            break; /* what is damaged is left out */
        if (length == UINT32_MAX) {
            uint64_t large;

            memcpy(&large, frames + begin + sizeof length, sizeof large);
            offset = id_at + large;
        } else {
            offset = id_at + length;
        }
    }
    return true;
}

static enum ifg_status complete(struct unwind_table *table, struct ifg_error *err)
{
    struct unwind_search *search = table->search;
    struct builder builder = { .arm = table->machine == ELF_AARCH64 };
    enum ifg_status status = place_frames(search, err);

    if (!status && !read_to_end(search))
        status = ifg_fail(err, IFG_CORRUPT, "%s: the file ends within its call frames",
                          elf_file_name(search->elf));
    if (!status) {
        cfi_walk(&search->cfi, add_function, add_row, &builder);
        status = finish(table, &builder, elf_file_name(search->elf), err);
    }
    if (status) {
        table->first = table->end = 0;
        table->function_count = 0;
    }
    table->search = NULL;
    close_search(search);
    ifg_free(builder.functions);
    ifg_free(builder.rows);
    return status;
}

enum ifg_status unwind_table_open(struct elf_file *elf, struct unwind_table **out_table,
                                  struct ifg_error *err)
{
    struct unwind_table *table = ifg_alloc(1, sizeof *table);
    struct unwind_search *search = ifg_alloc(1, sizeof *search);
    struct elf_position position;

    *out_table = NULL;
    if (!table || !search) {
        ifg_free(table);
        ifg_free(search);
        return ifg_fail_no_memory(err, "for the unwind table of %s", elf_file_name(elf));
    }
    table->machine = elf_file_machine(elf);
    table->search = search;
    search->elf = elf;
    search->cfi.machine = table->machine;
    search->builder.arm = table->machine == ELF_AARCH64;
    if (!find_frames(elf, search) || !elf_file_locate(elf, search->cfi.address, &position)) {
        unwind_table_destroy(table);
        return ifg_fail(err, IFG_NOT_FOUND, "%s has no .eh_frame", elf_file_name(elf));
    }
    *out_table = table;
    return IFG_OK;
}

enum ifg_status unwind_table_build(struct elf_file *elf, struct unwind_table **out_table,
                                   struct ifg_error *err)
{
    enum ifg_status status = unwind_table_open(elf, out_table, err);

    if (status)
        return status;
    status = complete(*out_table, err);
    if (status) {
        unwind_table_destroy(*out_table);
        *out_table = NULL;
    }
    return status;
}

void unwind_table_complete(struct unwind_table *table)
{
    if (table->search && complete(table, NULL) != IFG_OK)
        return; /* it is empty: nothing is known of any address */
}

void unwind_table_destroy(struct unwind_table *table)
{
    if (!table)
        return;
    close_search(table->search);
    ifg_free(table->rows);
    ifg_free(table->functions);
    ifg_free(table->index);
    ifg_free(table);
}

/* ---- looking up one by one ---- */

/* False: the index is not what linkers write. */
static bool load_index(struct unwind_search *search)
{
    void *entries;

    if (search->sorted)
        return true;
    if (!search->entries || place_frames(search, NULL) != IFG_OK ||
        elf_file_load(search->elf, "index of call frames", search->entries,
                      (uint64_t)search->count * sizeof *search->sorted, &entries, NULL) != IFG_OK)
        return false;
    search->sorted = entries;
    for (size_t i = 1; i < search->count; i++)
        if (search->sorted[i].function < search->sorted[i - 1].function)
            return false;
    return true;
}

/* The first of those entries that begin last, but not behind an address; NULL: it is before all. */
static const struct index_entry *find_entry(const struct unwind_search *search, int64_t at)
{
    size_t low = 0, high = search->count;
    int64_t function;

    if (at < search->sorted[0].function)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (search->sorted[middle].function <= at)
            low = middle;
        else
            high = middle;
    }
    function = search->sorted[low].function;
    if (low && search->sorted[low - 1].function == function) {
        for (high = low, low = 0; low < high;) {
            size_t middle = low + (high - low) / 2;

            if (search->sorted[middle].function < function)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return &search->sorted[low];
}

/* How many entries begin at an address or before. */
static size_t entries_to(const struct unwind_search *search, int64_t at)
{
    size_t low = 0;

    for (size_t high = search->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (search->sorted[middle].function <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Reads the function that begins last, but not behind an address; none: *out_function is NULL.
 * False: the index does not lead there, or has been used so much that all may as well be read. */
static bool look_up(struct unwind_search *search, uint64_t address,
                    const struct built_function **out_function)
{
    struct builder *builder = &search->builder;
    const struct index_entry *entry;
    uint64_t start, frame;
    size_t read;

    *out_function = NULL;
    if (!load_index(search) || search->spent > search->cfi.size)
        return false;
    entry = find_entry(search, (int64_t)(address - search->index));
    if (!entry)
        return true;
    start = search->index + (uint64_t)(int64_t)entry->function;
    frame = search->index + (uint64_t)(int64_t)entry->entry;
    if (!read_function(search, frame - search->cfi.address))
        return false;
    builder->function_count = builder->row_count = 0;
    read = cfi_entry(&search->cfi, frame - search->cfi.address, add_function, add_row, builder);
    search->spent += read + FIND_COST;
    if (builder->failed || !read || builder->function_count != 1 ||
        builder->functions[0].start != start)
        return false;
    if (address - start < builder->functions[0].size)
        *out_function = &builder->functions[0];
    return true;
}

static const struct unwind_row *row_of(const struct builder *builder,
                                       const struct built_function *function, uint64_t address)
{
    const struct unwind_row *row = NULL;

    for (size_t i = 0; function && i < builder->row_count; i++)
        if (builder->rows[i].at <= address - function->start)
            row = &builder->rows[i];
    return row;
}

const struct unwind_row *unwind_table_find(struct unwind_table *table, uint64_t address)
{
    const struct built_function *function;
    size_t page, low, high;
    uint64_t at;

    if (table->search && look_up(table->search, address, &function))
        return row_of(&table->search->builder, function, address);
    unwind_table_complete(table);
    at = address - table->first;
    page = (size_t)(at / UNWIND_PAGE);
    if (address < table->first || address >= table->end)
        return NULL;
    low = table->index[page];
    high = table->index[page + 1] + 1u;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (table->rows[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return table->rows[low].rule == UNWIND_NONE ? NULL : &table->rows[low];
}

/* How many functions of a complete table begin at an address or before. */
static size_t functions_to(const struct unwind_table *table, uint64_t address)
{
    size_t low = 0;

    for (size_t high = table->function_count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (table->first + table->functions[middle].at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool unwind_table_function(struct unwind_table *table, uint64_t address, uint64_t *out_start,
                           uint64_t *out_size)
{
    const struct built_function *function;
    const struct unwind_function *last;
    size_t count;

    *out_start = *out_size = 0;
    if (table->search && look_up(table->search, address, &function)) {
        *out_start = function ? function->start : 0;
        *out_size = function ? function->size : 0;
        return function != NULL;
    }
    unwind_table_complete(table);
    count = functions_to(table, address);
    last = count ? &table->functions[count - 1] : NULL;
    if (!last || address - table->first - last->at >= last->size)
        return false;
    *out_start = table->first + last->at;
    *out_size = last->size;
    return true;
}

bool unwind_table_begins(struct unwind_table *table, uint64_t address)
{
    size_t count;

    if (table->search && load_index(table->search)) {
        int64_t at = (int64_t)(address - table->search->index);

        count = entries_to(table->search, at);
        return count && table->search->sorted[count - 1].function == at;
    }
    unwind_table_complete(table);
    count = functions_to(table, address);
    return count && table->first + table->functions[count - 1].at == address;
}

bool unwind_table_gap(struct unwind_table *table, uint64_t address, uint64_t *out_start,
                      uint64_t *out_end)
{
    const struct unwind_search *search = table->search;
    const struct built_function *function;
    size_t count;

    *out_start = 0;
    *out_end = UINT64_MAX;
    if (search && look_up(table->search, address, &function)) {
        count = entries_to(search, (int64_t)(address - search->index));
        if (count)
            *out_start = search->builder.functions[0].start + search->builder.functions[0].size;
        if (count < search->count)
            *out_end = search->index + (uint64_t)(int64_t)search->sorted[count].function;
        return !function;
    }
    unwind_table_complete(table);
    count = functions_to(table, address);
    if (count)
        *out_start =
            table->first + table->functions[count - 1].at + table->functions[count - 1].size;
    if (count < table->function_count)
        *out_end = table->first + table->functions[count].at;
    return *out_start <= address;
}
