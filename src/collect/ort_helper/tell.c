// SPDX-License-Identifier: Apache-2.0
/* Lines from the process that runs foreign code: see tell.h. */
#include "collect/ort_helper/tell.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int out_fd = -1;

void tell_to(int fd)
{
    out_fd = fd;
}

static void put(struct tell *line, const char *text, size_t bytes)
{
    if (bytes > sizeof line->text - 1 - line->used)
        bytes = sizeof line->text - 1 - line->used;
    memcpy(line->text + line->used, text, bytes);
    line->used += bytes;
}

void tell_begin(struct tell *line, const char *word)
{
    line->used = 0;
    put(line, word, strlen(word));
}

void tell_word(struct tell *line, const char *word)
{
    put(line, " ", 1);
    put(line, word, strlen(word));
}

static void put_digits(struct tell *line, uint64_t value, unsigned base)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    put(line, digits + at, sizeof digits - at);
}

void tell_hex(struct tell *line, uint64_t value)
{
    put(line, " 0x", 3);
    put_digits(line, value, 16);
}

void tell_number(struct tell *line, uint64_t value)
{
    put(line, " ", 1);
    put_digits(line, value, 10);
}

void tell_text(struct tell *line, const char *text)
{
    put(line, " ", 1);
    if (!*text)
        put(line, "%", 1);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        char escaped[3] = { '%', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15] };

        if (byte <= ' ' || byte == '%' || byte == 0x7f)
            put(line, escaped, sizeof escaped);
        else
            put(line, text, 1);
    }
}

void tell_end(struct tell *line)
{
    const char *at = line->text;

    line->text[line->used++] = '\n';
    while (line->used && out_fd >= 0) {
        ssize_t written = write(out_fd, at, line->used);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        at += written;
        line->used -= (size_t)written;
    }
}

void tell_sentence(const char *word, const char *what, const char *why)
{
    struct tell line;

    tell_begin(&line, word);
    tell_word(&line, what);
    if (why) {
        put(&line, ": ", 2);
        put(&line, why, strcspn(why, "\n"));
    }
    tell_end(&line);
}

void tell_pair(const char *word, const char *text)
{
    struct tell line;

    tell_begin(&line, word);
    tell_text(&line, text);
    tell_end(&line);
}
