// SPDX-License-Identifier: Apache-2.0
/*
 * See lookup.h. The child writes a stream of answers: varint frame, start, size, number of places;
 * of each place flags, line, function, file. The parent reads it as hostile bytes: the child has
 * read hostile files.
 */
#include "collect/perf/lookup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "symbol/names.h"
#include "system/rights.h"

#define ANSWER_MAX ((size_t)512 << 20)
#define TELL_BYTES ((size_t)64 << 10) /* the child writes when it has so much */

/* ---- the child ---- */

struct teller {
    int fd;
    struct ifg_bytes bytes;
};

static void flush(struct teller *teller)
{
    for (size_t done = 0; done < teller->bytes.size;) {
        ssize_t wrote = write(teller->fd, teller->bytes.data + done, teller->bytes.size - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            _exit(1);
        done += (size_t)wrote;
    }
    ifg_bytes_clear(&teller->bytes);
}

static void tell_place(struct teller *teller, const struct names_place *place)
{
    ifg_bytes_put_varint(&teller->bytes, (uint64_t)place->guessed | (uint64_t)place->inlined << 1);
    ifg_bytes_put_varint(&teller->bytes, place->line);
    ifg_bytes_put_string(&teller->bytes, place->function, strlen(place->function));
    ifg_bytes_put_string(&teller->bytes, place->file, strlen(place->file));
}

static void tell_head(struct teller *teller, size_t frame, uint64_t start, uint64_t size,
                      size_t places)
{
    ifg_bytes_put_varint(&teller->bytes, frame + 1);
    ifg_bytes_put_varint(&teller->bytes, start);
    ifg_bytes_put_varint(&teller->bytes, size);
    ifg_bytes_put_varint(&teller->bytes, places);
}

static void tell_file(struct teller *teller, const struct module *module,
                      const struct trace_frame *frames, size_t count)
{
    struct names *names;

    if (!module->elf || names_open(elf_file_descriptor(module->elf), module->elf, module->table,
                                   &names, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct names_place places[NAMES_INLINED_MAX];
        uint64_t start, size;
        size_t found;

        if (frames[i].module != module->number)
            continue;
        found = names_find(names, frames[i].address, &start, &size, places);
        tell_head(teller, i, start, size, found);
        for (size_t place = 0; place < found; place++)
            tell_place(teller, &places[place]);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
    names_close(names);
}

static void tell_made(struct teller *teller, const struct module *module,
                      const struct trace_frame *frames, size_t count)
{
    made_load_names(module->made);
    for (size_t i = 0; i < count; i++) {
        struct names_place place = { .function = "" };
        struct made_place found;

        if (frames[i].module != module->number ||
            !made_find(module->made, frames[i].address, &found))
            continue;
        place.function = found.name;
        place.file = found.file;
        place.line = found.line;
        tell_head(teller, i, found.start, found.size, 1);
        tell_place(teller, &place);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
}

static void tell_kernel(struct teller *teller, const struct module *module,
                        const struct trace_frame *frames, size_t count)
{
    struct name_list *list;

    rights_raise();
    list = name_list_read("/proc/kallsyms", NAME_LIST_KALLSYMS);
    rights_lower();
    for (size_t i = 0; list && i < count; i++) {
        struct names_place place = { .file = "" };
        uint64_t start, size;

        if (frames[i].module != module->number ||
            !name_list_find(list, frames[i].address, &place.function, &start, &size))
            continue;
        tell_head(teller, i, start, size, 1);
        tell_place(teller, &place);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
    name_list_destroy(list);
}

static void be_child(int fd, const struct modules *modules, const struct trace_frame *frames,
                     size_t count, pid_t parent)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM };
    struct teller teller = { .fd = fd };
    struct rlimit no_core = { 0, 0 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        signal(deadly[i], SIG_DFL);
    ifg_bytes_init(&teller.bytes, TELL_BYTES * 16);
    for (size_t i = 0; i < modules_count(modules); i++) {
        const struct module *module = modules_at(modules, i);

        if (module->kind == TRACE_MODULE_FILE || module->kind == TRACE_MODULE_VDSO)
            tell_file(&teller, module, frames, count);
        else if (module->kind == TRACE_MODULE_KERNEL)
            tell_kernel(&teller, module, frames, count);
        else if (module->made)
            tell_made(&teller, module, frames, count);
    }
    flush(&teller);
    _exit(0);
}

/* ---- the parent ---- */

static void listen(struct lookup *lookup, int fd, pid_t child, unsigned timeout_s)
{
    uint64_t end_ns = ifg_monotonic_ns() + timeout_s * 1000000000ull;
    uint8_t chunk[16384];
    int status = 0;

    for (;;) {
        struct pollfd ready = { fd, POLLIN, 0 };
        uint64_t now_ns = ifg_monotonic_ns();
        ssize_t got;

        if (now_ns >= end_ns || poll(&ready, 1, 100) < 0) {
            if (now_ns < end_ns && errno == EINTR)
                continue;
            snprintf(lookup->problem, sizeof lookup->problem,
                     "looking up names took more than %u s", timeout_s);
            kill(child, SIGKILL);
            break;
        }
        if (!(ready.revents & (POLLIN | POLLHUP)))
            continue;
        got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        ifg_bytes_put(&lookup->words, chunk, (size_t)got);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!lookup->problem[0] && WIFSIGNALED(status))
        snprintf(lookup->problem, sizeof lookup->problem,
                 "reading names ended with signal %d (%s); some are missing", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
}

static bool add_symbol(struct lookup *lookup, const struct trace_symbol *symbol)
{
    if (lookup->count == lookup->room) {
        size_t room = lookup->room ? lookup->room * 2 : 1024;
        void *bigger = ifg_realloc(lookup->symbols, room, sizeof *lookup->symbols);

        if (!bigger)
            return false;
        lookup->symbols = bigger;
        lookup->room = room;
    }
    lookup->symbols[lookup->count++] = *symbol;
    return true;
}

/* A string of the answer, ended by NUL in place: the byte behind it has been read already, or is
 * put back by whoever reads it. Texts are therefore copied behind each other first. */
static const char *take_text(struct ifg_cursor *cursor, char **free_at)
{
    size_t size;
    const char *text = ifg_cursor_string(cursor, &size);
    char *copy = *free_at;

    if (cursor->failed)
        return "";
    memcpy(copy, text, size);
    copy[size] = '\0';
    *free_at += size + 1;
    return copy;
}

/* Copies never take more room than the answer: of each text the length goes and the NUL comes. */
static void understand(struct lookup *lookup, size_t frame_count)
{
    struct ifg_cursor cursor = ifg_cursor_over(lookup->words.data, lookup->words.size);
    struct ifg_bytes texts;
    char *free_at;

    ifg_bytes_init(&texts, ANSWER_MAX + 1);
    if (!ifg_bytes_reserve(&texts, lookup->words.size + 1))
        return;
    free_at = (char *)texts.data;
    while (ifg_cursor_left(&cursor) && !cursor.failed) {
        uint64_t frame = ifg_cursor_varint(&cursor);
        uint64_t start = ifg_cursor_varint(&cursor);
        uint64_t size = ifg_cursor_varint(&cursor);
        uint64_t places = ifg_cursor_varint(&cursor);

        if (!frame || frame > frame_count || places > NAMES_INLINED_MAX)
            break;
        for (uint64_t i = 0; i < places; i++) {
            struct trace_symbol symbol = { .frame = (uint32_t)frame, .start = start, .size = size };
            uint64_t flags = ifg_cursor_varint(&cursor);

            symbol.line = (uint32_t)ifg_cursor_varint(&cursor);
            symbol.guessed = flags & 1;
            symbol.inlined = flags >> 1 & 1;
            symbol.function = take_text(&cursor, &free_at);
            symbol.file = take_text(&cursor, &free_at);
            if (cursor.failed || !add_symbol(lookup, &symbol))
                break;
        }
    }
    ifg_bytes_fini(&lookup->words);
    lookup->words = texts;
}

void lookup_run(struct lookup *lookup, const struct modules *modules,
                const struct trace_frame *frames, size_t frame_count, unsigned timeout_s)
{
    int ends[2];
    pid_t parent = getpid();
    pid_t child;

    memset(lookup, 0, sizeof *lookup);
    ifg_bytes_init(&lookup->words, ANSWER_MAX);
    if (!frame_count)
        return;
    if (pipe(ends)) {
        snprintf(lookup->problem, sizeof lookup->problem, "no pipe for a process that reads names");
        return;
    }
    child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(ends[1], modules, frames, frame_count, parent);
    }
    close(ends[1]);
    if (child > 0)
        listen(lookup, ends[0], child, timeout_s);
    else
        snprintf(lookup->problem, sizeof lookup->problem, "no process could be made to read names");
    close(ends[0]);
    understand(lookup, frame_count);
}

void lookup_fini(struct lookup *lookup)
{
    ifg_free(lookup->symbols);
    ifg_bytes_fini(&lookup->words);
    memset(lookup, 0, sizeof *lookup);
}
