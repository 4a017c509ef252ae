// SPDX-License-Identifier: Apache-2.0
/* Opening traces, copying them one after the other, and naming the result: see merge.h. */
#include "merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "merge/merge_internal.h"
#include "trace/copy.h"
#include "trace/keys.h"
#include "trace/output.h"
#include "trace/writer.h"

#define REST_EVERY (8u << 20) /* bytes of an input */

/* ---- inputs ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static const char *keep(struct merging *merging, const char *text)
{
    return ifg_strings_keep(&merging->texts, text, strlen(text));
}

/* The same trace twice would count everything twice. */
static enum ifg_status check_new(const struct merging *merging, const struct input *input,
                                 struct ifg_error *err)
{
    static const uint8_t none[16] = { 0 };
    const uint8_t *id = trace_reader_file(input->reader)->trace_id;

    for (size_t i = 0; memcmp(id, none, sizeof none) != 0 && &merging->inputs[i] < input; i++)
        if (memcmp(trace_reader_file(merging->inputs[i].reader)->trace_id, id, 16) == 0)
            return ifg_fail(err, IFG_INVALID, "%s is the same trace as %s; give it once",
                            input->path, merging->inputs[i].path);
    return IFG_OK;
}

static enum ifg_status open_inputs(struct merging *merging, struct ifg_error *err)
{
    for (size_t i = 0; i < merging->options->count; i++) {
        const struct merge_input *from = &merging->options->inputs[i];
        struct input *input = &merging->inputs[i];
        struct merge_source *source = &merging->result->sources[i];
        const struct trace_file_info *file;
        enum ifg_status status = trace_reader_open(from->path, &input->reader, err);

        if (status)
            return status;
        merging->input_count++;
        trace_reader_rest(input->reader);
        file = trace_reader_file(input->reader);
        input->path = from->path;
        input->has_offset = from->has_offset;
        input->given_ns = from->offset_ns;
        source->unfinished = !file->finished;
        source->newer = file->minor > TRACE_MINOR;
        source->skipped_bytes = file->skipped_bytes;
        source->damaged_blocks = file->damaged_blocks;
        merging->result->input_bytes += file->file_bytes;
        status = check_new(merging, input, err);
        if (!status)
            status = merge_sort_facts(input, err);
        if (status)
            return status;
    }
    return IFG_OK;
}

static size_t count_parts(const struct input *input)
{
    size_t count = merge_stored_count(trace_reader_tables(input->reader));

    return count ? count : 1;
}

static enum ifg_status add_part(struct merging *merging, size_t input, size_t number,
                                struct ifg_error *err)
{
    struct merge_result *result = merging->result;
    struct part *part = &merging->parts[result->part_count];
    struct merge_part *out = &result->parts[result->part_count++];
    const char *file;
    const char *host;
    const char *boot;

    part->input = input;
    if (merge_stored_count(trace_reader_tables(merging->inputs[input].reader)))
        snprintf(part->prefix, sizeof part->prefix, TRACE_FACT_MERGE "%zu.", number);
    file = *part->prefix ? merge_fact(merging, part, TRACE_MERGED_FILE) : NULL;
    host = merge_fact(merging, part, TRACE_FACT_HOST_NAME);
    boot = merge_fact(merging, part, TRACE_FACT_HOST_BOOT_ID);
    part->boot_id = boot ? boot : "";
    out->file = keep(merging, file ? file : file_name(merging->inputs[input].path));
    out->host = keep(merging, host ? host : "");
    return out->file && out->host ? IFG_OK : ifg_fail_no_memory(err, "to merge traces");
}

static enum ifg_status list_parts(struct merging *merging, struct ifg_error *err)
{
    struct merge_result *result = merging->result;
    enum ifg_status status = IFG_OK;
    size_t count = 0;

    for (size_t i = 0; i < merging->input_count; i++)
        count += count_parts(&merging->inputs[i]);
    if (count > MERGE_PARTS_MAX)
        return ifg_fail(err, IFG_INVALID, "at most %u traces can be merged into one",
                        MERGE_PARTS_MAX);
    merging->parts = ifg_alloc(count, sizeof *merging->parts);
    result->parts = ifg_alloc(count, sizeof *result->parts);
    if (!merging->parts || !result->parts)
        return ifg_fail_no_memory(err, "to merge traces");
    for (size_t i = 0; i < merging->input_count; i++) {
        struct input *input = &merging->inputs[i];

        input->first_part = result->part_count;
        input->part_count = count_parts(input);
        for (size_t k = 1; k <= input->part_count && !status; k++)
            status = add_part(merging, i, k, err);
    }
    return status;
}

