// SPDX-License-Identifier: Apache-2.0
/* Loading the program of probes by hand: see load.h. */
#include "collect/privileged/load.h"

#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/small_file.h"
#include "collect/uprobe/record_internal.h"

#define INSTRUCTIONS_MAX 4096u
#define MANY_PROBES      48 /* BPF_TRACE_UPROBE_MULTI; linux/bpf.h may be older */
#define OF_PERF_EVENT    41 /* BPF_PERF_EVENT */
#define RELOCATION_VALUE 1  /* R_BPF_64_64 */

extern const unsigned char uprobe_program[];
extern const size_t uprobe_program_size;

/* The object file: made by our build, and read as if it were. */
struct object {
    const Elf64_Shdr *sections;
    unsigned section_count;
    const char *section_names;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
};

static int bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

bool load_put(int map, uint32_t key, const void *value, uint64_t flags)
{
    union bpf_attr attr = { 0 };

    attr.map_fd = (__u32)map;
    attr.key = (uintptr_t)&key;
    attr.value = (uintptr_t)value;
    attr.flags = flags;
    return bpf(BPF_MAP_UPDATE_ELEM, &attr) == 0;
}

void load_delete(int map, uint32_t key)
{
    union bpf_attr attr = { 0 };

    attr.map_fd = (__u32)map;
    attr.key = (uintptr_t)&key;
    bpf(BPF_MAP_DELETE_ELEM, &attr);
}

static int make_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags)
{
    union bpf_attr attr = { 0 };

    attr.map_type = type;
    attr.key_size = key;
    attr.value_size = value;
    attr.max_entries = entries;
    attr.map_flags = flags;
    return bpf(BPF_MAP_CREATE, &attr);
}

static const Elf64_Shdr *section(const struct object *object, const char *name)
{
    for (unsigned i = 0; i < object->section_count; i++)
        if (strcmp(object->section_names + object->sections[i].sh_name, name) == 0)
            return &object->sections[i];
    return NULL;
}

static bool open_object(struct object *out)
{
    const Elf64_Ehdr *head = (const void *)uprobe_program;
    const Elf64_Shdr *symbols;

    if (uprobe_program_size < sizeof *head || head->e_shoff > uprobe_program_size ||
        head->e_shnum > (uprobe_program_size - head->e_shoff) / sizeof(Elf64_Shdr) ||
        head->e_shstrndx >= head->e_shnum)
        return false;
    out->sections = (const void *)(uprobe_program + head->e_shoff);
    out->section_count = head->e_shnum;
    out->section_names = (const char *)uprobe_program + out->sections[head->e_shstrndx].sh_offset;
    symbols = section(out, ".symtab");
    if (!symbols)
        return false;
    out->symbols = (const void *)(uprobe_program + symbols->sh_offset);
    out->symbol_count = symbols->sh_size / sizeof *out->symbols;
    out->names = (const char *)uprobe_program + out->sections[symbols->sh_link].sh_offset;
    return true;
}

/* The map that a symbol stands for, and whether it is a place in its only value. */
static int map_of(const struct loaded *loaded, const struct object *object, const Elf64_Sym *symbol,
                  bool *out_value)
{
    const struct {
        const char *name;
        int fd;
    } maps[] = {
        { "events", loaded->events },       { "stacks", loaded->stacks },
        { "texts", loaded->texts },         { "namespaces", loaded->namespaces },
        { "permitted", loaded->permitted }, { ".rodata.settings", loaded->settings },
        { ".bss.counts", loaded->counts },  { ".rodata", loaded->zeros },
    };
    const char *room = object->section_names + object->sections[symbol->st_shndx].sh_name;
    const char *name = strcmp(room, ".maps") == 0 ? object->names + symbol->st_name : room;

    *out_value = strcmp(room, ".maps") != 0;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        if (strcmp(maps[i].name, name) == 0)
            return maps[i].fd;
    return -1;
}

