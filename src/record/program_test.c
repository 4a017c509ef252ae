// SPDX-License-Identifier: Apache-2.0
/* What programs are, told from their files: ELF of all sorts, scripts, and what is neither. */
#include "record/program.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#if defined(__x86_64__)
#define HERE EM_X86_64
#else
#define HERE EM_AARCH64
#endif

/* A file with a header, three segments, a dynamic table and its strings. */
struct image {
    Elf64_Ehdr head;
    Elf64_Phdr segments[3];
    char interpreter[64];
    Elf64_Dyn dynamic[4];
    char strings[64];
};

static char directory[64] = "/tmp/ifg-program-XXXXXX";

static void begin(void)
{
    REQUIRE(mkdtemp(directory) != NULL);
}

static void finish(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK_INT(system(command), 0);
}

static const char *write_file(const char *name, const void *data, size_t size, mode_t mode)
{
    static char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE_UINT(fwrite(data, 1, size, file), size);
    fclose(file);
    REQUIRE_INT(chmod(path, mode), 0);
    return path;
}

static struct image make_image(const char *interpreter, const char *needed, int64_t tag)
{
    struct image image = { 0 };

    memcpy(image.head.e_ident, ELFMAG, SELFMAG);
    image.head.e_ident[EI_CLASS] = ELFCLASS64;
    image.head.e_machine = HERE;
    image.head.e_phoff = offsetof(struct image, segments);
    image.head.e_phentsize = sizeof(Elf64_Phdr);
    image.head.e_phnum = 3;
    image.segments[0] = (Elf64_Phdr){
        .p_type = interpreter ? PT_INTERP : PT_NULL,
        .p_offset = offsetof(struct image, interpreter),
        .p_filesz = sizeof image.interpreter,
    };
    image.segments[1] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof image, .p_memsz = sizeof image
    };
    image.segments[2] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC,
        .p_offset = offsetof(struct image, dynamic),
        .p_filesz = sizeof image.dynamic,
    };
    snprintf(image.interpreter, sizeof image.interpreter, "%s", interpreter ? interpreter : "");
    image.dynamic[0] = (Elf64_Dyn){ .d_tag = tag, .d_un.d_val = 1 };
    image.dynamic[1] =
        (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = 0x10000 + offsetof(struct image, strings) };
    snprintf(image.strings + 1, sizeof image.strings - 1, "%s", needed);
    return image;
}

static enum program_kind kind_of(const struct image *image)
{
    struct program program;

    program_probe(write_file("image", image, sizeof *image, 0755), &program);
    return program.kind;
}

static void elf_files_are_told_apart(void)
{
    static const char linux_loader[] = "/lib64/ld-linux-x86-64.so.2";
    struct image image;

    begin();
    image = make_image(linux_loader, "libc.so.6", DT_NEEDED);
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = make_image(NULL, "", DT_NEEDED);
    CHECK_INT(kind_of(&image), PROGRAM_STATIC);
    image = make_image("/lib/ld-musl-x86_64.so.1", "libc.so", DT_NEEDED);
    CHECK_INT(kind_of(&image), PROGRAM_MUSL);
    image = make_image("/opt/own/loader", "libc.musl-x86_64.so.1", DT_NEEDED);
    CHECK_INT(kind_of(&image), PROGRAM_MUSL);
    image = make_image(NULL, "ld-linux-x86-64.so.2", DT_SONAME);
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY); /* the loader itself preloads */
    image = make_image(linux_loader, "libc.so.6", DT_NEEDED);
    image.head.e_machine = EM_MIPS;
    CHECK_INT(kind_of(&image), PROGRAM_OTHER_MACHINE);
    image.head.e_machine = HERE;
    image.head.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK_INT(kind_of(&image), PROGRAM_OTHER_MACHINE);
    finish();
}

static void nonsense_in_elf_is_survived(void)
{
    struct image good = make_image("/lib64/ld-linux-x86-64.so.2", "libc.so.6", DT_NEEDED);
    struct image image = good;

    begin();
    image.head.e_phoff = UINT64_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = good;
    image.head.e_phnum = UINT16_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = good;
    image.segments[0].p_offset = UINT64_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = good;
    image.segments[2].p_offset = UINT64_MAX - 8;
    image.segments[2].p_filesz = UINT64_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = good;
    image.dynamic[0].d_un.d_val = UINT64_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    image = good;
    image.segments[1].p_vaddr = UINT64_MAX;
    image.segments[1].p_filesz = UINT64_MAX;
    CHECK_INT(kind_of(&image), PROGRAM_ORDINARY);
    finish();
}

