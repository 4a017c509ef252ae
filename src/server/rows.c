// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of a track: see rows.h. Picked slices of a thread come in blocks: one with all that lies in
 * it. Blocks are taken by start and put into the lowest rows that are free.
 */
#include "server/rows.h"

#include <string.h>

#include "base/alloc.h"

#define ROWS_MOST    1024u
#define NESTING_MOST 256u

struct member {
    uint32_t id;
    uint16_t depth; /* within its block */
};

struct block {
    uint64_t start_ns;
    uint64_t end_ns;
    size_t first; /* of members */
    uint32_t count;
    uint32_t height;
};

struct gathering {
    const struct server_trace *trace;
    const struct timeline *timeline;
    const uint8_t *picks;
    struct member *members;
    size_t count;
    struct block *blocks;
    size_t block_count;
    size_t *runs; /* where sorted runs of blocks begin */
    size_t run_count;
};

static void begin_block(struct gathering *g, uint64_t start_ns, uint64_t end_ns)
{
    g->blocks[g->block_count++] =
        (struct block){ .start_ns = start_ns, .end_ns = end_ns, .first = g->count };
}

/* Into the last block. */
static void add_member(struct gathering *g, uint32_t id, size_t depth, uint64_t end_ns)
{
    struct block *block = &g->blocks[g->block_count - 1];

    g->members[g->count++] = (struct member){ id, (uint16_t)depth };
    block->count++;
    block->height = depth + 1 > block->height ? (uint32_t)depth + 1 : block->height;
    block->end_ns = end_ns > block->end_ns ? end_ns : block->end_ns;
}

/* A picked slice around others. */
struct around {
    uint64_t end_ns;
    uint16_t depth;
};

/* Slices nest, so one that begins before the end of a lesser depth lies in it. */
static bool lies_in(const struct timeline *timeline, uint32_t id, const struct around *around)
{
    return timeline->start_ns[id] < around->end_ns && timeline->depth[id] > around->depth;
}

/* The slices of one thread, ascending. An inference with operators is a block of these. */
static void gather_thread(struct gathering *g, const uint32_t *ids, size_t count)
{
    const struct timeline *timeline = g->timeline;
    struct around open[NESTING_MOST];
    struct around outline = { 0, 0 };
    size_t nesting = 0;
    bool is_bare = false; /* the outline is the only member of its block */

    for (size_t i = 0; i < count; i++) {
        uint32_t id = ids[i];
        uint8_t pick = g->picks[timeline->location[id]];
        struct around self = { timeline_end_ns(timeline, id), timeline->depth[id] };
        bool in_outline;

        if (pick == ROWS_NO)
            continue;
        while (nesting > 0 && !lies_in(timeline, id, &open[nesting - 1]))
            nesting--;
        in_outline = lies_in(timeline, id, &outline);
        if (pick == ROWS_OUTLINE) {
            if (nesting > 0 || in_outline)
                continue;
            outline = self;
            is_bare = true;
            begin_block(g, timeline->start_ns[id], self.end_ns);
            add_member(g, id, 0, self.end_ns);
            continue;
        }
        if (in_outline && is_bare) { /* there is something in it: no outline */
            g->count--;
            g->blocks[g->block_count - 1].count = 0;
            is_bare = false;
        }
        if (nesting == 0 && !in_outline)
            begin_block(g, timeline->start_ns[id], self.end_ns);
        add_member(g, id, nesting, self.end_ns);
        if (nesting < NESTING_MOST)
            open[nesting++] = self;
    }
}

/* Blocks from `from` on are sorted; the next ones begin a new run. */
static void close_run(struct gathering *g, size_t from)
{
    if (from < g->block_count)
        g->runs[g->run_count++] = from;
}

/* A span that is no slice, as a block of its own. */
static void add_span(struct gathering *g, uint32_t id)
{
    const struct lod_span *span = &g->trace->extras[id - g->timeline->slice_count];

    begin_block(g, span->start_ns, span->start_ns + span->duration_ns);
    add_member(g, id, 0, span->start_ns + span->duration_ns);
}

static void merge(const struct block *a, size_t a_count, const struct block *b, size_t b_count,
                  struct block *out)
{
    while (a_count && b_count) {
        if (b->start_ns < a->start_ns) {
            *out++ = *b++;
            b_count--;
        } else {
            *out++ = *a++;
            a_count--;
        }
    }
    if (a_count)
        memcpy(out, a, a_count * sizeof *a);
    if (b_count)
        memcpy(out, b, b_count * sizeof *b);
}

/* Merges the runs pairwise until there is one. */
static enum ifg_status sort_blocks(struct gathering *g)
{
    struct block *other;

