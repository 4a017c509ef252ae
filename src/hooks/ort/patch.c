// SPDX-License-Identifier: Apache-2.0
/*
 * See patch.h. A table lies in memory that the loader made read-only after it had filled it in; it
 * is writable only as long as its slots are exchanged. Each slot is exchanged in one piece, and
 * only if it holds what it should: somebody else may have the same idea.
 */
#include "hooks/ort/patch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hooks/ort/runtime.h"

#define DOOR          "OrtGetApiBase"
#define LIBRARIES_MAX 2048u
#define PAGES_MAX     2u /* the longest table has 3400 bytes */

struct ifg_ort_patch_result ifg_ort_patch_result;

static pthread_mutex_t patch_lock = PTHREAD_MUTEX_INITIALIZER;

static void left_alone(const char *reason)
{
    snprintf(ifg_ort_patch_result.reason, sizeof ifg_ort_patch_result.reason, "%s", reason);
}

/* ---- the protection of a table's pages ---- */

struct pages {
    char *start;
    unsigned count;
    int protection[PAGES_MAX];
    size_t page_bytes;
};

/* Here, and not with system/maps.h: this is the watched process, where nothing of ours is linked,
 * and where two pages of one table are looked for, once, on a stack that may be small.
 *
 * "7f01-7f02 r--p ...": the protection of the private mapping around address; -1: not in there. */
static int protection_in(const char *line, uintptr_t address)
{
    char *end;
    uintptr_t first = (uintptr_t)strtoull(line, &end, 16);
    uintptr_t last = *end == '-' ? (uintptr_t)strtoull(end + 1, &end, 16) : 0;

    if (address < first || address >= last || *end != ' ' || end[4] != 'p')
        return -1;
    return (end[1] == 'r' ? PROT_READ : 0) | (end[2] == 'w' ? PROT_WRITE : 0) |
           (end[3] == 'x' ? PROT_EXEC : 0);
}

static bool find_pages(struct ort_runtime *rt, struct pages *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)rt->real_table & ~(page - 1);
    uintptr_t last = ((uintptr_t)(rt->real_table + rt->slots) - 1) & ~(page - 1);
    unsigned known = 0;
    char line[1024];
    FILE *maps;

    *out = (struct pages){ .start = (char *)first, .page_bytes = page };
    out->count = (unsigned)((last - first) / page) + 1;
    if (out->count > PAGES_MAX)
        return false;
    memset(out->protection, -1, sizeof out->protection);
    maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return false;
    while (known < out->count && fgets(line, sizeof line, maps))
        for (unsigned i = 0; i < out->count; i++) {
            int protection = protection_in(line, first + i * page);

            if (protection >= 0) {
                out->protection[i] = protection;
                known++;
            }
        }
    fclose(maps);
    return known == out->count;
}

static void close_pages(const struct pages *pages)
{
    for (unsigned i = 0; i < pages->count; i++)
        if (!(pages->protection[i] & PROT_WRITE))
            mprotect(pages->start + i * pages->page_bytes, pages->page_bytes, pages->protection[i]);
}

static bool open_pages(const struct pages *pages)
{
    for (unsigned i = 0; i < pages->count; i++)
        if (!(pages->protection[i] & PROT_WRITE) &&
            mprotect(pages->start + i * pages->page_bytes, pages->page_bytes,
                     pages->protection[i] | PROT_WRITE) < 0) {
            close_pages(pages);
            return false;
        }
    return true;
}

/* ---- one table ---- */

/* Exchanges what `from` has for what `to` has, where the two differ and the table agrees with
 * `from`. */
