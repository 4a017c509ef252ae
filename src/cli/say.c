// SPDX-License-Identifier: Apache-2.0
/* How the commands say things: see cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/convert.h"
#include "base/sudo.h"
#include "cli/terminal.h"

static bool told_of_limit;
static const char *place; /* in a file of settings, or NULL */

void cli_set_place(const char *text)
{
    place = text;
}

bool cli_told_of_limit(void)
{
    return told_of_limit;
}

/* Messages quote names of files and programs, and those may contain anything. */
static void say(const char *format, va_list args)
{
    char text[8192];
    char clean[sizeof text];

    vsnprintf(text, sizeof text, format, args);
    told_of_limit |= strstr(text, "--max-memory") != NULL;
    ifg_fit_sudo(text);
    fputs("inferogram: ", stderr);
    if (place)
        fprintf(stderr, "%s: ", cli_clean(place, clean, sizeof clean));
    fputs(cli_clean(text, clean, sizeof clean), stderr);
}

void cli_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    fputc('\n', stderr);
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    if (command)
        fprintf(stderr, "; see 'inferogram %s --help'\n", command);
    else
        fputs("; see 'inferogram --help'\n", stderr);
    return CLI_USAGE;
}

int cli_exit_for(enum ifg_status status)
{
    switch (status) {
    case IFG_OK:
        return CLI_YES;
    case IFG_PERMISSION:
        return CLI_LACKS;
    case IFG_CORRUPT:
    case IFG_UNSUPPORTED:
        return CLI_USAGE;
    default:
        return CLI_NO;
    }
}

static int write_bytes(const struct ifg_bytes *bytes, bool more)
{
    if (bytes->failed) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    if (fflush(stdout) == 0 && terminal_page(bytes, more))
        return CLI_YES;
    if (fwrite(bytes->data, 1, bytes->size, stdout) != bytes->size || fflush(stdout) != 0) {
        cli_say("cannot write the result: %s", strerror(errno));
        return CLI_NO;
    }
    return CLI_YES;
}

int cli_write_out(const struct ifg_bytes *bytes)
{
    return write_bytes(bytes, false);
}

int cli_write_part(const struct ifg_bytes *bytes)
{
    return write_bytes(bytes, true);
}

void cli_print(struct ifg_bytes *out, const char *format, ...)
{
    char text[8192];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return;
    ifg_bytes_put(out, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

const char *cli_count(uint64_t count, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    bool apart = isatty(STDOUT_FILENO);
    char *to = out;

    for (int i = 0; i < length; i++) {
        if (apart && i && (length - i) % 3 == 0)
            *to++ = ' ';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

/* Three significant digits and a unit. */
static const char *scaled(double value, double step, const char *const *units, size_t count,
                          char out[32])
{
    size_t unit = 0;

    while (unit + 1 < count && fabs(value) >= step * 0.9995) {
        value /= step;
        unit++;
    }
    snprintf(out, 32, "%.*f %s",
             value == floor(value) && unit == 0 ? 0
             : value < 10                       ? 2
             : value < 100                      ? 1
                                                : 0,
             value, units[unit]);
    return out;
}

const char *cli_duration(double ns, char out[32])
{
    static const char *const units[] = { "ns", "µs", "ms", "s" };

    return scaled(ns, 1000, units, 4, out);
}

const char *cli_size(uint64_t bytes, char out[32])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

    return scaled((double)bytes, 1000, units, 5, out);
}

/* The length of the character at text if a terminal may get it as it is, else 0. Terminals take
 * U+0080 to U+009F for control characters too, and stray bytes as they like. */
static size_t printable_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;

    if (text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) /* also the end of the text */
            return 0;
    return length;
}

const char *cli_clean(const char *text, char *out, size_t size)
{
    size_t used = 0;

    while (*text) {
        size_t length = printable_length((const unsigned char *)text);

        if (used + (length ? length : 1) > size - 1)
            break;
        if (length)
            memcpy(out + used, text, length);
        else
            out[used] = '?';
        used += length ? length : 1;
        text += length ? length : 1;
    }
    out[used] = '\0';
    return out;
}

void cli_put_name(struct ifg_bytes *out, const char *text, int columns)
{
    char clean[1024];
    int used = 0;

    cli_clean(text, clean, sizeof clean);
    for (const char *at = clean; *at; at++)
        used += ((unsigned char)*at & 0xc0) != 0x80; /* a character may take several bytes */
    cli_print(out, "%s%*s", clean, used < columns ? columns - used : 0, "");
}

const char *cli_bold(bool on, int fd)
{
    if (!terminal_has_color(fd))
        return "";
    return on ? "\033[1m" : "\033[0m";
}

bool cli_parse_seconds(const char *text, double *out_seconds)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {
        { "", 1 },      { "s", 1 },     { "ms", 1e-3 }, { "us", 1e-6 },
        { "µs", 1e-6 }, { "μs", 1e-6 }, /* the Greek letter looks the same */
        { "ns", 1e-9 }, { "m", 60 },    { "min", 60 },  { "h", 3600 },
    };
    char *end;
    double value = strtod(text, &end);

    if (end == text || !isfinite(value) || value < 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].suffix) == 0) {
            *out_seconds = value * units[i].factor;
            return *out_seconds < 1e9;
        }
    }
    return false;
}

bool cli_parse_ns(const char *text, uint64_t *out_ns)
{
    double seconds;

    if (!cli_parse_seconds(text, &seconds))
        return false;
    *out_ns = ifg_u64_of(round(seconds * 1e9));
    return true;
}

bool cli_parse_size(const char *text, size_t *out_bytes)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = { { "", 1 },    { "B", 1 },    { "k", 1e3 }, { "kB", 1e3 },
                  { "M", 1e6 }, { "MB", 1e6 }, { "G", 1e9 }, { "GB", 1e9 } };
    char *end = NULL;
    double value = strtod(text, &end);

    *out_bytes = 0;
    if (end == text || *text < '0' || *text > '9')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(end, units[i].unit) != 0)
            continue;
        value *= units[i].bytes;
        if (!(value >= 1 && value <= 1e12))
            return false;
        *out_bytes = (size_t)value;
        return true;
    }
    return false;
}
