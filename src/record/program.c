// SPDX-License-Identifier: Apache-2.0
/* Reading scripts and ELF files before they are started: see program.h. */
#include "record/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"

#define SCRIPT_LEVELS  4
#define FIRST_LINE     512u
#define HEADERS_MAX    256u
#define DYNAMIC_MAX    4096u
#define NAME_BYTES     256u
#define SMALLEST_BYTES (4u << 20)
#define CHUNK_BYTES    (1u << 20)
#define TEXT_BYTES     128u

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* whatever it is, hooks are not built for it */
#endif

/* ---- where it is ---- */

static int try_path(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

int program_find(const char *name, char *out_path, size_t size)
{
    const char *at = getenv("PATH");
    int failure = ENOENT;

    out_path[0] = '\0';
    if (strchr(name, '/')) {
        if ((size_t)snprintf(out_path, size, "%s", name) >= size)
            out_path[0] = '\0'; /* exec says that it is too long */
        return try_path(name);
    }
    if (!at)
        return 0;
    for (;;) {
        size_t length = strcspn(at, ":");
        int found = ENOENT;

        if ((size_t)snprintf(out_path, size, "%.*s%s%s", (int)length, at, length ? "/" : "", name) <
            size)
            found = try_path(out_path);
        if (!found)
            return 0;
        if (found == EACCES)
            failure = EACCES; /* a later one may do */
        if (!at[length])
            break;
        at += length + 1;
    }
    out_path[0] = '\0';
    return failure;
}

/* ---- ELF ---- */

struct elf {
    int fd;
    Elf64_Ehdr head;
    Elf64_Phdr segments[HEADERS_MAX];
    unsigned segment_count;
};

static bool read_at(int fd, uint64_t offset, void *out, size_t size)
{
    return offset <= INT64_MAX - size && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* Text of at most size - 1 bytes, ended by a NUL or by the end of the file. */
static void read_text(int fd, uint64_t offset, char *out, size_t size)
{
    ssize_t got = offset <= INT64_MAX ? pread(fd, out, size - 1, (off_t)offset) : -1;

    out[got < 0 ? 0 : got] = '\0';
}

static bool read_segments(struct elf *elf)
{
    const Elf64_Ehdr *head = &elf->head;

    if (head->e_phentsize != sizeof(Elf64_Phdr) || !head->e_phnum || head->e_phnum > HEADERS_MAX)
        return false;
    elf->segment_count = head->e_phnum;
    return read_at(elf->fd, head->e_phoff, elf->segments,
                   elf->segment_count * sizeof elf->segments[0]);
}

static const Elf64_Phdr *find_segment(const struct elf *elf, uint32_t type)
{
    for (unsigned i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type == type)
            return &elf->segments[i];
    return NULL;
}

/* Where in the file an address of the running program lies; false: nowhere. */
static bool file_offset(const struct elf *elf, uint64_t address, uint64_t *out_offset)
{
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];

        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            *out_offset = segment->p_offset + (address - segment->p_vaddr);
            return true;
        }
    }
    return false;
}

/* Calls for the name of each needed library (DT_NEEDED) and of this one (DT_SONAME). */
static bool any_name(const struct elf *elf, int64_t tag, bool (*wanted)(const char *name))
{
    const Elf64_Phdr *dynamic = find_segment(elf, PT_DYNAMIC);
    uint64_t strings_at = 0;
    Elf64_Dyn entry;

    if (!dynamic)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < DYNAMIC_MAX && i < dynamic->p_filesz / sizeof entry; i++) {
            char name[NAME_BYTES];

            if (!read_at(elf->fd, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry) ||
                entry.d_tag == DT_NULL)
                break;
            if (pass == 0 && entry.d_tag == DT_STRTAB &&
                !file_offset(elf, entry.d_un.d_ptr, &strings_at))
                return false;
            if (pass == 0 || entry.d_tag != tag || !strings_at)
                continue;
            read_text(elf->fd, strings_at + entry.d_un.d_val, name, sizeof name);
            if (wanted(name))
                return true;
        }
    }
    return false;
}

static bool is_musl(const char *name)
{
    return strstr(name, "ld-musl") || strstr(name, "libc.musl");
}

/* Started by its own name, the loader of dynamic programs preloads as ever. */
static bool is_loader(const char *name)
{
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64", 4) == 0;
}

static enum program_kind kind_of_elf(struct elf *elf)
{
    const Elf64_Phdr *interpreter;
    char name[NAME_BYTES];

    if (elf->head.e_ident[EI_CLASS] != ELFCLASS64 || elf->head.e_machine != OUR_MACHINE)
        return PROGRAM_OTHER_MACHINE;
    if (!read_segments(elf))
        return PROGRAM_ORDINARY; /* exec will not like it either */
    interpreter = find_segment(elf, PT_INTERP);
    if (!interpreter)
        return any_name(elf, DT_SONAME, is_loader) ? PROGRAM_ORDINARY : PROGRAM_STATIC;
    read_text(elf->fd, interpreter->p_offset, name, sizeof name);
    if (is_musl(name) || any_name(elf, DT_NEEDED, is_musl))
        return PROGRAM_MUSL;
    return PROGRAM_ORDINARY;
}

