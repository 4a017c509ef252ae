// SPDX-License-Identifier: Apache-2.0
/* Code generated at run time: finding its names in dumps and lists, and keeping its bytes. */
#include "collect/perf/jit_code.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/ticks.h"
#include "collect/perf/jitdump.h"
#include "collect/perf/lookup.h"
#include "collect/perf/owners.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define PAGE            4096u
#define PAGES_MAX       4096u /* 16 MiB, of all processes */
#define ADDRESSES_MAX   (1u << 20)
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
struct address_entry {
    uint64_t address;
    uint64_t time_ns; /* of the last sample; of the copy */
    uint8_t *bytes;   /* of a page */
};

struct address_table {
    struct address_entry *items;
    size_t count, capacity;
    struct ifg_index index;
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
    struct address_table seen;
    struct address_table pages;
    int dump_fd, list_fd; /* -1: none */
    uint64_t next_try_ns;
    struct jitdump *dump;
    struct name_list *list;
};

/* ---- tables ---- */

static uint64_t hash_address(const void *items, size_t position)
{
    return ifg_hash_pair(((const struct address_entry *)items)[position].address, 0);
}

static bool is_same_address(const void *items, size_t position, const void *wanted)
{
    const struct address_entry *entry = wanted;

    return ((const struct address_entry *)items)[position].address == entry->address;
}

static struct address_entry *find_address(const struct address_table *table, uint64_t address)
{
    struct address_entry wanted = { .address = address };
    uint32_t found = ifg_index_find(&table->index, hash_address(&wanted, 0), is_same_address,
                                    table->items, &wanted);

    return found ? &table->items[found - 1] : NULL;
}

/* One for an address that has none; NULL: no memory, or too many. */
static struct address_entry *add_address(struct address_table *table, uint64_t address)
{
    struct address_entry *entry;

    if (!IFG_ARRAY_ROOM(table->items, table->capacity, table->count + 1, ADDRESSES_MAX) ||
        !ifg_index_room(&table->index, table->count, hash_address, table->items))
        return NULL;
    entry = &table->items[table->count];
    *entry = (struct address_entry){ .address = address };
    ifg_index_put(&table->index, hash_address(entry, 0), table->count++);
    return entry;
}

static void fini_addresses(struct address_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        ifg_free(table->items[i].bytes);
    ifg_free(table->items);
    ifg_index_fini(&table->index);
}

/* ---- what is known of the process ---- */

/* When it began, as the kernel counts: two processes of one number differ in it. */
static uint64_t start_ticks(uint32_t pid)
{
    struct process_stat now;

    return process_stat_of((pid_t)pid, &now) ? now.start_ticks : 0;
}

/* By the clock that files have: a list from before is of another process. */
static time_t time_of(uint64_t ticks)
{
    return ticks ? (time_t)((ifg_realtime_ns() - process_age_ns(ticks)) / 1000000000u) : 0;
}

static void read_facts(struct jit_code *jit)
{
    struct process_status status;
    char program[PATH_MAX];
    const char *slash;

    jit->own_pid = jit->pid;
    if (process_status_of((pid_t)jit->pid, &status) && status.own_tid)
        jit->own_pid = (uint32_t)status.own_tid;
    jit->start_ticks = start_ticks(jit->pid);
    jit->started = time_of(jit->start_ticks);
    (void)process_link((pid_t)jit->pid, "exe", program, sizeof program);
    slash = strrchr(program, '/');
    snprintf(jit->program, sizeof jit->program, "%.60s", slash ? slash + 1 : "");
}

struct jit_code *jit_code_create(uint32_t pid, struct owners *owners,
                                 struct jit_code_budget *budget)
{
    struct jit_code *jit = ifg_alloc(1, sizeof *jit);

    if (!jit)
        return NULL;
    jit->pid = pid;
    jit->owners = owners;
    jit->budget = budget;
    jit->dump_fd = jit->list_fd = -1;
    read_facts(jit);
    return jit;
}

static void close_kept(struct jit_code *jit, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    jit->budget->descriptors--;
}

void jit_code_destroy(struct jit_code *jit)
{
    if (!jit)
        return;
    close_kept(jit, &jit->dump_fd);
    close_kept(jit, &jit->list_fd);
    jitdump_destroy(jit->dump);
    name_list_destroy(jit->list);
    jit->budget->pages -= jit->pages.count;
    fini_addresses(&jit->pages);
    fini_addresses(&jit->seen);
    ifg_free(jit);
}

