// SPDX-License-Identifier: Apache-2.0
/* Finding what looks like a secret in arguments, and leaving it out. */
#include "record/redact.h"
#include "trace/keys.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* A pattern that takes more steps than this on one argument has matched for our purposes: rather
 * too little in the trace than a secret. */
#define MATCH_LIMIT 1000000u

struct text {
    char *start;
    size_t used, size;
};

static void put(struct text *out, const char *data, size_t bytes)
{
    size_t room = out->size - out->used;

    if (bytes > room)
        bytes = room;
    memcpy(out->start + out->used, data, bytes);
    out->used += bytes;
}

static void put_redacted(struct text *out)
{
    put(out, REDACTED, sizeof REDACTED - 1);
}

/* ---- names ---- */

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool has_word(const char *name, size_t length, const char *word)
{
    size_t bytes = strlen(word);

    for (size_t i = 0; i + bytes <= length; i++)
        if (strncasecmp(name + i, word, bytes) == 0)
            return true;
    return false;
}

static bool ends_with(const char *name, size_t length, const char *word)
{
    size_t bytes = strlen(word);

    return length >= bytes && strncasecmp(name + length - bytes, word, bytes) == 0;
}

/* A "token" of a language model is no secret: --eos-token, --max-tokens, --tokenizer. */
static bool is_secret_name(const char *name, size_t length)
{
    static const char *const words[] = { "password",   "passwd",     "passphrase",  "secret",
                                         "apikey",     "api-key",    "api_key",     "credential",
                                         "access-key", "access_key", "private-key", "private_key" };
    static const char *const harmless[] = { "eos",  "bos",  "pad", "unk",   "sep",   "cls",
                                            "mask", "stop", "end", "start", "image", "special" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, length, words[i]))
            return true;
    if (!ends_with(name, length, "token"))
        return false;
    length -= strlen("token");
    while (length && !isalnum((unsigned char)name[length - 1]))
        length--;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (ends_with(name, length, harmless[i]))
            return false;
    return true;
}

/* ---- what looks like a secret ---- */

static size_t value_length(const char *at, const char *end)
{
    const char *start = at;
    char quote = at < end && (*at == '"' || *at == '\'') ? *at++ : 0;

    while (at < end &&
           (quote ? *at != quote : !isspace((unsigned char)*at) && !strchr("&;|'\"", *at)))
        at++;
    return (size_t)(at - start) + (quote && at < end);
}

/* The password in scheme://user:password@host, that begins behind "://"; 0: there is none. */
static size_t password_length(const char *at, const char *end, size_t *out_before)
{
    const char *colon = NULL;

    for (const char *c = at; c < end && *c != '/' && !isspace((unsigned char)*c); c++) {
        if (*c == ':' && !colon)
            colon = c;
        if (*c == '@' && colon) {
            *out_before = (size_t)(colon + 1 - at);
            return (size_t)(c - colon - 1);
        }
    }
    return 0;
}

/* One argument without the values behind secret names. */
static void put_without_secrets(struct text *out, const char *argument, size_t length)
{
    const char *end = argument + length;
    const char *name = argument;
    const char *done = argument;

    for (const char *at = argument; at < end; at++) {
        size_t before = 0;
        size_t bytes = 0;

        if (is_name_character(*at))
            continue;
        if (*at == '=' && is_secret_name(name, (size_t)(at - name)))
            bytes = value_length(at + 1, end);
        else if (end - at > 3 && strncmp(at, "://", 3) == 0) {
            bytes = password_length(at + 3, end, &before);
            before += 2; /* behind the colon that we stand on */
        }
        if (bytes) {
            const char *value = at + 1 + before;

            put(out, done, (size_t)(value - done));
            put_redacted(out);
            done = value + bytes;
            at = done - 1;
        }
        name = at + 1;
    }
    put(out, done, (size_t)(end - done));
}

/* --token VALUE: the value is an argument of its own. */
static bool announces_secret(const char *argument, size_t length)
{
    return length > 2 && argument[0] == '-' && !memchr(argument, '=', length) &&
           is_secret_name(argument, length);
}

/* ---- patterns ---- */

enum ifg_status redact_add(struct redaction *redaction, const char *pattern, struct ifg_error *err)
{
    PCRE2_SIZE where;
    pcre2_code *code;
    int number;

    if (redaction->pattern_count == REDACT_PATTERNS)
        return ifg_fail(err, IFG_INVALID, "more than %d patterns to redact", REDACT_PATTERNS);
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &number, &where, NULL);
    if (!code) {
        PCRE2_UCHAR reason[160];

        pcre2_get_error_message(number, reason, sizeof reason);
        return ifg_fail(err, IFG_INVALID, "'%s' is not a valid pattern: %s, at character %zu",
                        pattern, (const char *)reason, (size_t)where + 1);
    }
    redaction->patterns[redaction->pattern_count++] = code;
    return IFG_OK;
}

