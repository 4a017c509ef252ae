// SPDX-License-Identifier: Apache-2.0
/* Makes ELF files for tests. */
#include "symbol/fixture.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT_SHIFT 0x10000 /* addresses are not file offsets */
#define DATA_SHIFT 0x20000
#define FIXED_BASE 0x400000
#define SLOT_SIZE  16u
#define CODE_SIZE  192u /* before the slots: three functions of 64 bytes */

enum { SYM_IMPORT = 1, SYM_ENTRY, SYM_DATA, SYM_CHOSEN, SYM_FIRST_SLOT, SYM_ALIAS, SYM_COUNT };

struct maker {
    const struct fixture_plan *plan;
    struct fixture *out;
    uint64_t base; /* added to every address */
    uint64_t names[SYM_COUNT];
    uint64_t version_name;
    uint64_t strings_size, symbols, versions, version_names, hash, note, version_text;
    uint64_t text_size, data_offset, got, api_base;
    uint64_t rela, rela_size, relr, relr_size;
};

static uint64_t here(struct maker *m, uint64_t align)
{
    static const uint8_t zeroes[64];
    uint64_t size = m->out->bytes.size;

    ifg_bytes_put(&m->out->bytes, zeroes, (size_t)((align - size % align) % align));
    return m->out->bytes.size;
}

static void put(struct maker *m, const void *data, size_t size)
{
    ifg_bytes_put(&m->out->bytes, data, size);
}

static void put_u64(struct maker *m, uint64_t value)
{
    put(m, &value, sizeof value);
}

static uint64_t put_text(struct maker *m, const char *text)
{
    uint64_t at = m->out->bytes.size;

    put(m, text, strlen(text) + 1);
    return at;
}

static void put_strings(struct maker *m)
{
    uint64_t start = m->out->bytes.size;

    m->out->strings_offset = start;
    put_text(m, "");
    m->names[SYM_IMPORT] = put_text(m, "fprintf") - start;
    m->names[SYM_ENTRY] = put_text(m, "OrtGetApiBase") - start;
    m->names[SYM_DATA] = put_text(m, "some_data") - start;
    m->names[SYM_CHOSEN] = put_text(m, "chosen_at_load") - start;
    m->names[SYM_FIRST_SLOT] = put_text(m, "ort_first") - start;
    m->names[SYM_ALIAS] = put_text(m, "ort_other_name") - start;
    m->version_name = m->plan->symbol_version ? put_text(m, m->plan->symbol_version) - start : 0;
    m->strings_size = m->out->bytes.size - start;
}

static void put_symbols(struct maker *m)
{
    const struct {
        unsigned char type;
        uint16_t section;
        uint64_t value;
    } symbols[SYM_COUNT] = {
        [SYM_IMPORT] = { STT_FUNC, SHN_UNDEF, 0 },
        [SYM_ENTRY] = { STT_FUNC, 1, m->out->entry },
        [SYM_DATA] = { STT_OBJECT, 2, m->out->table },
        [SYM_CHOSEN] = { STT_GNU_IFUNC, 1, m->out->text },
        [SYM_FIRST_SLOT] = { STT_FUNC, 1, m->out->first_slot },
        [SYM_ALIAS] = { STT_FUNC, 1, m->out->first_slot },
    };

    m->symbols = here(m, 8);
    for (int i = 0; i < SYM_COUNT; i++) {
        Elf64_Sym symbol = {
            .st_name = (uint32_t)m->names[i],
            .st_info = (unsigned char)(STB_GLOBAL << 4 | symbols[i].type),
            .st_shndx = symbols[i].section,
            .st_value = symbols[i].value,
            .st_size = i == SYM_ENTRY ? 16 : 0,
        };

        put(m, &symbol, sizeof symbol);
    }
}

