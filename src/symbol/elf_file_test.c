// SPDX-License-Identifier: Apache-2.0
/* Reading ELF files: everything there is in a good one, and what is said about bad ones. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/elf_file.h"
#include "symbol/fixture.h"
#include "tap.h"

static const struct fixture_plan plain = {
    .machine = ELF_X86_64, .symbol_version = "VERS_1.8.0", .text_version = "1.8.0", .slots = 170
};

static struct elf_file *open_bytes(const struct fixture *fixture, struct ifg_error *err)
{
    struct elf_file *elf = NULL;
    int fd = fixture_file(fixture->bytes.data, fixture->bytes.size);

    REQUIRE(fd >= 0);
    if (elf_file_open_fd(fd, "lib.so", &elf, err) && !err)
        tap_diag("it cannot be opened");
    close(fd);
    return elf;
}

static struct elf_file *open_plan(const struct fixture_plan *plan, struct fixture *out_fixture)
{
    struct elf_file *elf;

    REQUIRE(fixture_build(plan, out_fixture));
    elf = open_bytes(out_fixture, NULL);
    REQUIRE(elf != NULL);
    return elf;
}

static void set_u16(struct fixture *fixture, size_t at, uint16_t value)
{
    memcpy(fixture->bytes.data + at, &value, sizeof value);
}

static void set_u64(struct fixture *fixture, size_t at, uint64_t value)
{
    memcpy(fixture->bytes.data + at, &value, sizeof value);
}

static void identity(void)
{
    struct fixture_plan plan = plain;
    struct fixture fixture;
    struct elf_file *elf = open_plan(&plan, &fixture);

    CHECK_INT(elf_file_machine(elf), ELF_X86_64);
    CHECK_STR(elf_file_build_id(elf), FIXTURE_BUILD_ID);
    CHECK_STR(elf_file_name(elf), "lib.so");
    CHECK(!elf_file_has_fixed_address(elf));
    elf_file_close(elf);
    fixture_fini(&fixture);
    plan.machine = ELF_AARCH64;
    elf = open_plan(&plan, &fixture);
    CHECK_INT(elf_file_machine(elf), ELF_AARCH64);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void addresses(void)
{
    struct fixture fixture;
    struct elf_file *elf = open_plan(&plain, &fixture);
    struct elf_position position;
    uint8_t bytes[4] = { 0 };

    REQUIRE(elf_file_locate(elf, fixture.text, &position));
    CHECK_UINT(position.file_offset, fixture.text_offset);
    CHECK(position.executable);
    REQUIRE(elf_file_locate(elf, fixture.text + position.left - 1, &position));
    CHECK_UINT(position.left, 1);
    CHECK_UINT(
        elf_file_read(elf, fixture.text + position.file_offset - fixture.text_offset, bytes, 4), 1);
    REQUIRE(elf_file_locate(elf, fixture.table, &position));
    CHECK(!position.executable);
    CHECK_UINT(elf_file_read(elf, fixture.text, bytes, 4), 4);
    CHECK_BYTES(bytes, "\xf3\x0f\x1e\xfa", 4);
    CHECK(!elf_file_locate(elf, fixture.text - 1, &position));
    CHECK(!elf_file_locate(elf, UINT64_MAX, &position));
    CHECK_UINT(elf_file_read(elf, 0x900000, bytes, 4), 0);
    /* In memory, but not in the file: data that starts as zero. */
    CHECK(!elf_file_locate(elf, fixture.table + 0xf000, &position));
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void check_symbols(bool old_hash)
{
    struct fixture_plan plan = plain;
    struct elf_symbol symbol;
    struct fixture fixture;
    struct elf_file *elf;
    char version[64];
    size_t count;

    plan.old_hash = old_hash;
    elf = open_plan(&plan, &fixture);
    REQUIRE_INT(elf_file_symbol_count(elf, &count, NULL), IFG_OK);
    CHECK_UINT(count, 7);
    REQUIRE_INT(elf_file_symbol(elf, "OrtGetApiBase", &symbol, NULL), IFG_OK);
    CHECK_UINT(symbol.value, fixture.entry);
    CHECK_UINT(symbol.size, 16);
    CHECK_UINT(symbol.type, STT_FUNC);
    CHECK(symbol.defined && symbol.default_version);
    CHECK(elf_file_symbol_version(elf, symbol.index, version, sizeof version));
    CHECK_STR(version, "VERS_1.8.0");
    CHECK(elf_file_symbol_version(elf, symbol.index, version, 5));
    CHECK_STR(version, "VERS");
    REQUIRE_INT(elf_file_symbol(elf, "fprintf", &symbol, NULL), IFG_OK);
    CHECK(!symbol.defined);
    CHECK(!elf_file_symbol_version(elf, symbol.index, version, sizeof version));
    CHECK_INT(elf_file_symbol(elf, "OrtGetApi", &symbol, NULL), IFG_NOT_FOUND);
    CHECK_STR(elf_file_symbol_at(elf, 1000).name, "");
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void symbols_gnu_hash(void)
{
    check_symbols(false);
}

static void symbols_old_hash(void)
{
    check_symbols(true);
}

static void check_relocations(const struct fixture_plan *plan)
{
    const struct elf_relocation *relocations;
    struct fixture fixture;
    struct elf_file *elf = open_plan(plan, &fixture);
    uint64_t target;
    size_t count;

    REQUIRE_INT(elf_file_relocations(elf, &relocations, &count, NULL), IFG_OK);
    CHECK_UINT(count, plan->slots + 3);
    for (size_t i = 1; i < count; i++)
        CHECK(relocations[i - 1].address < relocations[i].address);
    for (unsigned i = 0; i < plan->slots; i++) {
        REQUIRE(elf_file_pointer(elf, fixture.table + (uint64_t)8 * i, &target));
        CHECK_UINT(target, fixture.first_slot + (uint64_t)16 * i);
    }
    CHECK(!elf_file_pointer(elf, fixture.table - 8, &target));
    CHECK(!elf_file_pointer(elf, fixture.table + 4, &target));
    CHECK(!elf_file_pointer(elf, fixture.table + (uint64_t)8 * plan->slots, &target));
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void relocations_unsorted(void)
{
    check_relocations(&plain);
}

static void relocations_packed(void)
{
    struct fixture_plan plan = plain;

    plan.packed = true;
    check_relocations(&plan);
    plan.machine = ELF_AARCH64;
    plan.slots = 425;
    check_relocations(&plan);
}

static void relocations_by_symbol(void)
{
    struct fixture_plan plan = plain;

    plan.by_symbol = true;
    check_relocations(&plan);
    plan.machine = ELF_AARCH64;
    check_relocations(&plan);
}

/* A file that cannot be opened, with what is said. */
static void check_refused(struct fixture *fixture, enum ifg_status status, const char *part)
{
    struct ifg_error err = { 0 };
    struct elf_file *elf = open_bytes(fixture, &err);

    CHECK(elf == NULL);
    CHECK_INT(err.status, status);
    CHECK_CONTAINS(err.message, part);
    elf_file_close(elf);
}

static void refused_headers(void)
{
    struct fixture fixture;

    REQUIRE(fixture_build(&plain, &fixture));
    fixture.bytes.data[4] = ELFCLASS32;
    check_refused(&fixture, IFG_UNSUPPORTED, "64 bits");
    fixture.bytes.data[4] = ELFCLASS64;
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_machine), EM_RISCV);
    check_refused(&fixture, IFG_UNSUPPORTED, "machine type 243");
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_type), ET_CORE);
    check_refused(&fixture, IFG_UNSUPPORTED, "neither a library nor a program");
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_type), ET_DYN);
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_phnum), 65535);
    check_refused(&fixture, IFG_CORRUPT, "65535 program headers");
    set_u16(&fixture, offsetof(Elf64_Ehdr, e_phnum), 5);
    set_u64(&fixture, offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8);
    check_refused(&fixture, IFG_CORRUPT, "ends within its program headers");
    fixture.bytes.data[1] = 'F';
    check_refused(&fixture, IFG_UNSUPPORTED, "not an ELF file");
    fixture.bytes.size = 10;
    check_refused(&fixture, IFG_UNSUPPORTED, "not an ELF file");
    fixture_fini(&fixture);
}

