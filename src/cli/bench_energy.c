// SPDX-License-Identifier: Apache-2.0
/* What the inferences of a row took of energy, in words. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/bench_text.h"
#include "cli/cli.h"

const char *bench_number(double value, char out[32])
{
    if (!isfinite(value))
        snprintf(out, 32, "?");
    else if (value >= 999.5 && value < 1e15)
        cli_count((uint64_t)llround(value), out);
    else
        snprintf(out, 32, "%.*f", fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value);
    return out;
}

struct words {
    char *out;
    size_t size;
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *words, const char *format, ...)
{
    size_t used = strlen(words->out);
    va_list args;

    va_start(args, format);
    vsnprintf(words->out + used, words->size - used, format, args);
    va_end(args);
}

static void say_device(struct words *words, const char *device, double joules, double low,
                       double high)
{
    char text[32];

    if (!(joules > 0))
        return;
    say(words, "%s%s %s mJ", *words->out ? " · " : "", device, bench_number(1e3 * joules, text));
    if (isnan(low))
        return;
    say(words, " (%s", bench_number(1e3 * low, text));
    say(words, " to %s)", bench_number(1e3 * high, text));
}

const char *bench_energy_words(const struct bench_row *row, char *out, size_t size)
{
    struct words words = { out, size };
    char text[32];

    out[0] = '\0';
    say_device(&words, "CPU", row->energy_cpu_j, row->energy_cpu_low_j, row->energy_cpu_high_j);
    say_device(&words, "GPU", row->energy_gpu_j, row->energy_gpu_low_j, row->energy_gpu_high_j);
    if (*out)
        say(&words, " per inference%s",
            isnan(row->energy_idle_s) ? ", idle power included" : " above idle");
    if (!(row->energy_idle_s > 0))
        return out;
    if (*row->energy_reason)
        say(&words, "%s%s", *out ? " · " : "n/a: ", row->energy_reason);
    say(&words, " (idle");
    if (!isnan(row->energy_idle_cpu_w))
        say(&words, " CPU %s W", bench_number(row->energy_idle_cpu_w, text));
    if (!isnan(row->energy_idle_gpu_w))
        say(&words, " GPU %s W", bench_number(row->energy_idle_gpu_w, text));
    say(&words, ", measured for %.1f s before", row->energy_idle_s);
    for (size_t i = 0; i < row->trust.count; i++)
        if (strcmp(row->trust.lines[i].name, TRUST_IDLE_POWER) == 0)
            say(&words, "; that %s", row->trust.lines[i].text);
    say(&words, ")");
    return out;
}
