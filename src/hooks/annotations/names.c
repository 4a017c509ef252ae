// SPDX-License-Identifier: Apache-2.0
/* Texts of programs: read with a limit, converted to UTF-8, and kept once each. */
#include "hooks/annotations/annotations.h"

#include <string.h>

#define KEPT_BYTES (1u << 20)
#define BUCKETS    1024u

struct kept {
    struct kept *next;
    uint32_t hash;
    uint32_t length;
    char text[];
};

static _Alignas(struct kept) char memory[KEPT_BYTES];
static size_t memory_used;
static struct kept *buckets[BUCKETS];

static const char no_room[] = "(more names than can be told apart)";

void annotations_text_narrow(struct annotations_text *text, const char *given)
{
    text->bytes = given ? given : "";
    text->length = strnlen(text->bytes, ANNOTATIONS_TEXT_MAX);
}

/* One character of 32 bits as up to four bytes; '?' for what is none. */
static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        out[0] = '?';
        return 1;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

void annotations_text_wide(struct annotations_text *text, const wchar_t *given)
{
    size_t length = 0;

    while (given && *given && length + 4 <= ANNOTATIONS_TEXT_MAX)
        length += put_utf8(text->room + length, (uint32_t)*given++);
    text->room[length] = '\0';
    text->bytes = text->room;
    text->length = length;
}

static uint32_t hash_of(const struct annotations_text *text)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < text->length; i++)
        hash = (hash ^ (unsigned char)text->bytes[i]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

static struct kept *find(struct kept *kept, const struct annotations_text *text, uint32_t hash)
{
    while (kept && !(kept->hash == hash && kept->length == text->length &&
                     memcmp(kept->text, text->bytes, text->length) == 0))
        kept = kept->next;
    return kept;
}

static struct kept *add(const struct annotations_text *text, uint32_t hash)
{
    size_t bytes = (sizeof(struct kept) + text->length + 1 + 7) & ~(size_t)7;
    struct kept *kept = (struct kept *)(void *)(memory + memory_used);

    if (bytes > KEPT_BYTES - memory_used)
        return NULL;
    memory_used += bytes;
    kept->hash = hash;
    kept->length = (uint32_t)text->length;
    memcpy(kept->text, text->bytes, text->length);
    kept->text[text->length] = '\0';
    kept->next = buckets[hash % BUCKETS];
    __atomic_store_n(&buckets[hash % BUCKETS], kept, __ATOMIC_RELEASE);
    return kept;
}

const char *annotations_keep(const struct annotations_text *text)
{
    uint32_t hash = hash_of(text);
    struct kept *kept =
        find(__atomic_load_n(&buckets[hash % BUCKETS], __ATOMIC_ACQUIRE), text, hash);

    if (!kept) {
        annotations_lock();
        kept = find(buckets[hash % BUCKETS], text, hash);
        if (!kept)
            kept = add(text, hash);
        annotations_unlock();
    }
    return kept ? kept->text : no_room;
}

ifg_location *annotations_location(const struct annotations_domain *domain, uint32_t kind,
                                   const char *name, size_t length, uint32_t rgb)
{
    ifg_location_texts texts = {
        .struct_size = sizeof texts,
        .name = name,
        .name_length = length,
        .function = name == domain->name ? "" : domain->name,
        .function_length = SIZE_MAX,
        .kind = kind,
        .color = rgb,
    };

    return ifg_location_named(&texts);
}
