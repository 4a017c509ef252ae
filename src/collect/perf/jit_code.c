// SPDX-License-Identifier: Apache-2.0
/* See jit_code.h. */
#include "collect/perf/jit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/perf/jitdump.h"
#include "collect/perf/lookup.h"
#include "collect/perf/owners.h"

#define PAGE            4096u
#define PAGES_MAX       4096u /* 16 MiB, of all processes */
#define LOCATIONS_MAX   (1u << 20)
#define DESCRIPTORS_MAX 64u
#define DUMP_BYTES_MAX  ((uint64_t)512 << 20) /* of all processes */
#define READS_MAX       400u                  /* in a tenth of a second */
#define WINDOW_NS       100000000ull
#define TRY_NS          50000000ull /* the list is looked for again after so long */
#define STALE_NS        200000000ull
#define PAGES_BEFORE    1
#define PAGES_BEHIND    2
#define BEFORE_START_S  2 /* clocks of files are coarse */

/* Where samples were, or a page of memory, by address. */
struct location {
    uint64_t address;
    uint64_t time_ns; /* of the last sample; of the copy */
    uint8_t *bytes;   /* of a page */
};

/* Open addressing, at most half full; time 0 is free. */
struct locations {
    struct location *slots;
    size_t size, count;
};

struct jit_code {
    uint32_t pid;
    uint32_t own_pid; /* as the process itself sees it */
    time_t started;   /* 0: not known */
    uint64_t start_ticks;
    char program[64];
    char refused[200]; /* why one of its files is not read; "" */
    struct owners *owners;
    struct jit_code_budget *budget;
    struct locations seen;
    struct locations pages;
    int dump_fd, list_fd; /* -1: none */
    uint64_t next_try_ns;
    struct jitdump *dump;
    struct name_list *list;
};

/* ---- tables ---- */

static struct location *slot_of(const struct locations *locations, uint64_t address)
{
    uint64_t hash = address * 0x9e3779b97f4a7c15ull;
    size_t at = (size_t)(hash >> 32) & (locations->size - 1);

    while (locations->slots[at].time_ns && locations->slots[at].address != address)
        at = (at + 1) & (locations->size - 1);
    return &locations->slots[at];
}

static struct location *find_location(const struct locations *locations, uint64_t address)
{
    struct location *found = locations->size ? slot_of(locations, address) : NULL;

    return found && found->time_ns ? found : NULL;
}

/* The place of an address, new or known; NULL: no memory, or too many. */
static struct location *take_place(struct locations *locations, uint64_t address)
{
    struct location *location;

    if (locations->count * 2 >= locations->size) {
        struct locations bigger = { .size = locations->size ? locations->size * 2 : 256 };

        if (bigger.size <= 2u * LOCATIONS_MAX)
            bigger.slots = ifg_alloc(bigger.size, sizeof *bigger.slots);
        if (!bigger.slots)
            return find_location(locations, address);
        for (size_t i = 0; i < locations->size; i++)
            if (locations->slots[i].time_ns)
                *slot_of(&bigger, locations->slots[i].address) = locations->slots[i];
        bigger.count = locations->count;
        ifg_free(locations->slots);
        *locations = bigger;
    }
    location = slot_of(locations, address);
    if (!location->time_ns) {
        location->address = address;
        locations->count++;
    }
    return location;
}

/* ---- what is known of the process ---- */

/* The number after a word at the begin of a line; of several, the last. */
static uint32_t number_in(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    char *end;
    uint32_t number = 0;

    if (!at)
        return 0;
    for (at += strlen(word); *at == '\t' || *at == ' '; at = end)
        number = (uint32_t)strtoul(at, &end, 10);
    return number;
}