/* Two traces are of one machine if they are of one boot; without that, if it has the same name. */
static bool same_machine(const struct merging *merging, size_t a, size_t b)
{
    const char *boot_a = merging->parts[a].boot_id, *boot_b = merging->parts[b].boot_id;

    if (*boot_a || *boot_b)
        return strcmp(boot_a, boot_b) == 0;
    return *merging->result->parts[a].host &&
           strcmp(merging->result->parts[a].host, merging->result->parts[b].host) == 0;
}

static void count_machines(struct merging *merging)
{
    for (size_t i = 0; i < merging->result->part_count; i++) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = same_machine(merging, k, i);
        merging->result->machines += !seen;
    }
}

/* ---- copying ---- */

struct numbering {
    struct merging *merging;
    struct input *input;
};

static uint32_t number(uint32_t given, void *user)
{
    struct numbering *numbering = user;

    return merge_number(numbering->merging, numbering->input, given);
}

static void set_first_processes(struct merging *merging, const struct input *input, uint32_t first)
{
    for (size_t i = input->first_part; i < input->first_part + input->part_count; i++) {
        int64_t inside = 0;

        if (*merging->parts[i].prefix)
            merge_fact_number(merging, &merging->parts[i], TRACE_MERGED_FIRST_PROCESS, &inside);
        merging->result->parts[i].first_process =
            first + (inside > 0 && inside < UINT32_MAX / 2 ? (uint32_t)inside : 0);
    }
}

/* Now and then: whether somebody wants it to end, and how far it is. */
static enum ifg_status look_up(const struct merging *merging, uint64_t before,
                               const struct trace_block *block, struct ifg_error *err)
{
    const struct merge_options *options = merging->options;

    if (options->cancel && *options->cancel)
        return ifg_fail(err, IFG_CANCELLED, "interrupted; nothing was kept");
    if (options->progress)
        options->progress(before + block->offset, merging->result->input_bytes, options->user);
    return IFG_OK;
}

static enum ifg_status copy_input(struct merging *merging, struct trace_copier *copier,
                                  const struct trace_writer *writer, size_t index, uint64_t before,
                                  struct ifg_error *err)
{
    struct input *input = &merging->inputs[index];
    struct numbering numbering = { merging, input };
    struct trace_copy_options options = { .shift_ns = input->shift_ns,
                                          .boot_id = input->part_count == 1 ? input->boot_id : "",
                                          .number = number,
                                          .user = &numbering };
    uint64_t rested = 0;
    uint32_t first;
    enum ifg_status status = merge_begin_numbers(merging, index, err);

    if (!status)
        status = trace_copier_begin(copier, input->reader, &options, &first, err);
    if (!status)
        set_first_processes(merging, input, first);
    for (size_t i = 0; !status && i < trace_reader_block_count(input->reader); i++) {
        status = trace_copier_block(copier, i, err);
        if (status == IFG_CORRUPT) {
            merging->result->sources[index].damaged_blocks++;
            status = IFG_OK;
        }
        if (!status)
            status = trace_writer_status(writer, err);
        if (!status)
            status = look_up(merging, before, trace_reader_block(input->reader, i), err);
        if (trace_reader_block(input->reader, i)->offset - rested >= REST_EVERY) {
            rested = trace_reader_block(input->reader, i)->offset;
            trace_reader_rest(input->reader);
        }
    }
    trace_reader_rest(input->reader);
    if (!status && merging->numbers_failed)
        status = ifg_fail(err, IFG_UNSUPPORTED,
                          "%s: its process numbers and those of the traces before it do not fit "
                          "into one trace",
                          input->path);
    return status;
}

static enum ifg_status copy_all(struct merging *merging, struct trace_writer *writer,
                                struct ifg_error *err)
{
    struct trace_copier *copier;
    enum ifg_status status = trace_copier_create(writer, &copier, err);
    uint64_t before = 0;

    for (size_t i = 0; i < merging->input_count && !status; i++) {
        status = copy_input(merging, copier, writer, i, before, err);
        before += trace_reader_file(merging->inputs[i].reader)->file_bytes;
    }
    trace_copier_destroy(copier);
    return status ? status : merge_write_facts(merging, writer, err);
}

/* ---- the output ---- */

/* Whoever may not read one of the inputs may not read the output. 0: as the umask has it. */
static uint32_t output_mode(const struct merging *merging)
{
    mode_t mode = 0666;
    struct stat info;

    for (size_t i = 0; i < merging->input_count; i++)
        mode &= stat(merging->inputs[i].path, &info) == 0 ? info.st_mode : 0600;
    return (mode & 0044) == 0044 ? 0 : (mode & 0066) | 0600;
}

