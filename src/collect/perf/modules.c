// SPDX-License-Identifier: Apache-2.0
/* See modules.h. */
#include "collect/perf/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/perf/module_copy.h"

#define MODULES_MAX 65536u
#define VDSO_PAGE   4096u
#define VDSO_MAX    (16u * VDSO_PAGE)

struct entry {
    struct module module;
    uint64_t device, inode; /* 0: not known */
};

struct modules {
    struct entry **entries; /* addresses stay: mappings refer to them */
    size_t count, room, written;
    const struct module *kernel;
    const struct module *vdso;
    struct made_budget budget;
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
        made_destroy(modules->entries[i]->module.made);
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
    return inode ? module_copy(mapping->pid, inode) : -1;
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

/* The kernel gives all processes of this machine the same code, ourselves included; one for another
 * kind of machine (32 bits) is no ELF file that we read. Bytes are taken from our own. */
static const struct module *take_vdso(struct modules *modules, uint32_t pid)
{
    unsigned long own = getauxval(AT_SYSINFO_EHDR);
    struct entry *entry;
    void *bytes;
    int fd;

    if (modules->vdso)
        return modules->vdso;
    if (!own)
        return modules_runtime(modules, pid);
    entry = add(modules, TRACE_MODULE_VDSO, "[vdso]");
    if (!entry)
        return NULL;
    modules->vdso = &entry->module;
    memcpy(&bytes, &own, sizeof bytes);
    fd = memfd_create("inferogram-vdso", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < VDSO_MAX; at += VDSO_PAGE)
        if (write(fd, (const uint8_t *)bytes + at, VDSO_PAGE) != VDSO_PAGE)
            break; /* the next page is not there */
    if (fd >= 0 && elf_file_open_fd(fd, "[vdso]", &entry->module.elf, NULL) == IFG_OK &&
        unwind_table_build(entry->module.elf, &entry->module.table, NULL) != IFG_OK)
        entry->module.table = NULL;
    if (fd >= 0)
        close(fd);
    return &entry->module;
}

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

/* Memory without a file; the kernel has names for some of it. */
static bool is_nameless(const char *path)
{
    return path[0] != '/' || strncmp(path, "//anon", 6) == 0 ||
           strncmp(path, "/dev/zero", 9) == 0 || strncmp(path, "/anon_hugepage", 14) == 0 ||
           strncmp(path, "/SYSV", 5) == 0;
}

/* Some runtimes keep what they make in a file of memory. Libraries may come from there too. */
static bool is_made_in_memfd(const struct sampler_mapping *mapping)
{
    uint8_t begin[4];
    const char *note;
    bool made;
    int fd;

    if (strncmp(mapping->path, "/memfd:", 7) != 0)
        return false;
    fd = get_hold(mapping, inode_of(mapping), &note);
    if (fd < 0)
        return false;
    made = pread(fd, begin, sizeof begin, 0) != sizeof begin || memcmp(begin, "\177ELF", 4) != 0;
    close(fd);
    return made;
}

static const struct module *take_dump(struct modules *modules,
                                      const struct sampler_mapping *mapping)
{
    const struct module *module = modules_runtime(modules, mapping->pid);

    if (module && module->made)
        made_take_dump(module->made, mapping->path);
    return module;
}

/* The kernel's records have a build-id and no inode, /proc has it the other way round: what was
 * read may turn out to be known. */
static const struct module *known_after_all(struct modules *modules, struct entry *entry)
{
    for (size_t i = 0; *entry->module.build_id && i + 1 < modules->count; i++) {
        struct entry *other = modules->entries[i];

        if (other->module.kind != TRACE_MODULE_FILE || other->inode || !other->module.elf ||
            strcmp(other->module.build_id, entry->module.build_id) != 0)
            continue;
        other->device = entry->device;
        other->inode = entry->inode;
        modules->count--;
        unwind_table_destroy(entry->module.table);
        elf_file_close(entry->module.elf);
        ifg_free(entry->module.path);
        ifg_free(entry);
        return &other->module;
    }
    return &entry->module;
}

const struct module *modules_take(struct modules *modules, const struct sampler_mapping *mapping)
{
    const struct module *known;
    struct entry *entry;

    if (strcmp(mapping->path, "[vdso]") == 0 && mapping->size <= VDSO_MAX)
        return take_vdso(modules, mapping->pid);
    if (is_nameless(mapping->path))
        return modules_runtime(modules, mapping->pid);
    if (made_is_dump(mapping->path))
        return take_dump(modules, mapping);
    known = find(modules, mapping);
    if (known)
        return known;
    if (is_made_in_memfd(mapping))
        return modules_runtime(modules, mapping->pid);
    entry = add(modules, TRACE_MODULE_FILE, mapping->path);
    if (!entry)
        return NULL;
    entry->device = (uint64_t)mapping->device_major << 32 | mapping->device_minor;
    entry->inode = mapping->inode;
    snprintf(entry->module.build_id, sizeof entry->module.build_id, "%s", mapping->build_id);
    load(&entry->module, mapping);
    return known_after_all(modules, entry);
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
    entry->module.made = made_create(pid, &modules->budget);
    return &entry->module;
}

static struct made *made_of(const struct modules *modules, uint32_t number)
{
    return number && number <= modules->count ? modules->entries[number - 1]->module.made : NULL;
}

bool modules_saw(struct modules *modules, uint32_t number, uint64_t address, uint64_t time_ns)
{
    struct made *made = made_of(modules, number);

    return made && made_saw(made, address, time_ns);
}

bool modules_awaits(const struct modules *modules, uint32_t number, uint64_t address)
{
    const struct made *made = made_of(modules, number);

    return made && !made_knows(made, address);
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
