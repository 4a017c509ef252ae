// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions that were there before us. When one is run for the first time in a patched table, its
 * object is searched for the path that its model came from: a std::string that ends in .onnx or
 * .ort. The layout of the object is not known, so this is marked as inferred, and whenever there is
 * a doubt the session is called by its address: no name is better than a wrong one.
 *
 * Whatever looks like a pointer may lead nowhere; memory is read through the kernel, which says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hooks/ort/creation.h"
#include "trace/keys.h"

#define SCAN_MAX     16384u
#define SCAN_UNKNOWN 1024u       /* no object of a session is smaller, whoever allocated it */
#define NO_FLAGS     0xfefefeull /* of three flags; what fills the word up may be anything */

/* ---- memory that may not be there ---- */

static bool read_through_pipe(const void *from, void *out, size_t bytes)
{
    int ends[2];
    bool good;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    good = write(ends[1], from, bytes) == (ssize_t)bytes &&
           read(ends[0], out, bytes) == (ssize_t)bytes;
    close(ends[0]);
    close(ends[1]);
    return good;
}

/* All of it, or false. At most a page. */
static bool read_memory(uintptr_t from, void *out, size_t bytes)
{
    struct iovec here = { out, bytes };
    struct iovec there = { (void *)from, bytes };
    ssize_t got;

    if (from < 4096 || from >> 47)
        return false;
    got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got < 0 && (errno == EPERM || errno == ENOSYS))
        return read_through_pipe((const void *)from, out, bytes);
    return got == (ssize_t)bytes;
}

/* ---- strings ---- */

static bool ends_in(const char *text, size_t length, const char *ending)
{
    size_t bytes = strlen(ending);

    return length > bytes && memcmp(text + length - bytes, ending, bytes) == 0;
}

/* Whether there are `length` characters and a NUL at `from` that can be a text. */
static bool read_text(uintptr_t from, size_t length, char out[PATH_MAX])
{
    if (length >= PATH_MAX || !read_memory(from, out, length + 1) || out[length])
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            return false;
    return true;
}

/* libstdc++ since 2015: pointer, length, then the capacity or the characters themselves. */
static bool read_string(const uint64_t *words, size_t left, uintptr_t address, char out[PATH_MAX])
{
    if (left < 4 || words[1] >= PATH_MAX)
        return false;
    if (words[0] == address + 16 ? words[1] > 15 : words[2] < words[1] || words[2] > 1u << 20)
        return false;
    return read_text((uintptr_t)words[0], (size_t)words[1], out);
}

/* Before: a pointer to the characters, with length, capacity and references in front of them. */
static bool read_old_string(const uint64_t *words, char out[PATH_MAX])
{
    struct {
        uint64_t length;
        uint64_t capacity;
        int32_t references;
        int32_t nothing;
    } head;

    return words[0] % 8 == 0 && words[0] > 4096 && read_memory(words[0] - 24, &head, sizeof head) &&
           head.length < PATH_MAX && head.capacity >= head.length && head.capacity < 1u << 20 &&
           head.references >= -1 && head.references < 1 << 20 &&
           read_text((uintptr_t)words[0], (size_t)head.length, out);
}

/* ---- the object ---- */

/* How much of it there is. An object behind it may be another session, with another model. */
static size_t object_bytes(uintptr_t session)
{
    uint64_t head;
    uint64_t next;

    /* The GNU C library keeps the size in front, and in the next one whether this one is in use. */
    if (session % 16 || !read_memory(session - 8, &head, sizeof head))
        return SCAN_UNKNOWN;
    if ((head & ~7ull) % 16 || (head & ~7ull) < SCAN_UNKNOWN || head > 4 * SCAN_MAX || !(head & 1))
        return SCAN_UNKNOWN;
    head &= ~7ull;
    if (!read_memory(session - 8 + head, &next, sizeof next) || !(next & 1) || next >> 47)
        return SCAN_UNKNOWN;
    return head - 8 < SCAN_MAX ? (size_t)head - 8 : SCAN_MAX;
}

struct search {
    char path[PATH_MAX];
    bool found;
    bool ambiguous;
};

