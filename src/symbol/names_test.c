// SPDX-License-Identifier: Apache-2.0
/* Names of this very program, which has symbols and lines; and of the C library, which has few. */
#include "symbol/names.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/symbol_list.h"
#include "tap.h"

static int fd;
static struct elf_file *elf;
static struct unwind_table *table;
static struct names *names;

static void open_file(const char *path)
{
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0);
    REQUIRE(elf_file_open_fd(fd, path, &elf, NULL) == IFG_OK);
    REQUIRE(unwind_table_build(elf, &table, NULL) == IFG_OK);
    REQUIRE(names_open(fd, elf, table, &names, NULL) == IFG_OK);
}

static void close_file(void)
{
    names_close(names);
    unwind_table_destroy(table);
    elf_file_close(elf);
    close(fd);
}

static uint64_t base_of(const void *address)
{
    Dl_info info;

    REQUIRE(dladdr(address, &info) != 0);
    return (uint64_t)(uintptr_t)info.dli_fbase;
}

static volatile int numbers[100];

static inline __attribute__((always_inline)) void inside(void)
{
    numbers[3] = numbers[4] + 1;
    numbers[5] = numbers[6] * 3;
}

__attribute__((noinline)) static void around(void)
{
    inside();
    numbers[1]++;
}

static void functions_and_lines(void)
{
    struct names_location locations[NAMES_INLINED_MAX];
    uint64_t start, size, function = (uint64_t)(uintptr_t)around;
    size_t count;
    uint64_t base = base_of((void *)around);

    open_file("/proc/self/exe");
    count = names_find(names, function - base, &start, &size, locations);
    REQUIRE(count >= 1);
    CHECK_STR(locations[count - 1].function, "around");
    CHECK(!locations[count - 1].inlined && !locations[count - 1].guessed);
    CHECK_UINT(start, function - base);
    CHECK(size > 4 && size < 500);
    CHECK_CONTAINS(locations[count - 1].file, "src/symbol/names_test.c");
    CHECK(locations[count - 1].file[0] == '/' && locations[count - 1].line > 0);
    close_file();
}

static void inlined_functions(void)
{
    struct names_location locations[NAMES_INLINED_MAX];
    uint64_t start, size, base = base_of((void *)around);
    bool seen = false;

    around();
    open_file("/proc/self/exe");
    names_find(names, (uint64_t)(uintptr_t)around - base, &start, &size, locations);
    for (uint64_t at = start; at < start + size; at++) {
        size_t count = names_find(names, at, &start, &size, locations);

        if (count < 2 || strcmp(locations[0].function, "inside") != 0)
            continue;
        seen = true;
        CHECK(locations[0].inlined && !locations[count - 1].inlined);
        CHECK_STR(locations[count - 1].function, "around");
        CHECK(locations[count - 1].line > 0); /* where it was called */
        break;
    }
#if defined(__OPTIMIZE__)
    CHECK(seen);
#else
    (void)seen;
#endif
    close_file();
}

/* The last byte of a section of this program, as it is in a copy; false: there is none such. */
static bool change_last_byte(int copy, const char *section, char byte)
{
    ElfW(Ehdr) head;
    ElfW(Shdr) names_of, each;
    char name[32];

    REQUIRE(pread(copy, &head, sizeof head, 0) == sizeof head);
    REQUIRE(pread(copy, &names_of, sizeof names_of,
                  (off_t)(head.e_shoff + head.e_shstrndx * sizeof names_of)) == sizeof names_of);
    for (unsigned i = 0; i < head.e_shnum; i++) {
        REQUIRE(pread(copy, &each, sizeof each, (off_t)(head.e_shoff + i * sizeof each)) ==
                sizeof each);
        memset(name, 0, sizeof name);
        REQUIRE(pread(copy, name, sizeof name - 1, (off_t)(names_of.sh_offset + each.sh_name)) > 0);
        if (strcmp(name, section) == 0 && each.sh_size && !(each.sh_flags & SHF_COMPRESSED))
            return pwrite(copy, &byte, 1, (off_t)(each.sh_offset + each.sh_size - 1)) == 1;
    }
    return false;
}

