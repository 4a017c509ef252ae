// SPDX-License-Identifier: Apache-2.0
/*
 * Functions by samples: see hot.h.
 *
 * Samples are counted at the nodes of the tree of stacks; sums go from the leaves to the roots; one
 * walk from the roots down then knows at each node which functions are around it, so that recursion
 * counts once. Time and memory depend on samples plus nodes, however deep stacks are.
 */
#include "analyze/hot.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/hot_internal.h"
#include "base/alloc.h"

#define CALLERS_MAX 64u /* that are looked at for a name */

/* Everything that lives as long as the result. */
struct hot_memory {
    uint32_t *frame_self;
    uint32_t *frame_total;
    struct hot_line *lines;
    struct hot_address *addresses;
};

struct tree {
    const struct timeline_profile *profile;
    uint32_t *own;       /* samples that end at a node; by number */
    uint32_t *all;       /* and below it */
    uint32_t *certain;   /* of these, those for which the way up to the node is certain */
    uint32_t *child;     /* first one; 0: the roots */
    uint32_t *sibling;   /* next one */
    uint32_t *functions; /* how often each is around the node of the walk */
    uint32_t *frames;    /* same */
    bool *doubtful;      /* a way to the root that is not certain */
};

/* What is known of each function of the program; by its index. */
struct sums {
    uint64_t *self;
    uint64_t *total;
    uint64_t *inferred;
    uint32_t *best; /* its frame with most samples */

    /* Of functions without a name: the named caller that most of their samples have, by votes. */
    uint32_t *under; /* index + 1 */
    uint64_t *votes;
};

static bool tree_init(struct tree *tree, const struct timeline_profile *profile)
{
    size_t nodes = profile->trace->node_count + 1;
    const struct trace_stack_node *node = profile->trace->nodes;

    *tree = (struct tree){
        .profile = profile,
        .own = ifg_alloc(nodes, sizeof(uint32_t)),
        .all = ifg_alloc(nodes, sizeof(uint32_t)),
        .certain = ifg_alloc(nodes, sizeof(uint32_t)),
        .child = ifg_alloc(nodes, sizeof(uint32_t)),
        .sibling = ifg_alloc(nodes, sizeof(uint32_t)),
        .functions = ifg_alloc(profile->function_count + 1, sizeof(uint32_t)),
        .frames = ifg_alloc(profile->trace->frame_count + 1, sizeof(uint32_t)),
        .doubtful = ifg_alloc(nodes, sizeof(bool)),
    };
    if (!tree->own || !tree->all || !tree->certain || !tree->child || !tree->sibling ||
        !tree->functions || !tree->frames || !tree->doubtful)
        return false;
    for (size_t i = nodes; i-- > 1;) {
        uint32_t parent = node[i - 1].parent;

        tree->sibling[i] = tree->child[parent];
        tree->child[parent] = (uint32_t)i;
    }
    for (size_t i = 1; i < nodes; i++)
        tree->doubtful[i] = node[i - 1].inferred || tree->doubtful[node[i - 1].parent];
    return true;
}

static void tree_fini(struct tree *tree)
{
    ifg_free(tree->own);
    ifg_free(tree->all);
    ifg_free(tree->certain);
    ifg_free(tree->child);
    ifg_free(tree->sibling);
    ifg_free(tree->functions);
    ifg_free(tree->frames);
    ifg_free(tree->doubtful);
}

static void count_samples(struct hot *hot, struct tree *tree, const struct hot_wanted *wanted)
{
    const struct timeline_profile *profile = tree->profile;

    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct timeline_sample *sample = &profile->samples[i];

        if (!hot_wants(wanted, sample))
            continue;
        hot->samples++;
        hot->rooted += sample->end == TRACE_STACK_ROOT && sample->stack;
        hot->in_kernel += sample->in_kernel;
        hot->no_stack += !sample->stack;
        hot->inferred += tree->doubtful[sample->stack];
        hot->lent += sample->join == TIMELINE_JOIN_LENT;
        hot->several += sample->join == TIMELINE_JOIN_SEVERAL;
        tree->own[sample->stack]++;
    }
}

static void sum_up(struct tree *tree)
{
    const struct trace_stack_node *node = tree->profile->trace->nodes;

    for (size_t i = tree->profile->trace->node_count; i > 0; i--) {
        tree->all[i] += tree->own[i];
        tree->certain[i] += tree->own[i];
        if (node[i - 1].parent) {
            tree->all[node[i - 1].parent] += tree->all[i];
            tree->certain[node[i - 1].parent] += node[i - 1].inferred ? 0 : tree->certain[i];
        }
    }
}

