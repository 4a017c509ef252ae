// SPDX-License-Identifier: Apache-2.0
/* What is different about two recordings: see recordings.h. */
#include "analyze/recordings.h"
#include "trace/keys.h"

#include <stdio.h>
#include <string.h>

#define ITEM_MAX   100u
#define MODELS_MAX 8u

static void join(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    size_t length = strnlen(text, ITEM_MAX);
    char item[ITEM_MAX];

    if (length == ITEM_MAX)
        for (length = ITEM_MAX - 1; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--; /* not in the middle of a character */
    for (size_t i = 0; i < length; i++)
        item[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    item[length] = '\0';
    if (used + 4 < size)
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", item);
}

static const char *fact(const struct timeline *timeline, const char *key)
{
    const char *value = trace_find_fact(trace_reader_tables(timeline->reader), key);

    return value ? value : "";
}

/* "12 345 events lost" */
static void say_lost(char *out, size_t size, uint64_t count)
{
    char digits[24];
    char text[40];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[used++] = ' ';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    snprintf(out, size, "%s events lost", text);
}

size_t recordings_compare(const struct timeline *const timelines[DIFF_SIDES],
                          struct recordings_difference out[RECORDINGS_DIFFERENCES])
{
    static const char *const whats[RECORDINGS_DIFFERENCES] = { "programs", "models",   "runtimes",
                                                               "CPUs",     "machines", "losses" };
    const size_t size = sizeof out[0].text[0];
    size_t count = 0;

    memset(out, 0, RECORDINGS_DIFFERENCES * sizeof *out);
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct timeline *timeline = timelines[side];

        join(out[0].text[side], size, fact(timeline, TRACE_FACT_RECORD_PROGRAM));
        for (size_t i = 0; i < timeline->model_count && i < MODELS_MAX; i++) {
            join(out[1].text[side], size, timeline->models[i].name);
            if (*timeline->models[i].content_id)
                join(out[1].text[side], size, timeline->models[i].content_id);
            if (*timeline->models[i].runtime)
                join(out[2].text[side], size, timeline->models[i].runtime);
        }
        join(out[3].text[side], size, fact(timeline, TRACE_FACT_HOST_CPU));
        join(out[4].text[side], size, fact(timeline, TRACE_FACT_HOST_NAME));
        if (timeline->dropped)
            say_lost(out[5].text[side], size, timeline->dropped);
    }
    for (size_t i = 0; i < RECORDINGS_DIFFERENCES; i++) {
        if (strcmp(out[i].text[DIFF_A], out[i].text[DIFF_B]) == 0)
            continue;
        out[count] = out[i];
        out[count++].what = whats[i];
    }
    return count;
}
