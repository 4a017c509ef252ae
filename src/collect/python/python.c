// SPDX-License-Identifier: Apache-2.0
/* Interpreters, chains that wait for their samples, and the names behind them: see python.h. */
#include "collect/python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/ticks.h"
#include "collect/python/chain.h"
#include "collect/python/code.h"
#include "collect/python/layout.h"

#define PROCESSES_MAX    1024u
#define CODES_MAX        (1u << 17)
#define CODE_BYTES_MAX   1024u
#define LINES_MAX        (256u << 10)       /* bytes of one table of lines */
#define MEMORY_MAX       ((size_t)64 << 20) /* of all tables and texts */
#define QUEUES           256u
#define WAITING_MAX      16384u      /* chains whose samples are still to come */
#define APART_NS         400000ull   /* between a chain and its sample, at most */
#define LOOK_NS          20000000ull /* whether an interpreter is ready */
#define LOOKS_MAX        3000u
#define INTERPRETERS_MAX 16u
#define TAG_BITS         3ull /* that an address of code may have set */
#define VERSION_LEAST    8u

struct range {
    uint64_t start, end;
};

struct process {
    uint32_t pid, module;
    enum { PENDING, READY, REFUSED } state;
    unsigned looks;
    struct python_layout layout;
    bool has_layout;
    unsigned named_version;    /* what the file's name says; 0: nothing */
    uint64_t runtime, version; /* addresses of _PyRuntime and Py_Version; 0: there is none */
    uint64_t code_type, text_type, bytes_type;
    struct range runs[2]; /* of the C function that runs Python code, in the file */
};

struct code {
    uint32_t pid;
    uint64_t address;
    uint32_t print;
    char *name, *file; /* NULL: it could not be believed */
    uint8_t *lines;
    uint32_t line_bytes;
    uint32_t first_line;
};

struct waiting {
    struct waiting *next;
    struct chain_record record; /* as many frames as it has */
};

struct python {
    struct chain *chain;
    struct process *processes;
    size_t process_count, process_room;
    struct code *codes;
    size_t code_count, code_room;
    struct ifg_index code_index;
    size_t memory;
    struct waiting *queues[QUEUES]; /* by thread, the oldest first */
    size_t waiting;
    uint64_t looked_ns;
    struct python_counts counts;
    struct python_stack stack;
};

enum ifg_status python_open(struct python **out_python, struct ifg_error *err)
{
    struct python *python = ifg_alloc(1, sizeof *python);
    enum ifg_status status;

    *out_python = NULL;
    if (!python)
        return ifg_fail_no_memory(err, "for Python frames");
    status = chain_open(&python->chain, err);
    if (status)
        python_close(python);
    else
        *out_python = python;
    return status;
}

void python_close(struct python *python)
{
    if (!python)
        return;
    chain_close(python->chain);
    for (size_t i = 0; i < QUEUES; i++)
        while (python->queues[i]) {
            struct waiting *first = python->queues[i];

            python->queues[i] = first->next;
            ifg_free(first);
        }
    for (size_t i = 0; i < python->code_count; i++) {
        ifg_free(python->codes[i].name);
        ifg_free(python->codes[i].file);
        ifg_free(python->codes[i].lines);
    }
    ifg_free(python->codes);
    ifg_index_fini(&python->code_index);
    ifg_free(python->processes);
    ifg_free(python);
}

int python_program(const struct python *python)
{
    return chain_program(python->chain);
}

/* ---- the program's memory ---- */

