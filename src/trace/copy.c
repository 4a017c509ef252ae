// SPDX-License-Identifier: Apache-2.0
/*
 * Copying blocks under other numbers: see copy.h.
 *
 * Definitions come from the reader's tables, so that replaced ones are not copied. What the columns
 * of the other blocks consist of is a table of patterns below.
 */
#include "trace/copy.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/strings.h"
#include "trace/inputs.h"
#include "trace/reader_internal.h"
#include "trace/samples.h"
#include "trace/writer_internal.h"

#define NS_PER_S 1000000000u

struct trace_copier {
    struct trace_writer *writer;
    struct trace_unpacker unpacker;
    struct ifg_bytes columns[TRACE_COLUMNS_MAX];
    struct ifg_strings modules; /* what makes two modules one, at the number of the module less 1 */
    struct ifg_strings sources;
    /* What the traces before have, so that this one's come behind. */
    uint32_t processes, threads, clocks, frames, nodes, inputs;
    uint64_t samples_lost, allocations_lost;
    /* The trace that is copied. */
    const struct trace_reader *reader;
    struct trace_copy_options options;
    struct {
        uint32_t process, thread, clock, frame, node, input; /* the first of it */
        uint32_t frames, nodes;                              /* how many it says it has */
        uint64_t samples_lost, allocations_lost;
    } own;
    uint32_t *module_numbers; /* by its own number less 1 */
    size_t module_count, module_room;
};

enum ifg_status trace_copier_create(struct trace_writer *writer, struct trace_copier **out_copier,
                                    struct ifg_error *err)
{
    struct trace_copier *copier = ifg_alloc(1, sizeof *copier);

    *out_copier = copier;
    if (!copier)
        return ifg_fail_no_memory(err, "to copy traces");
    copier->writer = writer;
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++)
        ifg_bytes_init(&copier->columns[i], TRACE_PAYLOAD_MAX);
    return IFG_OK;
}

void trace_copier_destroy(struct trace_copier *copier)
{
    if (!copier)
        return;
    trace_unpacker_fini(&copier->unpacker);
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++)
        ifg_bytes_fini(&copier->columns[i]);
    ifg_strings_fini(&copier->modules);
    ifg_strings_fini(&copier->sources);
    ifg_free(copier->module_numbers);
    ifg_free(copier);
}

/* ---- numbers ---- */

static uint32_t system_number(const struct trace_copier *copier, uint32_t number)
{
    return number ? copier->options.number(number, copier->options.user) : 0;
}

/* A number of the file that is 0 for none; those that lead nowhere must not lead into the next. */
static uint64_t moved(uint64_t number, uint32_t first, uint32_t count)
{
    return number && number <= count ? number + first : 0;
}

/* ---- definitions ---- */

/* Which clocks anything is timed by: a file can have one, and say that its number is 60000. False:
 * no memory. */
static bool find_used_clocks(const struct trace_tables *tables, bool **out_used)
{
    bool *used = ifg_alloc(tables->clock_count + 1, sizeof *used);

    *out_used = used;
    for (size_t i = 0; used && i < tables->process_count; i++)
        used[tables->processes[i].clock] = true;
    for (size_t i = 0; used && i < tables->thread_count; i++)
        used[tables->threads[i].clock] |= tables->threads[i].has_clock;
    return used != NULL;
}

static bool define_clocks(const struct trace_copier *copier, const struct trace_tables *tables)
{
    bool *used;

    if (!find_used_clocks(tables, &used))
        return false;
    for (uint32_t i = 0; i < tables->clock_count; i++) {
        const struct trace_clock_entry *clock = &tables->clocks[i];
        bool has_pairs = trace_clock_rate(copier->reader, i).pairs > 0;
        int64_t shift = copier->options.shift_ns;
        struct trace_clock_pair pair = { .ticks = shift < 0 ? (uint64_t)-shift : 0,
                                         .monotonic_ns = shift < 0 ? 0 : (uint64_t)shift };

        if (!used[i] && !has_pairs && !*clock->name)
            continue;
        /* Ticks of a clock without any reading are nanoseconds, whatever its rate is said to be:
         * with a reading, they have to be told so. */
        trace_writer_clock(copier->writer, copier->own.clock + i, clock->kind,
                           has_pairs || !shift ? clock->nominal_hz : NS_PER_S, clock->name);
        pair.realtime_ns = pair.monotonic_ns;
        if (used[i] && !has_pairs && shift)
            trace_writer_clock_pairs(copier->writer, copier->own.clock + i, &pair, 1);
    }
    ifg_free(used);
    return true;
}