static bool exchange(struct ort_runtime *rt, const ort_function *from, const ort_function *to)
{
    struct pages pages;

    if (!find_pages(rt, &pages) || !open_pages(&pages))
        return false;
    for (unsigned i = 0; i < rt->slots; i++) {
        ort_function expected = from[i];

        if (from[i] != to[i])
            __atomic_compare_exchange_n(&rt->real_table[i], &expected, to[i], false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    close_pages(&pages);
    return true;
}

static void forget_all(struct ort_map *map, const struct ort_runtime *rt)
{
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++) {
        const struct ort_map_entry *entry = &map->entries[i];
        const struct ort_session_state *state = rt ? entry->value : NULL;

        if (entry->key && entry->key != ORT_MAP_GONE && (!rt || (state && state->rt == rt)))
            ort_map_remove(map, entry->key);
    }
}

/* While nobody looked, objects may have gone and others may have come to their addresses. */
static void forget_objects(const struct ort_runtime *rt)
{
    bool all_injected = true;

    for (unsigned i = 0; i < ORT_RUNTIMES_MAX; i++)
        all_injected = all_injected && (!ort_runtimes[i].real_base || ort_runtimes[i].injected);
    forget_all(&ort_sessions, rt);
    if (all_injected) {
        forget_all(&ort_options_map, NULL);
        forget_all(&ort_bindings, NULL);
    }
}

static bool patch(struct ort_runtime *rt)
{
    if (!rt->injected || rt->patched)
        return true; /* it is watched since the program began, or already */
    forget_objects(rt);
    rt->patched = true; /* before the first call comes in */
    if (exchange(rt, rt->original, rt->table))
        return true;
    rt->patched = false;
    left_alone("its table of functions cannot be made writable");
    ifg_instrument_report(rt->name, IFG_INSTRUMENT_UNAVAILABLE, ifg_ort_patch_result.reason);
    return false;
}

/* ---- every table of this process ---- */

struct libraries {
    char **names;
    unsigned count;
};

static int note_library(struct dl_phdr_info *info, size_t size, void *user)
{
    struct libraries *libraries = user;

    (void)size;
    if (libraries->count < LIBRARIES_MAX && info->dlpi_name &&
        (libraries->names[libraries->count] = strdup(info->dlpi_name)))
        libraries->count++;
    return 0;
}

/* The door of a library, or of one that it depends on. */
static const struct ort_base *open_door(void *library)
{
    typedef const struct ort_base *door_function(void);
    void *found = library ? dlsym(library, DOOR) : NULL;
    door_function *door;

    if (!found)
        return NULL;
    memcpy(&door, &found, sizeof door);
    return door();
}

/* The program got a table of ours when it began: with the preload library, all doors lead there. */
static bool is_launched(const struct ort_base *base)
{
    for (unsigned i = 0; i < ORT_RUNTIMES_MAX; i++)
        if (base == &ort_runtimes[i].base)
            return true;
    return false;
}

/* What is patched must not be unloaded: the handle is kept, once. */
static void patch_base(const struct ort_base *base, void *library)
{
    struct ort_runtime *rt;

    ifg_ort_patch_result.found++;
    if (is_launched(base)) {
        ifg_ort_patch_result.watched++;
        dlclose(library);
        return;
    }
    rt = ort_take_in_place(base);
    if (rt && rt->injected && !rt->library)
        rt->library = library;
    else
        dlclose(library);
    if (!rt)
        left_alone("its version or its table of functions is not one that is known");
    else if (patch(rt))
        ifg_ort_patch_result.watched++;
}

static void patch_library(const char *name, const struct ort_base **seen, unsigned *seen_count)
{
    void *library = dlopen(*name ? name : NULL, RTLD_NOLOAD | RTLD_LAZY);
    const struct ort_base *base = open_door(library);
    bool is_new = base && *seen_count < ORT_RUNTIMES_MAX * 2;

    for (unsigned i = 0; i < *seen_count; i++)
        is_new = is_new && seen[i] != base;
    if (is_new) {
        seen[(*seen_count)++] = base;
        patch_base(base, library);
    } else if (library) {
        dlclose(library);
    }
}

int ifg_ort_patch(void)
{
    const struct ort_base *seen[ORT_RUNTIMES_MAX * 2];
    struct libraries libraries = { .names = calloc(LIBRARIES_MAX, sizeof(char *)) };
    unsigned seen_count = 0;
    int saved_errno = errno;

    pthread_mutex_lock(&patch_lock);
    ifg_ort_patch_result.found = 0;
    ifg_ort_patch_result.watched = 0;
    ifg_ort_patch_result.reason[0] = '\0';
    /* First the names, then the doors: the loader's locks must not be taken in the other order. */
    if (libraries.names)
        dl_iterate_phdr(note_library, &libraries);
    for (unsigned i = 0; i < libraries.count; i++) {
        patch_library(libraries.names[i], seen, &seen_count);
        free(libraries.names[i]);
    }
    free(libraries.names);
    dlerror(); /* ours, not the program's */
    __atomic_add_fetch(&ifg_ort_patch_result.calls, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&patch_lock);
    errno = saved_errno;
    return ifg_ort_patch_result.watched;
}

int ifg_ort_unpatch(void)
{
    int saved_errno = errno;
    int count = 0;

    pthread_mutex_lock(&patch_lock);
    ifg_ort_patch_result.reason[0] = '\0';
    for (unsigned i = 0; i < ORT_RUNTIMES_MAX; i++) {
        struct ort_runtime *rt = &ort_runtimes[i];

        if (!rt->patched)
            continue;
        if (exchange(rt, rt->table, rt->original)) {
            rt->patched = false;
            ifg_ort_patch_result.watched--;
            count++;
        } else {
            left_alone("its table of functions cannot be made writable again");
        }
    }
    __atomic_add_fetch(&ifg_ort_patch_result.calls, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&patch_lock);
    errno = saved_errno;
    return count;
}
