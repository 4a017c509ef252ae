// SPDX-License-Identifier: Apache-2.0
/* See explain.h. */
#include "collect/perf/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/perf/lookup.h"

#define TIMEOUT_S        60u
#define FUNCTION_MAX     ((uint64_t)256 << 10)
#define CODE_MAX         ((size_t)64 << 20)
#define SOURCE_MAX       ((off_t)1 << 20)
#define SOURCES_MAX      2000u
#define SOURCE_BYTES_MAX ((size_t)64 << 20)

/* ---- code ---- */

struct function {
    uint32_t module;
    uint64_t start, size;
};

static int compare_functions(const void *left, const void *right)
{
    const struct function *a = left;
    const struct function *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* From the file; code made at run time is read from the process, if it still lives. */
static size_t read_code(const struct module *module, const struct function *function, uint8_t *out)
{
    char path[64];
    ssize_t got;
    int fd;

    if (module->elf)
        return elf_file_read(module->elf, function->start, out, (size_t)function->size);
    if (module->kind != TRACE_MODULE_RUNTIME)
        return 0;
    snprintf(path, sizeof path, "/proc/%u/mem", module->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = pread(fd, out, (size_t)function->size, (off_t)function->start);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

static void write_code(const struct modules *modules, struct function *functions, size_t count,
                       struct trace_writer *writer, struct explain_counts *counts)
{
    uint8_t *bytes = ifg_alloc(FUNCTION_MAX, 1);

    qsort(functions, count, sizeof *functions, compare_functions);
    for (size_t i = 0; bytes && i < count && counts->code_bytes < CODE_MAX; i++) {
        const struct function *function = &functions[i];
        struct trace_code code = { function->module, function->start, bytes, 0 };

        if (i && compare_functions(&functions[i - 1], function) == 0)
            continue;
        code.size = read_code(modules_at(modules, function->module - 1), function, bytes);
        if (!code.size)
            continue;
        trace_writer_code(writer, &code, 1);
        counts->functions++;
        counts->code_bytes += code.size;
    }
    ifg_free(bytes);
}

static void explain_code(const struct modules *modules, const struct trace_frame *frames,
                         const struct lookup *lookup, struct trace_writer *writer,
                         struct explain_counts *counts)
{
    struct function *functions = ifg_alloc(lookup->count + 1, sizeof *functions);
    size_t count = 0;

    if (!functions)
        return;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct trace_symbol *symbol = &lookup->symbols[i];
        uint32_t module = frames[symbol->frame - 1].module;

        if (module && !symbol->inlined && symbol->size && symbol->size <= FUNCTION_MAX)
            functions[count++] = (struct function){ module, symbol->start, symbol->size };
    }
    if (count)
        write_code(modules, functions, count, writer, counts);
    ifg_free(functions);
}

/* ---- sources ---- */

static int compare_paths(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;

    return strcmp(*a, *b);
}

/* Whole, if it is a text of ordinary size. */
static char *read_source(const char *path, size_t *out_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    char *text = NULL;
    ssize_t got = -1;

    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
        facts.st_size <= SOURCE_MAX)
        text = ifg_alloc((size_t)facts.st_size, 1);
    if (text)
        got = pread(fd, text, (size_t)facts.st_size, 0);
    if (fd >= 0)
        close(fd);
    if (got <= 0 || memchr(text, 0, (size_t)got)) {
        ifg_free(text);
        return NULL;
    }
    *out_size = (size_t)got;
    return text;
}

static void explain_sources(const struct lookup *lookup, struct trace_writer *writer,
                            struct explain_counts *counts)
{
    const char **paths = ifg_alloc(lookup->count + 1, sizeof *paths);
    size_t count = 0, bytes = 0;

    if (!paths)
        return;
    for (size_t i = 0; i < lookup->count; i++)
        if (lookup->symbols[i].file[0] == '/')
            paths[count++] = lookup->symbols[i].file;
    if (count)
        qsort(paths, count, sizeof *paths, compare_paths);
    for (size_t i = 0; i < count && counts->sources < SOURCES_MAX && bytes < SOURCE_BYTES_MAX;
         i++) {
        struct trace_source source = { .path = paths[i] };
        char digest[SHA256_DIGEST_STRING_LENGTH];
        char *text;

        if (i && strcmp(paths[i], paths[i - 1]) == 0)
            continue;
        text = read_source(paths[i], &source.size);
        if (!text)
            continue;
        SHA256Data((const uint8_t *)text, source.size, digest);
        source.sha256 = digest;
        source.text = text;
        trace_writer_source(writer, &source);
        counts->sources++;
        bytes += source.size;
        ifg_free(text);
    }
    ifg_free(paths);
}

void explain_frames(const struct modules *modules, const struct stacks *stacks,
                    const struct explain_options *options, struct trace_writer *writer,
                    struct explain_counts *out_counts)
{
    const struct trace_frame *frames = stacks_frames(stacks, &out_counts->frames);
    size_t frame_count = out_counts->frames;
    struct lookup lookup;

    memset(out_counts, 0, sizeof *out_counts);
    out_counts->frames = frame_count;
    lookup_run(&lookup, modules, frames, frame_count,
               options->timeout_s ? options->timeout_s : TIMEOUT_S);
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
    explain_code(modules, frames, &lookup, writer, out_counts);
    if (options->sources)
        explain_sources(&lookup, writer, out_counts);
    lookup_fini(&lookup);
}