/* Every operator computes through the pool of threads: it says nothing. */
static bool is_pool(const char *name)
{
    return strstr(name, "ThreadPool") || strstr(name, "::concurrency::");
}

/* Functions of stripped libraries are told apart by whose work they do. */
static void vote(const struct tree *tree, uint32_t at, struct sums *sums)
{
    const struct timeline_profile *profile = tree->profile;
    const struct trace_stack_node *nodes = profile->trace->nodes;
    uint32_t function = profile->function_of[nodes[at - 1].frame];
    uint64_t count = tree->own[at];
    uint32_t found = 0;
    bool sure = false;

    if (*profile->functions[function].name)
        return;
    for (unsigned i = 0; i < CALLERS_MAX && nodes[at - 1].parent && !sure; i++) {
        uint32_t caller;

        at = nodes[at - 1].parent;
        caller = profile->function_of[nodes[at - 1].frame];
        if (*profile->functions[caller].name &&
            profile->functions[caller].module == profile->functions[function].module) {
            sure = !is_pool(profile->functions[caller].name);
            if (sure || !found)
                found = caller + 1;
        }
    }
    if (sums->under[function] == found) {
        sums->votes[function] += count;
    } else if (sums->votes[function] < count) {
        sums->under[function] = found;
        sums->votes[function] = count - sums->votes[function];
    } else {
        sums->votes[function] -= count;
    }
}

static void enter(struct tree *tree, uint32_t at, struct hot_memory *memory, struct sums *sums)
{
    uint32_t frame = tree->profile->trace->nodes[at - 1].frame;
    uint32_t function = tree->profile->function_of[frame];

    memory->frame_self[frame] += tree->own[at];
    sums->self[function] += tree->own[at];
    if (tree->own[at])
        vote(tree, at, sums);
    if (tree->frames[frame]++ == 0)
        memory->frame_total[frame] += tree->all[at];
    if (tree->functions[function]++ == 0) {
        sums->total[function] += tree->all[at];
        sums->inferred[function] += tree->all[at] - tree->certain[at];
    }
}

static void leave(struct tree *tree, uint32_t at)
{
    uint32_t frame = tree->profile->trace->nodes[at - 1].frame;

    tree->frames[frame]--;
    tree->functions[tree->profile->function_of[frame]]--;
}

static void walk(struct tree *tree, struct hot_memory *memory, struct sums *sums)
{
    const struct trace_stack_node *node = tree->profile->trace->nodes;
    uint32_t at = tree->child[0];

    while (at) {
        enter(tree, at, memory, sums);
        if (tree->child[at]) {
            at = tree->child[at];
            continue;
        }
        while (at) {
            leave(tree, at);
            if (tree->sibling[at]) {
                at = tree->sibling[at];
                break;
            }
            at = node[at - 1].parent;
        }
    }
    /* Samples of which nothing is known. */
    memory->frame_self[0] += tree->own[0];
    memory->frame_total[0] += tree->own[0];
    sums->self[tree->profile->function_of[0]] += tree->own[0];
    sums->total[tree->profile->function_of[0]] += tree->own[0];
}

/* ---- rows ---- */

static int by_self(const void *a, const void *b)
{
    const struct hot_row *left = a;
    const struct hot_row *right = b;

    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    if (left->total != right->total)
        return left->total > right->total ? -1 : 1;
    if (strcmp(left->name, right->name) != 0)
        return strcmp(left->name, right->name);
    return left->function < right->function ? -1 : left->function > right->function;
}

static int by_function(const void *a, const void *b)
{
    const struct hot_row *left = a;
    const struct hot_row *right = b;

    return left->function < right->function ? -1 : left->function > right->function;
}

static bool add_row(struct hot *hot, const struct timeline_profile *profile, uint32_t function,
                    const struct sums *sums, const struct hot_filter *filter)
{
    struct hot_row *row = &hot->rows[hot->row_count];
    const struct trace_symbol *symbol;
    size_t symbols = timeline_frame_symbols(profile, sums->best[function], &symbol);
    char text[256];
    const char *name = timeline_function_name(profile, function, text, sizeof text);

    if (filter->name_matches && !filter->name_matches(name, filter->user))
        return true;
    *row = (struct hot_row){
        .function = function,
        .name = ifg_strdup(name),
        .module = timeline_module_name(profile, profile->functions[function].module),
        .file = symbols ? symbol[symbols - 1].file : "",
        .line = symbols ? symbol[symbols - 1].line : 0,
        .under = sums->under[function] ? profile->functions[sums->under[function] - 1].name : "",
        .guessed = profile->functions[function].guessed,
        .self = sums->self[function],
        .total = sums->total[function],
        .total_inferred = sums->inferred[function],
    };
    hot->row_count += row->name != NULL;
    return row->name != NULL;
}