static void put_versions(struct maker *m)
{
    uint16_t index[SYM_COUNT] = { 0 };
    Elf64_Verdef definition = { .vd_version = 1,
                                .vd_flags = VER_FLG_BASE,
                                .vd_ndx = 1,
                                .vd_cnt = 1,
                                .vd_aux = 20,
                                .vd_next = 28 };
    Elf64_Verdaux name = { .vda_name = (uint32_t)m->names[SYM_DATA] };

    if (!m->plan->symbol_version)
        return;
    for (int i = SYM_ENTRY; i < SYM_COUNT; i++)
        index[i] = 2;
    m->versions = here(m, 8);
    put(m, index, sizeof index);
    m->version_names = here(m, 8);
    put(m, &definition, sizeof definition);
    put(m, &name, sizeof name);
    definition.vd_flags = 0;
    definition.vd_ndx = 2;
    definition.vd_next = 0;
    name.vda_name = (uint32_t)m->version_name;
    put(m, &definition, sizeof definition);
    put(m, &name, sizeof name);
}

static void put_hash(struct maker *m)
{
    uint32_t gnu[4 + 2 + 1 + SYM_COUNT - SYM_ENTRY] = { 1, SYM_ENTRY, 1, 6, 0, 0, SYM_ENTRY };
    uint32_t old[2 + 1 + SYM_COUNT] = { 1, SYM_COUNT };

    gnu[sizeof gnu / sizeof *gnu - 1] = 1; /* the end of the only chain */
    m->hash = here(m, 8);
    m->out->hash_offset = m->hash;
    if (m->plan->old_hash)
        put(m, old, sizeof old);
    else
        put(m, gnu, sizeof gnu);
}

static void put_note(struct maker *m)
{
    Elf64_Nhdr note = { 4, 20, NT_GNU_BUILD_ID };
    Elf64_Nhdr other = { 4, 3, 7 };

    m->note = here(m, 4);
    put(m, &other, sizeof other);
    put(m, "GNU\0abc", 8); /* three bytes and padding */
    put(m, &note, sizeof note);
    put(m, "GNU", 4);
    for (uint8_t i = 0; i < 20; i++)
        put(m, &i, 1);
}

static void put_word(struct maker *m, uint32_t word)
{
    put(m, &word, sizeof word);
}

/* Code that loads an address into the first register and returns, filled up to 64 bytes. */
static void put_loader(struct maker *m, enum fixture_load load, uint64_t vaddr, uint64_t target)
{
    bool x86 = m->plan->machine == ELF_X86_64;
    uint64_t from = load == FIXTURE_GOT ? m->got : target;
    uint64_t pages;
    uint32_t word;

    if (x86 && load == FIXTURE_IMMEDIATE) {
        word = (uint32_t)target;
        put(m, "\xb8", 1);
        put(m, &word, 4);
    } else if (x86 && load != FIXTURE_NOWHERE) {
        put(m, "\xf3\x0f\x1e\xfa", 4);
        put(m, load == FIXTURE_GOT ? "\x48\x8b\x05" : "\x48\x8d\x05", 3);
        word = (uint32_t)(from - (vaddr + 11));
        put(m, &word, 4);
    } else if (load != FIXTURE_NOWHERE) {
        pages = (from >> 12) - ((vaddr + 4) >> 12);
        put_word(m, 0xd503245f); /* bti c */
        put_word(m,
                 0x90000000 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5);
        word = (uint32_t)(from & 0xfff);
        put_word(m, load == FIXTURE_GOT ? 0xf9400000 | word / 8 << 10 : 0x91000000 | word << 10);
    }
    put(m, x86 ? "\xc3\x90\x90\x90" : "\xc0\x03\x5f\xd6", 4);
    here(m, 64);
}

static void put_jump(struct maker *m, uint64_t from, uint64_t to)
{
    uint32_t distance = (uint32_t)(to - (from + 5));

    if (m->plan->machine == ELF_X86_64) {
        put(m, "\xe9", 1);
        put(m, &distance, 4);
    } else {
        put_word(m, 0x14000000 | ((uint32_t)(to - from) >> 2 & 0x03ffffff));
    }
    here(m, 64);
}

static void put_slots(struct maker *m)
{
    bool x86 = m->plan->machine == ELF_X86_64;

    for (unsigned i = 0; i < m->plan->slots; i++) {
        if (i % 2 == 0)
            put(m, x86 ? "\xf3\x0f\x1e\xfa" : "\x5f\x24\x03\xd5", 4);
        put(m, x86 ? "\x55\x48\x89\xe5" : "\xfd\x7b\xbf\xa9", 4);
        put(m, x86 ? "\x5d\xc3\x90\x90" : "\xc0\x03\x5f\xd6", 4);
        here(m, SLOT_SIZE);
    }
}

