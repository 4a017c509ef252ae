// SPDX-License-Identifier: Apache-2.0
/* Merging for a command: see merge_files.h. */
#include "cli/merge_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "cli/memory_limit.h"

#define SHOWN_EVERY_NS 200000000u

struct progress {
    uint64_t last_ns;
    bool shown;
};

int merge_files_take_offset(const struct option_use *use, void *request)
{
    struct merge_files *files = (struct merge_files *)(void *)((char *)request + use->row->at - 1);

    if (!strrchr(use->value, '='))
        return options_bad_value(use, "FILE=TIME (b.ifg=-1.5ms)");
    if (!IFG_ARRAY_ROOM(files->offsets, files->offset_room, files->offset_count + 1,
                        MERGE_INPUTS_MAX)) {
        cli_say("not enough memory for the options");
        return CLI_NO;
    }
    files->offsets[files->offset_count++] = use->value;
    return CLI_YES;
}

/* A time with a sign. */
static bool parse_offset(const char *text, int64_t *out_ns)
{
    bool negative = *text == '-';
    uint64_t ns = 0;

    text += *text == '-' || *text == '+';
    if (strcmp(text, "0") != 0 && (!cli_parse_ns(text, &ns) || ns > INT64_MAX / 4))
        return false;
    *out_ns = negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

static bool is_called(const char *path, const char *name, size_t length)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;

    return (strlen(path) == length && memcmp(path, name, length) == 0) ||
           (strlen(file) == length && memcmp(file, name, length) == 0);
}

static int take_offset(const struct cli_command *command, struct merge_files *files,
                       const char *given)
{
    const char *equals = strrchr(given, '=');
    struct merge_input *found = NULL;
    int64_t offset_ns;

    if (!parse_offset(equals + 1, &offset_ns))
        return cli_usage(command->name, "--offset: '%s' is not a time (2ms, -1.5s, +300us)",
                         equals + 1);
    for (size_t i = 0; i < files->count; i++) {
        if (!is_called(files->inputs[i].path, given, (size_t)(equals - given)))
            continue;
        if (found)
            return cli_usage(command->name,
                             "--offset: several files are called '%.*s'; give its "
                             "path",
                             (int)(equals - given), given);
        found = &files->inputs[i];
    }
    if (!found)
        return cli_usage(command->name, "--offset: '%.*s' is none of the files",
                         (int)(equals - given), given);
    found->has_offset = true;
    found->offset_ns = offset_ns;
    return CLI_YES;
}

int merge_files_take(const struct cli_command *command, const struct option_words *words,
                     struct merge_files *files)
{
    int code = CLI_YES;

    if (words->count > MERGE_INPUTS_MAX)
        return cli_usage(command->name, "at most %u files at a time", MERGE_INPUTS_MAX);
    files->inputs = ifg_alloc(words->count, sizeof *files->inputs);
    if (!files->inputs) {
        cli_say("not enough memory for the names of the files");
        return CLI_NO;
    }
    files->count = words->count;
    for (size_t i = 0; i < words->count; i++)
        files->inputs[i].path = words->items[i];
    for (size_t i = 0; i < files->offset_count && !code; i++)
        code = take_offset(command, files, files->offsets[i]);
    return code;
}

void merge_files_fini(struct merge_files *files)
{
    ifg_free(files->inputs);
    ifg_free(files->offsets);
}

static void show_progress(uint64_t done, uint64_t total, void *user)
{
    struct progress *progress = user;
    uint64_t now_ns = ifg_monotonic_ns();

    if (now_ns < progress->last_ns + SHOWN_EVERY_NS)
        return;
    progress->last_ns = now_ns;
    progress->shown = true;
    fprintf(stderr, "\r\033[Kinferogram: merging, %.0f %%",
            total ? 100 * (double)done / (double)total : 0);
    fflush(stderr);
}

static void warn_about_file(const char *path, const struct merge_source *source)
{
    if (source->unfinished)
        cli_say("%s: the recording was not finished; read up to its last whole block", path);
    if (source->skipped_bytes || source->damaged_blocks)
        cli_say("%s: %llu bytes are damaged; %llu block%s missing", path,
                (unsigned long long)source->skipped_bytes,
                (unsigned long long)source->damaged_blocks,
                source->damaged_blocks == 1 ? " is" : "s are");
    if (source->newer)
        cli_say("%s: written by a newer version; what this one does not know is not in the "
                "merged trace",
                path);
}

static void warn_about_part(const struct merge_part *first, const struct merge_part *part)
{
    const char *host = *part->host ? part->host : "an unknown machine";

    if (part->method == MERGE_WALL_CLOCK)
        cli_say("%s: its place on the timeline is an estimate: the clock of %s was not compared "
                "with that of %s, so their times of day are taken for equal; record with "
                "'inferogram capture', or give --offset %s=TIME",
                part->file, host, *first->host ? first->host : "the first trace's machine",
                part->file);
    else if (part->method == MERGE_START)
        cli_say("%s: its place on the timeline is a guess: there is no time of day in it or in "
                "%s, so both begin together; give --offset %s=TIME",
                part->file, first->file, part->file);
}

int merge_files_run(const struct merge_files *files, const char *output, bool overwrite,
                    const volatile sig_atomic_t *cancel, struct merge_result *out_result)
{
    struct progress progress = { .last_ns = ifg_monotonic_ns() };
    struct merge_options options = { .inputs = files->inputs,
                                     .count = files->count,
                                     .output = output,
                                     .overwrite = overwrite,
                                     .tool_version = INFEROGRAM_VERSION,
                                     .cancel = cancel,
                                     .user = &progress };
    struct ifg_error err = { 0 };
    enum ifg_status status;

    for (size_t i = 0; i < files->count; i++)
        memory_limit_reading(files->inputs[i].path);
    if (isatty(STDERR_FILENO))
        options.progress = show_progress;
    status = merge_run(&options, out_result, &err);
    if (progress.shown)
        fputs("\r\033[K", stderr);
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_NO_MEMORY || status == IFG_IO || status == IFG_INTERNAL ||
                       status == IFG_CANCELLED
                   ? CLI_NO
                   : CLI_USAGE;
    }
    for (size_t i = 0; i < out_result->source_count; i++)
        warn_about_file(files->inputs[i].path, &out_result->sources[i]);
    for (size_t i = 0; i < out_result->part_count; i++)
        warn_about_part(&out_result->parts[0], &out_result->parts[i]);
    return CLI_YES;
}
