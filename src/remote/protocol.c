// SPDX-License-Identifier: Apache-2.0
/* Messages to bytes and back: see protocol.h. */
#include "remote/protocol.h"

#include <string.h>

#define CONTENT_MAX (64u << 10)

static const uint8_t magic[8] = { 'I', 'F', 'G', '-', 'T', 'C', 'P', '\n' };

static void put_u16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
}

static uint16_t get_u16(const uint8_t *in)
{
    return (uint16_t)(in[0] | in[1] << 8);
}

void remote_preface_put(uint8_t out[REMOTE_PREFACE_BYTES])
{
    memset(out, 0, REMOTE_PREFACE_BYTES);
    memcpy(out, magic, sizeof magic);
    put_u16(out + 8, REMOTE_MAJOR);
    put_u16(out + 10, REMOTE_MINOR);
}

bool remote_preface_get(const uint8_t in[REMOTE_PREFACE_BYTES], struct remote_version *out_version)
{
    out_version->major = get_u16(in + 8);
    out_version->minor = get_u16(in + 10);
    return memcmp(in, magic, sizeof magic) == 0;
}

/* How long the content of a message may be; 0: this side does not say that. */
static size_t size_limit(enum remote_side side, uint8_t kind)
{
    if (side == REMOTE_ASKED)
        return kind >= REMOTE_TOKEN && kind < REMOTE_ASKED_END ? REMOTE_ASKED_MAX : 0;
    if (kind == REMOTE_PART)
        return REMOTE_PART_MAX;
    return kind >= REMOTE_WELCOME ? REMOTE_TOLD_MAX : 0; /* kinds to come as well */
}

enum remote_taken remote_take(enum remote_side side, const uint8_t *data, size_t size,
                              struct remote_message *out_message, size_t *out_bytes)
{
    size_t content;

    *out_message = (struct remote_message){ 0 };
    *out_bytes = 0;
    if (size < REMOTE_HEAD_BYTES)
        return REMOTE_NOT_YET;
    content = get_u16(data + 4) | (size_t)get_u16(data + 6) << 16;
    if (get_u16(data + 2) || !size_limit(side, data[0]) || content > size_limit(side, data[0]))
        return REMOTE_GARBAGE;
    if (size - REMOTE_HEAD_BYTES < content)
        return REMOTE_NOT_YET;
    out_message->kind = data[0];
    out_message->flags = data[1];
    out_message->content = data + REMOTE_HEAD_BYTES;
    out_message->size = content;
    *out_bytes = REMOTE_HEAD_BYTES + content;
    return REMOTE_TAKEN;
}

void remote_put(struct ifg_bytes *out, enum remote_kind kind, uint8_t flags, const void *content,
                size_t size)
{
    uint8_t head[REMOTE_HEAD_BYTES] = { (uint8_t)kind, flags };

    put_u16(head + 4, (uint32_t)size & 0xffff);
    put_u16(head + 6, (uint32_t)(size >> 16));
    if (!ifg_bytes_reserve(out, sizeof head + size))
        return; /* no half messages */
    ifg_bytes_put(out, head, sizeof head);
    ifg_bytes_put(out, content, size);
}

/* ---- fields ---- */

static void begin(struct ifg_bytes *content)
{
    ifg_bytes_init(content, CONTENT_MAX);
}

static void put_text(struct ifg_bytes *content, const char *text)
{
    ifg_bytes_put_string(content, text, strlen(text));
}

static void finish(struct ifg_bytes *out, enum remote_kind kind, struct ifg_bytes *content)
{
    if (content->failed)
        out->failed = true;
    else
        remote_put(out, kind, 0, content->data, content->size);
    ifg_bytes_fini(content);
}

static struct ifg_cursor over(const struct remote_message *message)
{
    return ifg_cursor_over(message->content, message->size);
}

static uint64_t get_number(struct ifg_cursor *cursor, uint64_t most)
{
    uint64_t value = ifg_cursor_varint(cursor);

    if (value > most)
        cursor->failed = true;
    return value > most ? 0 : value;
}

static bool get_bool(struct ifg_cursor *cursor)
{
    return get_number(cursor, 1) != 0;
}

