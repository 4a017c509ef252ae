// SPDX-License-Identifier: Apache-2.0
/*
 * What the collectors of annotations (nvtx/, itt/) share: domains and which of them are wanted,
 * names, ranges that nest on a thread, spans that do not, and the word that `info` shows.
 *
 * A program calls these functions on its own threads, recording or not. Nothing here fails in a way
 * that it could notice: memory is fixed, and what finds no room is not recorded and counted.
 */
#ifndef IFG_HOOKS_ANNOTATIONS_H
#define IFG_HOOKS_ANNOTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include <inferogram/inferogram.h>

#define ANNOTATIONS_TEXT_MAX 1024u /* bytes of a text, as everywhere */

enum annotations_source { ANNOTATIONS_NVTX = 1, ANNOTATIONS_ITT = 2 };

/* Part of a source: ranges nest within one domain, and a user can leave a domain out. */
struct annotations_domain {
    char name[128];
    enum annotations_source source;
    bool is_wanted;
};

/* ---- domains.c ---- */

/* The domain of this name, made when it is new. Where there is no room for another one, it is one
 * that is not wanted. Never NULL. */
struct annotations_domain *annotations_domain(enum annotations_source source, const char *name);

/* Whether this pointer is one that the function above has given. */
bool annotations_is_domain(const void *pointer);

/* Is it on the list of IFG_ANNOTATIONS? */
bool annotations_list_has(const char *list, const char *name);

/* ---- names.c ---- */

/* A text of a program, of either kind of character, as UTF-8 of at most ANNOTATIONS_TEXT_MAX. */
struct annotations_text {
    const char *bytes;
    size_t length;
    char room[ANNOTATIONS_TEXT_MAX + 1]; /* for those that had to be converted */
};

void annotations_text_narrow(struct annotations_text *text, const char *given);
void annotations_text_wide(struct annotations_text *text, const wchar_t *given);

/* A text that stays for ever: the same one for the same words. It is a sentence of its own when
 * there is no room. Never NULL. */
const char *annotations_keep(const struct annotations_text *text);

/* The location of a name in a domain; rgb: 0, or 0x1000000 + 0xRRGGBB. */
ifg_location *annotations_location(const struct annotations_domain *domain, uint32_t kind,
                                   const char *name, size_t length, uint32_t rgb);

/* Whether it stands for all names that found no room: then the name has to be said with the zone.
 */
static inline bool annotations_is_shared(const ifg_location *location)
{
    return !location->function; /* ours have the domain there */
}

/* ---- categories.c ---- */

void annotations_category_name(const struct annotations_domain *domain, uint32_t category,
                               const struct annotations_text *name);
const char *annotations_category(const struct annotations_domain *domain, uint32_t category);

/* ---- ranges.c: begin and end on one thread ---- */

enum annotations_value {
    ANNOTATIONS_NO_VALUE,
    ANNOTATIONS_INTEGER,
    ANNOTATIONS_UNSIGNED,
    ANNOTATIONS_FLOAT,
};

struct annotations_detail {
    union {
        int64_t integer;
        uint64_t natural;
        double real;
    } value;
    uint64_t id; /* by which a program adds to it later; 0: none */
    enum annotations_value value_kind;
    uint32_t category; /* 0: none */
    uint32_t rgb;      /* 0: none */
};

/* Ranges of this thread that have begun and not ended, as far as we follow them. */
extern __thread uint32_t annotations_open __attribute__((tls_model("initial-exec")));

/* Whether a begin or an end on this thread means anything to us: somebody records, or ranges are
 * open that began while somebody did. The way out for a program that nobody records. */
static inline bool annotations_matter(void)
{
    return __builtin_expect(ifg_is_recording() || annotations_open, 0);
}

/* location: NULL for one that is not to be recorded, but has an end to come. name: said with the
 * range where the location is shared. */
void annotations_range_begin(const struct annotations_domain *domain, ifg_location *location,
                             const struct annotations_text *name,
                             const struct annotations_detail *detail);
/* Ends the last one of this domain. */
void annotations_range_end(const struct annotations_domain *domain);
/* A fact about an open one. */
void annotations_tell(ifg_zone zone, const char *key, const struct annotations_detail *detail);
/* The innermost recorded one of the domain with this id (0: any); all zero if there is none. */
ifg_zone annotations_range_find(const struct annotations_domain *domain, uint64_t id);

/* ---- spans.c: begin and end by a number, on any threads ---- */

struct annotations_key {
    uint64_t words[3];
    const void *space; /* whose numbers these are */
};

void annotations_span_begin(const struct annotations_key *key, ifg_location *location);
/* The location of the span that ended; NULL: it was not recorded. */
ifg_location *annotations_span_end(const struct annotations_key *key);
/* One that is over already. */
void annotations_span(ifg_location *location, uint64_t start, uint64_t end);

/* ---- report.c ---- */

void annotations_start(void); /* more than once is the same as once */
void annotations_lock(void);
void annotations_unlock(void);
/* A handle of another library, and what we call it. Takes the lock, so that no fork comes in
 * between. */
struct ort_map;
void annotations_remember(struct ort_map *map, const void *handle, void *ours);
/* At a fork: what is open stays with the parent. */
void annotations_ranges_forked(void);
void annotations_spans_lock(void);
void annotations_spans_unlock(bool forget);

enum annotations_loss {
    ANNOTATIONS_TOO_DEEP,
    ANNOTATIONS_TOO_MANY_THREADS,
    ANNOTATIONS_TOO_MANY_SPANS,
    ANNOTATIONS_TOO_MANY_DOMAINS,
    ANNOTATIONS_LOSSES,
};

void annotations_lose(enum annotations_loss loss);
/* What `info` shows: the sources in use, the domains, who else gets the annotations. Takes the
 * lock. */
void annotations_report_source(enum annotations_source source, const char *next);
void annotations_report_domain(const struct annotations_domain *domain); /* the lock is held */

/* A thread of this number is called so: at once if it is ours, else when it comes by. */
void annotations_thread_name(uint32_t thread, const struct annotations_text *name);
void annotations_thread_arrives(void);

/* ---- next.c ---- */

/* The library that was configured before ours: opened once, or NULL. It must have the function. */
struct annotations_next {
    const char *variable;
    const char *path;
    void *library;
    bool is_tried;
};

void annotations_next_open(struct annotations_next *next);
void *annotations_next_function(const struct annotations_next *next, const char *name);

#endif