static void put_code(struct maker *m)
{
    const struct fixture_plan *plan = m->plan;
    uint64_t base_loader =
        m->out->text + CODE_SIZE + (plan->slots * SLOT_SIZE + 63) / 64 * (uint64_t)64;
    enum fixture_load version_load = plan->text_version ? FIXTURE_DIRECT : FIXTURE_NOWHERE;

    if (plan->jump)
        put_jump(m, m->out->text, base_loader);
    else
        put_loader(m, plan->load, m->out->text, m->api_base);
    put_loader(m, plan->load == FIXTURE_GOT ? FIXTURE_DIRECT : plan->load, m->out->text + 64,
               m->out->table);
    put_loader(m, version_load, m->out->text + 128, m->version_text);
    put_slots(m);
    here(m, 64);
    if (plan->jump)
        put_loader(m, plan->load, base_loader, m->api_base);
}

static uint64_t slot_target(const struct maker *m, unsigned slot)
{
    if (m->plan->bad_slot && slot == m->plan->bad_slot)
        return m->out->table;
    return m->out->first_slot + (uint64_t)slot * SLOT_SIZE;
}

/* What each word of the data leads to: GOT, a hole, base, a hole, table, hole, second table. */
static bool data_target(const struct maker *m, uint64_t word, uint64_t *out)
{
    uint64_t slots = m->plan->slots;

    if (word == 0)
        *out = m->api_base;
    else if (word == 2)
        *out = m->out->text + 64;
    else if (word == 3)
        *out = m->out->text + 128;
    else if (word >= 5 && word < 5 + slots)
        *out = slot_target(m, (unsigned)(word - 5));
    else if (m->plan->second_run && word >= 6 + slots && word < 6 + 2 * slots)
        *out = slot_target(m, (unsigned)(word - 6 - slots));
    else
        return false;
    return true;
}

static uint64_t data_words(const struct maker *m)
{
    return 6 + (uint64_t)m->plan->slots * (m->plan->second_run ? 2 : 1);
}

static void put_rela(struct maker *m)
{
    bool x86 = m->plan->machine == ELF_X86_64;
    uint64_t relative = x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    uint64_t by_symbol = x86 ? R_X86_64_64 : R_AARCH64_ABS64;
    uint64_t target;

    m->rela = here(m, 8);
    m->out->rela_offset = m->rela;
    /* Backwards: linkers do not always sort. */
    for (uint64_t word = data_words(m); word-- > 0;) {
        Elf64_Rela rela = { .r_offset = m->got + 8 * word };

        if (!data_target(m, word, &target))
            continue;
        rela.r_info = ELF64_R_INFO(0, relative);
        rela.r_addend = (int64_t)target;
        if (m->plan->by_symbol && word >= 5) {
            rela.r_info = ELF64_R_INFO((uint64_t)SYM_FIRST_SLOT, by_symbol);
            rela.r_addend = (int64_t)(target - m->out->first_slot);
        }
        put(m, &rela, sizeof rela);
    }
    m->rela_size = m->out->bytes.size - m->rela;
}

static void put_relr(struct maker *m)
{
    uint64_t target;
    uint64_t bitmap;

    m->relr = here(m, 8);
    m->out->rela_offset = m->relr;
    put_u64(m, m->got);
    for (uint64_t word = 1; word < data_words(m); word += 63) {
        bitmap = 1;
        for (uint64_t bit = 0; bit < 63; bit++)
            if (data_target(m, word + bit, &target))
                bitmap |= (uint64_t)2 << bit;
        put_u64(m, bitmap);
    }
    m->relr_size = m->out->bytes.size - m->relr;
}

static void put_data(struct maker *m)
{
    bool in_place = m->plan->packed || m->base;
    uint64_t target;

    for (uint64_t word = 0; word < data_words(m); word++)
        put_u64(m, data_target(m, word, &target) && in_place ? target : 0);
}

