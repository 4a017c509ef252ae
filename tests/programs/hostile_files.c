// SPDX-License-Identifier: Apache-2.0
/*
 * Files that a recorder looks into because a program has mapped them, or because they are where
 * the names of its code are by convention: libraries, perf maps, jitdumps. All of them are changed
 * while they are read.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

#define FILE_MAX  (4u << 20)
#define CODE_SIZE 4096u

#define BUILD_ID_AT 16u /* behind the head of the note and its name */

static bool write_whole(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;

    if (fd >= 0)
        close(fd);
    return good;
}

/* ---- libraries ---- */

struct library {
    uint8_t *bytes; /* the true ones */
    size_t size;
    size_t code, code_end;      /* where .text is in the file */
    size_t entry;               /* hostile_code in it */
    size_t build_id;            /* files of the same build-id are one library for a recorder */
    size_t parts[64], ends[64]; /* what is worth forging: the sections, and the tables */
    size_t part_count;
};

static void add_part(struct library *library, size_t begin, size_t end)
{
    if (library->part_count < 64 && begin < end && end <= library->size) {
        library->parts[library->part_count] = begin;
        library->ends[library->part_count++] = end;
    }
}

static void find_entry(struct library *library, const Elf64_Shdr *symbols, const char *strings)
{
    const Elf64_Sym *symbol = (const void *)(library->bytes + symbols->sh_offset);

    for (size_t i = 0; i < symbols->sh_size / sizeof *symbol; i++)
        if (strcmp(strings + symbol[i].st_name, "hostile_code") == 0)
            library->entry = symbol[i].st_value;
}

static bool read_library(struct library *library, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    const char *names;
    bool moved = true;

    library->bytes = malloc(FILE_MAX);
    if (fd >= 0 && library->bytes)
        got = read(fd, library->bytes, FILE_MAX);
    if (fd >= 0)
        close(fd);
    if (got <= (ssize_t)sizeof *head)
        return false;
    library->size = (size_t)got;
    head = (const void *)library->bytes;
    sections = (const void *)(library->bytes + head->e_shoff);
    names = (const char *)library->bytes + sections[head->e_shstrndx].sh_offset;
    add_part(library, 16, sizeof *head);
    add_part(library, head->e_phoff, head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr));
    add_part(library, head->e_shoff, head->e_shoff + head->e_shnum * sizeof(Elf64_Shdr));
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];

        if (strcmp(names + section->sh_name, ".text") == 0) {
            library->code = section->sh_offset;
            library->code_end = section->sh_offset + section->sh_size;
            moved = section->sh_offset != section->sh_addr;
        } else if (strcmp(names + section->sh_name, ".note.gnu.build-id") == 0) {
            library->build_id = section->sh_offset + BUILD_ID_AT;
        } else if (section->sh_type != SHT_NOBITS) {
            add_part(library, section->sh_offset, section->sh_offset + section->sh_size);
        }
        if (section->sh_type == SHT_DYNSYM)
            find_entry(library, section,
                       (const char *)library->bytes + sections[section->sh_link].sh_offset);
    }
    return !moved && library->entry >= library->code && library->entry < library->code_end;
}

/* A few places of one or two parts, or of the whole file. */
static void forge(const struct library *library, uint8_t *bytes)
{
    for (size_t rounds = 1 + hostile_below(2); rounds; rounds--) {
        size_t part = hostile_below(library->part_count + 1);
        size_t from = part < library->part_count ? library->parts[part] : 0;
        size_t to = part < library->part_count ? library->ends[part] : library->size;
        size_t keep = library->code > from ? library->code - from : 0;
        size_t keep_end = library->code_end > from ? library->code_end - from : 0;

        for (size_t i = 1 + hostile_below(5); i; i--)
            hostile_change(bytes + from, to - from, keep, keep_end);
    }
}

/* Writes over a file that is mapped, but not over its code; cuts or stretches it behind that. */
static void forge_in_place(const struct library *library, const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < 8; i++) {
        size_t part = hostile_below(library->part_count);
        uint64_t number = hostile_number();
        size_t at =
            library->parts[part] + hostile_below(library->ends[part] - library->parts[part]);

        if ((at + 8 <= library->code || at >= library->code_end) &&
            pwrite(fd, &number, 8, (off_t)at) < 0)
            break;
    }
    if (fd >= 0 && hostile_below(4) == 0 &&
        ftruncate(fd, (off_t)library->code_end + ((off_t)1 << hostile_below(40))) < 0)
        errno = 0;
    if (fd >= 0)
        close(fd);
}