/* Fills in the maps that instructions refer to. */
static bool relocate(const struct loaded *loaded, const struct object *object,
                     const Elf64_Shdr *where, const Elf64_Sym *function, struct bpf_insn *code)
{
    const Elf64_Shdr *table = NULL;
    const Elf64_Rel *list;

    for (unsigned i = 0; i < object->section_count && !table; i++)
        if (object->sections[i].sh_type == SHT_REL &&
            &object->sections[object->sections[i].sh_info] == where)
            table = &object->sections[i];
    list = table ? (const void *)(uprobe_program + table->sh_offset) : NULL;
    for (size_t i = 0; list && i < table->sh_size / sizeof *list; i++) {
        const Elf64_Sym *symbol = &object->symbols[ELF64_R_SYM(list[i].r_info)];
        struct bpf_insn *at;
        bool value;
        int map;

        if (list[i].r_offset < function->st_value ||
            list[i].r_offset >= function->st_value + function->st_size)
            continue;
        at = code + (list[i].r_offset - function->st_value) / sizeof *code;
        map = map_of(loaded, object, symbol, &value);
        if (ELF64_R_TYPE(list[i].r_info) != RELOCATION_VALUE || map < 0)
            return false;
        at->src_reg = value ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
        at[1].imm = value ? at->imm + (int32_t)symbol->st_value : 0;
        at->imm = map;
    }
    return true;
}

static int load_function(const struct loaded *loaded, const struct object *object, const char *name,
                         uint32_t type)
{
    static struct bpf_insn code[INSTRUCTIONS_MAX];
    union bpf_attr attr = { 0 };

    for (size_t i = 0; i < object->symbol_count; i++) {
        const Elf64_Sym *function = &object->symbols[i];
        const Elf64_Shdr *where = &object->sections[function->st_shndx];

        if (ELF64_ST_TYPE(function->st_info) != STT_FUNC ||
            strcmp(object->names + function->st_name, name) != 0)
            continue;
        if (function->st_size > sizeof code)
            break;
        memcpy(code, uprobe_program + where->sh_offset + function->st_value, function->st_size);
        if (!relocate(loaded, object, where, function, code))
            break;
        attr.prog_type = type;
        attr.insns = (uintptr_t)code;
        attr.insn_cnt = (__u32)(function->st_size / sizeof *code);
        attr.license = (uintptr_t) "Dual BSD/GPL";
        if (type == BPF_PROG_TYPE_KPROBE && loaded->many)
            attr.expected_attach_type = MANY_PROBES;
        snprintf(attr.prog_name, sizeof attr.prog_name, "%s", name);
        return bpf(BPF_PROG_LOAD, &attr);
    }
    errno = ENOEXEC;
    return -1;
}

static bool make_maps(struct loaded *out, const struct object *object, uint64_t ring_bytes,
                      const struct probe_settings *settings)
{
    const Elf64_Shdr *constants = section(object, ".rodata");
    union bpf_attr freeze = { 0 };

    errno = ENOEXEC;
    if (!constants)
        return false;
    out->events = make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)ring_bytes, 0);
    out->stacks = make_map(BPF_MAP_TYPE_HASH, 4, sizeof(struct call_stack), PROBE_THREADS, 0);
    out->texts = make_map(BPF_MAP_TYPE_LRU_HASH, 8, sizeof(struct probe_text), 1024, 0);
    out->namespaces =
        make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct probe_namespace), PROBE_NAMESPACES, 0);
    out->permitted = make_map(BPF_MAP_TYPE_HASH, 4, 4, PROBE_PROCESSES, 0);
    out->settings = make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof *settings, 1, BPF_F_RDONLY_PROG);
    out->counts = make_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct probe_counts), 1, BPF_F_MMAPABLE);
    out->zeros =
        make_map(BPF_MAP_TYPE_ARRAY, 4, (uint32_t)constants->sh_size, 1, BPF_F_RDONLY_PROG);
    if (out->events < 0 || out->stacks < 0 || out->texts < 0 || out->namespaces < 0 ||
        out->permitted < 0 || out->settings < 0 || out->counts < 0 || out->zeros < 0 ||
        !load_put(out->settings, 0, settings, BPF_ANY) ||
        !load_put(out->zeros, 0, uprobe_program + constants->sh_offset, BPF_ANY))
        return false;
    freeze.map_fd = (__u32)out->settings;
    if (bpf(BPF_MAP_FREEZE, &freeze) < 0)
        return false;
    freeze.map_fd = (__u32)out->zeros;
    return bpf(BPF_MAP_FREEZE, &freeze) == 0;
}