static void define_processes(const struct trace_copier *copier, const struct trace_tables *tables)
{
    for (uint32_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *from = &tables->processes[i];

        trace_writer_process(copier->writer,
                             &(struct trace_process){
                                 .index = copier->own.process + i,
                                 .pid = system_number(copier, from->pid),
                                 .parent_pid = system_number(copier, from->parent_pid),
                                 .clock = copier->own.clock + from->clock,
                                 .start_ticks = from->start_ticks,
                                 .program = from->program,
                                 .arguments = from->arguments,
                                 .arguments_bytes = strlen(from->arguments),
                                 .directory = from->directory,
                             });
        if (from->ended)
            trace_writer_process_end(copier->writer, copier->own.process + i, from->end_ticks,
                                     from->fate, from->fate_code);
    }
}

static void define_threads(const struct trace_copier *copier, const struct trace_tables *tables)
{
    for (uint32_t i = 0; i < tables->thread_count; i++) {
        const struct trace_thread_entry *from = &tables->threads[i];

        trace_writer_thread(copier->writer, copier->own.thread + i,
                            copier->own.process + from->process, system_number(copier, from->tid),
                            from->name);
        if (from->has_clock)
            trace_writer_stream_clock(copier->writer, copier->own.thread + i,
                                      copier->own.clock + from->clock);
        if (from->is_device) {
            struct trace_device_stream device = from->device;

            device.thread = copier->own.thread + i;
            trace_writer_device_stream(copier->writer, &device);
        }
    }
}

static void define_rest(const struct trace_copier *copier, const struct trace_tables *tables)
{
    for (size_t i = 0; i < tables->model_count; i++) {
        struct trace_model model = tables->models[i];

        model.process += copier->own.process;
        trace_writer_model(copier->writer, &model);
    }
    for (size_t i = 0; i < tables->location_count; i++) {
        struct trace_location location = tables->locations[i];

        location.process += copier->own.process;
        trace_writer_location(copier->writer, &location);
    }
    for (size_t i = 0; i < tables->property_count; i++)
        trace_writer_model_property(
            copier->writer, copier->own.process + tables->properties[i].process,
            tables->properties[i].model, tables->properties[i].key, tables->properties[i].value);
    for (size_t i = 0; i < tables->loss_count; i++)
        trace_writer_loss(copier->writer, copier->own.process + tables->losses[i].process,
                          tables->losses[i].what, tables->losses[i].count);
}

/* What its blocks say they have. */
static void count_entries(struct trace_copier *copier)
{
    copier->own.frames = copier->own.nodes = 0;
    for (size_t i = 0; i < trace_reader_block_count(copier->reader); i++) {
        const struct trace_block *block = trace_reader_block(copier->reader, i);

        copier->own.frames += block->type == TRACE_BLOCK_FRAMES ? block->count : 0;
        copier->own.nodes += block->type == TRACE_BLOCK_STACKS ? block->count : 0;
    }
}

