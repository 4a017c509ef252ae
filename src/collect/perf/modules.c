// SPDX-License-Identifier: Apache-2.0
/* See modules.h. */
#include "collect/perf/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MODULES_MAX 65536u
#define COPY_MAX    ((uint64_t)1 << 30) /* of a file that is only in memory any more */
#define COPY_CHUNK  (256u << 10)

struct entry {
    struct module module;
    uint64_t device, inode; /* 0: not known */
};

struct modules {
    struct entry **entries; /* addresses stay: mappings refer to them */
    size_t count, room, written;
    const struct module *kernel;
};

struct modules *modules_create(void)
{
    return ifg_alloc(1, sizeof(struct modules));
}

void modules_destroy(struct modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->count; i++) {
        unwind_table_destroy(modules->entries[i]->module.table);
        elf_file_close(modules->entries[i]->module.elf);
        ifg_free(modules->entries[i]->module.path);
        ifg_free(modules->entries[i]);
    }
    ifg_free(modules->entries);
    ifg_free(modules);
}

static struct entry *add(struct modules *modules, enum trace_module_kind kind, const char *path)
{
    struct entry *entry;

    if (modules->count == modules->room) {
        size_t room = modules->room ? modules->room * 2 : 64;
        struct entry **bigger =
            room > MODULES_MAX ? NULL : ifg_realloc(modules->entries, room, sizeof *bigger);

        if (!bigger)
            return NULL;
        modules->entries = bigger;
        modules->room = room;
    }
    entry = ifg_alloc(1, sizeof *entry);
    if (entry)
        entry->module.path = ifg_strdup(path);
    if (!entry || !entry->module.path) {
        ifg_free(entry);
        return NULL;
    }
    entry->module.kind = kind;
    entry->module.note = "";
    entry->module.number = (uint32_t)modules->count + 1;
    modules->entries[modules->count++] = entry;
    return entry;
}

/* ---- getting hold of a file ---- */

/* Copies the pieces of a file that a process has mapped to where they are in the file: enough of an
 * ELF file for code, call frames and exported names. */
