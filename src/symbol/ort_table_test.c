// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime's table in made files: every form of code and relocations that leads to it, and what
 * is said when something does not fit. tests/e2e/symbol_ort.sh does the same with real libraries.
 *
 * ort_table_test --write-corpus FOLDER writes the seeds of the fuzz target.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol/fixture.h"
#include "symbol/ort_table.h"
#include "tap.h"

#define VERSIONS .symbol_version = "VERS_1.8.0", .text_version = "1.8.0"

/* Those that lead to a table of 170 functions. */
static const struct good {
    const char *name;
    struct fixture_plan plan;
    enum ort_table_method method;
} good[] = {
    { "x86-64", { ELF_X86_64, VERSIONS, .slots = 170 }, ORT_TABLE_DECODED },
    { "x86-64-got", { ELF_X86_64, VERSIONS, .slots = 170, .load = FIXTURE_GOT }, 0 },
    { "x86-64-jump", { ELF_X86_64, VERSIONS, .slots = 170, .jump = true }, 0 },
    { "x86-64-fixed", { ELF_X86_64, VERSIONS, .slots = 170, .load = FIXTURE_IMMEDIATE }, 0 },
    { "x86-64-packed", { ELF_X86_64, VERSIONS, .slots = 170, .packed = true }, 0 },
    { "x86-64-symbols", { ELF_X86_64, VERSIONS, .slots = 170, .by_symbol = true }, 0 },
    { "x86-64-text-version", { ELF_X86_64, .text_version = "1.8.1", .slots = 170 }, 0 },
    { "x86-64-symbol-version",
      { ELF_X86_64, .symbol_version = "VERS_1.8.0", .slots = 170, .old_hash = true },
      0 },
    { "x86-64-two-tables", { ELF_X86_64, VERSIONS, .slots = 170, .second_run = true }, 0 },
    { "x86-64-only-run",
      { ELF_X86_64, VERSIONS, .slots = 170, .load = FIXTURE_NOWHERE },
      ORT_TABLE_ONLY_RUN },
    { "aarch64", { ELF_AARCH64, VERSIONS, .slots = 170 }, 0 },
    { "aarch64-got", { ELF_AARCH64, VERSIONS, .slots = 170, .load = FIXTURE_GOT }, 0 },
    { "aarch64-jump", { ELF_AARCH64, VERSIONS, .slots = 170, .jump = true }, 0 },
    { "aarch64-packed", { ELF_AARCH64, VERSIONS, .slots = 170, .packed = true }, 0 },
    { "aarch64-only-run",
      { ELF_AARCH64, VERSIONS, .slots = 170, .packed = true, .load = FIXTURE_NOWHERE },
      ORT_TABLE_ONLY_RUN },
};

static enum ifg_status find(const struct fixture_plan *plan, struct fixture *out_fixture,
                            struct ort_table *out_table, struct ifg_error *err)
{
    struct elf_file *elf = NULL;
    enum ifg_status status;
    int fd;

    REQUIRE(fixture_build(plan, out_fixture));
    fd = fixture_file(out_fixture->bytes.data, out_fixture->bytes.size);
    REQUIRE_INT(elf_file_open_fd(fd, "libonnxruntime.so", &elf, err), IFG_OK);
    status = ort_table_find(elf, out_table, err);
    elf_file_close(elf);
    close(fd);
    return status;
}

static void check_good(const struct good *one)
{
    struct ifg_error err = { 0 };
    struct fixture fixture;
    struct ort_table table;

    tap_note("%s", one->name);
    if (find(&one->plan, &fixture, &table, &err))
        tap_diag("%s: %s", one->name, err.message);
    REQUIRE_INT(err.status, IFG_OK);
    CHECK_INT(table.method, one->method);
    CHECK_UINT(table.minor, 8);
    CHECK(strncmp(table.version, "1.8.", 4) == 0);
    CHECK_UINT(table.vaddr, fixture.table);
    REQUIRE_UINT(table.slot_count, 170);
    for (unsigned i = 0; i < table.slot_count; i++) {
        const struct ort_table_slot *slot = &table.slots[i];

        CHECK_UINT(slot->vaddr, fixture.first_slot + (uint64_t)16 * i);
        CHECK_UINT(slot->file_offset, slot->vaddr - fixture.text + fixture.text_offset);
        CHECK_UINT(slot->probe_offset - slot->file_offset, i % 2 ? 0 : 4);
    }
    fixture_fini(&fixture);
}

static void every_form(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_good(&good[i]);
}

static void newest(void)
{
    struct fixture_plan plan = { ELF_X86_64, "VERS_1.30.0", "1.30.0", .slots = 425 };
    struct fixture fixture;
    struct ort_table table;

    REQUIRE_INT(find(&plan, &fixture, &table, NULL), IFG_OK);
    CHECK_UINT(table.slot_count, 425);
    CHECK_STR(table.version, "1.30.0");
    fixture_fini(&fixture);
}

