// SPDX-License-Identifier: Apache-2.0
/* Taking a sentence and the command in it apart, and printing that so that it can be copied. */
#include "cli/advice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "collect/privileged/privileged.h"

/* Of no use to somebody who has just read how to get the rights. */
#define INSTEAD "; without rights, "

static int length_before(const char *text, const char *end)
{
    size_t length = end ? (size_t)(end - text) : strlen(text);

    return length < ADVICE_SENTENCE ? (int)length : ADVICE_SENTENCE - 1;
}

void advice_split(const char *text, struct advice *out_advice)
{
    const char *begin = strstr(text, "`sudo ") ? strstr(text, "`sudo ") : strstr(text, "`mount ");
    const char *end = begin ? strchr(begin + 1, '`') : NULL;
    size_t length = end ? (size_t)(end - begin - 1) : 0;

    out_advice->command[0] = '\0';
    if (!end || length >= sizeof out_advice->command) {
        snprintf(out_advice->sentence, sizeof out_advice->sentence, "%.*s",
                 length_before(text, strstr(text, INSTEAD)), text);
        return;
    }
    snprintf(out_advice->sentence, sizeof out_advice->sentence, "%.*s",
             length_before(text, strstr(text, "; ")), text);
    /* A command without the program it is for: the helper, where that is installed. */
    if (strncmp(begin + 1, "sudo setcap ", 12) == 0)
        privileged_setup(out_advice->command, sizeof out_advice->command);
    else
        snprintf(out_advice->command, sizeof out_advice->command, "%.*s", (int)length, begin + 1);
    if (!out_advice->command[0]) /* it is not installed: then the rest of the sentence counts */
        snprintf(out_advice->sentence, sizeof out_advice->sentence, "%.*s",
                 length_before(text, strstr(text, INSTEAD)), text);
}

/* ---- a command in lines ---- */

/* Up to the next blank that is not between quotes or in $( ). */
static size_t word_length(const char *text)
{
    bool quoted = false;
    size_t length = 0;
    unsigned depth = 0;

    for (; text[length] && (text[length] != ' ' || quoted || depth); length++) {
        if (text[length] == '\'')
            quoted = !quoted;
        else if (text[length] == '(')
            depth++;
        else if (text[length] == ')' && depth)
            depth--;
    }
    return length;
}

void advice_put_command(struct ifg_bytes *out, const char *command, size_t indent, size_t columns)
{
    bool whole = indent + text_columns_of(command, strlen(command)) <= columns;
    size_t column = indent;
    bool first = true;

    cli_print(out, "%*s", (int)indent, "");
    while (*command) {
        size_t length = word_length(command);
        size_t width = text_columns_of(command, length);
        size_t more = command[length] && !whole ? 2 : 0; /* " \" may have to follow */

        if (!first && !whole && column + 1 + width + more > columns) {
            cli_print(out, " \\\n%*s", (int)indent + 4, "");
            column = indent + 4;
        } else if (!first) {
            cli_print(out, " ");
            column++;
        }
        cli_print(out, "%.*s", (int)length, command);
        column += width;
        first = false;
        command += length + strspn(command + length, " ");
        if (length == 2 && strncmp(command - 3, "&& ", 3) == 0 && !whole) {
            cli_print(out, "\n%*s", (int)indent, ""); /* the shell waits for the rest by itself */
            column = indent;
            first = true;
        }
    }
    cli_print(out, "\n");
}