static void put_dynamic(struct maker *m)
{
    const uint64_t entries[][2] = {
        { DT_STRTAB, m->base + m->out->strings_offset },
        { DT_STRSZ, m->strings_size },
        { DT_SYMTAB, m->base + m->symbols },
        { DT_SYMENT, sizeof(Elf64_Sym) },
        { m->plan->old_hash ? DT_HASH : DT_GNU_HASH, m->base + m->hash },
        { m->rela ? DT_RELA : DT_DEBUG, m->base + m->rela },
        { DT_RELASZ, m->rela_size },
        { DT_RELAENT, sizeof(Elf64_Rela) },
        { m->relr ? 36 : DT_DEBUG, m->base + m->relr },
        { 35, m->relr_size },
        { m->versions ? DT_VERSYM : DT_DEBUG, m->base + m->versions },
        { m->versions ? DT_VERDEF : DT_DEBUG, m->base + m->version_names },
        { DT_VERDEFNUM, m->versions ? 2 : 0 },
        { DT_NULL, 0 },
    };

    m->out->dynamic_offset = m->out->bytes.size;
    put(m, entries, sizeof entries);
}

static void set_headers(struct maker *m)
{
    uint64_t text = m->out->text_offset;
    uint64_t dynamic = m->out->dynamic_offset;
    uint64_t end = m->out->bytes.size;
    const Elf64_Ehdr header = {
        .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_type = m->base ? ET_EXEC : ET_DYN,
        .e_machine = (uint16_t)m->plan->machine,
        .e_version = 1,
        .e_phoff = sizeof header,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 5,
    };
    const Elf64_Phdr segments[5] = {
        { PT_LOAD, PF_R, 0, m->base, 0, text, text, 16 },
        { PT_LOAD, PF_R | PF_X, text, m->out->text, 0, m->text_size, m->text_size, 16 },
        { PT_LOAD, PF_R | PF_W, m->data_offset, m->got, 0, end - m->data_offset, 0x10000, 16 },
        { PT_DYNAMIC, PF_R | PF_W, dynamic, dynamic + DATA_SHIFT, 0, end - dynamic, 0, 8 },
        { PT_NOTE, PF_R, m->note, m->base + m->note, 0, 56, 56, 4 },
    };

    if (m->out->bytes.failed)
        return;
    memcpy(m->out->bytes.data, &header, sizeof header);
    memcpy(m->out->bytes.data + sizeof header, segments, sizeof segments);
}

/* Twice: the first time to learn where everything comes to lie. */
static void make(struct maker *m)
{
    static const uint8_t headers[sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr)];

    ifg_bytes_clear(&m->out->bytes);
    put(m, headers, sizeof headers);
    put_note(m);
    put_strings(m);
    m->version_text =
        m->base + put_text(m, m->plan->text_version ? m->plan->text_version : "nothing");
    put_symbols(m);
    put_versions(m);
    put_hash(m);
    if (m->plan->packed)
        put_relr(m);
    else if (!m->base)
        put_rela(m);
    m->out->text_offset = here(m, 64);
    m->out->text = m->base + m->out->text_offset + TEXT_SHIFT;
    m->out->entry = m->out->text;
    m->out->first_slot = m->out->text + CODE_SIZE;
    put_code(m);
    m->text_size = m->out->bytes.size - m->out->text_offset;
    m->data_offset = here(m, 16);
    m->got = m->base + m->data_offset + DATA_SHIFT;
    m->api_base = m->got + 16;
    m->out->table = m->got + 40;
    put_data(m);
    put_dynamic(m);
    set_headers(m);
}

bool fixture_build(const struct fixture_plan *plan, struct fixture *out)
{
    struct maker m = { .plan = plan, .out = out };

    memset(out, 0, sizeof *out);
    ifg_bytes_init(&out->bytes, 1 << 20);
    m.base = plan->load == FIXTURE_IMMEDIATE ? FIXED_BASE : 0;
    make(&m);
    make(&m);
    return !out->bytes.failed;
}

void fixture_fini(struct fixture *fixture)
{
    ifg_bytes_fini(&fixture->bytes);
}

int fixture_file(const void *data, size_t size)
{
    int fd = memfd_create("fixture", MFD_CLOEXEC);

    if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return -1;
    }
    return fd;
}
