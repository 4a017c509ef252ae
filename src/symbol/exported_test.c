// SPDX-License-Identifier: Apache-2.0
/* Functions by name and by pattern. */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/exported.h"
#include "symbol/fixture.h"
#include "tap.h"

static struct fixture fixture;

static struct elf_file *open_library(void)
{
    static const struct fixture_plan plan = { .machine = ELF_X86_64, .slots = 170 };
    struct elf_file *elf = NULL;
    int fd;

    REQUIRE(fixture_build(&plan, &fixture));
    fd = fixture_file(fixture.bytes.data, fixture.bytes.size);
    REQUIRE_INT(elf_file_open_fd(fd, "lib.so", &elf, NULL), IFG_OK);
    close(fd);
    return elf;
}

static void patterns(void)
{
    CHECK(exported_matches("", ""));
    CHECK(exported_matches("*", ""));
    CHECK(exported_matches("*", "abc"));
    CHECK(exported_matches("a*c", "abbc"));
    CHECK(exported_matches("a*b*c", "a_b_bc"));
    CHECK(exported_matches("a?c", "abc"));
    CHECK(exported_matches("*c", "abcabc"));
    CHECK(exported_matches("ab**", "ab"));
    CHECK(!exported_matches("a?c", "ac"));
    CHECK(!exported_matches("a*c", "abcd"));
    CHECK(!exported_matches("", "a"));
    CHECK(!exported_matches("?", ""));
    CHECK(!exported_matches("abc", "ab"));
    CHECK(!exported_matches("[ab]", "a"));
}

/* Where a search that goes back at every star would not end. */
static void pattern_of_stars(void)
{
    char text[4001];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK(!exported_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static void by_name(void)
{
    struct elf_file *elf = open_library();
    struct exported_functions found;

    REQUIRE_INT(exported_find(elf, "OrtGetApiBase", &found, NULL), IFG_OK);
    REQUIRE_UINT(found.count, 1);
    CHECK_STR(found.items[0].name, "OrtGetApiBase");
    CHECK_UINT(found.items[0].vaddr, fixture.entry);
    CHECK_UINT(found.items[0].file_offset, fixture.text_offset);
    CHECK_UINT(found.items[0].probe_offset, fixture.text_offset + 4);
    exported_fini(&found);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void by_pattern(void)
{
    struct elf_file *elf = open_library();
    struct exported_functions found;

    REQUIRE_INT(exported_find(elf, "*", &found, NULL), IFG_OK);
    REQUIRE_UINT(found.count, 2); /* no data, no import, no choice, one of two names */
    CHECK_STR(found.items[0].name, "OrtGetApiBase");
    CHECK_STR(found.items[1].name, "ort_first");
    exported_fini(&found);
    REQUIRE_INT(exported_find(elf, "*_name", &found, NULL), IFG_OK);
    REQUIRE_UINT(found.count, 1);
    CHECK_STR(found.items[0].name, "ort_other_name");
    exported_fini(&found);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void check_refused(struct elf_file *elf, const char *pattern, enum ifg_status status,
                          const char *part)
{
    struct exported_functions found;
    struct ifg_error err = { 0 };

    CHECK_INT(exported_find(elf, pattern, &found, &err), status);
    CHECK_CONTAINS(err.message, part);
    CHECK_UINT(found.count, 0);
    exported_fini(&found);
}

static void refused(void)
{
    struct elf_file *elf = open_library();

    check_refused(elf, "nobody", IFG_NOT_FOUND, "exports no function nobody");
    check_refused(elf, "nobody*", IFG_NOT_FOUND, "no function like nobody*");
    check_refused(elf, "", IFG_NOT_FOUND, "exports no function");
    check_refused(elf, "fprintf", IFG_NOT_FOUND, "does not define");
    check_refused(elf, "some_data", IFG_UNSUPPORTED, "not a function");
    check_refused(elf, "chosen_at_load", IFG_UNSUPPORTED, "chosen when it is loaded");
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void out_of_memory(void)
{
    struct elf_file *elf = open_library();
    struct exported_functions found;
    enum ifg_status status = IFG_NO_MEMORY;

    for (long i = 0; status && i < 20; i++) {
        ifg_alloc_fail_after(i);
        status = exported_find(elf, "*", &found, NULL);
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
    }
    CHECK_UINT(found.count, 2);
    exported_fini(&found);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

TAP_MAIN(TAP_CASE(patterns), TAP_CASE(pattern_of_stars), TAP_CASE(by_name), TAP_CASE(by_pattern),
         TAP_CASE(refused), TAP_CASE(out_of_memory))
