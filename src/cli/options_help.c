// SPDX-License-Identifier: Apache-2.0
/* The --help of every command and the list of its options, from its table: see options.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/text.h"
#include "runtimes/runtimes.h"

#define NAME_COLUMNS 24u /* longer ones have their text in the next line */
#define HELP_BYTES   1024u

/* Copies the beginning of a text, with words for the first mark in it. */
static bool fill(const char *text, size_t bytes, const char *mark, const char *words, char *out,
                 size_t size)
{
    const char *at = strstr(text, mark);
    size_t before = at ? (size_t)(at - text) : bytes;

    if (before >= bytes) {
        snprintf(out, size, "%.*s", (int)bytes, text);
        return false;
    }
    snprintf(out, size, "%.*s%s%.*s", (int)before, text, words,
             (int)(bytes - before - strlen(mark)), at + strlen(mark));
    return true;
}

static bool fill_runtimes(const char *text, size_t bytes, char *out, size_t size)
{
    return fill(text, bytes, "{runtimes}", runtimes_watched(RUNTIME_LAUNCHED).text, out, size) ||
           fill(text, bytes, "{attachable}", runtimes_watched(RUNTIME_ATTACHED).text, out, size);
}

void options_put_row_help(const struct option_row *row, char *out, size_t size)
{
    char choices[HELP_BYTES] = "";
    size_t bytes = strlen(row->help);
    size_t used = 0;

    if (fill_runtimes(row->help, bytes, out, size))
        return;
    for (size_t i = 0; options_choice(row, i) && used < sizeof choices; i++)
        used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s", i ? ", " : "",
                                 options_choice(row, i));
    fill(row->help, bytes, "{}", choices, out, size);
}

/* "-o, --output FILE" */
static void name_row(const struct option_row *row, char *out, size_t size)
{
    char letter[] = { '-', row->letter, ',', ' ', '\0' };
    const char *argument = row->argument ? row->argument : "";

    snprintf(out, size, "%s--%s%s%s%s", row->letter ? letter : "    ", row->name,
             row->optional   ? "[="
             : row->argument ? " "
                             : "",
             argument, row->optional ? "]" : "");
}

/* Every line is a paragraph. */
static void write_paragraphs(const char *text, size_t columns, struct ifg_bytes *out)
{
    struct text_frame frame = { .columns = columns };

    while (*text) {
        size_t bytes = strcspn(text, "\n");
        char paragraph[HELP_BYTES * 2];

        fill_runtimes(text, bytes, paragraph, sizeof paragraph);
        text_wrap(out, frame, paragraph);
        cli_print(out, "\n");
        text += bytes + (text[bytes] == '\n');
    }
}

static void write_usage(const struct cli_command *command, size_t columns, struct ifg_bytes *out)
{
    const char *form = command->usage;
    const char *lead = "usage: ";

    do {
        size_t bytes = strcspn(form, "\n");
        char line[HELP_BYTES];
        struct text_frame frame = { 0, strlen("usage: inferogram "), columns };

        snprintf(line, sizeof line, "inferogram %s %.*s", command->name, (int)bytes, form);
        cli_print(out, "%s", lead);
        frame.column = strlen("usage: ");
        if (frame.column + text_columns(line) <= columns)
            cli_print(out, "%s", line); /* with its blanks: forms may stand in columns */
        else
            text_wrap(out, frame, line);
        cli_print(out, "\n");
        lead = "       ";
        form += bytes + (form[bytes] == '\n');
    } while (*form);
}

static void write_options(const struct cli_command *command, size_t columns, struct ifg_bytes *out)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);
    size_t widest = 0;
    char name[128];
    char help[HELP_BYTES];

    for (size_t i = 0; i < count; i++) {
        if (rows[i]->kind == OPTION_HEADING)
            continue;
        name_row(rows[i], name, sizeof name);
        if (text_columns(name) > widest && text_columns(name) <= NAME_COLUMNS)
            widest = text_columns(name);
    }
    if (widest + 30 > columns) /* a narrow terminal: the text stands below the name */
        widest = 8;
    for (size_t i = 0; i < count; i++) {
        struct text_frame frame = { 2 + widest + 2, 2 + widest + 2, columns };

        if (rows[i]->kind == OPTION_HEADING) {
            cli_print(out, "%s%s:\n", i ? "\n" : "", rows[i]->help);
            continue;
        }
        name_row(rows[i], name, sizeof name);
        options_put_row_help(rows[i], help, sizeof help);
        cli_print(out, "  ");
        cli_put_name(out, name, (int)widest);
        if (text_columns(name) > widest)
            cli_print(out, "\n%*s", (int)widest + 2, "");
        cli_print(out, "  ");
        text_wrap(out, frame, help);
        cli_print(out, "\n");
    }
}

static void write_examples(const char *lines, struct ifg_bytes *out)
{
    cli_print(out, "\nExamples:\n");
    while (*lines) {
        size_t bytes = strcspn(lines, "\n");

        cli_print(out, "  %.*s\n", (int)bytes, lines);
        lines += bytes + (lines[bytes] == '\n');
    }
}

void options_write_help(const struct cli_command *command, size_t columns, struct ifg_bytes *out)
{
    char exits[HELP_BYTES];

    if (!columns)
        columns = text_line_columns(STDOUT_FILENO);
    write_usage(command, columns, out);
    cli_print(out, "\n");
    write_paragraphs(command->about, columns, out);
    if (strstr(command->usage, "[FILE"))
        write_paragraphs("Without FILE: the newest *.ifg in this directory.", columns, out);
    cli_print(out, "\n");
    write_options(command, columns, out);
    if (command->notes) {
        cli_print(out, "\n");
        write_paragraphs(command->notes, columns, out);
    }
    if (command->examples)
        write_examples(command->examples, out);
    snprintf(exits, sizeof exits, "Exit status: %s.", command->exits);
    cli_print(out, "\n");
    write_paragraphs(exits, columns, out);
    text_fit(out);
}

void options_write_list(const struct cli_command *command, struct ifg_bytes *out)
{
    static const char *const kinds[] = {
        [OPTION_FLAG] = "flag",     [OPTION_OFF] = "flag",        [OPTION_SET] = "flag",
        [OPTION_TEXT] = "text",     [OPTION_PATH] = "path",       [OPTION_COUNT] = "count",
        [OPTION_NUMBER] = "number", [OPTION_PERCENT] = "percent", [OPTION_SECONDS] = "duration",
        [OPTION_NS] = "duration",   [OPTION_SIZE] = "size",       [OPTION_CHOICE] = "choice",
        [OPTION_LIST] = "list",     [OPTION_CALL] = "text",       [OPTION_HELP] = "flag",
    };
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);

    for (size_t i = 0; i < count; i++) {
        const struct option_row *row = rows[i];

        if (row->kind == OPTION_HEADING)
            continue;
        cli_print(out, "%s\t--%s\t%s%c\t%s\t%s\t", command->name, row->name, row->letter ? "-" : "",
                  row->letter ? row->letter : '-', row->argument ? row->argument : "-",
                  row->argument ? kinds[row->kind] : "flag");
        for (size_t k = 0; options_choice(row, k); k++)
            cli_print(out, "%s%s", k ? "," : "", options_choice(row, k));
        cli_print(out, "\n");
    }
}
