// SPDX-License-Identifier: Apache-2.0
/* Tables that are looked up one address at a time say what tables say that were built as a whole:
 * for this program and its C library, and for files whose index leads astray. */
#include "symbol/unwind_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

static struct elf_file *elf;
static struct unwind_table *built, *opened;

static void open_both(const char *path)
{
    REQUIRE(elf_file_open(path, &elf, NULL) == IFG_OK);
    REQUIRE(unwind_table_build(elf, &built, NULL) == IFG_OK);
    REQUIRE(unwind_table_open(elf, &opened, NULL) == IFG_OK);
}

static void close_both(void)
{
    unwind_table_destroy(built);
    unwind_table_destroy(opened);
    elf_file_close(elf);
}

static bool same(uint64_t address)
{
    const struct unwind_row *a = unwind_table_find(built, address);
    const struct unwind_row *b = unwind_table_find(opened, address);

    if (!a || !b)
        return !a && !b;
    return a->rule == b->rule && a->offset == b->offset && a->saved == b->saved &&
           a->saved_fp == b->saved_fp && a->saved_ra == b->saved_ra;
}

/* At the begin of each row, before it, and behind each function. Returns how many differ. */
static size_t compare_all(size_t *out_looked_up)
{
    size_t wrong = 0;

    *out_looked_up = 0;
    for (size_t i = 0; i < built->row_count; i++) {
        uint64_t address = built->first + built->rows[i].at;

        if (!opened->search) { /* it has built itself meanwhile */
            unwind_table_destroy(opened);
            REQUIRE(unwind_table_open(elf, &opened, NULL) == IFG_OK);
        }
        wrong += !same(address) + !same(address - 1);
        *out_looked_up += opened->search != NULL;
    }
    return wrong;
}

static void check_file(const char *path)
{
    size_t looked_up;

    open_both(path);
    CHECK_UINT(compare_all(&looked_up), 0);
    CHECK(built->row_count > 50);
    CHECK(looked_up > built->row_count * 9 / 10);
    close_both();
}

static void own_program(void)
{
    check_file("/proc/self/exe");
}

static void c_library(void)
{
    void *function = dlsym(RTLD_DEFAULT, "qsort");
    Dl_info info;

    REQUIRE(function && dladdr(function, &info));
    check_file(info.dli_fname);
}

/* A table that is asked for everything ends up built: it never costs more than twice of that. */
static void much_used(void)
{
    size_t asked = 0;

    open_both("/proc/self/exe");
    CHECK(opened->search != NULL);
    CHECK_UINT(opened->row_count, 0);
    while (opened->search && asked < 1000000)
        unwind_table_find(opened, built->first + built->rows[asked++ % built->row_count].at);
    CHECK(asked > 10);
    CHECK(!opened->search);
    CHECK_UINT(opened->row_count, built->row_count);
    CHECK_UINT(opened->function_count, built->function_count);
    close_both();
}

static void completed_by_hand(void)
{
    uint64_t start, size;

    open_both("/proc/self/exe");
    unwind_table_complete(opened);
    unwind_table_complete(opened);
    CHECK(unwind_table_function(opened, built->first, &start, &size));
    CHECK_UINT(start, built->first);
    CHECK_UINT(opened->row_count, built->row_count);
    close_both();
}

/* What is known of an address is the same whether all of the table was read or not. */
static bool same_function(uint64_t at)
{
    uint64_t start, size, built_start, built_size, end, built_end;
    bool same = unwind_table_function(opened, at, &start, &size) ==
                    unwind_table_function(built, at, &built_start, &built_size) &&
                start == built_start && size == built_size;

    same = same && unwind_table_begins(opened, at) == unwind_table_begins(built, at);
    same = same && unwind_table_gap(opened, at, &start, &end) ==
                       unwind_table_gap(built, at, &built_start, &built_end);
    return same && start == built_start && end == built_end;
}

static void functions_by_index(void)
{
    size_t wrong = 0;

    open_both("/proc/self/exe");
    for (size_t i = 0; i < 4; i++) { /* so few that the rest is not read */
        size_t one = i * (built->function_count - 1) / 3;
        uint64_t start = built->first + built->functions[one].at;

        wrong += !same_function(start) + !same_function(start + built->functions[one].size);
    }
    CHECK(opened->search != NULL);
    CHECK_UINT(opened->function_count, 0);
    close_both();
    open_both("/proc/self/exe");
    for (uint64_t at = built->first - 8; at < built->end + 8; at++)
        wrong += !same_function(at);
    CHECK(!opened->search);
    CHECK_UINT(wrong, 0);
    close_both();
}

/* A copy of this program whose index has other bytes at `at`. */
static int changed_copy(size_t at, const void *bytes, size_t count)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("changed", MFD_CLOEXEC);
    struct elf_position position;
    uint64_t index;
    char part[4096];
    ssize_t got;

    REQUIRE(from >= 0 && copy >= 0);
    while ((got = read(from, part, sizeof part)) > 0)
        REQUIRE(write(copy, part, (size_t)got) == got);
    close(from);
    REQUIRE(elf_file_open_fd(copy, "copy", &elf, NULL) == IFG_OK);
    REQUIRE(elf_file_unwind_index(elf, &index) && elf_file_locate(elf, index, &position));
    REQUIRE(pwrite(copy, bytes, count, (off_t)(position.file_offset + at)) == (ssize_t)count);
    elf_file_close(elf);
    return copy;
}

/* What is wrong with the index is never worse than having none. */
static void check_changed(size_t at, const void *bytes, size_t count)
{
    int copy = changed_copy(at, bytes, count);
    char path[64];
    size_t wrong = 0;

    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    open_both(path);
    for (size_t i = 0; i < built->row_count; i++)
        wrong += !same(built->first + built->rows[i].at);
    CHECK_UINT(wrong, 0);
    close_both();
    close(copy);
}

static void index_astray(void)
{
    static const uint8_t none[] = { 0xff };
    static const uint32_t many[] = { UINT32_MAX };
    static const int32_t late[] = { INT32_MAX, INT32_MAX };
    static const int32_t elsewhere[] = { 4 };

    check_changed(3, none, sizeof none);            /* no table at all */
    check_changed(8, many, sizeof many);            /* more entries than the file has */
    check_changed(12, late, sizeof late);           /* not in order */
    check_changed(16, elsewhere, sizeof elsewhere); /* the first one's entry is no entry */
}

TAP_MAIN(TAP_CASE(own_program), TAP_CASE(c_library), TAP_CASE(much_used),
         TAP_CASE(completed_by_hand), TAP_CASE(functions_by_index), TAP_CASE(index_astray))