static enum ifg_status check_output(const struct merge_options *options, struct ifg_error *err)
{
    struct stat info;

    if (lstat(options->output, &info) < 0)
        return IFG_OK; /* creating it tells what is wrong */
    if (S_ISDIR(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is a directory; give a file name with -o",
                        options->output);
    if (!options->overwrite)
        return ifg_fail(err, IFG_INVALID,
                        "%s exists; give another name with -o or replace it with -f",
                        options->output);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a regular file; it is not replaced",
                        options->output);
    return IFG_OK;
}

/* A file that somebody else has made meanwhile is not replaced unasked. */
static int give_name(const char *partial, const struct merge_options *options)
{
    int result;

    if (options->overwrite)
        return rename(partial, options->output);
    result = renameat2(AT_FDCWD, partial, AT_FDCWD, options->output, RENAME_NOREPLACE);
    /* Not every file system can do that. */
    return result != 0 && (errno == EINVAL || errno == ENOSYS) ? rename(partial, options->output)
                                                               : result;
}

/* The name that people know, in place of the one that the file has while it is written. */
static enum ifg_status fail_write(const struct merge_options *options, enum ifg_status status,
                                  struct ifg_error *err)
{
    if (!err || !err->saved_errno)
        return status;
    errno = err->saved_errno;
    return ifg_fail_errno(err, "cannot write %s", options->output);
}

static enum ifg_status write_output(struct merging *merging, const char *partial,
                                    struct ifg_error *err)
{
    const struct merge_options *options = merging->options;
    struct trace_writer *writer;
    struct ifg_error at_end = { 0 };
    enum ifg_status closed;
    enum ifg_status status =
        trace_writer_create_private(partial, true, output_mode(merging), &writer, err);

    if (status)
        return fail_write(options, status, err);
    status = copy_all(merging, writer, err);
    if (status && trace_writer_status(writer, NULL))
        status = fail_write(options, status, err);
    closed = trace_writer_close(writer, &at_end);
    if (!status && closed) {
        status = closed;
        if (err)
            *err = at_end;
        status = fail_write(options, status, err);
    }
    if (!status && give_name(partial, options) != 0)
        status = ifg_fail_errno(err, "cannot write %s", options->output);
    if (status)
        unlink(partial);
    return status;
}

static enum ifg_status write_and_count(struct merging *merging, struct ifg_error *err)
{
    size_t size = strlen(merging->options->output) + 40;
    char *partial = ifg_alloc(size, 1);
    enum ifg_status status;
    struct stat info;

    if (!partial)
        return ifg_fail_no_memory(err, "to merge traces");
    snprintf(partial, size, "%s.%ld.partial", merging->options->output, (long)getpid());
    status = write_output(merging, partial, err);
    if (!status && stat(merging->options->output, &info) == 0)
        merging->result->output_bytes = (uint64_t)info.st_size;
    ifg_free(partial);
    return status;
}

enum ifg_status merge_run(const struct merge_options *options, struct merge_result *out_result,
                          struct ifg_error *err)
{
    struct merging merging = { .options = options, .result = out_result };
    struct ifg_strings *texts = ifg_alloc(1, sizeof *texts);
    enum ifg_status status;

    memset(out_result, 0, sizeof *out_result);
    merging.inputs = ifg_alloc(options->count, sizeof *merging.inputs);
    out_result->sources = ifg_alloc(options->count, sizeof *out_result->sources);
    out_result->source_count = options->count;
    status = texts && merging.inputs && out_result->sources
                 ? check_output(options, err)
                 : ifg_fail_no_memory(err, "to merge traces");
    if (!status)
        status = open_inputs(&merging, err);
    if (!status)
        status = list_parts(&merging, err);
    if (!status) {
        count_machines(&merging);
        merge_find_offsets(&merging);
        status = write_and_count(&merging, err);
    }
    for (size_t i = 0; i < merging.input_count; i++) {
        ifg_free(merging.inputs[i].facts);
        trace_reader_close(merging.inputs[i].reader);
    }
    ifg_free(merging.inputs);
    ifg_free(merging.parts);
    ifg_strings_fini(&merging.taken);
    if (texts)
        *texts = merging.texts;
    out_result->memory = texts;
    return status;
}

void merge_result_fini(struct merge_result *result)
{
    if (result->memory)
        ifg_strings_fini(result->memory);
    ifg_free(result->memory);
    ifg_free(result->parts);
    ifg_free(result->sources);
    memset(result, 0, sizeof *result);
}
