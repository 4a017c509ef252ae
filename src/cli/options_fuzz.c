// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines, a word a line, against a table with every kind of option.
 *
 * Tried: values that do not fit, abbreviations, letters in clusters, optional values, lists, empty
 * words, "--" anywhere, and bytes that are no text. What is accepted must lie within its limits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"

#define WORDS_MAX 64

enum color { COLOR_RED = 1, COLOR_GREEN };

struct request {
    bool flag;
    bool given;
    enum color color;
    bool parts[3];
    const char *text;
    uint16_t port;
    uint64_t seed;
    double rate;
    double share;
    double seconds;
    uint64_t ns;
    size_t bytes;
};

static const char *const colors[] = { "red", "green", NULL };
static const char *const parts[] = { "head", "body", "tail", NULL };

#define AT(member) IFG_AT(struct request, member)

static const struct option_row rows[] = {
    { "flag", 'f', NULL, "a flag", OPTION_FLAG, AT(flag) },
    { "color", 'c', "COLOR", "one of {}", OPTION_CHOICE, AT(color), .value = COLOR_RED,
      .choices = colors },
    { "parts", 0, "LIST", "some of {}", OPTION_LIST, AT(parts), .choices = parts },
    { "text", 'o', "TEXT", "any text", OPTION_PATH, AT(text) },
    { "port", 0, "N", "a port", OPTION_COUNT, AT(port), IFG_GIVEN(struct request, given),
      .optional = true, .value = 1, .least = 1, .most = 65535 },
    { "seed", 0, "N", "a seed", OPTION_COUNT, AT(seed) },
    { "rate", 0, "R", "a rate", OPTION_NUMBER, AT(rate), .most = 50, .suffix = "/s" },
    { "share", 0, "PCT", "a share", OPTION_PERCENT, AT(share) },
    { "seconds", 0, "T", "a time", OPTION_SECONDS, AT(seconds), .zero = true },
    { "from", 0, "T", "a time in ns", OPTION_NS, AT(ns) },
    { "size", 0, "SIZE", "bytes", OPTION_SIZE, AT(bytes) },
    { 0 },
};

static void parse(const struct cli_command *command, int argc, char **argv)
{
    struct request request = { .color = COLOR_RED };
    struct option_words words;

    if (options_parse(command, argc, argv, &request, &words))
        return;
    if (words.count > (size_t)argc || request.color < COLOR_RED || request.color > COLOR_GREEN ||
        (request.given && !request.port) || !(request.rate >= 0 && request.rate <= 50) ||
        !(request.share >= 0 && request.share <= 100) || !(request.seconds >= 0) ||
        (request.text && !*request.text))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cli_command commands[] = {
        { .name = "try", .tables = { rows }, .usage = "", .about = "", .exits = "0" },
        { .name = "start",
          .tables = { rows },
          .usage = "",
          .about = "",
          .exits = "0",
          .operands = OPERANDS_PROGRAM },
    };
    char *argv[WORDS_MAX + 2];
    FILE *nowhere = fopen("/dev/null", "w");
    FILE *saved_out = stdout;
    FILE *saved_err = stderr;

    /* Sentences and help; a sanitizer writes to the descriptor. */
    if (nowhere)
        stdout = stderr = nowhere;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *text = ifg_strndup((const char *)data, size);
        char *rest = text;
        int argc = 0;

        argv[argc++] = (char *)(uintptr_t)commands[i].name;
        while (rest && argc <= WORDS_MAX)
            argv[argc++] = strsep(&rest, "\n");
        argv[argc] = NULL;
        parse(&commands[i], argc, argv);
        ifg_free(text);
    }
    stdout = saved_out;
    stderr = saved_err;
    if (nowhere)
        fclose(nowhere);
    return 0;
}