/* ---- its files ---- */

/*
 * A file of the process, by its name there or here; -1: none. It must be its user's or root's, as
 * the names in it are believed. What is there and is not taken is worth a sentence.
 */
static int open_file(struct jit_code *jit, const char *path, unsigned flags)
{
    uint32_t owner = owners_of(jit->owners, jit->pid);
    struct ifg_error err = { .message = "" };
    enum ifg_status status;
    int fd;

    status = owners_open(jit->owners, owner, path, flags, 0, &fd, &err);
    if (!status && !owners_wrote(jit->owners, owner, fd)) {
        close(fd);
        fd = -1;
        status = ifg_fail(&err, IFG_PERMISSION, "%.100s is neither user %u's nor root's", path,
                          (unsigned)owners_user(jit->owners, owner));
    }
    if (status && status != IFG_NOT_FOUND)
        snprintf(jit->refused, sizeof jit->refused,
                 "code generated at run time has no names: %.150s", err.message);
    return fd;
}

bool jit_code_is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);

    return strncmp(name, "jit-", 4) == 0 && length > 9 && strcmp(name + length - 5, ".dump") == 0;
}

void jit_code_take_dump(struct jit_code *jit, const char *path)
{
    int fd;

    if (jit->dump_fd >= 0 || jit->budget->descriptors >= DESCRIPTORS_MAX)
        return;
    fd = open_file(jit, path, 0);
    if (fd < 0)
        fd = open_file(jit, path, OWNERS_HERE);
    if (fd >= 0)
        jit->budget->descriptors++;
    jit->dump_fd = fd;
}