static bool make_rows(struct hot *hot, const struct timeline_profile *profile, struct sums *sums,
                      const struct hot_filter *filter)
{
    size_t count = 0;

    for (size_t f = 0; f <= profile->trace->frame_count; f++) {
        uint32_t *best = &sums->best[profile->function_of[f]];

        if (hot->frame_total[f] && (!*best || hot->frame_self[f] > hot->frame_self[*best]))
            *best = (uint32_t)f;
    }
    for (size_t r = 0; r < profile->function_count; r++)
        count += sums->total[r] > 0;
    hot->rows = ifg_alloc(count, sizeof *hot->rows);
    if (!hot->rows)
        return false;
    for (size_t r = 0; r < profile->function_count; r++)
        if (sums->total[r] && !add_row(hot, profile, (uint32_t)r, sums, filter))
            return false;
    return true;
}

static int compare_lines(const void *a, const void *b)
{
    const struct hot_line *left = a;
    const struct hot_line *right = b;
    int order;

    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    order = strcmp(left->file, right->file);
    return order ? order : strcmp(left->innermost, right->innermost);
}

static int hottest_line(const void *a, const void *b)
{
    const struct hot_line *left = a;
    const struct hot_line *right = b;

    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    return compare_lines(a, b);
}

static int hottest_address(const void *a, const void *b, void *user)
{
    const uint32_t *function_of = user;
    const struct hot_address *left = a;
    const struct hot_address *right = b;

    if (function_of[left->frame] != function_of[right->frame])
        return function_of[left->frame] < function_of[right->frame] ? -1 : 1;
    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    return left->address < right->address ? -1 : left->address > right->address;
}

/* Gives every row its part of two arrays that are sorted by function. */
static void hand_out(struct hot *hot, const struct timeline_profile *profile,
                     const struct hot_memory *memory, size_t lines, size_t addresses)
{
    size_t line = 0;
    size_t address = 0;

    qsort(hot->rows, hot->row_count, sizeof *hot->rows, by_function);
    for (size_t i = 0; i < hot->row_count; i++) {
        struct hot_row *row = &hot->rows[i];

        while (line < lines && memory->lines[line].function < row->function)
            line++;
        while (address < addresses &&
               profile->function_of[memory->addresses[address].frame] < row->function)
            address++;
        row->lines = memory->lines + line;
        while (line < lines && memory->lines[line].function == row->function) {
            line++;
            row->line_count++;
        }
        row->addresses = memory->addresses + address;
        while (address < addresses &&
               profile->function_of[memory->addresses[address].frame] == row->function) {
            address++;
            row->address_count++;
        }
    }
}

static bool make_details(struct hot *hot, const struct timeline_profile *profile,
                         struct hot_memory *memory)
{
    size_t count = 0, lines = 0, merged = 0;

    for (size_t f = 1; f <= profile->trace->frame_count; f++)
        count += hot->frame_self[f] > 0;
    memory->lines = ifg_alloc(count, sizeof *memory->lines);
    memory->addresses = ifg_alloc(count, sizeof *memory->addresses);
    if (!memory->lines || !memory->addresses)
        return false;
    count = 0;
    for (size_t f = 1; f <= profile->trace->frame_count; f++) {
        const struct trace_symbol *symbol;
        uint64_t self = hot->frame_self[f];

        if (!self)
            continue;
        memory->addresses[count++] =
            (struct hot_address){ (uint32_t)f, profile->trace->frames[f - 1].address, self };
        if (timeline_frame_symbols(profile, (uint32_t)f, &symbol) && symbol->line)
            memory->lines[lines++] = (struct hot_line){ profile->function_of[f], symbol->function,
                                                        symbol->file, symbol->line, self };
    }
    qsort(memory->lines, lines, sizeof *memory->lines, compare_lines);
    for (size_t i = 0; i < lines; i++) {
        if (merged && compare_lines(&memory->lines[merged - 1], &memory->lines[i]) == 0)
            memory->lines[merged - 1].self += memory->lines[i].self;
        else
            memory->lines[merged++] = memory->lines[i];
    }
    qsort(memory->lines, merged, sizeof *memory->lines, hottest_line);
    qsort_r(memory->addresses, count, sizeof *memory->addresses, hottest_address,
            (void *)(uintptr_t)profile->function_of);
    hand_out(hot, profile, memory, merged, count);
    return true;
}

