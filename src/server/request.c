// SPDX-License-Identifier: Apache-2.0
/* Paths and parameters of requests: see request.h. */
#include "server/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 40u

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Letters, digits, '-' and '_': what names of addresses and parameters are made of. */
static bool is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
    }
    return length > 0;
}

/* Undoes %XX and +; false when an escape is broken or stands for a control character. */
static bool unescape(const char *text, size_t length, char *out, size_t *out_length)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '%') {
            int high = length - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = length - i > 2 ? hex_digit(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (unsigned char)(high << 4 | low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return false;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    *out_length = n;
    return true;
}

static enum request_result parse_path(const char *path, size_t length, struct request *out,
                                      const char **out_why)
{
    static const char api[] = "/api/";
    const size_t api_length = sizeof api - 1;
    size_t name_length;
    size_t word = 0; /* where the name's last part begins */

    *out_why = "there is nothing at this address";
    if (length <= api_length || memcmp(path, api, api_length) != 0)
        return REQUEST_UNKNOWN;
    path += api_length;
    length -= api_length;
    if (length > 2 && path[0] == 't' && path[1] == '/') {
        uint64_t id = 0;
        size_t digits = 0;

        path += 2;
        length -= 2;
        while (digits < length && path[digits] >= '0' && path[digits] <= '9' && digits < 9) {
            id = id * 10 + (uint64_t)(path[digits] - '0');
            digits++;
        }
        if (digits == 0 || digits == length || path[digits] != '/')
            return REQUEST_UNKNOWN;
        out->trace = (uint32_t)id;
        path += digits + 1;
        length -= digits + 1;
    }
    name_length = length;
    if (out->trace == REQUEST_NO_TRACE && length > 5 && memcmp(path, "live/", 5) == 0)
        word = 5;
    if (name_length >= REQUEST_NAME_MAX || !is_word(path + word, name_length - word))
        return REQUEST_UNKNOWN;
    memcpy(out->name, path, name_length);
    out->name[name_length] = '\0';
    return REQUEST_OK;
}

static enum request_result parse_parameters(const char *query, size_t length, struct request *out,
                                            const char **out_why)
{
    size_t used = 0; /* of out->text */

    while (length > 0) {
        const char *amp = memchr(query, '&', length);
        size_t part = amp ? (size_t)(amp - query) : length;
        const char *equals = memchr(query, '=', part);
        size_t name_length = equals ? (size_t)(equals - query) : part;
        size_t value_length = 0;
        struct request_parameter *parameter = &out->parameters[out->parameter_count];

        if (out->parameter_count == REQUEST_PARAMETERS_MAX) {
            *out_why = "there are more parameters than any address has";
            return REQUEST_BAD;
        }
        if (!equals || !is_word(query, name_length)) {
            *out_why = "a parameter is not of the form name=value";
            return REQUEST_BAD;
        }
        /* "name=value&" becomes "name\0value\0": it never grows, so text is large enough. */
        memcpy(out->text + used, query, name_length);
        out->text[used + name_length] = '\0';
        parameter->name = out->text + used;
        used += name_length + 1;
        parameter->value = out->text + used;
        if (!unescape(equals + 1, part - name_length - 1, out->text + used, &value_length)) {
            *out_why = "the value of a parameter has a broken escape or a control character";
            return REQUEST_BAD;
        }
        used += value_length + 1;
        if (request_find(out, parameter->name)) {
            *out_why = "a parameter is given twice";
            return REQUEST_BAD;
        }
        out->parameter_count++;
        query += part;
        length -= part;
        if (length > 0) { /* the '&' */
            query++;
            length--;
            if (length == 0) {
                *out_why = "a parameter is not of the form name=value";
                return REQUEST_BAD;
            }
        }
    }
    return REQUEST_OK;
}

enum request_result request_parse(const char *target, size_t length, struct request *out,
                                  const char **out_why)
{
    const char *question;
    size_t path_length;
    enum request_result result;

    out->name[0] = '\0';
    out->trace = REQUEST_NO_TRACE;
    out->parameter_count = 0;
    *out_why = "";
    if (length > REQUEST_TARGET_MAX) {
        *out_why = "the address is longer than 8192 bytes";
        return REQUEST_TOO_LONG;
    }
    question = memchr(target, '?', length);
    path_length = question ? (size_t)(question - target) : length;
    result = parse_path(target, path_length, out, out_why);
    if (result == REQUEST_OK && question)
        result = parse_parameters(question + 1, length - path_length - 1, out, out_why);
    if (result == REQUEST_OK)
        *out_why = "";
    return result;
}

const char *request_find(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->parameter_count; i++)
        if (strcmp(request->parameters[i].name, name) == 0)
            return request->parameters[i].value;
    return NULL;
}

bool request_parse_u64(const char *text, uint64_t *out_value)
{
    uint64_t value = 0;

    *out_value = 0;
    if (!text || !*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *out_value = value;
    return true;
}

/* strtod takes much more than numbers as we write them: blanks, hexadecimal, "nan", "infinity". */
static bool is_number(const char *text)
{
    size_t digits = 0;

    if (strlen(text) > NUMBER_MAX)
        return false;
    if (*text == '-')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        digits++;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++)
            digits++;
    if (digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '+' || *text == '-' || *text == ' ') /* an unescaped + reads as a blank */
            text++;
        if (*text < '0' || *text > '9')
            return false;
        while (*text >= '0' && *text <= '9')
            text++;
    }
    return *text == '\0';
}

bool request_parse_double(const char *text, double *out_value)
{
    char copy[NUMBER_MAX + 1];
    double value;

    *out_value = 0;
    if (!text || !is_number(text))
        return false;
    for (size_t i = 0; i <= strlen(text); i++)
        copy[i] = text[i] == ' ' ? '+' : text[i];
    value = strtod(copy, NULL);
    if (!isfinite(value))
        return false;
    *out_value = value;
    return true;
}

size_t request_parse_list(const char *text, uint32_t *out_values, size_t max)
{
    size_t count = 0;

    if (!text || !*text)
        return SIZE_MAX;
    for (;;) {
        uint64_t value = 0;
        size_t digits = 0;

        while (*text >= '0' && *text <= '9' && digits < 10) {
            value = value * 10 + (uint64_t)(*text++ - '0');
            digits++;
        }
        if (digits == 0 || value > UINT32_MAX || count == max)
            return SIZE_MAX;
        out_values[count++] = (uint32_t)value;
        if (*text == '\0')
            return count;
        if (*text++ != ',')
            return SIZE_MAX;
    }
}