/* What is too long for us, or has a NUL, is no text. */
static void get_text(struct ifg_cursor *cursor, char *out, size_t size)
{
    size_t length = 0;
    const char *text = ifg_cursor_string(cursor, &length);

    out[0] = '\0';
    if (cursor->failed || length >= size || (length && memchr(text, 0, length))) {
        cursor->failed = true;
        return;
    }
    if (length)
        memcpy(out, text, length);
    out[length] = '\0';
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

bool remote_is_name(const char *text)
{
    return *text && strlen(text) < REMOTE_NAME_BYTES && is_printable(text);
}

/* ---- what is asked ---- */

void remote_token_put(struct ifg_bytes *out, const struct remote_token *token)
{
    struct ifg_bytes content;

    begin(&content);
    put_text(&content, token->text);
    finish(out, REMOTE_TOKEN, &content);
}

bool remote_token_get(const struct remote_message *message, struct remote_token *out)
{
    struct ifg_cursor cursor = over(message);

    get_text(&cursor, out->text, sizeof out->text);
    return !cursor.failed;
}

void remote_request_put(struct ifg_bytes *out, const struct remote_request *request)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, request->target);
    ifg_bytes_put_varint(&content, request->pid);
    put_text(&content, request->name);
    ifg_bytes_put_varint(&content, request->duration_us);
    ifg_bytes_put_varint(&content, request->ops);
    ifg_bytes_put_varint(&content, request->no_sample);
    ifg_bytes_put_varint(&content, request->knows_clock);
    ifg_bytes_put_varint(&content, ifg_zigzag(request->clock_offset_ns));
    ifg_bytes_put_varint(&content, request->clock_error_ns);
    ifg_bytes_put_varint(&content, request->wishes);
    ifg_bytes_put_varint(&content, request->sample_hz);
    ifg_bytes_put_varint(&content, request->overhead_ppm);
    ifg_bytes_put_varint(&content, request->resources_mhz);
    ifg_bytes_put_varint(&content, request->delay_us);
    ifg_bytes_put_varint(&content, request->timeout_us);
    ifg_bytes_put_varint(&content, request->max_bytes);
    put_text(&content, request->boot_id);
    finish(out, REMOTE_RECORD, &content);
}

/* Who speaks version 1.0 does not send it: all as usual then. */
static void get_wishes(struct ifg_cursor *cursor, struct remote_request *out)
{
    bool is_there = !cursor->failed && ifg_cursor_left(cursor) > 0;

    out->wishes = 0;
    out->sample_hz = out->overhead_ppm = out->resources_mhz = 0;
    out->delay_us = out->timeout_us = out->max_bytes = 0;
    if (!is_there)
        return;
    out->wishes = (uint32_t)(ifg_cursor_varint(cursor) & (REMOTE_WISHES_END - 1));
    out->sample_hz = (uint32_t)get_number(cursor, REMOTE_SAMPLE_HZ_MAX);
    out->overhead_ppm = (uint32_t)get_number(cursor, REMOTE_OVERHEAD_MAX);
    out->resources_mhz = (uint32_t)get_number(cursor, REMOTE_RESOURCES_MAX);
    out->delay_us = get_number(cursor, REMOTE_DURATION_MAX_US);
    out->timeout_us = get_number(cursor, REMOTE_DURATION_MAX_US);
    out->max_bytes = get_number(cursor, INT64_MAX);
}

bool remote_request_get(const struct remote_message *message, struct remote_request *out)
{
    struct ifg_cursor cursor = over(message);

    out->target = (enum remote_target)get_number(&cursor, REMOTE_TARGET_END - 1);
    out->pid = (uint32_t)get_number(&cursor, INT32_MAX);
    get_text(&cursor, out->name, sizeof out->name);
    out->duration_us = get_number(&cursor, REMOTE_DURATION_MAX_US);
    out->ops = (uint32_t)get_number(&cursor, 1000000);
    out->no_sample = get_bool(&cursor);
    out->knows_clock = get_bool(&cursor);
    out->clock_offset_ns = ifg_unzigzag(ifg_cursor_varint(&cursor));
    out->clock_error_ns = get_number(&cursor, INT64_MAX);
    get_wishes(&cursor, out);
    out->boot_id[0] = '\0';
    if (ifg_cursor_left(&cursor))
        get_text(&cursor, out->boot_id, sizeof out->boot_id);
    if (cursor.failed || !is_printable(out->name) || !is_printable(out->boot_id))
        return false;
    if (out->target == REMOTE_TARGET_PID)
        return out->pid > 0 && !*out->name;
    return out->pid == 0 && (out->target == REMOTE_TARGET_NEXT ||
                             !*out->name == (out->target == REMOTE_TARGET_ONLY));
}

unsigned remote_request_minor(const struct remote_request *request)
{
    /* That it comes promptly is nice to have. */
    return (request->wishes & ~(uint32_t)REMOTE_PROMPT) || request->sample_hz ||
           request->overhead_ppm || request->resources_mhz || request->delay_us ||
           request->timeout_us || request->max_bytes;
}

void remote_ping_put(struct ifg_bytes *out, const struct remote_ping *ping)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, ping->asked_ns);
    finish(out, REMOTE_PING, &content);
}

bool remote_ping_get(const struct remote_message *message, struct remote_ping *out)
{
    struct ifg_cursor cursor = over(message);

    out->asked_ns = ifg_cursor_varint(&cursor);
    return !cursor.failed;
}