/* libdw would read on behind them. */
static void texts_without_an_end(void)
{
    struct names_location locations[NAMES_INLINED_MAX];
    uint64_t start, size, base = base_of((void *)around);
    int own = open("/proc/self/exe", O_RDONLY);
    int copy = memfd_create("texts", MFD_CLOEXEC);
    char path[32];
    char block[65536];
    ssize_t got;
    size_t count;

    REQUIRE(own >= 0 && copy >= 0);
    while ((got = read(own, block, sizeof block)) > 0)
        REQUIRE(write(copy, block, (size_t)got) == got);
    close(own);
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    if (!change_last_byte(copy, ".debug_str", 'x'))
        SKIP("this program has no debug information of that kind");
    open_file(path);
    count = names_find(names, (uint64_t)(uintptr_t)around - base, &start, &size, locations);
    REQUIRE(count >= 1);
    CHECK_STR(locations[count - 1].function, "around"); /* from the symbols */
    CHECK_STR(locations[count - 1].file, "");
    close_file();
    REQUIRE(change_last_byte(copy, ".debug_str", '\0'));
    open_file(path);
    count = names_find(names, (uint64_t)(uintptr_t)around - base, &start, &size, locations);
    CHECK_CONTAINS(locations[count - 1].file, "src/symbol/names_test.c");
    close_file();
    close(copy);
}

/* Exported functions have names; what lies between them must not get that of a neighbour. */
static void a_stripped_library(void)
{
    struct names_location locations[NAMES_INLINED_MAX];
    uint64_t start, size, base = base_of((void *)gnu_get_libc_version);
    const char *path = NULL;
    Dl_info info;
    size_t named = 0, wrong = 0;

    REQUIRE(dladdr((void *)gnu_get_libc_version, &info) != 0); /* no sanitizer has its own */
    path = info.dli_fname;
    open_file(path);
    REQUIRE(names_find(names, (uint64_t)(uintptr_t)gnu_get_libc_version - base, &start, &size,
                       locations) == 1);
    CHECK_CONTAINS(locations[0].function, "gnu_get_libc_version");
    for (size_t i = 0; i < table->function_count; i++) {
        uint64_t at = table->first + table->functions[i].at;

        names_find(names, at + table->functions[i].size / 2, &start, &size, locations);
        named += *locations[0].function != '\0';
        wrong += start != at;
    }
    CHECK(named > 500);
    CHECK_UINT(wrong, 0);
    close_file();
}

static int no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **path,
                   Elf **image)
{
    (void)module, (void)user, (void)name, (void)base, (void)path, (void)image;
    return -1;
}

/* Our list has the same answers as libdw, which is slow. */
static void symbols_as_libdw_has_them(void)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = no_file,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *module;
    struct symbol_list *list;
    size_t same = 0, other = 0;

    REQUIRE(dwfl != NULL);
    dwfl_report_begin(dwfl);
    module = dwfl_report_elf(dwfl, "self", "/proc/self/exe", -1, 0, false);
    dwfl_report_end(dwfl, NULL, NULL);
    list = symbol_list_create(module);
    REQUIRE(module != NULL && list != NULL && symbol_list_count(list) > 50);
    for (size_t i = 0; i < symbol_list_count(list); i++) {
        const struct listed_symbol *symbol = symbol_list_at(list, i);
        const struct listed_symbol *found =
            symbol_list_find(list, symbol->start + symbol->size / 2);
        GElf_Off offset;
        GElf_Sym theirs;
        const char *name = dwfl_module_addrinfo(module, symbol->start + symbol->size / 2, &offset,
                                                &theirs, NULL, NULL, NULL);

        if (!symbol->function || !symbol->size)
            continue; /* in data, for example */
        if (found && name && strcmp(found->name, name) == 0)
            same++;
        else
            other++;
    }
    CHECK(same > 50);
    CHECK_UINT(other, 0);
    CHECK(symbol_list_find(list, 0) == NULL);
    CHECK(symbol_list_find(list, UINT64_MAX) == NULL || !symbol_list_find(list, UINT64_MAX)->size);
    symbol_list_destroy(list);
    symbol_list_destroy(NULL);
    dwfl_end(dwfl);
}

static void demangling(void)
{
    char *text = names_demangle("_ZN11onnxruntime4ConvIfE7ComputeEPNS_15OpKernelContextE");

    CHECK_STR(text, "onnxruntime::Conv<float>::Compute(onnxruntime::OpKernelContext*)");
    ifg_free(text);
    text = names_demangle("plain_name");
    CHECK_STR(text, "plain_name");
    ifg_free(text);
    text = names_demangle("_Znonsense");
    CHECK_STR(text, "_Znonsense");
    ifg_free(text);
}

TAP_MAIN(TAP_CASE(functions_and_lines), TAP_CASE(inlined_functions), TAP_CASE(texts_without_an_end),
         TAP_CASE(a_stripped_library), TAP_CASE(symbols_as_libdw_has_them), TAP_CASE(demangling))