void redact_fini(struct redaction *redaction)
{
    for (size_t i = 0; i < redaction->pattern_count; i++)
        pcre2_code_free(redaction->patterns[i]);
    redaction->pattern_count = 0;
}

/* Replaces what a pattern matches. */
static void apply_pattern(const pcre2_code *code, const char *text, size_t length, struct text *out)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    size_t at = 0;

    if (limits)
        pcre2_set_match_limit(limits, MATCH_LIMIT);
    while (data && limits && at <= length) {
        int found = pcre2_match(code, (PCRE2_SPTR)text, length, at, 0, data, limits);
        PCRE2_SIZE *span = pcre2_get_ovector_pointer(data);

        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0) {
            put_redacted(out);
            at = length;
            break;
        }
        if (span[1] <= span[0] || span[0] < at) { /* an empty match: step over one character */
            if (at < length)
                put(out, text + at, 1);
            at++;
            continue;
        }
        put(out, text + at, span[0] - at);
        put_redacted(out);
        at = span[1];
    }
    if (data && limits && at < length)
        put(out, text + at, length - at);
    if (!data || !limits)
        put_redacted(out);
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
}

/* ---- all of it ---- */

static void put_argument(const struct redaction *redaction, const char *argument, size_t length,
                         struct text *out)
{
    char buffers[2][REDACT_TEXT_BYTES];
    struct text text = { buffers[0], 0, REDACT_TEXT_BYTES };

    put_without_secrets(&text, argument, length);
    for (size_t i = 0; redaction && i < redaction->pattern_count; i++) {
        struct text next = { text.start == buffers[0] ? buffers[1] : buffers[0], 0,
                             REDACT_TEXT_BYTES };

        apply_pattern(redaction->patterns[i], text.start, text.used, &next);
        text = next;
    }
    put(out, text.start, text.used);
}

size_t redact_arguments(const struct redaction *redaction, const char *arguments, size_t bytes,
                        char *out)
{
    struct text text = { out, 0, REDACT_TEXT_BYTES };
    bool secret = false;
    size_t at = 0;

    while (at < bytes) {
        size_t length = strnlen(arguments + at, bytes - at);

        if (at)
            put(&text, "", 1);
        if (secret && arguments[at] != '-')
            put_redacted(&text);
        else
            put_argument(redaction, arguments + at, length, &text);
        secret = announces_secret(arguments + at, length);
        if (redaction && redaction->no_args)
            break;
        at += length + 1;
    }
    return text.used;
}

void redact_write_process(const struct redaction *redaction, struct trace_writer *writer,
                          const struct trace_process *process)
{
    struct trace_process told = *process;
    char arguments[REDACT_TEXT_BYTES];

    if (process->arguments) {
        told.arguments_bytes =
            redact_arguments(redaction, process->arguments, process->arguments_bytes, arguments);
        told.arguments = arguments;
    }
    trace_writer_process(writer, &told);
}

/* The patterns themselves may tell what is to be hidden. */
static bool is_pattern(char *const *words, size_t i)
{
    return strncmp(words[i], "--redact=", 9) == 0 ||
           (i > 0 && strcmp(words[i - 1], "--redact") == 0);
}

void redact_write_command(const struct redaction *redaction, struct trace_writer *writer,
                          char *const *words, size_t count, char *const *command)
{
    struct redaction some = redaction ? *redaction : (struct redaction){ 0 };
    char joined[REDACT_TEXT_BYTES];
    char told[REDACT_TEXT_BYTES + 1];
    struct text text = { joined, 0, sizeof joined };
    size_t bytes;

    put(&text, "inferogram", sizeof "inferogram" - 1);
    for (size_t i = 0; i < count && words; i++) {
        bool own = !command || words + i < command;

        if (some.no_args && !own && words + i > command)
            break;
        put(&text, "", 1);
        if (own && is_pattern(words, i))
            put_redacted(&text);
        else
            put(&text, words[i], strlen(words[i]));
    }
    some.no_args = false; /* what is left is the recorder's own */
    bytes = redact_arguments(&some, joined, text.used, told);
    for (size_t i = 0; i < bytes; i++)
        if (!told[i])
            told[i] = ' ';
    told[bytes] = '\0';
    trace_writer_fact(writer, TRACE_FACT_RECORD_COMMAND, told);
    if (redaction && redaction->no_args)
        trace_writer_fact(writer, TRACE_FACT_RECORD_ARGUMENTS, "left out: --no-args");
}