static void refused_files(void)
{
    char path[] = "/tmp/ifg-symbol-XXXXXX";
    struct elf_file *elf;
    struct ifg_error err = { 0 };

    CHECK_INT(elf_file_open("/nonexistent/lib.so", &elf, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "/nonexistent/lib.so");
    CHECK_INT(elf_file_open("/", &elf, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "not a regular file");
    CHECK(elf_file_open_fd(-1, "closed", &elf, &err) != IFG_OK);
    /* A pipe in its place must not make us wait. */
    close(mkstemp(path));
    unlink(path);
    REQUIRE(mkfifo(path, 0600) == 0);
    CHECK_INT(elf_file_open(path, &elf, &err), IFG_UNSUPPORTED);
    unlink(path);
}

/* The dynamic entry with this tag gets another value. */
static void set_dynamic(struct fixture *fixture, uint64_t tag, uint64_t value)
{
    for (size_t at = (size_t)fixture->dynamic_offset; at + 16 <= fixture->bytes.size; at += 16) {
        uint64_t found;

        memcpy(&found, fixture->bytes.data + at, sizeof found);
        if (found == tag)
            set_u64(fixture, at + 8, value);
    }
}

static void check_dynamic(uint64_t tag, uint64_t value, enum ifg_status status, const char *part)
{
    const struct elf_relocation *relocations;
    struct fixture_plan plan = plain;
    struct ifg_error err = { 0 };
    struct elf_symbol symbol;
    struct fixture fixture;
    struct elf_file *elf;
    enum ifg_status got;
    size_t count;

    plan.packed = tag == 35 || tag == 36;
    plan.old_hash = tag == DT_HASH;
    REQUIRE(fixture_build(&plan, &fixture));
    set_dynamic(&fixture, tag, value);
    elf = open_bytes(&fixture, NULL);
    REQUIRE(elf != NULL);
    got = elf_file_symbol(elf, "OrtGetApiBase", &symbol, &err);
    if (!got)
        got = elf_file_relocations(elf, &relocations, &count, &err);
    CHECK_INT(got, status);
    CHECK_CONTAINS(err.message, part);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void forged_dynamic(void)
{
    check_dynamic(DT_STRTAB, 0x999999, IFG_CORRUPT, "symbol names");
    check_dynamic(DT_STRSZ, UINT64_MAX, IFG_CORRUPT, "symbol names");
    check_dynamic(DT_SYMENT, 16, IFG_CORRUPT, "unknown form");
    check_dynamic(DT_SYMTAB, UINT64_MAX, IFG_CORRUPT, "symbols");
    check_dynamic(DT_GNU_HASH, 0x999999, IFG_CORRUPT, "hash table");
    check_dynamic(DT_HASH, 0x999999, IFG_CORRUPT, "hash table");
    check_dynamic(DT_VERSYM, 0x999999, IFG_CORRUPT, "symbol versions");
    check_dynamic(DT_RELA, 0x999999, IFG_CORRUPT, "relocations");
    check_dynamic(DT_RELASZ, UINT64_MAX - 7, IFG_CORRUPT, "relocations");
    check_dynamic(DT_RELAENT, 16, IFG_CORRUPT, "unknown form");
    check_dynamic(36, 0x999999, IFG_CORRUPT, "packed relocations");
    check_dynamic(35, (uint64_t)1 << 60, IFG_CORRUPT, "packed relocations");
}

static void forged_hash(void)
{
    struct fixture fixture;
    struct ifg_error err = { 0 };
    struct elf_file *elf;
    size_t count;

    REQUIRE(fixture_build(&plain, &fixture));
    /* The last chain never ends: it runs to the end of the segment. */
    memset(fixture.bytes.data + fixture.hash_offset + 28, 0xfe,
           (size_t)(fixture.text_offset - fixture.hash_offset - 28));
    elf = open_bytes(&fixture, NULL);
    REQUIRE(elf != NULL);
    CHECK_INT(elf_file_symbol_count(elf, &count, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "no end");
    CHECK_UINT(count, 0);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

static void packed_outside(void)
{
    const struct elf_relocation *relocations;
    struct fixture_plan plan = plain;
    struct ifg_error err = { 0 };
    struct fixture fixture;
    struct elf_file *elf;
    size_t count;

    plan.packed = true;
    REQUIRE(fixture_build(&plan, &fixture));
    set_u64(&fixture, (size_t)fixture.rela_offset, 0x999990);
    elf = open_bytes(&fixture, NULL);
    REQUIRE(elf != NULL);
    CHECK_INT(elf_file_relocations(elf, &relocations, &count, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "0x999990");
    CHECK_UINT(count, 0);
    elf_file_close(elf);
    fixture_fini(&fixture);
}

/* What another process may do to a file that we have open. */
static void cut_while_open(void)
{
    const struct elf_relocation *relocations;
    struct ifg_error err = { 0 };
    struct fixture fixture;
    struct elf_file *elf;
    uint8_t bytes[8];
    size_t count;
    int fd;

    REQUIRE(fixture_build(&plain, &fixture));
    fd = fixture_file(fixture.bytes.data, fixture.bytes.size);
    REQUIRE_INT(elf_file_open_fd(fd, "lib.so", &elf, &err), IFG_OK);
    REQUIRE(ftruncate(fd, (off_t)fixture.rela_offset + 24) == 0);
    CHECK_UINT(elf_file_read(elf, fixture.text, bytes, sizeof bytes), 0);
    CHECK_INT(elf_file_relocations(elf, &relocations, &count, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "ends within its relocations");
    elf_file_close(elf);
    close(fd);
    fixture_fini(&fixture);
}

static void out_of_memory(void)
{
    const struct elf_relocation *relocations;
    struct elf_symbol symbol;
    struct fixture fixture;
    bool failed = true;
    size_t count;
    int fd;

    REQUIRE(fixture_build(&plain, &fixture));
    fd = fixture_file(fixture.bytes.data, fixture.bytes.size);
    for (long i = 0; failed && i < 50; i++) {
        struct ifg_error err = { 0 };
        struct elf_file *elf = NULL;
        enum ifg_status status;

        ifg_alloc_fail_after(i);
        status = elf_file_open_fd(fd, "lib.so", &elf, &err);
        if (!status)
            status = elf_file_symbol(elf, "OrtGetApiBase", &symbol, &err);
        if (!status)
            status = elf_file_relocations(elf, &relocations, &count, &err);
        ifg_alloc_fail_after(-1);
        failed = status != IFG_OK;
        if (failed)
            CHECK_INT(status, IFG_NO_MEMORY);
        elf_file_close(elf);
    }
    CHECK(!failed);
    close(fd);
    fixture_fini(&fixture);
}

TAP_MAIN(TAP_CASE(identity), TAP_CASE(addresses), TAP_CASE(symbols_gnu_hash),
         TAP_CASE(symbols_old_hash), TAP_CASE(relocations_unsorted), TAP_CASE(relocations_packed),
         TAP_CASE(relocations_by_symbol), TAP_CASE(refused_headers), TAP_CASE(refused_files),
         TAP_CASE(forged_dynamic), TAP_CASE(forged_hash), TAP_CASE(packed_outside),
         TAP_CASE(cut_while_open), TAP_CASE(out_of_memory))