void remote_keep_put(struct ifg_bytes *out, const struct remote_keep *keep)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, keep->keep_ms);
    finish(out, REMOTE_KEEP, &content);
}

bool remote_keep_get(const struct remote_message *message, struct remote_keep *out)
{
    struct ifg_cursor cursor = over(message);

    out->keep_ms = (uint32_t)get_number(&cursor, REMOTE_KEEP_MAX_MS);
    return !cursor.failed;
}

void remote_have_put(struct ifg_bytes *out, const struct remote_have *have)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, have->count);
    finish(out, REMOTE_HAVE, &content);
}

bool remote_have_get(const struct remote_message *message, struct remote_have *out)
{
    struct ifg_cursor cursor = over(message);

    out->count = ifg_cursor_varint(&cursor);
    return !cursor.failed;
}

static bool get_key(struct ifg_cursor *cursor, char out[REMOTE_KEY_DIGITS + 1])
{
    get_text(cursor, out, REMOTE_KEY_DIGITS + 1);
    return strspn(out, "0123456789abcdef") == REMOTE_KEY_DIGITS;
}

void remote_resume_put(struct ifg_bytes *out, const struct remote_resume *resume)
{
    struct ifg_bytes content;

    begin(&content);
    put_text(&content, resume->key);
    ifg_bytes_put_varint(&content, resume->count);
    finish(out, REMOTE_RESUME, &content);
}

bool remote_resume_get(const struct remote_message *message, struct remote_resume *out)
{
    struct ifg_cursor cursor = over(message);
    bool is_key = get_key(&cursor, out->key);

    out->count = ifg_cursor_varint(&cursor);
    return !cursor.failed && is_key;
}

/* ---- what is told ---- */

void remote_kept_put(struct ifg_bytes *out, const struct remote_kept *kept)
{
    struct ifg_bytes content;

    begin(&content);
    put_text(&content, kept->key);
    ifg_bytes_put_varint(&content, kept->keep_ms);
    finish(out, REMOTE_KEPT, &content);
}

bool remote_kept_get(const struct remote_message *message, struct remote_kept *out)
{
    struct ifg_cursor cursor = over(message);
    bool is_key = get_key(&cursor, out->key);

    out->keep_ms = (uint32_t)get_number(&cursor, REMOTE_KEEP_MAX_MS);
    return !cursor.failed && is_key;
}

void remote_pong_put(struct ifg_bytes *out, const struct remote_pong *pong)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, pong->asked_ns);
    ifg_bytes_put_varint(&content, pong->agent_ns);
    finish(out, REMOTE_PONG, &content);
}

bool remote_pong_get(const struct remote_message *message, struct remote_pong *out)
{
    struct ifg_cursor cursor = over(message);

    out->asked_ns = ifg_cursor_varint(&cursor);
    out->agent_ns = ifg_cursor_varint(&cursor);
    return !cursor.failed;
}

void remote_welcome_put(struct ifg_bytes *out, const struct remote_welcome *welcome)
{
    struct ifg_bytes content;

    begin(&content);
    put_text(&content, welcome->version);
    put_text(&content, welcome->host);
    ifg_bytes_put_varint(&content, welcome->wants_token);
    finish(out, REMOTE_WELCOME, &content);
}

bool remote_welcome_get(const struct remote_message *message, struct remote_welcome *out)
{
    struct ifg_cursor cursor = over(message);

    get_text(&cursor, out->version, sizeof out->version);
    get_text(&cursor, out->host, sizeof out->host);
    out->wants_token = get_bool(&cursor);
    return !cursor.failed;
}

void remote_refused_put(struct ifg_bytes *out, const struct remote_refused *refused)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, refused->why);
    put_text(&content, refused->text);
    finish(out, REMOTE_REFUSED, &content);
}

bool remote_refused_get(const struct remote_message *message, struct remote_refused *out)
{
    struct ifg_cursor cursor = over(message);
    uint64_t why = ifg_cursor_varint(&cursor);

    /* A reason of a newer version is a reason all the same. */
    out->why = why < REMOTE_REFUSAL_END ? (enum remote_refusal)why : REMOTE_REFUSAL_FAILED;
    get_text(&cursor, out->text, sizeof out->text);
    return !cursor.failed;
}

void remote_process_put(struct ifg_bytes *out, const struct remote_process *process)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, process->pid);
    ifg_bytes_put_varint(&content, process->recorder);
    ifg_bytes_put_varint(&content, process->library);
    put_text(&content, process->user);
    put_text(&content, process->name);
    put_text(&content, process->program);
    ifg_bytes_put_string(&content, process->arguments, process->arguments_bytes);
    put_text(&content, process->runtimes);
    put_text(&content, process->how);
    put_text(&content, process->missing);
    ifg_bytes_put_varint(&content, process->lacks_rights);
    finish(out, REMOTE_PROCESS, &content);
}

