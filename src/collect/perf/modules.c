// SPDX-License-Identifier: Apache-2.0
/* The list of files that are executed: recognizing one again, and opening it in time. */
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
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/perf/module_copy.h"
#include "system/maps.h"

#define MODULES_MAX 65536u
#define VDSO_PAGE   4096u
#define VDSO_MAX    (16u * VDSO_PAGE)

struct entry {
    struct module module;
    uint64_t device, inode; /* 0: not known */
    bool trusted;           /* nobody but root could have written it */
};

/* A mapping, and whose it is. */
struct found {
    const struct sampler_mapping *mapping;
    uint64_t inode; /* 0: not known */
    uint32_t owner;
};

struct modules {
    struct entry **entries; /* addresses stay: mappings refer to them */
    size_t count, room, written;
    const struct module *kernel;
    const struct module *vdso;
    struct jit_code_budget budget;
    struct owners *owners;
};

struct modules *modules_create(void)
{
    struct modules *modules = ifg_alloc(1, sizeof *modules);

    if (modules)
        modules->owners = owners_create();
    if (modules && !modules->owners) {
        ifg_free(modules);
        return NULL;
    }
    return modules;
}

void modules_destroy(struct modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->count; i++) {
        jit_code_destroy(modules->entries[i]->module.jit);
        unwind_table_destroy(modules->entries[i]->module.table);
        elf_file_close(modules->entries[i]->module.elf);
        ifg_free(modules->entries[i]->module.path);
        ifg_free(modules->entries[i]);
    }
    ifg_free(modules->entries);
    owners_destroy(modules->owners);
    ifg_free(modules);
}

const struct owners *modules_owners(const struct modules *modules)
{
    return modules->owners;
}

void modules_meet(struct modules *modules, uint32_t pid)
{
    owners_of(modules->owners, pid);
}

void modules_forked(struct modules *modules, uint32_t parent, uint32_t pid)
{
    owners_forked(modules->owners, parent, pid);
}

static struct entry *add(struct modules *modules, enum trace_module_kind kind, const char *path)
{
    struct entry *entry;

