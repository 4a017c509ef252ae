// SPDX-License-Identifier: Apache-2.0
/* Writing the names, the code and the sources of sampled frames into the trace. */
#include "collect/perf/symbolize.h"

#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/perf/lookup.h"
#include "collect/perf/processes.h"
#include "collect/python/python.h"

#define TIMEOUT_S        60u
#define FUNCTION_MAX     ((uint64_t)256 << 10)
#define CODE_MAX         ((size_t)64 << 20)
#define SOURCE_MAX       (1 << 20)
#define SOURCES_MAX      2000u
#define SOURCE_BYTES_MAX ((size_t)64 << 20)

/* ---- code ---- */

struct function {
    uint32_t module;
    uint64_t start, size;
    uint64_t address; /* a sampled place in it */
};

static int compare_functions(const void *left, const void *right)
{
    const struct function *a = left;
    const struct function *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* From the file; of code generated at run time what is known, which may have gaps. */
static size_t read_code(const struct module *module, const struct function *function, uint64_t from,
                        uint8_t *out, uint64_t *out_at)
{
    uint64_t end = function->start + function->size;

    *out_at = from;
    if (module->elf)
        return elf_file_read(module->elf, from, out, (size_t)(end - from));
    return module->jit ? jit_code_code(module->jit, function->address, from, end, out, out_at) : 0;
}

static void write_code(const struct modules *modules, struct function *functions, size_t count,
                       struct trace_writer *writer, struct symbolize_counts *counts)
{
    uint8_t *bytes = ifg_alloc(FUNCTION_MAX, 1);

    qsort(functions, count, sizeof *functions, compare_functions);
    for (size_t i = 0; bytes && i < count && counts->code_bytes < CODE_MAX; i++) {
        const struct function *function = &functions[i];
        struct trace_code code = { function->module, function->start, bytes, 0 };
        uint64_t end = function->start + function->size;

        if (i && compare_functions(&functions[i - 1], function) == 0)
            continue;
        counts->functions++;
        for (uint64_t from = function->start; from < end; from = code.address + code.size) {
            code.size = read_code(modules_at(modules, function->module - 1), function, from, bytes,
                                  &code.address);
            if (!code.size)
                break;
            trace_writer_code(writer, &code, 1);
            counts->code_bytes += code.size;
        }
    }
    ifg_free(bytes);
}

static void explain_code(const struct modules *modules, const struct trace_frame *frames,
                         const struct lookup *lookup, struct trace_writer *writer,
                         struct symbolize_counts *counts)
{
    struct function *functions = ifg_alloc(lookup->count + 1, sizeof *functions);
    size_t count = 0;

    if (!functions)
        return;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct trace_symbol *symbol = &lookup->symbols[i];
        uint32_t module = frames[symbol->frame - 1].module;

        if (module && !symbol->inlined && symbol->size && symbol->size <= FUNCTION_MAX &&
            symbol->start <= UINT64_MAX - symbol->size)
            functions[count++] = (struct function){ module, symbol->start, symbol->size,
                                                    frames[symbol->frame - 1].address };
    }
    if (count)
        write_code(modules, functions, count, writer, counts);
    ifg_free(functions);
}

/* ---- sources ---- */

/* A path, and whose program names it. */
struct named_source {
    const char *path;
    uint32_t owner;
    bool foreign; /* not the recorder's own user */
};

/* A trace has one text of a path. What our own programs mean by it goes first. */
static int compare_sources(const void *left, const void *right)
{
    const struct named_source *a = left;
    const struct named_source *b = right;
    int order = strcmp(a->path, b->path);

    if (order)
        return order;
    if (a->foreign != b->foreign)
        return a->foreign ? 1 : -1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

/* Whole, if it is a text of ordinary size. Debug information names any path: it is opened as the
 * program's own user would, who sees nothing in the trace that he could not have read. */
static char *read_source(const struct owners *owners, const struct named_source *source,
                         size_t *out_size, enum ifg_status *out_status)
{
    struct stat facts;
    char *text = NULL;
    ssize_t got = -1;
    int fd;

    *out_status = owners_open(owners, source->owner, source->path, 0, SOURCE_MAX, &fd, NULL);
    if (*out_status)
        return NULL;
    if (fstat(fd, &facts) == 0 && facts.st_size > 0 && facts.st_size <= SOURCE_MAX)
        text = ifg_alloc((size_t)facts.st_size, 1);
    if (text)
        got = pread(fd, text, (size_t)facts.st_size, 0);
    close(fd);
    if (got <= 0 || memchr(text, 0, (size_t)got)) {
        ifg_free(text);
        return NULL;
    }
    *out_size = (size_t)got;
    return text;
}

static void write_source(struct trace_writer *writer, const char *path, const char *text,
                         size_t size)
{
    struct trace_source source = { .path = path, .text = text, .size = size };
    char digest[SHA256_DIGEST_STRING_LENGTH];

    SHA256Data((const uint8_t *)text, size, digest);
    source.sha256 = digest;
    trace_writer_source(writer, &source);
}

static void write_sources(const struct owners *owners, const struct named_source *named,
                          size_t count, struct trace_writer *writer,
                          struct symbolize_counts *counts)
{
    const char *written = NULL;
    size_t bytes = 0;

    for (size_t i = 0; i < count && counts->sources < SOURCES_MAX && bytes < SOURCE_BYTES_MAX;
         i++) {
        enum ifg_status status;
        size_t size;
        char *text;

        if ((written && strcmp(named[i].path, written) == 0) ||
            (i && compare_sources(&named[i], &named[i - 1]) == 0))
            continue;
        text = read_source(owners, &named[i], &size, &status);
        if (status == IFG_PERMISSION && !counts->problem[0])
            snprintf(counts->problem, sizeof counts->problem,
                     "the source %.90s is not in the trace: user %u, whose program names it, may "
                     "not read it",
                     named[i].path, (unsigned)owners_user(owners, named[i].owner));
        if (!text)
            continue;
        write_source(writer, named[i].path, text, size);
        written = named[i].path;
        counts->sources++;
        bytes += size;
        ifg_free(text);
    }
}

static void explain_sources(const struct modules *modules, const struct trace_frame *frames,
                            const struct lookup *lookup, struct trace_writer *writer,
                            struct symbolize_counts *counts)
{
    const struct owners *owners = modules_owners(modules);
    struct named_source *named = ifg_alloc(lookup->count + 1, sizeof *named);
    size_t count = 0;

    if (!named)
        return;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct trace_symbol *symbol = &lookup->symbols[i];
        uint32_t owner = modules_at(modules, frames[symbol->frame - 1].module - 1)->owner;

        if (symbol->file[0] == '/')
            named[count++] =
                (struct named_source){ symbol->file, owner, !owners_is_own(owners, owner) };
    }
    if (count)
        qsort(named, count, sizeof *named, compare_sources);
    write_sources(owners, named, count, writer, counts);
    ifg_free(named);
}

