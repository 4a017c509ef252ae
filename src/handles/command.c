// SPDX-License-Identifier: Apache-2.0
/* Reads what IFG_PROFILE asks for; see command.h. */
#include "handles/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handles/handle.h"

#define SAMPLES_DEFAULT 100u

static const char *const keys[] = { "rate",  "samples", "sampling", "type",
                                    "regex", "glob",    "name",     "dir" };
enum key { RATE, SAMPLES, SAMPLING, TYPE, REGEX, GLOB, NAME, DIRECTORY, KEYS };

static const char *const samplings[] = { "full", "half", "fourth", "eighth", "sixteenth" };
static const char *const types[] = { "latency", "trace" };

/* Which key begins here, with its '='; KEYS: none. */
static enum key key_at(const char *text)
{
    for (int i = 0; i < KEYS; i++) {
        size_t length = strlen(keys[i]);

        if (strncmp(text, keys[i], length) == 0 && text[length] == '=')
            return (enum key)i;
    }
    return KEYS;
}

/* Where the value ends: at the end of the command, or before the next key. */
static const char *value_end(const char *value)
{
    while (*value && *value != ';' && !(*value == ',' && key_at(value + 1) != KEYS))
        value++;
    return value;
}

static int one_of(const char *value, const char *const *names, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0)
            return (int)i;
    return handle_fail(-EINVAL, "%s=%s: not one of %s ... %s", key, value, names[0],
                       names[count - 1]);
}

static int number(const char *value, const char *key, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(value, &end, 10);
    if (errno || end == value || *end || *value == '-')
        return handle_fail(-EINVAL, "%s=%s: not a number", key, value);
    return 0;
}

static int copy(char *out, size_t size, const char *value, const char *key)
{
    size_t length = strlen(value);

    if (length >= size)
        return handle_fail(-EINVAL, "%s=: longer than %zu bytes", key, size - 1);
    memcpy(out, value, length + 1);
    return 0;
}

static int set(struct command *command, enum key key, const char *value)
{
    uint64_t count = 0;
    int chosen = 0;

    switch (key) {
    case RATE:
        chosen = number(value, "rate", &count);
        command->report_ms = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        break;
    case SAMPLES:
        chosen = number(value, "samples", &command->samples);
        break;
    case SAMPLING:
        chosen = one_of(value, samplings, sizeof samplings / sizeof *samplings, "sampling");
        command->sampling = (enum ifg_sampling)(chosen < 0 ? 0 : chosen);
        break;
    case TYPE:
        chosen = one_of(value, types, sizeof types / sizeof *types, "type");
        command->type = (enum ifg_report_type)(chosen < 0 ? 0 : chosen);
        break;
    case REGEX:
        chosen = copy(command->regex, sizeof command->regex, value, "regex");
        break;
    case GLOB:
        chosen = copy(command->glob, sizeof command->glob, value, "glob");
        break;
    case NAME:
        chosen = copy(command->name, sizeof command->name, value, "name");
        break;
    case DIRECTORY:
        chosen = copy(command->directory, sizeof command->directory, value, "dir");
        break;
    case KEYS:
        break;
    }
    return chosen < 0 ? chosen : 0;
}

static int parse_keys(const char **at, struct command *out)
{
    while (**at && **at != ';') {
        enum key key = key_at(*at);
        char value[512];
        const char *start;
        const char *end;
        int status;

        if (key == KEYS)
            return handle_fail(-EINVAL,
                               "\"%.60s\": rate=, samples=, sampling=, type=, regex=, "
                               "glob=, name= or dir= is expected here",
                               *at);
        start = *at + strlen(keys[key]) + 1;
        end = value_end(start);
        if ((size_t)(end - start) >= sizeof value)
            return handle_fail(-EINVAL, "%s=: longer than %zu bytes", keys[key], sizeof value - 1);
        snprintf(value, sizeof value, "%.*s", (int)(end - start), start);
        status = set(out, key, value);
        if (status)
            return status;
        *at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

int command_parse(const char **text, struct command *out)
{
    const char *at = *text + strspn(*text, "; ");
    int status;

    *out = (struct command){ .samples = SAMPLES_DEFAULT };
    if (!*at)
        return 1;
    if (strncmp(at, "stream", 6) == 0 && strchr(":;", at[6]))
        out->is_stream = 1;
    else if (strncmp(at, "profile", 7) != 0 || !strchr(":;", at[7]))
        return handle_fail(-EINVAL, "\"%.60s\": a command begins with stream: or profile:", at);
    at += out->is_stream ? 6 : 7;
    at += *at == ':';
    status = parse_keys(&at, out);
    *text = at;
    if (!out->regex[0] && !out->glob[0])
        snprintf(out->glob, sizeof out->glob, "*");
    if (!out->name[0])
        snprintf(out->name, sizeof out->name, "%s", out->is_stream ? "stream" : "profile");
    if (!out->directory[0])
        snprintf(out->directory, sizeof out->directory, "inferogram-profile");
    return status;
}