enum ifg_status trace_copier_begin(struct trace_copier *copier, const struct trace_reader *reader,
                                   const struct trace_copy_options *options,
                                   uint32_t *out_first_process, struct ifg_error *err)
{
    const struct trace_tables *tables = trace_reader_tables(reader);

    copier->reader = reader;
    copier->options = *options;
    copier->module_count = 0;
    copier->own.process = copier->processes;
    copier->own.thread = copier->threads;
    copier->own.clock = copier->clocks;
    copier->own.frame = copier->frames;
    copier->own.node = copier->nodes;
    copier->own.input = copier->inputs;
    copier->own.samples_lost = copier->samples_lost;
    copier->own.allocations_lost = copier->allocations_lost;
    count_entries(copier);
    *out_first_process = copier->processes;
    /* One of each at least: what refers to the first, without there being one, stays apart. */
    copier->processes += tables->process_count ? (uint32_t)tables->process_count : 1;
    copier->threads += tables->thread_count ? (uint32_t)tables->thread_count : 1;
    copier->clocks += tables->clock_count ? (uint32_t)tables->clock_count : 1;
    if (copier->processes > TRACE_INDEX_MAX || copier->threads > TRACE_INDEX_MAX ||
        copier->clocks > TRACE_CLOCK_MAX)
        return ifg_fail(err, IFG_INVALID,
                        "%s: with the traces before it, that is more processes, threads or clocks "
                        "than one trace can have",
                        reader->name);
    if (!define_clocks(copier, tables))
        return ifg_fail_no_memory(err, "to copy %s", reader->name);
    define_processes(copier, tables);
    define_threads(copier, tables);
    define_rest(copier, tables);
    return IFG_OK;
}

/* ---- blocks whose payload stays as it is ---- */

static enum ifg_status copy_payload(struct trace_copier *copier, const struct trace_block *block,
                                    uint32_t stream)
{
    struct trace_block_head head;
    const uint8_t *payload;

    if (!trace_block_at(copier->reader->data, copier->reader->size, block->offset, &head,
                        &payload) ||
        trace_block_plain(head.type) != (uint16_t)block->type || head.stream != block->stream)
        return IFG_CORRUPT;
    head.stream = stream;
    trace_writer_emit_packed(copier->writer, &head, payload);
    trace_reader_touch(copier->reader, TRACE_BLOCK_HEADER_BYTES + head.payload_bytes);
    return IFG_OK;
}

/* ---- columns under other numbers ---- */

/* What the entries of a column are, again and again until it ends: v varint and s string as they
 * are; t time, p system's number, n stack node, f frame, as differences; P system's number, m
 * module, as they are. NULL: the whole column stays as it is. */
static const char *const patterns[TRACE_BLOCK_TYPES][TRACE_COLUMNS_MAX] = {
    [TRACE_BLOCK_FRAMES] = { "m" },
    [TRACE_BLOCK_STACKS] = { "n", "f" },
    [TRACE_BLOCK_SAMPLES] = { "t", "p", "p", NULL, "n" },
    [TRACE_BLOCK_SWITCHES] = { "t", "p", "p", NULL, NULL, "P", "P" },
    [TRACE_BLOCK_SYMBOLS] = { "fvvvv" },
    [TRACE_BLOCK_CODE] = { "mvv" },
    [TRACE_BLOCK_ALLOCATIONS] = { "t", "p", "p", NULL, NULL, NULL, "n" },
    [TRACE_BLOCK_THREAD_NAMES] = { "PPs" },
};

static uint64_t renumber(const struct trace_copier *copier, char what, uint64_t value)
{
    switch (what) {
    case 't':
        return value + (uint64_t)copier->options.shift_ns;
    case 'p':
    case 'P':
        return value <= UINT32_MAX ? system_number(copier, (uint32_t)value) : value;
    case 'n':
        return moved(value, copier->own.node, copier->own.nodes);
    case 'f':
        return moved(value, copier->own.frame, copier->own.frames);
    default:
        return value && value <= copier->module_count ? copier->module_numbers[value - 1] : 0;
    }
}