/* It must be of the process's time, too. */
static int open_list(struct jit_code *jit, const char *path, unsigned flags)
{
    int fd = open_file(jit, path, flags | OWNERS_UNLINKED);
    struct stat facts;

    if (fd >= 0 &&
        (fstat(fd, &facts) || (jit->started && facts.st_mtime + BEFORE_START_S < jit->started))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int find_list(struct jit_code *jit)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/tmp/perf-%u.map", jit->own_pid);
    fd = open_list(jit, path, 0);
    if (fd < 0) {
        snprintf(path, sizeof path, "/tmp/perf-%u.map", jit->pid);
        fd = open_list(jit, path, OWNERS_HERE);
    }
    return fd;
}

/* While the process lives: its view of /tmp goes with it. */
static void look_for_list(struct jit_code *jit, uint64_t now_ns)
{
    if (jit->list_fd >= 0 || now_ns < jit->next_try_ns ||
        jit->budget->descriptors >= DESCRIPTORS_MAX)
        return;
    jit->next_try_ns = now_ns + TRY_NS;
    jit->list_fd = find_list(jit);
    if (jit->list_fd >= 0)
        jit->budget->descriptors++;
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

static void copy_page(struct jit_code *jit, uint64_t address, uint64_t now_ns)
{
    struct address_entry *page = find_address(&jit->pages, address);
    uint8_t bytes[PAGE];

    if ((page && now_ns - page->time_ns < STALE_NS) || (!page && jit->budget->pages >= PAGES_MAX) ||
        !may_read(jit->budget, now_ns) || read_memory(jit->pid, address, bytes, PAGE) != PAGE)
        return;
    if (!page) {
        uint8_t *copy = ifg_alloc(PAGE, 1);

        page = copy ? add_address(&jit->pages, address) : NULL;
        if (!page) {
            ifg_free(copy);
            return;
        }
        page->bytes = copy;
        jit->budget->pages++;
    }
    page->time_ns = now_ns;
    memcpy(page->bytes, bytes, PAGE);
}

bool jit_code_knows(const struct jit_code *jit, uint64_t address)
{
    return find_address(&jit->seen, address) != NULL;
}

bool jit_code_saw(struct jit_code *jit, uint64_t address, uint64_t time_ns)
{
    struct address_entry *entry = find_address(&jit->seen, address);
    uint64_t page = address & ~(uint64_t)(PAGE - 1);
    uint64_t now_ns;

    if (entry) {
        if (time_ns > entry->time_ns)
            entry->time_ns = time_ns;
        return false;
    }
    entry = add_address(&jit->seen, address);
    if (!entry)
        return false;
    entry->time_ns = time_ns;
    now_ns = ifg_monotonic_ns();
    look_for_list(jit, now_ns);
    if (jit->dump_fd >= 0)
        return true; /* which has the bytes */
    for (int i = -PAGES_BEFORE; i <= PAGES_BEHIND; i++)
        copy_page(jit, page + (uint64_t)(int64_t)i * PAGE, now_ns);
    return true;
}

/* ---- at the end ---- */

/* Dumps of all processes together are bounded: they are held while names are looked up. */
static void load_dump(struct jit_code *jit)
{
    struct stat facts = { 0 };
    uint64_t bytes;

    fstat(jit->dump_fd, &facts);
    bytes = facts.st_size > (off_t)JITDUMP_BYTES_MAX ? JITDUMP_BYTES_MAX : (uint64_t)facts.st_size;
    if (jit->budget->dump_bytes + bytes > DUMP_BYTES_MAX) {
        snprintf(
            jit->refused, sizeof jit->refused,
            "code generated at run time has no names: there are more than %u MiB of jitdump files",
            (unsigned)(DUMP_BYTES_MAX >> 20));
        return;
    }
    jit->budget->dump_bytes += bytes;
    jit->dump = jitdump_read(jit->dump_fd);
}

void jit_code_load(struct jit_code *jit)
{
    if (jit->dump_fd >= 0 && !jit->dump)
        load_dump(jit);
    if (jit->list_fd < 0 && (jit->seen.count || jit->dump_fd < 0)) {
        jit->list_fd = find_list(jit);
        if (jit->list_fd >= 0)
            jit->budget->descriptors++;
    }
}

int jit_code_list(const struct jit_code *jit)
{
    return jit->list_fd;
}

void jit_code_load_names(struct jit_code *jit)
{
    if (jit->list_fd >= 0 && !jit->list)
        jit->list = name_list_read_fd(jit->list_fd, NAME_LIST_PERF_MAP);
}

static const struct jitdump_entry *find_entry(const struct jit_code *jit, uint64_t address)
{
    const struct address_entry *entry = find_address(&jit->seen, address);

    return jit->dump ? jitdump_find(jit->dump, address, entry ? entry->time_ns : UINT64_MAX) : NULL;
}

bool jit_code_find(const struct jit_code *jit, uint64_t address,
                   struct jit_code_function *out_function)
{
    const struct jitdump_entry *entry = find_entry(jit, address);

    *out_function = (struct jit_code_function){ .name = "", .file = "" };
    if (entry) {
        out_function->name = entry->name;
        out_function->start = entry->start;
        out_function->size = entry->size;
        if (jitdump_line(jit->dump, entry, address, &out_function->file, &out_function->line) &&
            strncmp(out_function->file, "file://", 7) == 0)
            out_function->file += 7;
        return true;
    }
    return jit->list && name_list_find(jit->list, address, &out_function->name,
                                       &out_function->start, &out_function->size);
}

/* As much of a page as is known; 0: nothing. */
static bool get_page(const struct jit_code *jit, uint64_t address, uint8_t out[PAGE])
{
    const struct address_entry *page = find_address(&jit->pages, address);

    /* Another process may have its number by now, and its memory is nobody's business. */
    if (!page && start_ticks(jit->pid) != jit->start_ticks)
        return false;
    if (!page)
        return read_memory(jit->pid, address, out, PAGE) == PAGE;
    memcpy(out, page->bytes, PAGE);
    return true;
}

size_t jit_code_code(const struct jit_code *jit, uint64_t address, uint64_t from, uint64_t end,
                     uint8_t *out, uint64_t *out_at)
{
    const struct jitdump_entry *entry = find_entry(jit, address);
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

        if (get_page(jit, page, bytes)) {
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

const char *jit_code_hint(const struct jit_code *jit)
{
    static const struct {
        const char *program, *hint;
    } hints[] = {
        { "node", "JavaScript has no names: run node with --perf-basic-prof, or --perf-prof to "
                  "have lines too" },
        { "python3", "code that a Python program generated has no names; that of Python itself has "
                     "with -X perf (3.12)" },
        { "dotnet", "code made by .NET has no names: set DOTNET_PerfMapEnabled=1" },
        { "julia", "code made by Julia has no names: set ENABLE_JITPROFILING=1" },
        { "bun", "JavaScript has no names: set BUN_JSC_useJITDump=1" },
    };

    if (jit->refused[0])
        return jit->refused;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strncmp(jit->program, hints[i].program, strlen(hints[i].program)) == 0)
            return hints[i].hint;
    return "code generated at run time has no names: its runtime has to write /tmp/perf-PID.map or "
           "map "
           "a jitdump";
}