    if (g->run_count < 2)
        return IFG_OK;
    other = ifg_alloc(g->block_count, sizeof *other);
    if (!other)
        return IFG_NO_MEMORY;
    while (g->run_count > 1) {
        struct block *swap = g->blocks;
        size_t kept = 0;

        for (size_t r = 0; r < g->run_count; r += 2) {
            size_t a = g->runs[r];
            size_t b = r + 1 < g->run_count ? g->runs[r + 1] : g->block_count;
            size_t end = r + 2 < g->run_count ? g->runs[r + 2] : g->block_count;

            merge(g->blocks + a, b - a, g->blocks + b, end - b, other + a);
            g->runs[kept++] = a;
        }
        g->run_count = kept;
        g->blocks = other;
        other = swap;
    }
    ifg_free(other);
    return IFG_OK;
}

/* The lowest base such that `height` rows are free from it on. */
static size_t find_rows(uint64_t *free_at, size_t height, uint64_t start_ns, uint64_t end_ns)
{
    size_t base = 0;

    height = height > ROWS_MOST ? ROWS_MOST : height;
    for (size_t row = 0; row < base + height; row++) {
        if (free_at[row] > start_ns) {
            base = row + 1;
            if (base + height > ROWS_MOST) { /* so much at once: the last ones overlap */
                base = ROWS_MOST - height;
                break;
            }
        }
    }
    for (size_t row = base; row < base + height; row++)
        free_at[row] = end_ns > start_ns ? end_ns : start_ns + 1;
    return base;
}

static enum ifg_status place_blocks(const struct gathering *g, struct lod **out_lod)
{
    enum ifg_status status = IFG_NO_MEMORY;
    uint32_t *ids = ifg_alloc(g->count + 1, sizeof *ids);
    uint16_t *rows = ifg_alloc(g->count + 1, sizeof *rows);
    uint64_t *free_at = ifg_alloc(ROWS_MOST, sizeof *free_at);
    size_t count = 0;

    if (!ids || !rows || !free_at)
        goto out;
    for (size_t b = 0; b < g->block_count; b++) {
        const struct block *block = &g->blocks[b];
        size_t base = find_rows(free_at, block->height, block->start_ns, block->end_ns);

        for (size_t i = block->first; i < block->first + block->count; i++) {
            size_t row = base + g->members[i].depth;

            ids[count] = g->members[i].id;
            rows[count++] = (uint16_t)(row < ROWS_MOST ? row : ROWS_MOST - 1);
        }
    }
    status = lod_create_rows(g->timeline, g->timeline->slice_count, g->trace->extras, ids, rows,
                             count, out_lod);
out:
    ifg_free(free_at);
    ifg_free(rows);
    ifg_free(ids);
    return status;
}

static enum ifg_status make_room(struct gathering *g, size_t members)
{
    g->members = ifg_alloc(members + 1, sizeof *g->members);
    g->blocks = ifg_alloc(members + 1, sizeof *g->blocks);
    g->runs = ifg_alloc(g->timeline->thread_count + 2, sizeof *g->runs);
    return g->members && g->blocks && g->runs ? IFG_OK : IFG_NO_MEMORY;
}

static void gathering_fini(struct gathering *g)
{
    ifg_free(g->runs);
    ifg_free(g->blocks);
    ifg_free(g->members);
}

enum ifg_status rows_create(struct server_trace *trace, const struct id_list *from,
                            const uint8_t *picks, struct lod **out_lod)
{
    struct gathering g = { .trace = trace, .timeline = trace->timeline, .picks = picks };
    const struct timeline *timeline = trace->timeline;
    enum ifg_status status;
    size_t members = 0;
    size_t at = 0;
    size_t begin;

    *out_lod = NULL;
    for (size_t i = 0; i < from->count; i++)
        members += picks[timeline->location[from->ids[i]]] != ROWS_NO;
    for (size_t i = 0; i < timeline->async_count; i++)
        members += picks[timeline->asyncs[i].location] == ROWS_YES;
    status = make_room(&g, members);
    if (status)
        goto out;
    for (size_t t = 0; t < timeline->thread_count; t++) {
        size_t end = timeline->threads[t].first_slice + timeline->threads[t].slice_count;
        size_t first = at;

        begin = g.block_count;
        while (at < from->count && from->ids[at] < end)
            at++;
        gather_thread(&g, from->ids + first, at - first);
        close_run(&g, begin);
    }
    begin = g.block_count;
    for (size_t i = 0; i < timeline->async_count; i++)
        if (picks[timeline->asyncs[i].location] == ROWS_YES)
            add_span(&g, (uint32_t)(timeline->slice_count + i));
    close_run(&g, begin);
    status = sort_blocks(&g);
    if (!status)
        status = place_blocks(&g, out_lod);
out:
    gathering_fini(&g);
    return status;
}

enum ifg_status rows_pack(struct server_trace *trace, const uint32_t *ids, size_t count,
                          struct lod **out_lod)
{
    struct gathering g = { .trace = trace, .timeline = trace->timeline };
    enum ifg_status status;

    *out_lod = NULL;
    status = make_room(&g, count);
    if (status)
        goto out;
    for (size_t i = 0; i < count; i++)
        add_span(&g, ids[i]);
    close_run(&g, 0);
    status = place_blocks(&g, out_lod);
out:
    gathering_fini(&g);
    return status;
}