/* ---- rights that a file gives ---- */

static enum program_kind kind_of_rights(int fd, const struct stat *info)
{
    struct statvfs system;
    char capabilities[64];

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (fstatvfs(fd, &system) == 0 && system.f_flag & ST_NOSUID))
        return PROGRAM_ORDINARY; /* the bits mean nothing here */
    if ((info->st_mode & S_ISUID && info->st_uid != getuid()) ||
        ((info->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && info->st_gid != getgid()))
        return PROGRAM_SETUID;
    if (getuid() != 0 &&
        fgetxattr(fd, "security.capability", capabilities, sizeof capabilities) > 0)
        return PROGRAM_CAPABILITIES;
    return PROGRAM_ORDINARY;
}

/* ---- scripts ---- */

static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t");

    *at = word + strcspn(word, " \t");
    if (**at)
        *(*at)++ = '\0';
    return word;
}

/* "#!/usr/bin/env -S A=b python3 -u": python3. The word itself if it is not env, "" if unclear. */
static const char *interpreter_of(char *line)
{
    char *at = line + 2;
    char *word;
    const char *slash;

    at[strcspn(at, "\r\n")] = '\0';
    word = next_word(&at);
    slash = strrchr(word, '/');
    if (!slash || strcmp(slash, "/env") != 0)
        return word;
    do
        word = next_word(&at);
    while (*word == '-' || strchr(word, '='));
    return *word ? word : line + 2 + strspn(line + 2, " \t");
}

/* One step: what the file at path is, or, if it is a script, the next path. True: go on there. */
static bool look(const char *path, struct program *out, char *next, size_t size)
{
    /* A pipe or a device must not keep us waiting, and is nothing that exec could start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    union {
        Elf64_Ehdr elf;
        char line[FIRST_LINE];
    } first;
    struct elf elf = { .fd = fd };
    struct stat info;
    ssize_t got = -1;
    bool go_on = false;

    out->kind = PROGRAM_ORDINARY;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        got = pread(fd, &first, sizeof first - 1, 0);
    if (got > 2 && memcmp(&first, "#!", 2) == 0) {
        first.line[got] = '\0';
        go_on = program_find(interpreter_of(first.line), next, size) == 0 && *next;
    } else if (got > 0) {
        out->kind = kind_of_rights(fd, &info);
        if (out->kind == PROGRAM_ORDINARY && (size_t)got >= sizeof elf.head &&
            memcmp(&first, ELFMAG, SELFMAG) == 0) {
            memcpy(&elf.head, &first, sizeof elf.head);
            out->kind = kind_of_elf(&elf);
        }
    }
    if (fd >= 0)
        close(fd);
    return go_on;
}

void program_probe(const char *path, struct program *out_program)
{
    char next[PATH_MAX];

    out_program->kind = PROGRAM_ORDINARY;
    snprintf(out_program->path, sizeof out_program->path, "%s", path);
    for (int level = 0; level <= SCRIPT_LEVELS; level++) {
        if (!look(out_program->path, out_program, next, sizeof next))
            return;
        memcpy(out_program->path, next, sizeof next);
    }
}

const char *program_reason(const struct program *program, char *out, size_t size)
{
    const char *slash = strrchr(program->path, '/');
    const char *name = slash ? slash + 1 : program->path;
    const char *what = "";

    switch (program->kind) {
    case PROGRAM_ORDINARY:
        out[0] = '\0';
        return out;
    case PROGRAM_STATIC:
        what = "is statically linked, so nothing can be preloaded";
        break;
    case PROGRAM_MUSL:
        what = "uses the musl C library; the hooks need the GNU C library";
        break;
    case PROGRAM_OTHER_MACHINE:
        what = "is a program for another processor, or of 32 bits";
        break;
    case PROGRAM_SETUID:
        what = "is setuid or setgid: the system ignores preloaded libraries";
        break;
    case PROGRAM_CAPABILITIES:
        what = "has file capabilities: the system ignores preloaded libraries";
        break;
    }
    snprintf(out, size, "%.128s %s", name, what);
    return out;
}

/* ---- what is in it ---- */

bool program_contains(const char *path, const char *const *texts, size_t count, uint64_t *budget)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *chunk = NULL;
    struct stat info;
    uint64_t at = 0;
    bool found = false;

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size >= (off_t)SMALLEST_BYTES)
        chunk = ifg_alloc(CHUNK_BYTES, 1);
    while (chunk && !found) {
        ssize_t got = *budget ? pread(fd, chunk, CHUNK_BYTES, (off_t)at) : 0;

        if (got < (ssize_t)TEXT_BYTES)
            break;
        for (size_t i = 0; i < count && !found; i++)
            found = memmem(chunk, (size_t)got, texts[i], strnlen(texts[i], TEXT_BYTES)) != NULL;
        at += (uint64_t)got - TEXT_BYTES + 1; /* one may lie across the border */
        *budget -= *budget < (uint64_t)got ? *budget : (uint64_t)got;
    }
    ifg_free(chunk);
    if (fd >= 0)
        close(fd);
    return found;
}