    if (!IFG_ARRAY_ROOM(modules->entries, modules->room, modules->count + 1, MODULES_MAX))
        return NULL;
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

static int if_same(int fd, uint64_t inode)
{
    struct stat facts;

    if (fd >= 0 && (fstat(fd, &facts) || !S_ISREG(facts.st_mode) ||
                    (inode && (uint64_t)facts.st_ino != inode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_if_same(const struct modules *modules, const struct found *found, unsigned flags)
{
    int fd;

    if (owners_open(modules->owners, found->owner, found->mapping->path, flags, 0, &fd, NULL))
        return -1;
    return if_same(fd, found->inode);
}

/*
 * Root's own short programs end before anybody can say whose they were. What the kernel told about
 * the file is enough to know that it is the one they executed, wherever the path leads by now.
 */
static int open_if_told(const struct found *found)
{
    const struct sampler_mapping *mapping = found->mapping;
    int fd = if_same(open(mapping->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW),
                     mapping->inode);
    struct elf_file *elf = NULL;
    struct stat facts;
    bool same = false;

    if (fd < 0)
        return -1;
    if (mapping->inode)
        same = fstat(fd, &facts) == 0 && major(facts.st_dev) == mapping->device_major &&
               minor(facts.st_dev) == mapping->device_minor;
    else if (*mapping->build_id && elf_file_open_fd(fd, mapping->path, &elf, NULL) == IFG_OK)
        same = strncmp(elf_file_build_id(elf), mapping->build_id, strlen(mapping->build_id)) == 0;
    elf_file_close(elf);
    if (same)
        return fd;
    close(fd);
    return -1;
}

/* By its path in the process's own view and with its rights, through the kernel's link to what is
 * mapped (which leads nowhere else), or out of its memory. */
static int get_hold(const struct modules *modules, const struct found *found, const char **out_note)
{
    const struct sampler_mapping *mapping = found->mapping;
    char path[96];
    int fd;

    *out_note = "";
    fd = open_if_same(modules, found, 0);
    if (fd < 0)
        fd = open_if_same(modules, found, OWNERS_HERE);
    if (fd < 0)
        fd = open_if_told(found);
    if (fd >= 0)
        return fd;
    *out_note = "deleted file";
    snprintf(path, sizeof path, "/proc/%u/map_files/%llx-%llx", mapping->pid,
             (unsigned long long)mapping->start,
             (unsigned long long)(mapping->start + mapping->size));
    fd = if_same(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), found->inode);
    if (fd >= 0)
        return fd;
    *out_note = "memory of the process";
    return found->inode ? module_copy(mapping->pid, found->inode) : -1;
}

/* Whether a process still has a mapping; if so, of which file: the kernel tells a build-id or an
 * inode, never both. */
static bool is_mapped(const struct sampler_mapping *mapping, uint64_t *out_inode)
{
    uint64_t inode;

    *out_inode = mapping->inode;
    if (!maps_file_at((pid_t)mapping->pid, mapping->start, &inode) ||
        (mapping->inode && mapping->inode != inode))
        return false;
    *out_inode = inode;
    return true;
}

/* A process may have ended since the kernel told of the mapping, or be another program with other
 * rights: its user is the right one only as long as it still has it. */
static void find_owner(struct modules *modules, const struct sampler_mapping *mapping,
                       struct found *out)
{
    bool lives = owners_now(modules->owners, mapping->pid, &out->owner);

    out->mapping = mapping;
    if (is_mapped(mapping, &out->inode) && lives)
        owners_keep(modules->owners, mapping->pid, out->owner);
    else
        out->owner = owners_kept(modules->owners, mapping->pid);
}

static bool is_roots(int fd)
{
    struct stat facts;

    return fstat(fd, &facts) == 0 && facts.st_uid == 0 && !(facts.st_mode & (S_IWGRP | S_IWOTH));
}

static void load(const struct modules *modules, struct entry *entry, const struct found *found)
{
    const struct sampler_mapping *mapping = found->mapping;
    struct module *module = &entry->module;
    int fd = get_hold(modules, found, &module->note);
    const char *build_id;

    if (fd < 0) {
        module->note = "could not be read";
        return;
    }
    entry->trusted = !*module->note && is_roots(fd);
    if (elf_file_open_fd(fd, mapping->path, &module->elf, NULL) == IFG_OK) {
        build_id = elf_file_build_id(module->elf);
        if (*mapping->build_id && *build_id &&
            strncmp(build_id, mapping->build_id, strlen(mapping->build_id)) != 0) {
            elf_file_close(module->elf); /* another file has taken its place */
            module->elf = NULL;
            module->note = "replaced by another file";
        } else {
            snprintf(module->build_id, sizeof module->build_id, "%s", build_id);
            if (unwind_table_open(module->elf, &module->table, NULL) != IFG_OK)
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
        unwind_table_open(entry->module.elf, &entry->module.table, NULL) != IFG_OK)
        entry->module.table = NULL;
    if (fd >= 0)
        close(fd);
    return &entry->module;
}

/* A build-id is what the file says: one that its user could have written is only his. */
static const struct module *find(const struct modules *modules, const struct found *found,
                                 bool trusted)
{
    const struct sampler_mapping *mapping = found->mapping;
    uint64_t device = (uint64_t)mapping->device_major << 32 | mapping->device_minor;

    for (size_t i = 0; i < modules->count; i++) {
        const struct entry *entry = modules->entries[i];

        if (entry->module.kind != TRACE_MODULE_FILE ||
            (!entry->trusted && (trusted || entry->module.owner != found->owner)))
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
static bool is_made_in_memfd(const struct modules *modules, const struct found *found)
{
    uint8_t begin[4];
    const char *note;
    bool is_jit;
    int fd;

    if (strncmp(found->mapping->path, "/memfd:", 7) != 0)
        return false;
    fd = get_hold(modules, found, &note);
    if (fd < 0)
        return false;
    is_jit = pread(fd, begin, sizeof begin, 0) != sizeof begin || memcmp(begin, "\177ELF", 4) != 0;
    close(fd);
    return is_jit;
}

static const struct module *take_dump(struct modules *modules,
                                      const struct sampler_mapping *mapping)
{
    const struct module *module = modules_runtime(modules, mapping->pid);

    if (module && module->jit)
        jit_code_take_dump(module->jit, mapping->path);
    return module;
}

/* The kernel's records have a build-id and no inode, /proc has it the other way round: what was
 * read may turn out to be known. */
static const struct module *known_after_all(struct modules *modules, struct entry *entry)
{
    for (size_t i = 0; *entry->module.build_id && i + 1 < modules->count; i++) {
        struct entry *other = modules->entries[i];

        if (other->module.kind != TRACE_MODULE_FILE || other->inode || !other->module.elf ||
            strcmp(other->module.build_id, entry->module.build_id) != 0 ||
            (!other->trusted && other->module.owner != entry->module.owner))
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
    struct found found = { .mapping = mapping };
    const struct module *known;
    struct entry *entry;

    if (strcmp(mapping->path, "[vdso]") == 0 && mapping->size <= VDSO_MAX)
        return take_vdso(modules, mapping->pid);
    if (is_nameless(mapping->path))
        return modules_runtime(modules, mapping->pid);
    if (jit_code_is_dump(mapping->path))
        return take_dump(modules, mapping);
    known = find(modules, &found, true);
    if (known)
        return known;
    find_owner(modules, mapping, &found);
    known = find(modules, &found, false);
    if (known)
        return known;
    if (is_made_in_memfd(modules, &found))
        return modules_runtime(modules, mapping->pid);
    entry = add(modules, TRACE_MODULE_FILE, mapping->path);
    if (!entry)
        return NULL;
    entry->device = (uint64_t)mapping->device_major << 32 | mapping->device_minor;
    entry->inode = mapping->inode;
    snprintf(entry->module.build_id, sizeof entry->module.build_id, "%s", mapping->build_id);
    entry->module.owner = found.owner;
    load(modules, entry, &found);
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
            !modules->entries[i]->module.interpreted && modules->entries[i]->module.pid == pid)
            return &modules->entries[i]->module;
    entry = add(modules, TRACE_MODULE_RUNTIME, "");
    if (!entry)
        return NULL;
    entry->module.pid = pid;
    entry->module.owner = owners_of(modules->owners, pid);
    entry->module.jit = jit_code_create(pid, modules->owners, &modules->budget);
    return &entry->module;
}

const struct module *modules_interpreted(struct modules *modules, uint32_t pid, const char *name)
{
    struct entry *entry;

    for (size_t i = 0; i < modules->count; i++)
        if (modules->entries[i]->module.interpreted && modules->entries[i]->module.pid == pid &&
            strcmp(modules->entries[i]->module.path, name) == 0)
            return &modules->entries[i]->module;
    entry = add(modules, TRACE_MODULE_RUNTIME, name);
    if (!entry)
        return NULL;
    entry->module.pid = pid;
    entry->module.owner = owners_of(modules->owners, pid);
    entry->module.interpreted = true;
    return &entry->module;
}

static struct jit_code *jit_code_of(const struct modules *modules, uint32_t number)
{
    return number && number <= modules->count ? modules->entries[number - 1]->module.jit : NULL;
}

bool modules_saw(struct modules *modules, uint32_t number, uint64_t address, uint64_t time_ns)
{
    struct jit_code *jit = jit_code_of(modules, number);

    return jit && jit_code_saw(jit, address, time_ns);
}

bool modules_awaits(const struct modules *modules, uint32_t number, uint64_t address)
{
    const struct jit_code *jit = jit_code_of(modules, number);

    return jit && !jit_code_knows(jit, address);
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