static int hottest_module(const void *a, const void *b)
{
    const struct hot_module *left = a;
    const struct hot_module *right = b;

    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    return left->module < right->module ? -1 : left->module > right->module;
}

static bool make_modules(struct hot *hot, const struct timeline_profile *profile,
                         const struct sums *sums)
{
    size_t count = profile->trace->module_count + 1;
    struct hot_module *modules = ifg_alloc(count, sizeof *modules);

    hot->modules = modules;
    if (!modules)
        return false;
    for (size_t i = 0; i < count; i++) {
        modules[i].module = (uint32_t)i;
        modules[i].name = timeline_module_name(profile, (uint32_t)i);
    }
    for (size_t r = 0; r < profile->function_count; r++)
        modules[profile->functions[r].module].self += sums->self[r];
    qsort(modules, count, sizeof *modules, hottest_module);
    while (hot->module_count < count && modules[hot->module_count].self)
        hot->module_count++;
    return true;
}

static bool fill(struct hot *hot, const struct timeline *timeline,
                 const struct timeline_profile *profile, const struct hot_filter *filter)
{
    struct hot_memory *memory = hot->memory;
    size_t frames = profile->trace->frame_count + 1;
    size_t functions = profile->function_count + 1;
    struct sums sums = {
        ifg_alloc(functions, sizeof(uint64_t)), ifg_alloc(functions, sizeof(uint64_t)),
        ifg_alloc(functions, sizeof(uint64_t)), ifg_alloc(functions, sizeof(uint32_t)),
        ifg_alloc(functions, sizeof(uint32_t)), ifg_alloc(functions, sizeof(uint64_t)),
    };
    struct hot_wanted wanted;
    struct tree tree;
    bool good = tree_init(&tree, profile);

    good = hot_wanted_init(&wanted, timeline, profile, filter) && good;
    hot->frame_self = memory->frame_self = ifg_alloc(frames, sizeof(uint32_t));
    hot->frame_total = memory->frame_total = ifg_alloc(frames, sizeof(uint32_t));
    good = good && sums.self && sums.total && sums.inferred && sums.best && sums.under &&
           sums.votes && hot->frame_self && hot->frame_total;
    if (good) {
        count_samples(hot, &tree, &wanted);
        sum_up(&tree);
        walk(&tree, memory, &sums);
        good = make_rows(hot, profile, &sums, filter) && make_details(hot, profile, memory) &&
               make_modules(hot, profile, &sums);
    }
    if (good)
        qsort(hot->rows, hot->row_count, sizeof *hot->rows, by_self);
    hot_wanted_fini(&wanted);
    tree_fini(&tree);
    ifg_free(sums.self);
    ifg_free(sums.total);
    ifg_free(sums.inferred);
    ifg_free(sums.best);
    ifg_free(sums.under);
    ifg_free(sums.votes);
    return good;
}

enum ifg_status hot_create(const struct timeline *timeline, const struct hot_filter *filter,
                           struct hot **out_hot, struct ifg_error *err)
{
    const struct timeline_profile *profile;
    struct hot *hot = NULL;
    enum ifg_status status = timeline_profile_get(timeline, &profile, err);

    *out_hot = NULL;
    if (status)
        return status;
    hot = ifg_alloc(1, sizeof *hot);
    if (hot)
        hot->memory = ifg_alloc(1, sizeof(struct hot_memory));
    if (!hot || !hot->memory || (profile && !fill(hot, timeline, profile, filter))) {
        hot_destroy(hot);
        return ifg_fail_no_memory(err, "for functions by samples");
    }
    *out_hot = hot;
    return IFG_OK;
}

void hot_destroy(struct hot *hot)
{
    struct hot_memory *memory;

    if (!hot)
        return;
    memory = hot->memory;
    if (memory) {
        ifg_free(memory->frame_self);
        ifg_free(memory->frame_total);
        ifg_free(memory->lines);
        ifg_free(memory->addresses);
    }
    ifg_free(memory);
    for (size_t i = 0; i < hot->row_count; i++)
        ifg_free((char *)(uintptr_t)hot->rows[i].name);
    ifg_free(hot->rows);
    ifg_free(hot->modules);
    ifg_free(hot);
}
