// SPDX-License-Identifier: Apache-2.0
/* What devices did for a model, in words: the same in the report, its document and the page. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/device_use.h"
#include "analyze/findings/findings_internal.h"

static void append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

static struct words say(uint64_t ns, uint64_t of)
{
    return finding_words_time((double)ns / (double)of);
}

static struct words say_bytes(double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB" };
    struct words words;
    size_t unit = 0;

    for (; unit < 3 && bytes >= 999.5; unit++)
        bytes /= 1000;
    snprintf(words.text, sizeof words.text, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes,
             units[unit]);
    return words;
}

const char *device_model_words(const struct device_model *model, char *out, size_t size)
{
    const struct device_time *time = &model->steady;
    bool any = false;

    out[0] = '\0';
    if (!time->slices)
        return out;
    append(out, size, "host %s · busy %s (%.0f %%)", say(time->host_ns, time->slices).text,
           say(time->busy_ns, time->slices).text,
           time->span_ns ? 100 * (double)time->busy_ns / (double)time->span_ns : 0);
    if (time->after_ns)
        append(out, size, ", %s of it after the host was done",
               say(time->after_ns, time->slices).text);
    if (time->foreign_ns)
        append(out, size, " · busy with other work %s", say(time->foreign_ns, time->slices).text);
    append(out, size, " · %.0f kernels", (double)time->kernels / (double)time->slices);
    if (time->launches)
        append(out, size, " · queued %s", say(time->queue_ns, time->launches).text);
    append(out, size, " · host waits %s", say(time->wait_ns, time->slices).text);
    for (int i = 0; i < DEVICE_COPIES; i++) {
        if (!time->copies[i].count)
            continue;
        if (!any)
            append(out, size, " · copies %s (", say(time->copy_ns, time->slices).text);
        append(out, size, "%s%s %s", any ? ", " : "",
               say_bytes((double)time->copies[i].bytes / (double)time->slices).text,
               device_copy_name((enum device_copy)i));
        any = true;
    }
    append(out, size, "%s", any ? ")" : "");
    return out;
}

const char *device_idle_words(const struct device_model *model, char *out, size_t size)
{
    static const char *const names[DEVICE_IDLES] = { "launching", "operators on the CPU", "waiting",
                                                     "other code of the host" };
    const struct device_time *time = &model->steady;

    out[0] = '\0';
    if (!time->slices || !device_time_idle(time))
        return out;
    append(out, size, "%s: ", say(device_time_idle(time), time->slices).text);
    for (int i = 0, shown = 0; i < DEVICE_IDLES; i++)
        if (time->idle_ns[i])
            append(out, size, "%s%s %s", shown++ ? " · " : "", names[i],
                   say(time->idle_ns[i], time->slices).text);
    return out;
}