static bool kernel_takes_many(void)
{
    struct utsname name;
    unsigned long major, minor = 0;
    char *end;

    if (uname(&name) < 0)
        return false;
    major = strtoul(name.release, &end, 10);
    if (*end == '.')
        minor = strtoul(end + 1, NULL, 10);
    return major > 6 || (major == 6 && minor >= 12);
}

int load_program(struct loaded *out, uint64_t ring_bytes, const struct probe_settings *settings)
{
    static const char *const names[] = { "probe_leave", "probe_enter", "probe_point" };
    union bpf_attr attr = { 0 };
    struct object object;
    int execs;

    memset(out, -1, sizeof *out);
    out->many = kernel_takes_many();
    if (!open_object(&object))
        return ENOEXEC;
    if (!make_maps(out, &object, ring_bytes, settings))
        return errno;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        out->programs[i] = load_function(out, &object, names[i], BPF_PROG_TYPE_KPROBE);
        if (out->programs[i] < 0)
            return errno;
    }
    execs = load_function(out, &object, "process_execs", BPF_PROG_TYPE_RAW_TRACEPOINT);
    if (execs < 0)
        return errno;
    attr.raw_tracepoint.name = (uintptr_t) "sched_process_exec";
    attr.raw_tracepoint.prog_fd = (__u32)execs;
    out->execs = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
    return out->execs < 0 ? errno : 0;
}

/* The kernel's own form of it, which linux/bpf.h may be too old for. */
struct link_request {
    __u32 program_fd, target_fd, attach_type, flags;
    union {
        struct {
            __u64 path, offsets, reference_counters, cookies;
            __u32 count, probe_flags, pid, unused;
        } many;
        __u64 cookie;
    } of;
};

static int probe_event(unsigned step, pid_t pid, const char *path, uint64_t offset)
{
    uint64_t type = ifg_read_number("/sys/bus/event_source/devices/uprobe/type");
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = (uint32_t)type,
        .config = step == 0,
        .uprobe_path = (uintptr_t)path,
        .probe_offset = offset,
    };

    if (type > INT32_MAX) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int load_link(const struct loaded *loaded, unsigned step, pid_t pid, const char *path,
              const uint64_t *offsets, const uint64_t *cookies, uint32_t count)
{
    struct link_request request = { .program_fd = (__u32)loaded->programs[step] };
    int event = -1, link, error;

    if (loaded->many) {
        request.attach_type = MANY_PROBES;
        request.of.many.path = (uintptr_t)path;
        request.of.many.offsets = (uintptr_t)offsets;
        request.of.many.cookies = (uintptr_t)cookies;
        request.of.many.count = count;
        request.of.many.probe_flags = step == 0;
        request.of.many.pid = (__u32)pid;
    } else if (count != 1) {
        errno = E2BIG;
        return -1;
    } else {
        event = probe_event(step, pid, path, offsets[0]);
        if (event < 0)
            return -1;
        request.target_fd = (__u32)event;
        request.attach_type = OF_PERF_EVENT;
        request.of.cookie = cookies[0];
    }
    link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof request);
    error = errno;
    if (event >= 0)
        close(event); /* the link has it */
    errno = error;
    return link;
}