/* ---- all of it ---- */

/* Code generated at run time of which nothing has a name: what to do about it. */
static void explain_unnamed(const struct modules *modules, const struct trace_frame *frames,
                            size_t count, const struct lookup *lookup,
                            struct symbolize_counts *counts)
{
    size_t modules_known = modules_count(modules);
    bool *named = ifg_alloc(modules_known + 1, sizeof *named);
    bool *used = ifg_alloc(modules_known + 1, sizeof *used);

    for (size_t i = 0; named && i < lookup->count; i++)
        named[frames[lookup->symbols[i].frame - 1].module] = true;
    for (size_t i = 0; used && i < count; i++)
        used[frames[i].module] = true;
    for (size_t i = 0; named && used && i < modules_known && !counts->problem[0]; i++) {
        const struct module *module = modules_at(modules, i);

        if (module->jit && used[i + 1] && !named[i + 1])
            snprintf(counts->problem, sizeof counts->problem, "%s", jit_code_hint(module->jit));
    }
    ifg_free(named);
    ifg_free(used);
}

/* Python functions are known already. What they have instead of code are lines: a function begins
 * at its number, and is as long as there are lines. */
static void add_python(const struct modules *modules, const struct trace_frame *frames,
                       size_t count, const struct python *python, struct lookup *lookup)
{
    for (size_t i = 0; python && i < count; i++) {
        uint32_t module = frames[i].module;
        struct python_function function;

        if (!module || !modules_at(modules, module - 1)->interpreted)
            continue;
        function = python_function(python, (uint32_t)(frames[i].address >> PROCESSES_LINE_BITS));
        if (!IFG_ARRAY_ROOM(lookup->symbols, lookup->room, lookup->count + 1, IFG_ARRAY_ANY))
            return;
        lookup->symbols[lookup->count++] = (struct trace_symbol){
            .frame = (uint32_t)i + 1,
            .function = function.name,
            .start = frames[i].address >> PROCESSES_LINE_BITS << PROCESSES_LINE_BITS,
            .size = 1u << PROCESSES_LINE_BITS,
            .file = function.file,
            .line = (uint32_t)(frames[i].address & ((1u << PROCESSES_LINE_BITS) - 1)),
        };
    }
}

void symbolize_frames(const struct modules *modules, const struct stacks *stacks,
                      const struct python *python, const struct symbolize_options *options,
                      struct trace_writer *writer, struct symbolize_counts *out_counts)
{
    const struct trace_frame *frames = stacks_frames(stacks, &out_counts->frames);
    size_t frame_count = out_counts->frames;
    struct lookup lookup;

    memset(out_counts, 0, sizeof *out_counts);
    out_counts->frames = frame_count;
    for (size_t i = 0; i < modules_count(modules); i++)
        if (modules_at(modules, i)->jit)
            jit_code_load(modules_at(modules, i)->jit);
    lookup_run(&lookup, modules, frames, frame_count,
               options->timeout_s ? options->timeout_s : TIMEOUT_S);
    add_python(modules, frames, frame_count, python, &lookup);
    memcpy(out_counts->problem, lookup.problem, sizeof out_counts->problem);
    for (size_t i = 0; i < lookup.count; i++) {
        const struct trace_symbol *symbol = &lookup.symbols[i];

        if (symbol->inlined || !*symbol->function)
            continue;
        out_counts->named++;
        out_counts->guessed += symbol->guessed;
    }
    if (lookup.count)
        trace_writer_symbols(writer, lookup.symbols, lookup.count);
    explain_unnamed(modules, frames, frame_count, &lookup, out_counts);
    explain_code(modules, frames, &lookup, writer, out_counts);
    if (options->sources)
        explain_sources(modules, frames, &lookup, writer, out_counts);
    lookup_fini(&lookup);
}
