// SPDX-License-Identifier: Apache-2.0
/* Fields of an IREE record, and of the Chrome event that is made from it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/ireeperf_internal.h"

static const struct value missing = { VALUE_MISSING, "", 0 };

struct value ireeperf_text(const char *text)
{
    return (struct value){ VALUE_STRING, text, strlen(text) };
}

/* Some fields of a record are called like fields of Chrome's events, and are found there. */
const struct value *ireeperf_field(const struct event *record, const char *key)
{
    const struct event_arg *arg = event_find_arg(record, key);

    if (arg)
        return &arg->value;
    return strcmp(key, "name") == 0 ? &record->name : &missing;
}

bool ireeperf_number(const struct event *record, const char *key, uint64_t *out)
{
    const struct value *value = ireeperf_field(record, key);
    uint64_t sum = 0;

    if (value->kind != VALUE_NUMBER || !value->bytes)
        return false;
    for (size_t i = 0; i < value->bytes; i++) {
        unsigned digit = (unsigned)(value->text[i] - '0');

        if (digit > 9 || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *out = sum;
    return true;
}

/* A time of the host, which 0 is not. */
bool ireeperf_host_time(const struct event *record, const char *key, int64_t *out_ns)
{
    uint64_t ns;

    if (!ireeperf_number(record, key, &ns) || !ns || ns >= (uint64_t)TIME_LIMIT)
        return false;
    *out_ns = (int64_t)ns;
    return true;
}

/* Chrome's times are microseconds. */
struct value ireeperf_time(int64_t ns, char *out)
{
    snprintf(out, TEXT_BYTES, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
    return (struct value){ VALUE_NUMBER, out, strlen(out) };
}

void ireeperf_add_arg(struct event *made, const char *key, struct value value)
{
    if (made->arg_count < EVENT_ARGS_MAX)
        made->args[made->arg_count++] = (struct event_arg){ key, strlen(key), value };
    else
        made->args_refused++;
}

/* An event of this phase on a lane, with nothing in it yet. */
struct event *ireeperf_make(struct ireeperf *profile, const char *phase, const char *lane)
{
    struct event *made = &profile->made;

    memset(made, 0, offsetof(struct event, args));
    made->arg_count = 0;
    made->args_refused = 0;
    made->id_is_local = made->has_stack = made->has_color = false;
    made->phase = ireeperf_text(phase);
    made->pid = ireeperf_text("IREE");
    made->tid = ireeperf_text(lane);
    return made;
}