static size_t read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* When it began, as the kernel counts: two processes of one number differ in it. */
static uint64_t start_ticks(uint32_t pid)
{
    char path[64], text[1024];
    const char *at;
    char *end;

    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    read_text(path, text, sizeof text);
    at = strrchr(text, ')'); /* behind a name that may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, &end, 10) : 0;
}

/* By the clock that files have: a list from before is of another process. */
static time_t time_of(uint64_t ticks)
{
    struct timespec now, booted;

    if (!ticks || clock_gettime(CLOCK_REALTIME, &now) || clock_gettime(CLOCK_BOOTTIME, &booted))
        return 0;
    return now.tv_sec - booted.tv_sec + (time_t)(ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
}

static void read_facts(struct jit_code *made)
{
    char path[64], text[4096];
    ssize_t length;
    const char *slash;

    snprintf(path, sizeof path, "/proc/%u/status", made->pid);
    read_text(path, text, sizeof text);
    made->own_pid = number_in(text, "\nNSpid:");
    if (!made->own_pid)
        made->own_pid = made->pid;
    made->start_ticks = start_ticks(made->pid);
    made->started = time_of(made->start_ticks);
    snprintf(path, sizeof path, "/proc/%u/exe", made->pid);
    length = readlink(path, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    slash = strrchr(text, '/');
    snprintf(made->program, sizeof made->program, "%.60s", slash ? slash + 1 : "");
}

struct jit_code *jit_code_create(uint32_t pid, struct owners *owners,
                                 struct jit_code_budget *budget)
{
    struct jit_code *made = ifg_alloc(1, sizeof *made);

    if (!made)
        return NULL;
    made->pid = pid;
    made->owners = owners;
    made->budget = budget;
    made->dump_fd = made->list_fd = -1;
    read_facts(made);
    return made;
}

static void close_kept(struct jit_code *made, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    made->budget->descriptors--;
}

void jit_code_destroy(struct jit_code *made)
{
    if (!made)
        return;
    close_kept(made, &made->dump_fd);
    close_kept(made, &made->list_fd);
    jitdump_destroy(made->dump);
    name_list_destroy(made->list);
    for (size_t i = 0; i < made->pages.size; i++)
        ifg_free(made->pages.slots[i].bytes);
    made->budget->pages -= made->pages.count;
    ifg_free(made->pages.slots);
    ifg_free(made->seen.slots);
    ifg_free(made);
}

/* ---- its files ---- */

/*
 * A file of the process, by its name there or here; -1: none. It must be its user's or root's, as
 * the names in it are believed. What is there and is not taken is worth a sentence.
 */
static int open_file(struct jit_code *made, const char *path, unsigned flags)
{
    uint32_t owner = owners_of(made->owners, made->pid);
    struct ifg_error err = { .message = "" };
    enum ifg_status status;
    int fd;

    status = owners_open(made->owners, owner, path, flags, 0, &fd, &err);
    if (!status && !owners_wrote(made->owners, owner, fd)) {
        close(fd);
        fd = -1;
        status = ifg_fail(&err, IFG_PERMISSION, "%.100s is neither user %u's nor root's", path,
                          (unsigned)owners_user(made->owners, owner));
    }
    if (status && status != IFG_NOT_FOUND)
        snprintf(made->refused, sizeof made->refused, "code made at run time has no names: %.150s",
                 err.message);
    return fd;
}

bool jit_code_is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);

    return strncmp(name, "jit-", 4) == 0 && length > 9 && strcmp(name + length - 5, ".dump") == 0;
}

void jit_code_take_dump(struct jit_code *made, const char *path)
{
    int fd;

    if (made->dump_fd >= 0 || made->budget->descriptors >= DESCRIPTORS_MAX)
        return;
    fd = open_file(made, path, 0);
    if (fd < 0)
        fd = open_file(made, path, OWNERS_HERE);
    if (fd >= 0)
        made->budget->descriptors++;
    made->dump_fd = fd;
}

/* It must be of the process's time, too. */
static int open_list(struct jit_code *made, const char *path, unsigned flags)
{
    int fd = open_file(made, path, flags | OWNERS_UNLINKED);
    struct stat facts;

    if (fd >= 0 &&
        (fstat(fd, &facts) || (made->started && facts.st_mtime + BEFORE_START_S < made->started))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int find_list(struct jit_code *made)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/tmp/perf-%u.map", made->own_pid);
    fd = open_list(made, path, 0);
    if (fd < 0) {
        snprintf(path, sizeof path, "/tmp/perf-%u.map", made->pid);
        fd = open_list(made, path, OWNERS_HERE);
    }
    return fd;
}

/* While the process lives: its view of /tmp goes with it. */
static void look_for_list(struct jit_code *made, uint64_t now_ns)
{
    if (made->list_fd >= 0 || now_ns < made->next_try_ns ||
        made->budget->descriptors >= DESCRIPTORS_MAX)
        return;
    made->next_try_ns = now_ns + TRY_NS;
    made->list_fd = find_list(made);
    if (made->list_fd >= 0)
        made->budget->descriptors++;
}

/* ---- its memory ---- */

static bool may_read(struct jit_code_budget *budget, uint64_t now_ns)
{
    if (now_ns - budget->window_ns >= WINDOW_NS) {
        budget->window_ns = now_ns;
        budget->reads = 0;
    }
    return budget->reads++ < READS_MAX;
}

static size_t read_memory(uint32_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = { out, size };
    struct iovec there = { .iov_len = size };
    ssize_t got;

    /* An address of another process is a number to us. */
    memcpy(&there.iov_base, &address, sizeof there.iov_base);
    got = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

static void copy_page(struct jit_code *made, uint64_t address, uint64_t now_ns)
{
    struct location *page = find_location(&made->pages, address);
    uint8_t bytes[PAGE];

    if ((page && now_ns - page->time_ns < STALE_NS) ||
        (!page && made->budget->pages >= PAGES_MAX) || !may_read(made->budget, now_ns) ||
        read_memory(made->pid, address, bytes, PAGE) != PAGE)
        return;
    if (!page) {
        uint8_t *copy = ifg_alloc(PAGE, 1);

        page = copy ? take_place(&made->pages, address) : NULL;
        if (!page) {
            ifg_free(copy);
            return;
        }
        page->bytes = copy;
        made->budget->pages++;
    }
    page->time_ns = now_ns;
    memcpy(page->bytes, bytes, PAGE);
}

bool jit_code_knows(const struct jit_code *made, uint64_t address)
{
    return find_location(&made->seen, address) != NULL;
}

bool jit_code_saw(struct jit_code *made, uint64_t address, uint64_t time_ns)
{
    struct location *location = find_location(&made->seen, address);
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    uint64_t now_ns;

    if (location) {
        if (time_ns > location->time_ns)
            location->time_ns = time_ns;
        return false;
    }
    location = take_place(&made->seen, address);
    if (!location)
        return false;
    location->time_ns = time_ns ? time_ns : 1;
    now_ns = ifg_monotonic_ns();
    look_for_list(made, now_ns);
    if (made->dump_fd >= 0)
        return true; /* which has the bytes */
    for (int i = -PAGES_BEFORE; i <= PAGES_BEHIND; i++)
        copy_page(made, page + (uint64_t)(int64_t)i * PAGE, now_ns);
    return true;
}

/* ---- at the end ---- */

/* Dumps of all processes together are bounded: they are held while names are looked up. */
static void load_dump(struct jit_code *made)
{
    struct stat facts = { 0 };
    uint64_t bytes;

    fstat(made->dump_fd, &facts);
    bytes = facts.st_size > (off_t)JITDUMP_BYTES_MAX ? JITDUMP_BYTES_MAX : (uint64_t)facts.st_size;
    if (made->budget->dump_bytes + bytes > DUMP_BYTES_MAX) {
        snprintf(made->refused, sizeof made->refused,
                 "code made at run time has no names: there are more than %u MiB of jitdump files",
                 (unsigned)(DUMP_BYTES_MAX >> 20));
        return;
    }
    made->budget->dump_bytes += bytes;
    made->dump = jitdump_read(made->dump_fd);
}

void jit_code_load(struct jit_code *made)
{
    if (made->dump_fd >= 0 && !made->dump)
        load_dump(made);
    if (made->list_fd < 0 && (made->seen.count || made->dump_fd < 0)) {
        made->list_fd = find_list(made);
        if (made->list_fd >= 0)
            made->budget->descriptors++;
    }
}

int jit_code_list(const struct jit_code *made)
{
    return made->list_fd;
}

void jit_code_load_names(struct jit_code *made)
{
    if (made->list_fd >= 0 && !made->list)
        made->list = name_list_read_fd(made->list_fd, NAME_LIST_PERF_MAP);
}

static const struct jitdump_entry *find_entry(const struct jit_code *made, uint64_t address)
{
    const struct location *location = find_location(&made->seen, address);

    return made->dump ? jitdump_find(made->dump, address, location ? location->time_ns : UINT64_MAX)
                      : NULL;
}

bool jit_code_find(const struct jit_code *made, uint64_t address,
                   struct jit_code_location *out_location)
{
    const struct jitdump_entry *entry = find_entry(made, address);

    *out_location = (struct jit_code_location){ .name = "", .file = "" };
    if (entry) {
        out_location->name = entry->name;
        out_location->start = entry->start;
        out_location->size = entry->size;
        if (jitdump_line(made->dump, entry, address, &out_location->file, &out_location->line) &&
            strncmp(out_location->file, "file://", 7) == 0)
            out_location->file += 7;
        return true;
    }
    return made->list && name_list_find(made->list, address, &out_location->name,
                                        &out_location->start, &out_location->size);
}

/* As much of a page as is known; 0: nothing. */
static bool get_page(const struct jit_code *made, uint64_t address, uint8_t out[PAGE])
{
    const struct location *page = find_location(&made->pages, address);

    /* Another process may have its number by now, and its memory is nobody's business. */
    if (!page && start_ticks(made->pid) != made->start_ticks)
        return false;
    if (!page)
        return read_memory(made->pid, address, out, PAGE) == PAGE;
    memcpy(out, page->bytes, PAGE);
    return true;
}

size_t jit_code_code(const struct jit_code *made, uint64_t address, uint64_t from, uint64_t end,
                     uint8_t *out, uint64_t *out_at)
{
    const struct jitdump_entry *entry = find_entry(made, address);
    size_t size = 0;

    *out_at = from;
    if (entry && from >= entry->start && end <= entry->start + entry->size) {
        if (from < end)
            memcpy(out, entry->code + (from - entry->start), (size_t)(end - from));
        return (size_t)(end - from);
    }
    while (from < end) {
        uint64_t page = from & ~(uint64_t)(PAGE - 1);
        uint64_t page_end = end - page > PAGE ? page + PAGE : end; /* also of the last page */
        uint8_t bytes[PAGE];

        if (get_page(made, page, bytes)) {
            memcpy(out + size, bytes + (from - page), (size_t)(page_end - from));
            size += (size_t)(page_end - from);
        } else if (size) {
            break;
        } else {
            *out_at = page_end;
        }
        from = page_end;
    }
    return size;
}

const char *jit_code_hint(const struct jit_code *made)
{
    static const struct {
        const char *program, *hint;
    } hints[] = {
        { "node", "JavaScript has no names: run node with --perf-basic-prof, or --perf-prof to "
                  "have lines too" },
        { "python3", "Python's own code has no names: run python 3.12 or later with -X perf" },
        { "dotnet", "code made by .NET has no names: set DOTNET_PerfMapEnabled=1" },
        { "julia", "code made by Julia has no names: set ENABLE_JITPROFILING=1" },
        { "bun", "JavaScript has no names: set BUN_JSC_useJITDump=1" },
    };

    if (made->refused[0])
        return made->refused;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strncmp(made->program, hints[i].program, strlen(hints[i].program)) == 0)
            return hints[i].hint;
    return "code made at run time has no names: its runtime has to write /tmp/perf-PID.map or map "
           "a jitdump";
}
