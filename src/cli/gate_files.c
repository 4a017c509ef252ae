// SPDX-License-Identifier: Apache-2.0
/* Where the outputs of a gate go: stdout, files, and those that a CI service names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gate_output.h"

#define OUTPUT_MAX (1u << 28)

static int write_file(const char *path, const struct ifg_bytes *bytes)
{
    struct ifg_error err = { 0 };

    if (bytes->failed) {
        cli_say("not enough memory");
        return CLI_USAGE;
    }
    if (strcmp(path, "-") == 0)
        return cli_write_out(bytes) ? CLI_USAGE : CLI_YES;
    if (!gate_write_file(path, bytes->data, bytes->size, &err))
        return CLI_YES;
    cli_say("%s", err.message);
    return CLI_USAGE;
}

/* Steps of one job add to the same files. */
static void append_to(const char *variable, const void *data, size_t size)
{
    const char *path = getenv(variable);
    FILE *file = path && *path ? fopen(path, "ae") : NULL;

    if (!path || !*path)
        return;
    if (!file || fwrite(data, 1, size, file) != size || fflush(file) != 0)
        cli_say("cannot write %s (%s): %s", path, variable, strerror(errno));
    if (file)
        fclose(file);
}

static void tell_github(const struct gate_parts *parts, bool stdout_taken)
{
    struct ifg_bytes out;
    char line[64];
    int length;

    ifg_bytes_init(&out, OUTPUT_MAX);
    gate_write_github(parts, &out);
    fflush(stdout);
    if (!out.failed)
        fwrite(out.data, 1, out.size, stdout_taken ? stderr : stdout);
    ifg_bytes_clear(&out);
    gate_write_markdown(parts, &out);
    if (!out.failed)
        append_to("GITHUB_STEP_SUMMARY", out.data, out.size);
    ifg_bytes_fini(&out);
    length = snprintf(line, sizeof line, "verdict=%s\nstatus=%d\n", gate_parts_title(parts),
                      parts->status);
    append_to("GITHUB_OUTPUT", line, (size_t)length);
}

static bool is_stdout_taken(const struct gate_outputs *outputs)
{
    return outputs->json || (outputs->junit && !strcmp(outputs->junit, "-")) ||
           (outputs->markdown && !strcmp(outputs->markdown, "-"));
}

int gate_print_part(const struct gate_outputs *outputs, const struct gate_part *part)
{
    struct ifg_bytes out;
    int code = CLI_YES;

    if (is_stdout_taken(outputs))
        return code;
    ifg_bytes_init(&out, OUTPUT_MAX);
    cli_print(&out, "%s", cli_bold(true, STDOUT_FILENO));
    cli_put_name(&out, part->name, 0);
    cli_print(&out, "%s  ", cli_bold(false, STDOUT_FILENO));
    cli_put_name(&out, part->subject, 0);
    cli_print(&out, "\n");
    if (part->report)
        gate_write_text(part->report, outputs->explain, STDOUT_FILENO, &out);
    else
        cli_print(&out, "ERROR: no verdict\n");
    cli_print(&out, "\n");
    code = cli_write_part(&out);
    ifg_bytes_fini(&out);
    return code ? CLI_USAGE : CLI_YES;
}

/* "FAIL: 2 of 3 models of inferogram.toml passed" */
static void sum_up(const struct gate_parts *parts, struct ifg_bytes *out)
{
    size_t passed = 0;

    for (size_t i = 0; i < parts->count; i++)
        passed += parts->items[i].status == 0;
    cli_print(out, "%s: %zu of %zu model%s of ", gate_parts_title(parts), passed, parts->count,
              parts->count == 1 ? "" : "s");
    cli_put_name(out, parts->config, 0);
    cli_print(out, " passed\n");
}

int gate_write_outputs(const struct gate_outputs *outputs, const struct gate_parts *parts)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    bool stdout_taken = is_stdout_taken(outputs);
    struct ifg_bytes out;
    int code = CLI_YES;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (outputs->json)
        gate_write_json(parts, &out);
    else if (!stdout_taken && parts->config)
        sum_up(parts, &out);
    else if (!stdout_taken)
        gate_write_text(parts->items[0].report, outputs->explain, STDOUT_FILENO, &out);
    if (out.size || out.failed)
        code = write_file("-", &out);
    if (!code && outputs->junit) {
        ifg_bytes_clear(&out);
        gate_write_junit(parts, &out);
        code = write_file(outputs->junit, &out);
    }
    if (!code && outputs->markdown) {
        ifg_bytes_clear(&out);
        gate_write_markdown(parts, &out);
        code = write_file(outputs->markdown, &out);
    }
    ifg_bytes_fini(&out);
    if (outputs->github || (actions && strcmp(actions, "true") == 0))
        tell_github(parts, stdout_taken);
    return code;
}