static bool read_memory(uint32_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = { out, size };
    struct iovec there = { .iov_len = size };

    if (!address)
        return false;
    memcpy(&there.iov_base, &address, sizeof there.iov_base); /* a number to us */
    return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static uint64_t read_word(uint32_t pid, uint64_t address)
{
    uint64_t value;

    return read_memory(pid, address, &value, sizeof value) ? value : 0;
}

static uint64_t word_at(const uint8_t *bytes, size_t offset)
{
    uint64_t value;

    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* ---- interpreters ---- */

static struct process *process_of(const struct python *python, uint32_t pid)
{
    for (size_t i = 0; i < python->process_count; i++)
        if (python->processes[i].pid == pid)
            return &python->processes[i];
    return NULL;
}

static uint64_t symbol_at(struct elf_file *elf, const char *name, uint64_t bias)
{
    struct elf_symbol symbol;

    return elf_file_symbol(elf, name, &symbol, NULL) == IFG_OK && symbol.defined
               ? symbol.value + bias
               : 0;
}

/* 3.n of "python3.n" or "libpython3.n.so.1.0"; 0: neither. */
static unsigned version_in_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = strstr(slash ? slash : path, "python3.");

    return name ? (unsigned)strtoul(name + strlen("python3."), NULL, 10) : 0;
}

static void find_runs(struct elf_file *elf, struct process *process)
{
    struct elf_symbol symbol;

    if (elf_file_symbol(elf, "_PyEval_EvalFrameDefault", &symbol, NULL) == IFG_OK && symbol.size)
        process->runs[0] = (struct range){ symbol.value, symbol.value + symbol.size };
    /* Compilers put what is hardly ever executed elsewhere. */
    if (elf_file_debug_symbol(elf, "_PyEval_EvalFrameDefault.cold", &symbol, NULL) == IFG_OK)
        process->runs[1] = (struct range){ symbol.value, symbol.value + symbol.size };
}

bool python_is_named(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0;
}

bool python_mapped(struct python *python, uint32_t pid, struct elf_file *elf, const char *path,
                   uint64_t bias, uint32_t module)
{
    struct process process = { .pid = pid, .module = module };

    if (!python_is_named(path) || process_of(python, pid))
        return false;
    process.runtime = symbol_at(elf, "_PyRuntime", bias);
    if (!process.runtime)
        return false;
    process.version = symbol_at(elf, "Py_Version", bias);
    process.named_version = version_in_name(path);
    process.code_type = symbol_at(elf, "PyCode_Type", bias);
    process.text_type = symbol_at(elf, "PyUnicode_Type", bias);
    process.bytes_type = symbol_at(elf, "PyBytes_Type", bias);
    find_runs(elf, &process);
    if (!IFG_ARRAY_ROOM(python->processes, python->process_room, python->process_count + 1,
                        PROCESSES_MAX))
        return false;
    python->processes[python->process_count++] = process;
    python->looked_ns = 0;
    return true;
}

void python_forked(struct python *python, uint32_t parent, uint32_t pid)
{
    const struct process *process;

    python_dropped(python, pid);
    process = process_of(python, parent);
    if (!process || !IFG_ARRAY_ROOM(python->processes, python->process_room,
                                    python->process_count + 1, PROCESSES_MAX))
        return;
    process = process_of(python, parent); /* they may have moved */
    python->processes[python->process_count] = *process;
    python->processes[python->process_count].pid = pid;
    if (process->state == READY)
        chain_put(python->chain, pid, &process->layout.chain);
    python->process_count++;
}

void python_dropped(struct python *python, uint32_t pid)
{
    struct process *process = process_of(python, pid);

    if (!process)
        return;
    if (process->state == READY)
        chain_drop(python->chain, pid);
    *process = python->processes[--python->process_count];
}

/* What version it is, and so where things are. False: it cannot be known, now or ever. */
static bool find_layout(struct process *process)
{
    uint64_t version = process->version ? read_word(process->pid, process->version) : 0;
    unsigned minor = process->version ? (unsigned)(version >> 16 & 0xff) : process->named_version;
    uint8_t offsets[PYTHON_OFFSETS_BYTES];

    if (process->version ? version >> 24 != 3 : minor < VERSION_LEAST || minor > 10)
        return false;
    if (python_layout_known(minor, &process->layout))
        return true;
    return read_memory(process->pid, process->runtime, offsets, sizeof offsets) &&
           python_layout_parse(offsets, sizeof offsets, &process->layout) &&
           process->layout.minor == minor;
}

static uint64_t main_interpreter(const struct process *process)
{
    const struct python_layout *layout = &process->layout;
    uint64_t found = read_word(process->pid, process->runtime + layout->runtime_interpreter);

    for (unsigned i = 0; layout->interpreter_next && found && i < INTERPRETERS_MAX; i++) {
        uint64_t next = read_word(process->pid, found + layout->interpreter_next);

        if (!next)
            return found;
        found = next;
    }
    return layout->interpreter_next ? 0 : found;
}

/* An interpreter is ready when it has a thread, and that knows its interpreter. */
static void look_at(struct python *python, struct process *process)
{
    struct python_layout *layout = &process->layout;
    uint64_t interpreter, thread;

    if (!process->has_layout && !find_layout(process)) {
        if (++process->looks < 5) /* it may not even be mapped yet */
            return;
        process->state = REFUSED;
        python->counts.unknown = true;
        return;
    }
    process->has_layout = true;
    interpreter = main_interpreter(process);
    thread = interpreter ? read_word(process->pid, interpreter + layout->interpreter_threads) : 0;
    if (!thread || read_word(process->pid, thread + layout->thread_interpreter) != interpreter ||
        !read_word(process->pid, thread + layout->chain.thread_id)) {
        if (++process->looks > LOOKS_MAX)
            process->state = REFUSED;
        return;
    }
    layout->chain.threads = interpreter + layout->interpreter_threads;
    process->state = REFUSED;
    if (!process->code_type || !process->text_type || !process->bytes_type ||
        !process->runs[0].end || !chain_put(python->chain, process->pid, &layout->chain)) {
        python->counts.unknown = true;
        return;
    }
    process->state = READY;
    python->counts.versions |= 1ull << layout->minor;
}

/* ---- code ---- */

static bool is_shim(const struct python_layout *layout, const struct chain_frame *frame)
{
    return layout->chain.shim_owner && frame->owner >= layout->chain.shim_owner;
}

static uint64_t hash_code(const void *codes, size_t position)
{
    const struct code *code = (const struct code *)codes + position;

    return ifg_hash_pair(code->address ^ code->pid, code->print);
}

static bool is_same_code(const void *codes, size_t position, const void *wanted)
{
    const struct code *code = (const struct code *)codes + position;
    const struct code *other = wanted;

    return code->address == other->address && code->print == other->print &&
           code->pid == other->pid;
}

static bool read_text(const struct process *process, uint64_t address, char *out, size_t size)
{
    uint8_t characters[PYTHON_TEXT_MAX * 4];
    uint8_t head[PYTHON_TEXT_HEAD];
    struct python_text text;
    size_t bytes;

    if (!read_memory(process->pid, address, head, process->layout.ascii_bytes) ||
        word_at(head, 8) != process->text_type ||
        !python_text_head(&process->layout, head, process->layout.ascii_bytes, &text))
        return false;
    bytes = (size_t)text.length * text.width;
    return (!bytes || read_memory(process->pid, address + text.at, characters, bytes)) &&
           python_text_copy(&text, characters, bytes, out, size);
}

static bool read_lines(struct python *python, const struct process *process, uint64_t address,
                       struct code *code)
{
    uint8_t head[32];
    uint64_t size;

    if (!read_memory(process->pid, address, head, sizeof head) ||
        word_at(head, 8) != process->bytes_type)
        return false;
    size = word_at(head, 16);
    if (size > LINES_MAX || python->memory + size > MEMORY_MAX)
        return false;
    code->lines = ifg_alloc(size ? (size_t)size : 1, 1);
    if (!code->lines ||
        (size && !read_memory(process->pid, address + 32, code->lines, (size_t)size)))
        return false;
    code->line_bytes = (uint32_t)size;
    python->memory += size;
    return true;
}

/* The last part of a path. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* All of a code object, or nothing: it must be what the kernel saw, and of the right types. */
static bool read_code(struct python *python, const struct process *process, struct code *code)
{
    const struct python_layout *layout = &process->layout;
    char name[PYTHON_TEXT_MAX], file[PYTHON_TEXT_MAX], shown[2 * PYTHON_TEXT_MAX + 16];
    uint8_t bytes[CODE_BYTES_MAX], again[CODE_BYTES_MAX];
    uint64_t name_at, file_at, own;
    uint32_t line, version = 0;

    if (layout->code_bytes > sizeof bytes ||
        !read_memory(process->pid, code->address, bytes, layout->code_bytes) ||
        word_at(bytes, 8) != process->code_type)
        return false;
    name_at = word_at(bytes, layout->chain.code_name);
    file_at = word_at(bytes, layout->chain.code_file);
    memcpy(&line, bytes + layout->chain.code_line, sizeof line);
    if (layout->chain.code_version)
        memcpy(&version, bytes + layout->chain.code_version, sizeof version);
    own = layout->chain.code_version ? version
                                     : read_word(process->pid, name_at + layout->chain.text_hash);
    if (chain_print(line, file_at, name_at, own) != code->print || line > INT32_MAX)
        return false;
    if (layout->code_qualified_name)
        name_at = word_at(bytes, layout->code_qualified_name);
    if (!read_text(process, name_at, name, sizeof name) ||
        !read_text(process, file_at, file, sizeof file) ||
        !read_lines(python, process, word_at(bytes, layout->code_lines), code))
        return false;
    /* It was not freed meanwhile: then the rest was its own, too. The first word counts users. */
    if (!read_memory(process->pid, code->address, again, layout->code_bytes) ||
        memcmp(bytes + 8, again + 8, 8) != 0 ||
        word_at(bytes, layout->chain.code_name) != word_at(again, layout->chain.code_name) ||
        word_at(bytes, layout->chain.code_file) != word_at(again, layout->chain.code_file) ||
        word_at(bytes, layout->code_lines) != word_at(again, layout->code_lines))
        return false;
    code->first_line = line;
    snprintf(shown, sizeof shown, "%s (%s:%u)", name, short_path(file), line);
    python->memory += strlen(shown) + strlen(file) + 2;
    code->name = python->memory <= MEMORY_MAX ? ifg_strdup(shown) : NULL;
    code->file = code->name ? ifg_strdup(file) : NULL;
    return code->name && code->file;
}

/* Its number; 0: it cannot be believed. */
static uint32_t find_code(struct python *python, const struct process *process, uint64_t address,
                          uint32_t print)
{
    struct code code = { .pid = process->pid, .address = address, .print = print };
    uint64_t hash = hash_code(&code, 0);
    uint32_t number = ifg_index_find(&python->code_index, hash, is_same_code, python->codes, &code);

    if (!number) {
        if (!IFG_ARRAY_ROOM(python->codes, python->code_room, python->code_count + 1, CODES_MAX) ||
            !ifg_index_room(&python->code_index, python->code_count, hash_code, python->codes))
            return 0;
        if (!read_code(python, process, &code)) {
            ifg_free(code.name);
            ifg_free(code.file);
            ifg_free(code.lines);
            code.name = code.file = NULL;
            code.lines = NULL;
        }
        python->codes[python->code_count] = code;
        ifg_index_put(&python->code_index, hash, python->code_count++);
        number = (uint32_t)python->code_count;
    }
    return python->codes[number - 1].name ? number : 0;
}

static uint32_t line_of(const struct python *python, const struct python_layout *layout,
                        const struct chain_frame *frame, uint32_t number)
{
    const struct code *code = &python->codes[number - 1];
    uint64_t begin = code->address + layout->code_instructions;
    uint64_t offset;

    if (!layout->code_instructions) {
        int32_t last = (int32_t)(uint32_t)frame->instruction;

        if (last < 0) /* it has not begun */
            return code->first_line;
        offset = (uint64_t)last * layout->instruction_unit;
    } else {
        if (frame->instruction + 2 == begin) /* likewise: before the first one */
            return code->first_line;
        offset = frame->instruction - begin;
        if (frame->instruction < begin)
            return 0;
    }
    return python_line(layout->lines, code->lines, code->line_bytes, code->first_line, offset);
}

/* ---- chains that wait for their samples ---- */

static void forget_oldest(struct python *python)
{
    struct waiting **oldest = NULL;

    for (size_t i = 0; i < QUEUES; i++)
        if (python->queues[i] &&
            (!oldest || python->queues[i]->record.time_ns < (*oldest)->record.time_ns))
            oldest = &python->queues[i];
    if (oldest) {
        struct waiting *first = *oldest;

        *oldest = first->next;
        ifg_free(first);
        python->waiting--;
        python->counts.lost++;
    }
}

/* Code that runs once, like that of a module, is freed soon: it is read at once, not when the
 * sample has its turn. */
static void meet_codes(struct python *python, const struct chain_record *record)
{
    const struct process *process = process_of(python, record->pid);

    if (!process || process->state != READY)
        return;
    for (size_t i = 0; i < record->count; i++)
        if (!is_shim(&process->layout, &record->frames[i]))
            find_code(python, process, record->frames[i].code & ~TAG_BITS, record->frames[i].print);
}

static void on_chain(const struct chain_record *record, void *user)
{
    struct python *python = user;
    struct waiting **link = &python->queues[record->tid % QUEUES];
    size_t bytes = CHAIN_HEAD + record->count * sizeof record->frames[0];
    struct waiting *waiting;

    if (python->waiting >= WAITING_MAX)
        forget_oldest(python);
    waiting = ifg_alloc(1, offsetof(struct waiting, record) + bytes);
    if (!waiting) {
        python->counts.lost++;
        return;
    }
    memcpy(&waiting->record, record, bytes);
    meet_codes(python, record);
    while (*link)
        link = &(*link)->next;
    *link = waiting;
    python->waiting++;
}

void python_take(struct python *python)
{
    uint64_t now = ifg_monotonic_ns();

    if (now - python->looked_ns >= LOOK_NS) {
        python->looked_ns = now;
        for (size_t i = 0; i < python->process_count; i++)
            if (python->processes[i].state == PENDING)
                look_at(python, &python->processes[i]);
    }
    if (python->process_count)
        chain_read(python->chain, on_chain, python);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Takes the chain of a sample out of its thread's queue: the nearest one in time, at the same
 * instruction. Kernels differ in whether the program runs before the sample has its time, or after.
 * Those that are too old for this one are too old for the next. */
static struct waiting *take_waiting(struct python *python, uint32_t pid, uint32_t tid,
                                    uint64_t time_ns, uint64_t ip)
{
    struct waiting **link = &python->queues[tid % QUEUES];
    struct waiting **nearest = NULL;
    struct waiting *found;

    while (*link) {
        struct waiting *waiting = *link;
        const struct chain_record *record = &waiting->record;

        if (record->tid == tid && record->time_ns + APART_NS < time_ns) {
            *link = waiting->next;
            python->waiting--;
            python->counts.lost++;
            ifg_free(waiting);
            continue;
        }
        if (record->tid == tid && record->pid == pid && (!ip || record->ip == ip) &&
            apart(record->time_ns, time_ns) <= APART_NS &&
            (!nearest ||
             apart(record->time_ns, time_ns) < apart((*nearest)->record.time_ns, time_ns)))
            nearest = link;
        link = &waiting->next;
    }
    if (!nearest)
        return NULL;
    found = *nearest;
    *nearest = found->next;
    python->waiting--;
    return found;
}

/* ---- a chain ---- */

static bool translate(struct python *python, const struct process *process,
                      const struct chain_record *record)
{
    const struct python_layout *layout = &process->layout;
    struct python_stack *stack = &python->stack;
    bool last_ends = true;
    size_t known = 0;

    stack->count = 0;
    stack->whole = record->flags & CHAIN_WHOLE;
    stack->anchored = layout->calls == PYTHON_SHIMS;
    for (size_t i = 0; i < record->count; i++) {
        const struct chain_frame *frame = &record->frames[i];
        struct python_call *call = &stack->calls[stack->count];

        if (is_shim(layout, frame)) {
            if (!stack->count || last_ends) { /* the C function has no call yet */
                call->code = 0;
                stack->count++;
            } else {
                call--;
            }
            call->ends = last_ends = true;
            call->anchor = frame->code;
            continue;
        }
        call->code = find_code(python, process, frame->code & ~TAG_BITS, frame->print);
        known += call->code != 0;
        call->line = call->code ? line_of(python, layout, frame, call->code) : 0;
        if (!call->code)
            call->code = PYTHON_NAMELESS;
        call->ends = last_ends =
            layout->calls == PYTHON_EACH || (layout->calls == PYTHON_FLAG && frame->owner);
        call->anchor = 0;
        stack->count++;
    }
    /* The outermost one is run by somebody, too. */
    if (stack->whole && stack->count && !last_ends)
        return false;
    return known > 0;
}

const struct python_stack *python_find(struct python *python, uint32_t pid, uint32_t tid,
                                       uint64_t time_ns, uint64_t ip)
{
    const struct process *process = process_of(python, pid);
    struct waiting *waiting;
    bool good;

    if (!process || process->state != READY)
        return NULL;
    waiting = take_waiting(python, pid, tid, time_ns, ip);
    if (!waiting)
        return NULL;
    if (!waiting->record.count) { /* Python is not running here */
        ifg_free(waiting);
        return NULL;
    }
    good = translate(python, process, &waiting->record);
    python->counts.refused += !good;
    ifg_free(waiting);
    return good ? &python->stack : NULL;
}

bool python_is_module(const struct python *python, uint32_t pid, uint32_t module)
{
    const struct process *process = process_of(python, pid);

    return process && process->module == module;
}

bool python_runs_at(const struct python *python, uint32_t pid, uint32_t module, uint64_t address)
{
    const struct process *process = process_of(python, pid);

    if (!process || process->module != module)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (address >= process->runs[i].start && address < process->runs[i].end)
            return true;
    return false;
}

unsigned python_version(const struct python *python, uint32_t pid)
{
    const struct process *process = process_of(python, pid);

    return process && process->state == READY ? process->layout.minor : 0;
}

void python_merged(struct python *python, bool merged)
{
    if (merged)
        python->counts.named++;
    else
        python->counts.refused++;
}

struct python_function python_function(const struct python *python, uint32_t code)
{
    if (code == PYTHON_NAMELESS)
        return (struct python_function){ "[Python function that was freed]", "" };
    if (!code || code > python->code_count || !python->codes[code - 1].name)
        return (struct python_function){ "", "" };
    return (struct python_function){ python->codes[code - 1].name, python->codes[code - 1].file };
}

void python_count(const struct python *python, struct python_counts *out_counts)
{
    struct chain_cost cost;

    *out_counts = python->counts;
    chain_costs(python->chain, &cost);
    out_counts->lost += cost.lost;
    out_counts->chains = cost.chains;
    out_counts->chain_us = (double)cost.ns / 1e3;
}