static bool rewrite_column(struct trace_copier *copier, size_t column, const char *pattern)
{
    struct ifg_cursor in =
        ifg_cursor_over(copier->unpacker.columns[column], copier->unpacker.sizes[column]);
    struct ifg_bytes *out = &copier->columns[column];
    uint64_t last_in = 0, last_out = 0;
    size_t size;

    while (ifg_cursor_left(&in) && !in.failed) {
        for (const char *what = pattern; *what && !in.failed; what++) {
            if (*what == 's') {
                const char *text = ifg_cursor_string(&in, &size);

                ifg_bytes_put_string(out, text, size);
            } else if (*what == 'v') {
                ifg_bytes_put_varint(out, ifg_cursor_varint(&in));
            } else if (*what == 'P' || *what == 'm') {
                ifg_bytes_put_varint(out, renumber(copier, *what, ifg_cursor_varint(&in)));
            } else {
                uint64_t value;

                last_in += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&in));
                value = renumber(copier, *what, last_in);
                ifg_bytes_put_varint(out, ifg_zigzag((int64_t)(value - last_out)));
                last_out = value;
            }
        }
    }
    return !in.failed;
}

/* Writes the block that was unpacked, with those columns that were rewritten. */
static enum ifg_status emit(struct trace_copier *copier, struct trace_block_head *head,
                            const bool rewritten[TRACE_COLUMNS_MAX])
{
    struct trace_column columns[TRACE_COLUMNS_MAX];

    for (size_t i = 0; i < copier->unpacker.count; i++) {
        if (copier->columns[i].failed)
            return IFG_NO_MEMORY;
        columns[i] =
            rewritten[i]
                ? (struct trace_column){ copier->columns[i].data, copier->columns[i].size }
                : (struct trace_column){ copier->unpacker.columns[i], copier->unpacker.sizes[i] };
    }
    trace_writer_emit(copier->writer, head, columns, copier->unpacker.count);
    return IFG_OK;
}

static enum ifg_status copy_columns(struct trace_copier *copier, struct trace_block_head *head)
{
    bool rewritten[TRACE_COLUMNS_MAX] = { false };

    for (size_t i = 0; i < copier->unpacker.count; i++) {
        rewritten[i] = patterns[head->type][i] != NULL;
        if (rewritten[i] && !rewrite_column(copier, i, patterns[head->type][i]))
            return IFG_CORRUPT;
    }
    if (head->type == TRACE_BLOCK_FRAMES)
        copier->frames += head->count;
    if (head->type == TRACE_BLOCK_STACKS)
        copier->nodes += head->count;
    return emit(copier, head, rewritten);
}

/* Samples and allocations: their times are in the header, too, and how many were lost so far. */
static enum ifg_status copy_timed(struct trace_copier *copier, struct trace_block_head *head)
{
    uint64_t before = 0;
    uint64_t *total = NULL;

    head->t0 += (uint64_t)copier->options.shift_ns;
    head->t1 += (uint64_t)copier->options.shift_ns;
    if (head->type == TRACE_BLOCK_SAMPLES) {
        before = copier->own.samples_lost;
        total = &copier->samples_lost;
    } else if (head->type == TRACE_BLOCK_ALLOCATIONS) {
        before = copier->own.allocations_lost;
        total = &copier->allocations_lost;
    }
    head->dropped += before;
    if (total && head->dropped > *total)
        *total = head->dropped;
    return copy_columns(copier, head);
}

/* ---- blocks that are taken apart ---- */

static enum ifg_status copy_clock(struct trace_copier *copier, const struct trace_block_head *head)
{
    struct ifg_cursor in = ifg_cursor_over(copier->unpacker.columns[0], copier->unpacker.sizes[0]);
    struct trace_clock_pair *pairs;
    struct trace_clock_pair pair = { 0 };
    size_t count = 0;

    if (head->count > TRACE_COUNT_MAX || head->count > ifg_cursor_left(&in))
        return IFG_CORRUPT;
    pairs = ifg_alloc(head->count, sizeof *pairs);
    if (!pairs)
        return IFG_NO_MEMORY;
    for (; count < head->count; count++) {
        pair.ticks += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&in));
        pair.monotonic_ns += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&in));
        pair.realtime_ns += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&in));
        if (in.failed)
            break;
        pairs[count] = pair;
        pairs[count].monotonic_ns += (uint64_t)copier->options.shift_ns;
    }
    trace_writer_clock_pairs(copier->writer, copier->own.clock + head->stream, pairs, count);
    ifg_free(pairs);
    return IFG_OK;
}

