// SPDX-License-Identifier: Apache-2.0
/* From OrtGetApiBase to the offsets of every function of ONNX Runtime's C interface. */
#include "symbol/ort_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_abi/api.h"
#include "symbol/code.h"

#define BASE_WINDOW                                                                                \
    64 /* bytes of code in which OrtGetApiBase and GetVersionString load an address */
#define CANDIDATES 32

struct search {
    struct elf_file *elf;
    const struct elf_relocation *relocations;
    size_t relocation_count;
    uint64_t get_api; /* 0 = not found */
    char text[32];    /* what GetVersionString returns, or "" */
    size_t best_run;  /* of the places that GetApi loads, the most functions in a row */
};

static bool is_code(const struct elf_file *elf, uint64_t vaddr)
{
    struct elf_position position;

    return elf_file_locate(elf, vaddr, &position) && position.executable &&
           (elf_file_machine(elf) == ELF_X86_64 || !(vaddr & 3));
}

static bool code_pointer(struct elf_file *elf, uint64_t vaddr, uint64_t *out_function)
{
    return elf_file_pointer(elf, vaddr, out_function) && is_code(elf, *out_function);
}

/* A version is short, made of what versions are made of, and ends. */
static bool read_version_text(struct elf_file *elf, uint64_t vaddr, char *out, size_t size)
{
    size_t got = elf_file_read(elf, vaddr, out, size);
    unsigned minor;

    for (size_t i = 0; i < got; i++) {
        if (!out[i])
            return ort_abi_parse_version(out, &minor);
        if (out[i] <= ' ' || out[i] > '~')
            break;
    }
    return false;
}

static void find_version_text(struct search *search, uint64_t get_version)
{
    uint64_t addresses[CANDIDATES];
    size_t count = code_addresses(search->elf, get_version, BASE_WINDOW, addresses, CANDIDATES);

    for (size_t i = 0; i < count; i++)
        if (read_version_text(search->elf, addresses[i], search->text, sizeof search->text))
            return;
    search->text[0] = '\0';
}

/* The base is two functions, the second of which returns a version. */
static void find_base(struct search *search, const struct elf_symbol *entry)
{
    size_t window = entry->size && entry->size < BASE_WINDOW ? (size_t)entry->size : BASE_WINDOW;
    uint64_t addresses[CANDIDATES];
    size_t count = code_addresses(search->elf, entry->value, window, addresses, CANDIDATES);

    for (size_t i = 0; i < count; i++) {
        uint64_t get_api, get_version;

        if (!code_pointer(search->elf, addresses[i], &get_api) ||
            !code_pointer(search->elf, addresses[i] + 8, &get_version))
            continue;
        if (!search->get_api)
            search->get_api = get_api;
        find_version_text(search, get_version);
        if (search->text[0]) {
            search->get_api = get_api;
            return;
        }
    }
}

static enum ifg_status find_version(struct search *search, const struct elf_symbol *entry,
                                    struct ort_table *out, struct ifg_error *err)
{
    const char *name = elf_file_name(search->elf);
    char exported[64];
    unsigned minor = 0;

    if (elf_file_symbol_version(search->elf, entry->index, exported, sizeof exported) &&
        strncmp(exported, "VERS_", 5) == 0 && ort_abi_parse_version(exported + 5, &minor))
        snprintf(out->version, sizeof out->version, "%.31s", exported + 5);
    else
        minor = 0;
    if (search->text[0]) {
        unsigned other;

        if (ort_abi_parse_version(search->text, &other) && minor && other != minor)
            return ifg_fail(err, IFG_UNSUPPORTED, "%s says both that it is ONNX Runtime %s and %s",
                            name, out->version, search->text);
        minor = other;
        snprintf(out->version, sizeof out->version, "%s", search->text);
    }
    if (!out->version[0])
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s exports OrtGetApiBase, but neither a symbol version nor a text tells "
                        "which ONNX Runtime it is",
                        name);
    out->minor = minor;
    out->slot_count = ort_abi_slots_of(minor);
    if (!out->slot_count)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s is ONNX Runtime %s; this Inferogram knows the functions of 1.%d and "
                        "later",
                        name, out->version, ORT_ABI_OLDEST);
    out->untried = ort_abi_is_untried(minor);
    return IFG_OK;
}