static bool copy_piece(int memory, int copy, uint64_t start, uint64_t end, uint64_t offset)
{
    static uint8_t chunk[COPY_CHUNK];

    while (start < end) {
        size_t part = end - start < sizeof chunk ? (size_t)(end - start) : sizeof chunk;
        ssize_t got = pread(memory, chunk, part, (off_t)start);

        if (got <= 0 || pwrite(copy, chunk, (size_t)got, (off_t)offset) != got)
            return false;
        start += (uint64_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

/* One line of /proc/PID/maps, if it is of this file. */
static bool parse_map(const char *line, uint64_t inode, uint64_t *out_start, uint64_t *out_end,
                      uint64_t *out_offset)
{
    char *at;

    *out_start = strtoull(line, &at, 16);
    if (*at != '-')
        return false;
    *out_end = strtoull(at + 1, &at, 16);
    if (strlen(at) < 6 || at[1] != 'r')
        return false;
    *out_offset = strtoull(at + 6, &at, 16);
    if (*at != ' ')
        return false;
    at = strchr(at + 1, ' '); /* behind the device */
    return at && strtoull(at, NULL, 10) == inode && *out_end > *out_start;
}

static int copy_from_memory(uint32_t pid, uint64_t inode)
{
    char name[64];
    char line[PATH_MAX + 256];
    FILE *maps;
    int memory, copy;
    uint64_t copied = 0;

    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    maps = fopen(name, "re");
    snprintf(name, sizeof name, "/proc/%u/mem", pid);
    memory = open(name, O_RDONLY | O_CLOEXEC);
    copy = memfd_create("inferogram-module", MFD_CLOEXEC);
    while (maps && memory >= 0 && copy >= 0 && fgets(line, sizeof line, maps)) {
        uint64_t start, end, offset;

        if (parse_map(line, inode, &start, &end, &offset) && copied + (end - start) < COPY_MAX &&
            copy_piece(memory, copy, start, end, offset))
            copied += end - start;
    }
    if (maps)
        fclose(maps);
    if (memory >= 0)
        close(memory);
    if (copied)
        return copy;
    if (copy >= 0)
        close(copy);
    return -1;
}

static bool is_file(int fd, uint64_t inode)
{
    struct stat facts;

    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
           (!inode || (uint64_t)facts.st_ino == inode);
}

static int open_if_same(const char *path, uint64_t inode)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && !is_file(fd, inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* By its path in the process's own view, through the kernel's link to it, or out of its memory. */
static int get_hold(const struct sampler_mapping *mapping, uint64_t inode, const char **out_note)
{
    char path[PATH_MAX + 64];
    int fd;

    *out_note = "";
    snprintf(path, sizeof path, "/proc/%u/root%s", mapping->pid, mapping->path);
    fd = open_if_same(path, inode);
    if (fd < 0)
        fd = open_if_same(mapping->path, inode);
    if (fd >= 0)
        return fd;
    *out_note = "deleted file";
    snprintf(path, sizeof path, "/proc/%u/map_files/%llx-%llx", mapping->pid,
             (unsigned long long)mapping->start,
             (unsigned long long)(mapping->start + mapping->size));
    fd = open_if_same(path, inode);
    if (fd >= 0)
        return fd;
    *out_note = "memory of the process";
    return inode ? copy_from_memory(mapping->pid, inode) : -1;
}

/* The kernel tells a build-id or an inode, never both; /proc has the inode of what is mapped. */
static uint64_t inode_of(const struct sampler_mapping *mapping)
{
    char line[PATH_MAX + 256];
    char name[64];
    uint64_t found = 0;
    FILE *maps;

    if (mapping->inode)
        return mapping->inode;
    snprintf(name, sizeof name, "/proc/%u/maps", mapping->pid);
    maps = fopen(name, "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        char *at;

        if (strtoull(line, &at, 16) != mapping->start || *at != '-')
            continue;
        for (int blanks = 0; *at && blanks < 4; at++)
            blanks += *at == ' ';
        found = strtoull(at, NULL, 10);
    }
    if (maps)
        fclose(maps);
    return found;
}

static void load(struct module *module, const struct sampler_mapping *mapping)
{
    uint64_t inode = inode_of(mapping);
    int fd = get_hold(mapping, inode, &module->note);
    const char *build_id;

    if (fd < 0) {
        module->note = "could not be read";
        return;
    }
    if (elf_file_open_fd(fd, mapping->path, &module->elf, NULL) == IFG_OK) {
        build_id = elf_file_build_id(module->elf);
        if (*mapping->build_id && *build_id &&
            strncmp(build_id, mapping->build_id, strlen(mapping->build_id)) != 0) {
            elf_file_close(module->elf); /* another file has taken its place */
            module->elf = NULL;
            module->note = "replaced by another file";
        } else {
            snprintf(module->build_id, sizeof module->build_id, "%s", build_id);
            if (unwind_table_build(module->elf, &module->table, NULL) != IFG_OK)
                module->table = NULL;
        }
    }
    close(fd);
}

/* ---- which module ---- */

static const struct module *find(const struct modules *modules,
                                 const struct sampler_mapping *mapping)
{
    uint64_t device = (uint64_t)mapping->device_major << 32 | mapping->device_minor;

    for (size_t i = 0; i < modules->count; i++) {
        const struct entry *entry = modules->entries[i];

        if (entry->module.kind != TRACE_MODULE_FILE)
            continue;
        if (*mapping->build_id
                ? strncmp(entry->module.build_id, mapping->build_id, strlen(mapping->build_id)) == 0
                : entry->inode == mapping->inode && entry->device == device && mapping->inode)
            return &entry->module;
    }
    return NULL;
}

const struct module *modules_take(struct modules *modules, const struct sampler_mapping *mapping)
{
    const struct module *known;
    struct entry *entry;

    if (mapping->path[0] != '/' || strncmp(mapping->path, "//anon", 6) == 0)
        return modules_runtime(modules, mapping->pid);
    known = find(modules, mapping);
    if (known)
        return known;
    entry = add(modules, TRACE_MODULE_FILE, mapping->path);
    if (!entry)
        return NULL;
    entry->device = (uint64_t)mapping->device_major << 32 | mapping->device_minor;
    entry->inode = mapping->inode;
    snprintf(entry->module.build_id, sizeof entry->module.build_id, "%s", mapping->build_id);
    load(&entry->module, mapping);
    return &entry->module;
}

const struct module *modules_kernel(struct modules *modules)
{
    struct entry *entry;

    if (modules->kernel)
        return modules->kernel;
    entry = add(modules, TRACE_MODULE_KERNEL, "[kernel]");
    if (entry)
        modules->kernel = &entry->module;
    return modules->kernel;
}

const struct module *modules_runtime(struct modules *modules, uint32_t pid)
{
    struct entry *entry;

    for (size_t i = 0; i < modules->count; i++)
        if (modules->entries[i]->module.kind == TRACE_MODULE_RUNTIME &&
            modules->entries[i]->module.pid == pid)
            return &modules->entries[i]->module;
    entry = add(modules, TRACE_MODULE_RUNTIME, "");
    if (!entry)
        return NULL;
    entry->module.pid = pid;
    return &entry->module;
}

size_t modules_count(const struct modules *modules)
{
    return modules->count;
}

const struct module *modules_at(const struct modules *modules, size_t index)
{
    return &modules->entries[index]->module;
}

void modules_write(struct modules *modules, struct trace_writer *writer)
{
    for (; modules->written < modules->count; modules->written++) {
        const struct module *module = &modules->entries[modules->written]->module;
        struct trace_module out = { module->kind, module->pid, module->path, module->build_id,
                                    module->note };

        trace_writer_modules(writer, &out, 1);
    }
}