/* A file is the same module in two traces if its content is, by its build-id; a kernel only as long
 * as it runs; generated code never. False: no memory. */
static bool module_key(const struct trace_copier *copier, const struct trace_module *module,
                       uint32_t number, struct ifg_bytes *out)
{
    bool shared = module->kind == TRACE_MODULE_FILE ? *module->build_id != '\0'
                  : module->kind == TRACE_MODULE_RUNTIME
                      ? false
                      : copier->options.boot_id && *copier->options.boot_id;

    ifg_bytes_put_varint(out, module->kind);
    ifg_bytes_put_string(out, module->path, strlen(module->path));
    ifg_bytes_put_string(out, module->build_id, strlen(module->build_id));
    ifg_bytes_put_string(out, module->note, strlen(module->note));
    if (!shared)
        ifg_bytes_put_varint(out, number);
    else if (module->kind != TRACE_MODULE_FILE)
        ifg_bytes_put_string(out, copier->options.boot_id, strlen(copier->options.boot_id));
    return !out->failed;
}

/* Its number in the other trace; *out_new: it has to be written. 0: no memory. */
static uint32_t module_number(struct trace_copier *copier, const struct trace_module *module,
                              bool *out_new)
{
    uint32_t before = copier->modules.count;
    struct ifg_bytes key;
    uint32_t number = IFG_STRINGS_NONE;

    ifg_bytes_init(&key, TRACE_PAYLOAD_MAX);
    if (module_key(copier, module, before, &key))
        number = ifg_strings_add(&copier->modules, key.data, key.size);
    ifg_bytes_fini(&key);
    *out_new = number == before;
    return number == IFG_STRINGS_NONE ? 0 : number + 1;
}

static enum ifg_status copy_modules(struct trace_copier *copier,
                                    const struct trace_block_head *head)
{
    struct ifg_cursor in = ifg_cursor_over(copier->unpacker.columns[0], copier->unpacker.sizes[0]);
    struct trace_arena arena = { 0 };
    enum ifg_status status = IFG_OK;
    bool no_memory = false;

    for (uint32_t i = 0; i < head->count && !status; i++) {
        uint64_t kind = ifg_cursor_varint(&in);
        uint64_t pid = ifg_cursor_varint(&in);
        struct trace_module module = {
            .kind = kind >= TRACE_MODULE_FILE && kind <= TRACE_MODULE_VDSO
                        ? (enum trace_module_kind)kind
                        : TRACE_MODULE_RUNTIME,
            .pid = pid <= UINT32_MAX ? system_number(copier, (uint32_t)pid) : 0,
        };
        uint32_t number;
        bool is_new = false;

        module.path = trace_arena_string(&arena, &in, &no_memory);
        module.build_id = trace_arena_string(&arena, &in, &no_memory);
        module.note = trace_arena_string(&arena, &in, &no_memory);
        if (in.failed) {
            status = IFG_CORRUPT;
            break;
        }
        number = module_number(copier, &module, &is_new);
        if (!number || no_memory ||
            !IFG_ARRAY_ROOM(copier->module_numbers, copier->module_room, copier->module_count + 1,
                            IFG_ARRAY_ANY))
            status = IFG_NO_MEMORY;
        else
            copier->module_numbers[copier->module_count++] = number;
        if (is_new)
            trace_writer_modules(copier->writer, &module, 1);
    }
    trace_arena_fini(&arena);
    return status;
}

/* The text of a file that another trace has, too, is there already. */
static enum ifg_status copy_source(struct trace_copier *copier, struct trace_block_head *head)
{
    static const bool none[TRACE_COLUMNS_MAX] = { false };
    uint32_t before = copier->sources.count;
    uint32_t number = copier->unpacker.count
                          ? ifg_strings_add(&copier->sources, copier->unpacker.columns[0],
                                            copier->unpacker.sizes[0])
                          : before;