static void run_library(const struct library *library, const struct hostile *hostile,
                        const char *path)
{
    unsigned (*entry)(unsigned, unsigned);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t page = library->code / 4096 * 4096; /* as loaders do: the part that has the code */
    uint8_t *mapped = fd < 0 ? MAP_FAILED
                             : mmap(NULL, library->code_end - page, PROT_READ | PROT_EXEC,
                                    MAP_PRIVATE, fd, (off_t)page);
    void *at;

    if (fd >= 0)
        close(fd);
    if (mapped == MAP_FAILED)
        return;
    at = mapped + (library->entry - page);
    memcpy(&entry, &at, sizeof entry);
    for (int i = 0; i < 20 && hostile_goes_on(hostile); i++) {
        entry((unsigned)hostile_below(40), 100000);
        if (i == 10 && hostile_below(2))
            forge_in_place(library, path);
    }
}

int hostile_elf(const struct hostile *hostile)
{
    struct library library = { 0 };
    char path[64];
    char next[64];
    uint8_t *bytes;

    if (!read_library(&library, hostile->library))
        return 4;
    bytes = malloc(library.size);
    for (unsigned round = 0; bytes && hostile_goes_on(hostile); round++) {
        size_t size = library.size;

        snprintf(path, sizeof path, "forged-%d-%u.so", (int)getpid(), round % 64);
        snprintf(next, sizeof next, "forged-%d.next", (int)getpid());
        memcpy(bytes, library.bytes, size);
        if (library.build_id)
            memcpy(bytes + library.build_id, (uint64_t[]){ hostile_random(), hostile_random() },
                   16);
        if (hostile_below(8)) /* or else a true one, which the forged ones are taken for */
            forge(&library, bytes);
        if (hostile_below(6) == 0)
            size = library.code_end + hostile_below(size - library.code_end);
        if (!write_whole(next, bytes, size) || rename(next, path) < 0)
            return 5;
        /* What lies behind a file's last page cannot be touched: the code does not reach there. */
        run_library(&library, hostile, path);
        if (hostile_below(3) == 0)
            unlink(path);
    }
    free(bytes);
    free(library.bytes);
    return 0;
}

