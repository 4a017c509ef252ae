// SPDX-License-Identifier: Apache-2.0
/*
 * Locations by their texts: names that are known only at run time, and come again and again.
 *
 * A name is copied once and stays for the life of the process, like its definition. The copies live
 * in a fixed part of the library's own memory, of which only what is used costs anything: a lookup
 * neither locks nor allocates, so a signal handler may be the first to use a name. When that memory
 * is full, new names share one location of their kind that says so.
 */
#include "client/client_internal.h"

#include <string.h>

#define TEXTS       3
#define ARENA_BYTES (1u << 20)
#define BUCKETS     1024u

struct named {
    struct named *next;
    ifg_location location; /* its texts lie behind this */
    uint32_t hash;
    uint32_t line;
    uint32_t kind;
    uint16_t bytes[TEXTS];
    char text[]; /* name, function, file; each ends with a 0 */
};

struct texts {
    const char *text[TEXTS];
    size_t bytes[TEXTS];
    uint32_t hash;
    uint32_t line;
    uint32_t kind;
    uint32_t color; /* not part of what it is */
};

static _Alignas(struct named) char arena[ARENA_BYTES];
static size_t arena_used;
static struct named *buckets[BUCKETS];

static uint64_t mix_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* By eight bytes at a time: a lookup is on the way of every zone that has such a name. */
static uint64_t mix(uint64_t hash, const char *text, size_t bytes)
{
    uint64_t word;

    for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix_word(hash, word);
    }
    word = 0;
    while (bytes--)
        word = word << 8 | (unsigned char)text[bytes];
    return mix_word(hash, word);
}

static void take_text(struct texts *texts, int index, const char *text, size_t length)
{
    texts->text[index] = text;
    texts->bytes[index] =
        text ? strnlen(text, length < IFG_WIRE_STRING_MAX ? length : IFG_WIRE_STRING_MAX) : 0;
}

static void take_texts(struct texts *out, const ifg_location_texts *given)
{
    ifg_location_texts known = { 0 };

    if (given && given->struct_size)
        memcpy(&known, given,
               given->struct_size < sizeof known ? given->struct_size : sizeof known);
    take_text(out, 0, known.name, known.name_length);
    take_text(out, 1, known.function, known.function_length);
    take_text(out, 2, known.file, known.file_length);
    out->line = known.line;
    out->color = known.color;
    /* The kind in between is that of model events, which belong to a model. */
    out->kind = known.kind >= IFG_LOCATION_OPERATOR && known.kind <= IFG_LOCATION_FLOW
                    ? known.kind
                    : IFG_LOCATION_ZONE;
    /* Paths are long and say little that the rest does not say. */
    out->hash =
        (uint32_t)mix(mix(out->line, out->text[0], out->bytes[0]), out->text[1], out->bytes[1]);
}

static bool is_same(const struct named *named, const struct texts *texts)
{
    const char *at = named->text;

    if (named->hash != texts->hash || named->line != texts->line || named->kind != texts->kind)
        return false;
    for (int i = 0; i < TEXTS; i++) {
        if (named->bytes[i] != texts->bytes[i] ||
            (texts->bytes[i] && memcmp(at, texts->text[i], texts->bytes[i]) != 0))
            return false;
        at += named->bytes[i] + 1;
    }
    return true;
}

/* Memory for one more, or NULL. What a lost race leaves behind is not used again. */
static struct named *take_memory(const struct texts *texts)
{
    size_t bytes = sizeof(struct named) + TEXTS;
    size_t at = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);

    for (int i = 0; i < TEXTS; i++)
        bytes += texts->bytes[i];
    bytes = (bytes + _Alignof(struct named) - 1) / _Alignof(struct named) * _Alignof(struct named);
    do {
        if (bytes > ARENA_BYTES - at)
            return NULL;
    } while (!__atomic_compare_exchange_n(&arena_used, &at, at + bytes, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return (struct named *)(void *)(arena + at);
}

static struct named *make(const struct texts *texts)
{
    struct named *named = take_memory(texts);
    const char *starts[TEXTS];
    char *at;

    if (!named)
        return NULL;
    at = named->text;
    for (int i = 0; i < TEXTS; i++) {
        starts[i] = at;
        if (texts->bytes[i])
            memcpy(at, texts->text[i], texts->bytes[i]);
        at += texts->bytes[i];
        *at++ = '\0';
        named->bytes[i] = (uint16_t)texts->bytes[i];
    }
    named->hash = texts->hash;
    named->line = texts->line;
    named->kind = texts->kind;
    named->location = (ifg_location){ starts[0],    starts[1],   starts[2], texts->line,
                                      texts->color, texts->kind, 0 };
    return named;
}

/* For all names that found no room. */
static ifg_location *shared_location(uint32_t kind)
{
#define SHARED(kind) [kind] = { "(more names than can be told apart)", NULL, NULL, 0, 0, kind, 0 }
    static ifg_location locations[] = {
        SHARED(IFG_LOCATION_ZONE),    SHARED(IFG_LOCATION_OPERATOR), SHARED(IFG_LOCATION_STAGE),
        SHARED(IFG_LOCATION_COUNTER), SHARED(IFG_LOCATION_POOL),     SHARED(IFG_LOCATION_FRAME),
        SHARED(IFG_LOCATION_ASYNC),   SHARED(IFG_LOCATION_FLOW),
    };
#undef SHARED

    return &locations[kind];
}

ifg_location *ifg_location_named(const ifg_location_texts *given)
{
    struct texts texts;
    struct named **bucket;
    struct named *head;
    struct named *mine = NULL;

    take_texts(&texts, given);
    bucket = &buckets[texts.hash % BUCKETS];
    head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (;;) {
        for (struct named *named = head; named; named = named->next)
            if (is_same(named, &texts))
                return &named->location;
        if (!mine && !(mine = make(&texts)))
            return shared_location(texts.kind);
        mine->next = head;
        if (__atomic_compare_exchange_n(bucket, &head, mine, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
            return &mine->location;
    }
}