bool remote_process_get(const struct remote_message *message, struct remote_process *out)
{
    struct ifg_cursor cursor = over(message);
    const char *arguments;

    out->pid = (uint32_t)get_number(&cursor, INT32_MAX);
    out->recorder = (uint32_t)get_number(&cursor, INT32_MAX);
    out->library = get_bool(&cursor);
    get_text(&cursor, out->user, sizeof out->user);
    get_text(&cursor, out->name, sizeof out->name);
    get_text(&cursor, out->program, sizeof out->program);
    arguments = ifg_cursor_string(&cursor, &out->arguments_bytes);
    if (cursor.failed || out->arguments_bytes > sizeof out->arguments)
        return false;
    if (out->arguments_bytes)
        memcpy(out->arguments, arguments, out->arguments_bytes);
    get_text(&cursor, out->runtimes, sizeof out->runtimes);
    get_text(&cursor, out->how, sizeof out->how);
    get_text(&cursor, out->missing, sizeof out->missing);
    out->lacks_rights = get_bool(&cursor);
    return !cursor.failed;
}

void remote_listed_put(struct ifg_bytes *out, const struct remote_listed *listed)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, listed->hidden);
    ifg_bytes_put_varint(&content, listed->lacking);
    put_text(&content, listed->rights);
    finish(out, REMOTE_LISTED, &content);
}

bool remote_listed_get(const struct remote_message *message, struct remote_listed *out)
{
    struct ifg_cursor cursor = over(message);

    out->hidden = (uint32_t)get_number(&cursor, UINT32_MAX);
    out->lacking = (uint32_t)get_number(&cursor, UINT32_MAX);
    get_text(&cursor, out->rights, sizeof out->rights);
    return !cursor.failed;
}

void remote_note_put(struct ifg_bytes *out, const struct remote_note *note)
{
    struct ifg_bytes content;

    begin(&content);
    put_text(&content, note->text);
    finish(out, REMOTE_NOTE, &content);
}

bool remote_note_get(const struct remote_message *message, struct remote_note *out)
{
    struct ifg_cursor cursor = over(message);

    get_text(&cursor, out->text, sizeof out->text);
    return !cursor.failed;
}

void remote_started_put(struct ifg_bytes *out, const struct remote_started *started)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, started->pid);
    put_text(&content, started->program);
    finish(out, REMOTE_STARTED, &content);
}

bool remote_started_get(const struct remote_message *message, struct remote_started *out)
{
    struct ifg_cursor cursor = over(message);

    out->pid = (uint32_t)get_number(&cursor, INT32_MAX);
    get_text(&cursor, out->program, sizeof out->program);
    return !cursor.failed;
}

static void put_progress(struct ifg_bytes *content, const struct remote_progress *progress)
{
    ifg_bytes_put_varint(content, progress->elapsed_us);
    ifg_bytes_put_varint(content, progress->events);
    ifg_bytes_put_varint(content, progress->inferences);
    ifg_bytes_put_varint(content, progress->dropped);
    ifg_bytes_put_varint(content, progress->bytes);
    ifg_bytes_put_varint(content, progress->models);
}

static void get_progress(struct ifg_cursor *cursor, struct remote_progress *out)
{
    out->elapsed_us = ifg_cursor_varint(cursor);
    out->events = ifg_cursor_varint(cursor);
    out->inferences = ifg_cursor_varint(cursor);
    out->dropped = ifg_cursor_varint(cursor);
    out->bytes = ifg_cursor_varint(cursor);
    out->models = (uint32_t)get_number(cursor, UINT32_MAX);
}

void remote_progress_put(struct ifg_bytes *out, const struct remote_progress *progress)
{
    struct ifg_bytes content;

    begin(&content);
    put_progress(&content, progress);
    finish(out, REMOTE_PROGRESS, &content);
}

bool remote_progress_get(const struct remote_message *message, struct remote_progress *out)
{
    struct ifg_cursor cursor = over(message);

    get_progress(&cursor, out);
    return !cursor.failed;
}

void remote_ended_put(struct ifg_bytes *out, const struct remote_ended *ended)
{
    struct ifg_bytes content;

    begin(&content);
    ifg_bytes_put_varint(&content, ended->program_ended);
    ifg_bytes_put_varint(&content, ended->samples);
    put_progress(&content, &ended->totals);
    put_text(&content, ended->note);
    finish(out, REMOTE_ENDED, &content);
}

bool remote_ended_get(const struct remote_message *message, struct remote_ended *out)
{
    struct ifg_cursor cursor = over(message);

    out->program_ended = get_bool(&cursor);
    out->samples = ifg_cursor_varint(&cursor);
    get_progress(&cursor, &out->totals);
    get_text(&cursor, out->note, sizeof out->note);
    return !cursor.failed;
}