static bool find_by_code(struct search *search, struct ort_table *out)
{
    uint64_t addresses[CANDIDATES];
    size_t count;

    if (!search->get_api)
        return false;
    count = code_addresses(search->elf, search->get_api, CODE_WINDOW_MAX, addresses, CANDIDATES);
    for (size_t i = 0; i < count; i++) {
        uint64_t function;
        size_t run = 0;

        while (run < out->slot_count &&
               code_pointer(search->elf, addresses[i] + 8 * run, &function))
            run++;
        if (run > search->best_run)
            search->best_run = run;
        if (run == out->slot_count) {
            out->vaddr = addresses[i];
            out->method = ORT_TABLE_DECODED;
            return true;
        }
    }
    return false;
}

/* How many runs of exactly slot_count function pointers the file has; out is the last of them. */
static size_t find_by_length(struct search *search, struct ort_table *out)
{
    uint64_t start = 0, next = 0;
    size_t length = 0, found = 0;

    for (size_t i = 0; i <= search->relocation_count; i++) {
        const struct elf_relocation *relocation =
            i < search->relocation_count ? &search->relocations[i] : NULL;
        uint64_t target;
        bool function = relocation &&
                        elf_file_relocation_target(search->elf, relocation, &target) &&
                        is_code(search->elf, target);

        if (function && length && relocation->address == next) {
            length++;
            next += 8;
            continue;
        }
        if (length == out->slot_count) {
            out->vaddr = start;
            out->method = ORT_TABLE_ONLY_RUN;
            found++;
        }
        length = function;
        start = function ? relocation->address : 0;
        next = start + 8;
    }
    return found;
}

static enum ifg_status find_table(struct search *search, struct ort_table *out,
                                  struct ifg_error *err)
{
    char decoded[160];
    size_t runs;

    if (find_by_code(search, out))
        return IFG_OK;
    runs = ort_abi_is_longer(out->minor) ? 0 : find_by_length(search, out);
    if (runs == 1)
        return IFG_OK;
    if (!search->get_api)
        snprintf(decoded, sizeof decoded, "OrtGetApiBase does not load the address of GetApi");
    else
        snprintf(decoded, sizeof decoded, "GetApi loads no table of %u functions (longest: %zu)",
                 out->slot_count, search->best_run);
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "%s (ONNX Runtime %s): %s, and its data has %zu tables of exactly that many "
                    "(%u)",
                    elf_file_name(search->elf), out->version, decoded, runs, out->slot_count);
}

static enum ifg_status fill_slots(struct elf_file *elf, struct ort_table *out,
                                  struct ifg_error *err)
{
    for (unsigned i = 0; i < out->slot_count; i++) {
        struct ort_table_slot *slot = &out->slots[i];
        struct elf_position position;

        if (!elf_file_pointer(elf, out->vaddr + 8 * (uint64_t)i, &slot->vaddr) ||
            !elf_file_locate(elf, slot->vaddr, &position) ||
            !code_probe_offset(elf, slot->vaddr, &slot->probe_offset))
            return ifg_fail(err, IFG_UNSUPPORTED,
                            "%s (ONNX Runtime %s): function %u of its table is not code in the "
                            "file",
                            elf_file_name(elf), out->version, i);
        slot->file_offset = position.file_offset;
    }
    return IFG_OK;
}

enum ifg_status ort_table_find(struct elf_file *elf, struct ort_table *out_table,
                               struct ifg_error *err)
{
    struct search search = { .elf = elf };
    struct elf_symbol entry;
    enum ifg_status status;

    memset(out_table, 0, sizeof *out_table);
    status = elf_file_symbol(elf, "OrtGetApiBase", &entry, err);
    if (status == IFG_NOT_FOUND || (!status && !entry.defined)) /* linked into a program */
        status = elf_file_debug_symbol(elf, "OrtGetApiBase", &entry, err);
    if (status == IFG_NOT_FOUND || (!status && !entry.defined))
        return ifg_fail(err, IFG_NOT_FOUND, "%s is no ONNX Runtime: it has no OrtGetApiBase",
                        elf_file_name(elf));
    if (!status)
        status = elf_file_relocations(elf, &search.relocations, &search.relocation_count, err);
    if (status)
        return status;
    find_base(&search, &entry);
    status = find_version(&search, &entry, out_table, err);
    if (!status)
        status = find_table(&search, out_table, err);
    if (!status)
        status = fill_slots(elf, out_table, err);
    return status;
}
