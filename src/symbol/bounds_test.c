// SPDX-License-Identifier: Apache-2.0
/* Code of this very program that nothing describes: assembly without names and call frames. */
#include "symbol/bounds.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "symbol/names.h"
#include "tap.h"

#if defined(__x86_64__)

/* Local labels leave no symbols. The first function is in a table. Nobody refers to the second one:
 * it is aligned, and nothing runs into it. The third has a return in its middle, with an aligned
 * place behind that a loop leads across. The fourth is only called, and not aligned. */
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        "ret\n"
        ".p2align 4\n"
        ".Lfirst: xor %eax, %eax\n"
        ".Lloop: inc %eax\n"
        "cmp $10, %eax\n"
        "jl .Lloop\n"
        "ret\n"
        ".p2align 4\n"
        ".Lsecond: mov %rdi, %rax\n"
        "call .Lfourth\n"
        "ret\n"
        ".p2align 4\n"
        ".Lthird: test %rdi, %rdi\n"
        ".Lback: jz .Lbehind\n"
        "ret\n"
        ".p2align 4\n"
        ".Lbehind: dec %rdi\n"
        "jnz .Lback\n"
        "ret\n"
        ".Lfourth: lea 1(%rdi), %rax\n"
        "ret\n"
        ".p2align 4\n"
        ".Lend: ud2\n"
        ".popsection\n"
        ".pushsection .data.rel.ro, \"aw\"\n"
        ".globl bounds_table\n"
        ".p2align 3\n"
        "bounds_table: .quad .Lfirst\n"
        ".popsection\n"
        ".pushsection .rodata\n"
        ".globl bounds_offsets\n"
        ".p2align 2\n"
        "bounds_offsets: .long .Lsecond - .Lfirst, .Lthird - .Lfirst\n"
        ".long .Lbehind - .Lfirst, .Lfourth - .Lfirst, .Lend - .Lfirst\n"
        ".popsection\n");

extern const uint64_t bounds_table[1];
extern const uint32_t bounds_offsets[5];

static struct elf_file *elf;
static struct unwind_table *table;
static uint64_t first;

static void open_file(void)
{
    Dl_info info;

    REQUIRE(dladdr((const void *)bounds_table, &info) != 0);
    REQUIRE(elf_file_open("/proc/self/exe", &elf, NULL) == IFG_OK);
    REQUIRE(unwind_table_build(elf, &table, NULL) == IFG_OK);
    first = bounds_table[0] -
            (elf_file_has_fixed_address(elf) ? 0 : (uint64_t)(uintptr_t)info.dli_fbase);
}

static void close_file(void)
{
    unwind_table_destroy(table);
    elf_file_close(elf);
}

static void check(struct bounds *bounds, uint64_t at, uint64_t start, uint64_t end)
{
    uint64_t got_start, got_size;

    CHECK(bounds_find(bounds, first + at, &got_start, &got_size));
    CHECK_UINT(got_start - first, start);
    CHECK(got_start + got_size <= first + end);
    CHECK(got_start + got_size > first + at);
}

static void functions_without_description(void)
{
    uint32_t second = bounds_offsets[0], third = bounds_offsets[1], behind = bounds_offsets[2];
    uint32_t fourth = bounds_offsets[3], end = bounds_offsets[4];
    uint64_t start, size;
    struct bounds *bounds;

    open_file();
    bounds = bounds_create(elf, table);
    REQUIRE(bounds != NULL);
    check(bounds, 0, 0, second);
    check(bounds, 2, 0, second);
    check(bounds, second, second, third);
    check(bounds, second + 3, second, third);
    check(bounds, third, third, fourth);
    check(bounds, behind, third, fourth);
    check(bounds, fourth, fourth, end);
    REQUIRE(bounds_find(bounds, first, &start, &size));
    CHECK_UINT(size, 10); /* without the padding */
    bounds_destroy(bounds);
    close_file();
}

/* Described code, data and addresses of nothing have no inferred bounds. */
static void nothing_to_infer(void)
{
    uint64_t start, size;
    struct bounds *bounds;

    open_file();
    bounds = bounds_create(elf, table);
    REQUIRE(bounds != NULL);
    CHECK(!bounds_find(bounds, table->first, &start, &size));
    CHECK(!bounds_find(bounds, 0, &start, &size));
    CHECK(!bounds_find(bounds, UINT64_MAX, &start, &size));
    bounds_destroy(bounds);
    bounds_destroy(NULL);
    close_file();
}

static void a_start_that_is_told(void)
{
    uint64_t start, size;
    struct bounds *bounds;

    open_file();
    bounds = bounds_create(elf, NULL); /* without a table all of it is one gap */
    REQUIRE(bounds != NULL);
    bounds_add_start(bounds, first + bounds_offsets[2]);
    CHECK(bounds_find(bounds, first + bounds_offsets[2] + 3, &start, &size));
    CHECK_UINT(start, first + bounds_offsets[2]);
    bounds_destroy(bounds);
    close_file();
}

/* names: without a name, but with bounds that are called a guess. */
static void names_of_such_code(void)
{
    struct names_location locations[NAMES_INLINED_MAX];
    struct names *names;
    uint64_t start, size;

    open_file();
    REQUIRE(names_open(elf_file_descriptor(elf), elf, table, &names, NULL) == IFG_OK);
    REQUIRE(names_find(names, first + 2, &start, &size, locations) == 1);
    CHECK_STR(locations[0].function, "");
    CHECK(locations[0].guessed);
    CHECK_UINT(start, first);
    CHECK_UINT(size, 10);
    names_close(names);
    close_file();
}

TAP_MAIN(TAP_CASE(functions_without_description), TAP_CASE(nothing_to_infer),
         TAP_CASE(a_start_that_is_told), TAP_CASE(names_of_such_code))

#else

static void other_machines(void)
{
    SKIP("bounds are inferred of x86-64 code only");
}

TAP_MAIN(TAP_CASE(other_machines))

#endif