    if (number == IFG_STRINGS_NONE)
        return IFG_NO_MEMORY;
    return number == before ? emit(copier, head, none) : IFG_OK;
}

/* Of captured inputs only whose they are changes: process index and thread number come first. */
static enum ifg_status copy_inputs(struct trace_copier *copier, struct trace_block_head *head)
{
    const bool rewritten[TRACE_COLUMNS_MAX] = { [INPUTS_NUMBERS] = true };
    struct ifg_cursor in = ifg_cursor_over(copier->unpacker.columns[INPUTS_NUMBERS],
                                           copier->unpacker.sizes[INPUTS_NUMBERS]);
    uint64_t process = ifg_cursor_varint(&in);
    uint64_t tid = ifg_cursor_varint(&in);

    if (in.failed || tid > UINT32_MAX ||
        process >= trace_reader_tables(copier->reader)->process_count)
        return IFG_CORRUPT;
    ifg_bytes_put_varint(&copier->columns[INPUTS_NUMBERS], copier->own.process + process);
    ifg_bytes_put_varint(&copier->columns[INPUTS_NUMBERS], system_number(copier, (uint32_t)tid));
    ifg_bytes_put(&copier->columns[INPUTS_NUMBERS], in.at, ifg_cursor_left(&in));
    return emit(copier, head, rewritten);
}

/* Numbers of inputs are given on, those that were incomplete, too. */
static enum ifg_status input_stream(struct trace_copier *copier, uint32_t number, uint32_t *out,
                                    struct ifg_error *err)
{
    if (number > TRACE_INPUTS_MAX || copier->own.input + number > TRACE_INPUTS_MAX)
        return ifg_fail(err, IFG_INVALID, "%s: the traces have inputs of more than %u inferences",
                        copier->reader->name, TRACE_INPUTS_MAX);
    *out = copier->own.input + number;
    copier->inputs = *out > copier->inputs ? *out : copier->inputs;
    return IFG_OK;
}

static enum ifg_status copy_unpacked(struct trace_copier *copier, struct trace_block_head *head)
{
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++)
        ifg_bytes_clear(&copier->columns[i]);
    switch (head->type) {
    case TRACE_BLOCK_CLOCK:
        return copy_clock(copier, head);
    case TRACE_BLOCK_MODULES:
        return copy_modules(copier, head);
    case TRACE_BLOCK_SOURCE:
        return copy_source(copier, head);
    case TRACE_BLOCK_INPUTS:
        return copy_inputs(copier, head);
    case TRACE_BLOCK_SAMPLES:
    case TRACE_BLOCK_SWITCHES:
    case TRACE_BLOCK_ALLOCATIONS:
        return copy_timed(copier, head);
    default:
        return copy_columns(copier, head);
    }
}

enum ifg_status trace_copier_block(struct trace_copier *copier, size_t index, struct ifg_error *err)
{
    const struct trace_block *block = trace_reader_block(copier->reader, index);
    struct trace_block_head head;
    enum ifg_status status;
    uint32_t stream = 0;

    if (block->type == TRACE_BLOCK_DEFINITIONS)
        return IFG_OK;
    if (block->type == TRACE_BLOCK_INPUT_BYTES || block->type == TRACE_BLOCK_INPUTS) {
        status = input_stream(copier, block->stream, &stream, err);
        if (status)
            return status;
    }
    if (block->type == TRACE_BLOCK_INPUT_BYTES)
        return copy_payload(copier, block, stream);
    if (block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS)
        return copy_payload(copier, block, copier->own.thread + block->stream);
    status = trace_open_block(copier->reader, index, block->type, &copier->unpacker, &head, err);
    if (status)
        return status;
    if (block->type == TRACE_BLOCK_INPUTS)
        head.stream = stream;
    status = copy_unpacked(copier, &head);
    return status == IFG_NO_MEMORY
               ? ifg_fail_no_memory(err, "to copy a block of %s", copier->reader->name)
               : status;
}
