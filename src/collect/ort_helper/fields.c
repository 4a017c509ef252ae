// SPDX-License-Identifier: Apache-2.0
/* The fields of a line of text from outside: see fields.h. */
#include "collect/ort_helper/fields.h"

#include <string.h>

void fields_over(struct fields *fields, const char *line, size_t bytes)
{
    fields->at = line;
    fields->end = line + bytes;
}

static void skip_blanks(struct fields *fields)
{
    while (fields->at < fields->end && *fields->at == ' ')
        fields->at++;
}

bool fields_at_end(struct fields *fields)
{
    skip_blanks(fields);
    return fields->at == fields->end;
}

static const char *end_of_field(const struct fields *fields)
{
    const char *blank = memchr(fields->at, ' ', (size_t)(fields->end - fields->at));

    return blank ? blank : fields->end;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return 16;
}

bool fields_number(struct fields *fields, uint64_t *out_number)
{
    const char *at;
    const char *end;
    uint64_t base = 10;
    uint64_t number = 0;

    if (fields_at_end(fields))
        return false;
    at = fields->at;
    end = end_of_field(fields);
    if (end - at > 2 && at[0] == '0' && at[1] == 'x') {
        base = 16;
        at += 2;
    }
    for (; at < end; at++) {
        uint64_t digit = (uint64_t)digit_of(*at);

        if (digit >= base || number > (UINT64_MAX - digit) / base)
            return false;
        number = number * base + digit;
    }
    fields->at = end;
    *out_number = number;
    return true;
}

bool fields_text(struct fields *fields, char *out, size_t size)
{
    const char *at;
    const char *end;
    size_t used = 0;

    if (fields_at_end(fields))
        return false;
    at = fields->at;
    end = end_of_field(fields);
    if (end - at == 1 && *at == '%')
        at = end;
    while (at < end) {
        char c = *at++;

        if (c == '%') {
            if (end - at < 2 || digit_of(at[0]) > 15 || digit_of(at[1]) > 15)
                return false;
            c = (char)(digit_of(at[0]) << 4 | digit_of(at[1]));
            at += 2;
        }
        if (!c || used + 1 >= size)
            return false;
        out[used++] = c;
    }
    out[used] = '\0';
    fields->at = end;
    return true;
}

void fields_rest(struct fields *fields, char *out, size_t size)
{
    size_t bytes;

    skip_blanks(fields);
    bytes = (size_t)(fields->end - fields->at);
    if (bytes >= size)
        bytes = size - 1;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)fields->at[i];

        out[i] = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    out[bytes] = '\0';
    fields->at = fields->end;
}