static void scripts_are_followed(void)
{
    struct image image = make_image(NULL, "", DT_NEEDED);
    struct program program;
    char script[512];
    char target[256];

    begin();
    snprintf(target, sizeof target, "%s", write_file("image", &image, sizeof image, 0755));
    snprintf(script, sizeof script, "#! \t%s -x y\n", target);
    program_probe(write_file("one", script, strlen(script), 0755), &program);
    CHECK_INT(program.kind, PROGRAM_STATIC);
    CHECK_STR(program.path, target);
    snprintf(script, sizeof script, "#!/usr/bin/env -S A=b -u %s", target);
    program_probe(write_file("two", script, strlen(script), 0755), &program);
    CHECK_INT(program.kind, PROGRAM_STATIC);
    snprintf(script, sizeof script, "#!%s/self\n", directory);
    program_probe(write_file("self", script, strlen(script), 0755), &program);
    CHECK_INT(program.kind, PROGRAM_ORDINARY); /* and it ends */
    program_probe(write_file("text", "echo hello\n", 11, 0755), &program);
    CHECK_INT(program.kind, PROGRAM_ORDINARY);
    program_probe(write_file("nothing", "", 0, 0755), &program);
    CHECK_INT(program.kind, PROGRAM_ORDINARY);
    program_probe("/no/such/file", &program);
    CHECK_INT(program.kind, PROGRAM_ORDINARY);
    snprintf(target, sizeof target, "%s/pipe", directory);
    REQUIRE_INT(mkfifo(target, 0755), 0);
    program_probe(target, &program); /* does not wait for a writer */
    CHECK_INT(program.kind, PROGRAM_ORDINARY);
    finish();
}

static void commands_are_found_as_exec_finds_them(void)
{
    char path[256];
    char wanted[256];

    begin();
    snprintf(wanted, sizeof wanted, "%s", write_file("tool", "x", 1, 0755));
    write_file("data", "x", 1, 0644);
    setenv("PATH", "/nowhere:", 1);
    CHECK_INT(program_find("tool", path, sizeof path), ENOENT);
    setenv("PATH", directory, 1);
    CHECK_INT(program_find("tool", path, sizeof path), 0);
    CHECK_STR(path, wanted);
    CHECK_INT(program_find("data", path, sizeof path), EACCES);
    CHECK_INT(program_find("none", path, sizeof path), ENOENT);
    CHECK_INT(program_find("/", path, sizeof path), EACCES);
    CHECK_INT(program_find(wanted, path, sizeof path), 0);
    unsetenv("PATH");
    CHECK_INT(program_find("tool", path, sizeof path), 0);
    CHECK_STR(path, "");
    finish();
}

static void reasons_are_sentences(void)
{
    struct program program = { .kind = PROGRAM_ORDINARY };
    char reason[256];

    snprintf(program.path, sizeof program.path, "/opt/bin/tool");
    CHECK_STR(program_reason(&program, reason, sizeof reason), "");
    for (int kind = PROGRAM_STATIC; kind <= PROGRAM_CAPABILITIES; kind++) {
        program.kind = (enum program_kind)kind;
        CHECK_CONTAINS(program_reason(&program, reason, sizeof reason), "tool ");
    }
}

static void marks_are_found_anywhere(void)
{
    static const char *const marks[] = { "never there", "core/session/inference_session.cc" };
    const size_t size = (5u << 20) + 17;
    char *data = calloc(size, 1);
    uint64_t budget;

    REQUIRE(data != NULL);
    begin();
    /* Also across the borders of the pieces in which a file is read, and at its very end. */
    for (size_t at = (1u << 20) - 200; at < (1u << 20) + 200; at += 7) {
        memset(data, 0, size);
        memcpy(data + at, marks[1], strlen(marks[1]));
        budget = UINT64_MAX;
        CHECK(program_contains(write_file("large", data, size, 0644), marks, 2, &budget));
    }
    memset(data, 0, size);
    memcpy(data + size - strlen(marks[1]), marks[1], strlen(marks[1]));
    budget = UINT64_MAX;
    CHECK(program_contains(write_file("large", data, size, 0644), marks, 2, &budget));
    budget = 1u << 20;
    CHECK(!program_contains(write_file("large", data, size, 0644), marks, 2, &budget));
    CHECK_UINT(budget, 0);
    budget = UINT64_MAX;
    CHECK(!program_contains(write_file("small", data + (2u << 20), 3u << 20, 0644), marks, 2,
                            &budget)); /* too small to have it */
    free(data);
    finish();
}

TAP_MAIN(TAP_CASE(elf_files_are_told_apart), TAP_CASE(nonsense_in_elf_is_survived),
         TAP_CASE(scripts_are_followed), TAP_CASE(commands_are_found_as_exec_finds_them),
         TAP_CASE(reasons_are_sentences), TAP_CASE(marks_are_found_anywhere))