/* A runtime that was forged before it was loaded, and goes on to be: its file is replaced. */
int hostile_runtime(const struct hostile *hostile)
{
    static const char name[] = "libonnxruntime.so.1";
    struct library library = { 0 };
    uint8_t *bytes;

    read_library(&library, hostile->library); /* false for lack of our code: that is not needed */
    bytes = library.size ? malloc(library.size) : NULL;
    library.code = library.code_end = 0;
    while (bytes && hostile_goes_on(hostile)) {
        int fd;

        memcpy(bytes, library.bytes, library.size);
        if (hostile_below(4))
            forge(&library, bytes);
        if (!write_whole("next.so", bytes, library.size) || rename("next.so", name) < 0)
            return 5;
        fd = open(name, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            mmap(NULL, library.size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        if (fd >= 0)
            close(fd);
        usleep(100000);
    }
    free(bytes);
    free(library.bytes);
    return 0;
}

/* ---- perf maps ---- */

struct writer {
    const struct hostile *hostile;
    uint8_t *code;
    char path[64];
};

static size_t map_line(char *out, size_t size, const uint8_t *code)
{
    char name[300];
    uint64_t start = (uintptr_t)code + hostile_below(CODE_SIZE);

    hostile_name(name, 1 + hostile_below(sizeof name));
    switch (hostile_below(6)) {
    case 0:
        return (size_t)snprintf(out, size, "%llx %llx %s\n", (unsigned long long)hostile_number(),
                                (unsigned long long)hostile_number(), name);
    case 1:
        return (size_t)snprintf(out, size, "%s", name);
    case 2:
        return (size_t)snprintf(out, size, "%llx\n %s \n", (unsigned long long)start, name);
    default:
        return (size_t)snprintf(out, size, "%llx %zx %s\n", (unsigned long long)start,
                                hostile_below(4096), name);
    }
}

static void *write_map(void *user)
{
    struct writer *writer = user;
    char text[65536];

    while (hostile_goes_on(writer->hostile)) {
        int fd = open(writer->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        for (size_t i = 0, blocks = hostile_below(20) ? 4 : 300; fd >= 0 && i < blocks; i++) {
            size_t used = 0;

            while (used + 1024 < sizeof text && (used == 0 || hostile_below(2000)))
                used += map_line(text + used, 1024, writer->code);
            if (pwrite(fd, text, used, (off_t)(hostile_below(4) ? i * sizeof text : 0)) < 0)
                break;
        }
        if (fd >= 0 && hostile_below(3) == 0 && ftruncate(fd, (off_t)hostile_below(100000)) < 0)
            errno = 0;
        if (fd >= 0)
            close(fd);
        if (hostile_below(10) == 0)
            unlink(writer->path);
        usleep(20000);
    }
    return NULL;
}

/* Runs everywhere in code that was made, while a thread writes about it. */
static int run_made(struct writer *writer, void *(*write)(void *))
{
    pthread_t thread;

    writer->code = hostile_made_code(CODE_SIZE);
    if (!writer->code || pthread_create(&thread, NULL, write, writer) != 0)
        return 77;
    while (hostile_goes_on(writer->hostile))
        hostile_call(writer->code + 64 * hostile_below(CODE_SIZE / 64));
    pthread_join(thread, NULL);
    return 0;
}

int hostile_perf_map(const struct hostile *hostile)
{
    struct writer writer = { .hostile = hostile };

    snprintf(writer.path, sizeof writer.path, "/tmp/perf-%d.map", (int)getpid());
    return run_made(&writer, write_map); /* the file is removed by who records us, after reading */
}

/* ---- jitdumps ---- */

struct dump {
    uint8_t bytes[1u << 20];
    size_t size;
};

static void put(struct dump *dump, const void *bytes, size_t size)
{
    if (dump->size + size <= sizeof dump->bytes) {
        memcpy(dump->bytes + dump->size, bytes, size);
        dump->size += size;
    }
}

static void put_word(struct dump *dump, uint32_t word)
{
    put(dump, &word, 4);
}

static void put_long(struct dump *dump, uint64_t word)
{
    put(dump, &word, 8);
}

static void put_head(struct dump *dump, uint32_t kind, size_t size)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    put_word(dump, kind);
    put_word(dump, hostile_below(500) ? (uint32_t)size : (uint32_t)hostile_number());
    put_long(dump, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static void put_record(struct dump *dump, const uint8_t *code, uint64_t index)
{
    char name[200];
    uint64_t start = (uintptr_t)code + hostile_below(CODE_SIZE / 64) * 64;
    uint64_t size = hostile_below(20) ? 1 + hostile_below(400) : hostile_number();
    size_t lines = hostile_below(20);
    size_t length;

    hostile_name(name, 1 + hostile_below(sizeof name));
    length = strlen(name) + 1;
    switch (hostile_below(4)) {
    case 0: /* lines of the next one */
        put_head(dump, 2, 32 + lines * (16 + length));
        put_long(dump, start);
        put_long(dump, hostile_below(20) ? lines : hostile_number());
        for (size_t i = 0; i < lines; i++) {
            put_long(dump, start + i * 4);
            put_word(dump, (uint32_t)hostile_number());
            put_word(dump, 0);
            put(dump, name, length);
        }
        break;
    case 1: /* moved */
        put_head(dump, 1, 64);
        put_long(dump, 0);
        put_long(dump, hostile_number());
        put_long(dump, start);
        put_long(dump, (uintptr_t)code + hostile_below(CODE_SIZE));
        put_long(dump, size);
        put_long(dump, hostile_below(index + 1));
        break;
    default:
        put_head(dump, 0, 56 + length + (size < 4096 ? size : 0));
        put_long(dump, (uint64_t)getpid() | (uint64_t)getpid() << 32);
        put_long(dump, start);
        put_long(dump, start);
        put_long(dump, size);
        put_long(dump, index);
        put(dump, name, length);
        put(dump, code, size < 4096 ? (size_t)size : 0);
    }
}

static void fill_dump(struct dump *dump, const uint8_t *code)
{
    static const uint32_t head[10] = { 0x4a695444, 1, 40, EM_X86_64 };

    dump->size = 0;
    put(dump, head, sizeof head);
    for (uint64_t i = 0; dump->size + 65536 < sizeof dump->bytes && hostile_below(3000); i++)
        put_record(dump, code, i);
    if (hostile_below(2))
        for (size_t i = hostile_below(12); i; i--)
            hostile_change(dump->bytes + 40, dump->size - 40, 0, 0);
    if (hostile_below(20) == 0)
        hostile_change(dump->bytes, 40, 0, 0);
}

static void *write_dump(void *user)
{
    struct writer *writer = user;
    struct dump *dump = malloc(sizeof *dump);

    for (bool mapped = false; dump && hostile_goes_on(writer->hostile); usleep(20000)) {
        int fd = open(writer->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

        fill_dump(dump, writer->code);
        if (fd >= 0 && write(fd, dump->bytes, dump->size) > 0 && (!mapped || !hostile_below(10)))
            mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED;
        if (fd >= 0 && hostile_below(4) == 0 && ftruncate(fd, (off_t)hostile_below(dump->size)) < 0)
            errno = 0;
        if (fd >= 0)
            close(fd);
        if (hostile_below(20) == 0)
            unlink(writer->path);
    }
    free(dump);
    return NULL;
}

int hostile_jitdump(const struct hostile *hostile)
{
    struct writer writer = { .hostile = hostile };

    snprintf(writer.path, sizeof writer.path, "%.32s/jit-%d.dump", ".", (int)getpid());
    return run_made(&writer, write_dump);
}