/* Releases only append: of a longer table the known part is known. */
static void newer(void)
{
    struct fixture_plan plan = { ELF_X86_64, "VERS_1.99.0", "1.99.0", .slots = 600 };
    struct fixture fixture;
    struct ort_table table;

    REQUIRE_INT(find(&plan, &fixture, &table, NULL), IFG_OK);
    CHECK_UINT(table.slot_count, 425);
    CHECK(table.untried);
    fixture_fini(&fixture);
    plan = (struct fixture_plan){ ELF_X86_64, "VERS_1.31.0", "1.31.0", .slots = 441 };
    REQUIRE_INT(find(&plan, &fixture, &table, NULL), IFG_OK);
    CHECK_UINT(table.slot_count, 425);
    CHECK(!table.untried);
    fixture_fini(&fixture);
}

static void check_refused(struct fixture_plan plan, enum ifg_status status, const char *part)
{
    struct ifg_error err = { 0 };
    struct fixture fixture;
    struct ort_table table;

    tap_note("%s", part);
    CHECK_INT(find(&plan, &fixture, &table, &err), status);
    CHECK_CONTAINS(err.message, part);
    fixture_fini(&fixture);
}

#define PLAN(...) ((struct fixture_plan){ __VA_ARGS__ })

static void refused(void)
{
    check_refused(PLAN(ELF_X86_64, "VERS_1.99.0", "1.99.0", .slots = 424), IFG_UNSUPPORTED,
                  "no table of 425 functions (longest: 424)");
    check_refused(PLAN(ELF_X86_64, "VERS_1.7.2", "1.7.2", .slots = 170), IFG_UNSUPPORTED, "1.7.2");
    check_refused(PLAN(ELF_X86_64, "VERS_1.8.0", "1.9.0", .slots = 170), IFG_UNSUPPORTED,
                  "both that it is ONNX Runtime 1.8.0 and 1.9.0");
    check_refused(PLAN(ELF_X86_64, "VERS_x", NULL, .slots = 170), IFG_UNSUPPORTED, "neither");
    check_refused(PLAN(ELF_X86_64, NULL, "1.eight", .slots = 170), IFG_UNSUPPORTED, "neither");
    check_refused(PLAN(ELF_X86_64, VERSIONS, .slots = 169), IFG_UNSUPPORTED,
                  "no table of 170 functions (longest: 169)");
    check_refused(PLAN(ELF_X86_64, VERSIONS, .slots = 170, .bad_slot = 12), IFG_UNSUPPORTED,
                  "(longest: 12)");
    check_refused(
        PLAN(ELF_AARCH64, VERSIONS, .slots = 170, .load = FIXTURE_NOWHERE, .second_run = true),
        IFG_UNSUPPORTED, "does not load the address of GetApi, and its data has 2 tables");
    /* A run that is longer than the table: nobody can tell where it begins. */
    check_refused(PLAN(ELF_X86_64, VERSIONS, .slots = 171, .load = FIXTURE_NOWHERE),
                  IFG_UNSUPPORTED, "0 tables of exactly that many");
}

static void no_runtime(void)
{
    static const struct fixture_plan plan = { ELF_X86_64, VERSIONS, .slots = 170 };
    struct ifg_error err = { 0 };
    struct elf_file *elf = NULL;
    struct fixture fixture;
    struct ort_table table;
    int fd;

    REQUIRE(fixture_build(&plan, &fixture));
    fixture.bytes.data[fixture.strings_offset + 9] = 'X'; /* XrtGetApiBase */
    fd = fixture_file(fixture.bytes.data, fixture.bytes.size);
    REQUIRE_INT(elf_file_open_fd(fd, "libz.so", &elf, &err), IFG_OK);
    CHECK_INT(ort_table_find(elf, &table, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "libz.so is no ONNX Runtime");
    elf_file_close(elf);
    close(fd);
    fixture_fini(&fixture);
}

/* A function of zeroes: the file has a hole where the code should be. */
static void empty_function(void)
{
    static const struct fixture_plan plan = { ELF_X86_64, VERSIONS, .slots = 170 };
    struct ifg_error err = { 0 };
    struct elf_file *elf = NULL;
    struct fixture fixture;
    struct ort_table table;
    int fd;

    REQUIRE(fixture_build(&plan, &fixture));
    memset(fixture.bytes.data + (fixture.first_slot - fixture.text) + fixture.text_offset + 16 * 99,
           0, 16);
    fd = fixture_file(fixture.bytes.data, fixture.bytes.size);
    REQUIRE_INT(elf_file_open_fd(fd, "lib.so", &elf, &err), IFG_OK);
    CHECK_INT(ort_table_find(elf, &table, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "function 99 of its table is not code");
    elf_file_close(elf);
    close(fd);
    fixture_fini(&fixture);
}

static int write_corpus(const char *folder)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct fixture fixture;
        char path[4096];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s.elf", folder, good[i].name);
        file = fopen(path, "wb");
        if (!file || !fixture_build(&good[i].plan, &fixture))
            return 1;
        fwrite(fixture.bytes.data, 1, fixture.bytes.size, file);
        if (fclose(file))
            return 1;
        fixture_fini(&fixture);
    }
    return 0;
}

static const struct tap_case cases[] = {
    TAP_CASE(every_form), TAP_CASE(newest),     TAP_CASE(newer),
    TAP_CASE(refused),    TAP_CASE(no_runtime), TAP_CASE(empty_function),
};

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write-corpus") == 0)
        return write_corpus(argv[2]);
    return tap_run(argc, argv, cases, sizeof cases / sizeof *cases);
}