static void consider(struct search *search, const char *text)
{
    size_t length = strlen(text);
    struct stat file;

    if (!ends_in(text, length, ".onnx") && !ends_in(text, length, ".ort"))
        return;
    if (stat(text, &file) < 0 || !S_ISREG(file.st_mode)) {
        search->ambiguous = true; /* a path that leads nowhere, or some other name */
        return;
    }
    if (search->found && strcmp(search->path, text) != 0)
        search->ambiguous = true;
    memcpy(search->path, text, length + 1);
    search->found = true;
}

/* The options are part of the object, and in them is the path that an optimized model is written
 * to: three flags and the prefix of profiles follow on it. A std::filesystem::path is a string and
 * one word more. */
static bool is_output(const uint64_t *words, size_t left, uintptr_t address, bool is_old)
{
    char text[PATH_MAX];

    for (size_t flags = is_old ? 1 : 4; flags <= (is_old ? 2 : 5) && flags + 1 < left; flags++) {
        size_t next = flags + 1;

        if (!(words[flags] & NO_FLAGS) &&
            (is_old ? read_old_string(words + next, text)
                    : read_string(words + next, left - next, address + next * 8, text)))
            return true;
    }
    return false;
}

static void search_object(uintptr_t session, struct search *search)
{
    static uint64_t words[SCAN_MAX / 8]; /* under the lock */
    size_t bytes = object_bytes(session);
    size_t count = 0;
    char text[PATH_MAX];

    for (; count < bytes / 8; count += 64) { /* pieces that end at the end of the readable part */
        size_t part = bytes / 8 - count < 64 ? bytes / 8 - count : 64;

        if (!read_memory(session + count * 8, words + count, part * 8))
            break;
    }
    if (count > bytes / 8)
        count = bytes / 8;
    for (size_t i = 0; i < count; i++) {
        uintptr_t address = session + i * 8;
        bool is_new = read_string(words + i, count - i, address, text);

        if (!is_new && !read_old_string(words + i, text))
            continue;
        if (!is_output(words + i, count - i, address, !is_new))
            consider(search, text);
    }
}

/* ---- its model ---- */

static void short_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    snprintf(out, size, "%.*s", dot > base ? (int)(dot - base) : (int)strlen(base), base);
}

static ifg_model *name_model(const struct ort_runtime *rt, const void *session)
{
    static struct search search; /* under the lock */
    char absolute[PATH_MAX] = "";
    char content_id[64];
    char name[ORT_TEXT];
    ifg_model *model;

    memset(&search, 0, sizeof search);
    search_object((uintptr_t)session, &search);
    if (search.ambiguous || (search.found && !realpath(search.path, absolute)))
        search.found = false;
    if (search.found)
        short_name(absolute, name, sizeof name);
    else
        snprintf(name, sizeof name, "session@%llx", (unsigned long long)(uintptr_t)session);
    snprintf(content_id, sizeof content_id, "session@%llx", (unsigned long long)(uintptr_t)session);
    model = ifg_model_create(&(ifg_model_options){
        .struct_size = sizeof(ifg_model_options),
        .name = name,
        .path = search.found ? absolute : "",
        .content_id = search.found ? "" : content_id,
        .runtime = rt->name,
    });
    if (!ort_models_note(content_id, absolute))
        return model;
    if (search.found)
        ifg_model_property(model, TRACE_PROPERTY_INFERRED, "session object");
    ifg_model_property(model, TRACE_PROPERTY_OPTIONS, "unknown (made before the attach)");
    ifg_model_property(model, TRACE_PROPERTY_PLACEMENT_SOURCE,
                       "unknown: the session was made before the attach");
    return model;
}

struct ort_session_state *ort_rundown(struct ort_runtime *rt, struct ort_session *session)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct ort_session_state *state;
    int saved_errno = errno;

    if (!session)
        return NULL;
    pthread_mutex_lock(&lock);
    state = ort_map_find(&ort_sessions, session); /* another thread may have been faster */
    if (!state)
        state = ort_session_adopt(rt, session, name_model(rt, session));
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
    return state;
}
