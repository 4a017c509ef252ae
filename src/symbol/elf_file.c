// SPDX-License-Identifier: Apache-2.0
/* Opening an ELF file: header, segments, build-id, dynamic section; and reading by address. */
#include "symbol/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbol/elf_file_internal.h"

#define NOTES_MAX       (64u << 10)
#define DYNAMIC_ENTRIES 4096

/* How many bytes there are at this offset, at most size. */
size_t elf_file_read_at(const struct elf_file *elf, uint64_t offset, void *out, size_t size)
{
    size_t done = 0;

    while (done < size && offset <= (uint64_t)INT64_MAX - size) {
        ssize_t got = pread(elf->fd, (char *)out + done, size - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

bool elf_file_locate(const struct elf_file *elf, uint64_t vaddr, struct elf_position *out_position)
{
    *out_position = (struct elf_position){ 0 };
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];

        if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->size)
            continue;
        out_position->file_offset = segment->file_offset + (vaddr - segment->vaddr);
        out_position->left = segment->size - (vaddr - segment->vaddr);
        out_position->executable = segment->executable;
        return true;
    }
    return false;
}

bool elf_file_address_at(const struct elf_file *elf, uint64_t file_offset, uint64_t *out_vaddr)
{
    *out_vaddr = 0;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *segment = &elf->segments[i];
        uint64_t first = segment->file_offset & ~(uint64_t)0xfff;

        if (!segment->executable || file_offset < first ||
            file_offset - first >= segment->size + (segment->file_offset - first))
            continue;
        *out_vaddr = segment->vaddr + (file_offset - segment->file_offset);
        return true;
    }
    return false;
}

size_t elf_file_read(struct elf_file *elf, uint64_t vaddr, void *out, size_t size)
{
    struct elf_position position;
    uint64_t skip;

    if (!elf_file_locate(elf, vaddr, &position))
        return 0;
    if (size > position.left)
        size = (size_t)position.left;
    if (size > ELF_WINDOW / 2)
        return elf_file_read_at(elf, position.file_offset, out, size);
    skip = position.file_offset - elf->window_at;
    if (position.file_offset < elf->window_at || skip >= elf->window_size ||
        elf->window_size - skip < size) {
        elf->window_at = position.file_offset;
        elf->window_size =
            elf_file_read_at(elf, position.file_offset, elf->window, sizeof elf->window);
        skip = 0;
    }
    if (size > elf->window_size - skip)
        size = elf->window_size - (size_t)skip;
    memcpy(out, elf->window + skip, size);
    return size;
}

enum ifg_status elf_file_load(struct elf_file *elf, const char *what, uint64_t vaddr, uint64_t size,
                              void **out_data, struct ifg_error *err)
{
    struct elf_position position;
    char *data;

    *out_data = NULL;
    if (!elf_file_locate(elf, vaddr, &position) || size > position.left)
        return ifg_fail(err, IFG_CORRUPT, "%s: its %s (%llu bytes at 0x%llx) are not in the file",
                        elf->name, what, (unsigned long long)size, (unsigned long long)vaddr);
    if (size > ELF_TABLE_MAX)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s: its %s take %llu bytes; at most %llu are read",
                        elf->name, what, (unsigned long long)size,
                        (unsigned long long)ELF_TABLE_MAX);
    data = ifg_alloc((size_t)size + 1, 1);
    if (!data)
        return ifg_fail_no_memory(err, "for the %s of %s", what, elf->name);
    if (elf_file_read_at(elf, position.file_offset, data, (size_t)size) != size) {
        ifg_free(data);
        return ifg_fail(err, IFG_CORRUPT, "%s: the file ends within its %s", elf->name, what);
    }
    *out_data = data;
    return IFG_OK;
}

static enum ifg_status read_header(struct elf_file *elf, Elf64_Ehdr *out_header,
                                   struct ifg_error *err)
{
    Elf64_Ehdr *header = out_header;

    if (elf_file_read_at(elf, 0, header, sizeof *header) != sizeof *header ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s is not an ELF file", elf->name);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s is not a little-endian ELF file of 64 bits",
                        elf->name);
    if (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s is for machine type %u; only x86-64 and arm64 can be read", elf->name,
                        header->e_machine);
    if (header->e_type != ET_DYN && header->e_type != ET_EXEC)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s is neither a library nor a program", elf->name);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || !header->e_phnum ||
        header->e_phnum > ELF_SEGMENTS_MAX)
        return ifg_fail(err, IFG_CORRUPT, "%s: %u program headers of %u bytes cannot be right",
                        elf->name, header->e_phnum, header->e_phentsize);
    elf->machine = header->e_machine == EM_X86_64 ? ELF_X86_64 : ELF_AARCH64;
    elf->fixed = header->e_type == ET_EXEC;
    return IFG_OK;
}

static void add_segment(struct elf_file *elf, const Elf64_Phdr *header)
{
    struct elf_segment *segment = &elf->segments[elf->segment_count];
    uint64_t size = header->p_filesz;

    if (header->p_offset >= elf->size)
        return;
    if (size > elf->size - header->p_offset)
        size = elf->size - header->p_offset; /* cut short: what is there can be used */
    if (!size || header->p_vaddr > UINT64_MAX - size)
        return;
    segment->vaddr = header->p_vaddr;
    segment->file_offset = header->p_offset;
    segment->size = size;
    segment->executable = header->p_flags & PF_X;
    elf->segment_count++;
}

static void set_build_id(struct elf_file *elf, const uint8_t *id, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        elf->build_id[2 * i] = digits[id[i] >> 4];
        elf->build_id[2 * i + 1] = digits[id[i] & 15];
    }
    elf->build_id[2 * size] = '\0';
}

static void search_notes(struct elf_file *elf, const uint8_t *notes, size_t size)
{
    size_t at = 0;

    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        size_t name, desc;

        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        if (note.n_namesz > NOTES_MAX || note.n_descsz > NOTES_MAX)
            return;
        name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || note.n_descsz > size - at - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz &&
            note.n_descsz <= (sizeof elf->build_id - 1) / 2) {
            set_build_id(elf, notes + at + name, note.n_descsz);
            return;
        }
        if (desc > size - at - name)
            return;
        at += name + desc;
    }
}

static enum ifg_status read_notes(struct elf_file *elf, const Elf64_Phdr *header,
                                  struct ifg_error *err)
{
    size_t size = header->p_filesz > NOTES_MAX ? NOTES_MAX : (size_t)header->p_filesz;
    uint8_t *notes = ifg_alloc(size + 1, 1);

    if (!notes)
        return ifg_fail_no_memory(err, "for the notes of %s", elf->name);
    search_notes(elf, notes, elf_file_read_at(elf, header->p_offset, notes, size));
    ifg_free(notes);
    return IFG_OK;
}

static uint64_t *dynamic_field(struct elf_dynamic *dynamic, int64_t tag)
{
    switch (tag) {
    case DT_STRTAB:
        return &dynamic->strings;
    case DT_STRSZ:
        return &dynamic->strings_size;
    case DT_SYMTAB:
        return &dynamic->symbols;
    case DT_SYMENT:
        return &dynamic->symbol_size;
    case DT_HASH:
        return &dynamic->hash;
    case DT_GNU_HASH:
        return &dynamic->gnu_hash;
    case DT_RELA:
        return &dynamic->rela;
    case DT_RELASZ:
        return &dynamic->rela_size;
    case DT_RELAENT:
        return &dynamic->rela_entry;
    case DT_JMPREL:
        return &dynamic->jump_rela;
    case DT_PLTRELSZ:
        return &dynamic->jump_rela_size;
    case 36: /* DT_RELR; older headers lack the names */
        return &dynamic->relr;
    case 35: /* DT_RELRSZ */
        return &dynamic->relr_size;
    case DT_VERSYM:
        return &dynamic->versions;
    case DT_VERDEF:
        return &dynamic->version_names;
    case DT_VERDEFNUM:
        return &dynamic->version_name_count;
    default:
        return NULL;
    }
}

static void read_dynamic(struct elf_file *elf, const Elf64_Phdr *header)
{
    uint64_t count = header->p_filesz / sizeof(Elf64_Dyn);

    if (count > DYNAMIC_ENTRIES)
        count = DYNAMIC_ENTRIES;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *field;
        Elf64_Dyn entry;

        if (header->p_offset > (uint64_t)INT64_MAX - i * sizeof entry ||
            elf_file_read_at(elf, header->p_offset + i * sizeof entry, &entry, sizeof entry) !=
                sizeof entry ||
            entry.d_tag == DT_NULL)
            return;
        field = dynamic_field(&elf->dynamic, entry.d_tag);
        if (field)
            *field = entry.d_un.d_val;
    }
}

static enum ifg_status read_structure(struct elf_file *elf, struct ifg_error *err)
{
    Elf64_Phdr headers[ELF_SEGMENTS_MAX];
    Elf64_Ehdr header;
    enum ifg_status status = read_header(elf, &header, err);
    size_t size;

    if (status)
        return status;
    size = header.e_phnum * sizeof *headers;
    if (elf_file_read_at(elf, header.e_phoff, headers, size) != size)
        return ifg_fail(err, IFG_CORRUPT, "%s: the file ends within its program headers",
                        elf->name);
    for (unsigned i = 0; i < header.e_phnum && !status; i++) {
        if (headers[i].p_type == PT_LOAD)
            add_segment(elf, &headers[i]);
        else if (headers[i].p_type == PT_DYNAMIC)
            read_dynamic(elf, &headers[i]);
        else if (headers[i].p_type == PT_GNU_EH_FRAME)
            elf->unwind_index = headers[i].p_vaddr;
        else if (headers[i].p_type == PT_NOTE && !elf->build_id[0])
            status = read_notes(elf, &headers[i], err);
    }
    return status;
}

/* Takes over fd, also when it fails. */
static enum ifg_status open_owned(int fd, const char *name, struct elf_file **out_elf,
                                  struct ifg_error *err)
{
    struct elf_file *elf = ifg_alloc(1, sizeof *elf);
    enum ifg_status status;
    struct stat info;

    if (!elf) {
        close(fd);
        return ifg_fail_no_memory(err, "to read %s", name);
    }
    elf->fd = fd;
    snprintf(elf->name, sizeof elf->name, "%s", name);
    if (fstat(fd, &info))
        status = ifg_fail_errno(err, "%s cannot be examined", elf->name);
    else if (!S_ISREG(info.st_mode))
        status = ifg_fail(err, IFG_UNSUPPORTED, "%s is not a regular file", elf->name);
    else {
        elf->size = (uint64_t)info.st_size;
        status = read_structure(elf, err);
    }
    if (status) {
        elf_file_close(elf);
        return status;
    }
    *out_elf = elf;
    return IFG_OK;
}

enum ifg_status elf_file_open(const char *path, struct elf_file **out_elf, struct ifg_error *err)
{
    /* Not blocking: the path may be a pipe that somebody put there. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    *out_elf = NULL;
    if (fd < 0)
        return ifg_fail_errno(err, "%s cannot be opened", path);
    return open_owned(fd, path, out_elf, err);
}

enum ifg_status elf_file_open_fd(int fd, const char *name, struct elf_file **out_elf,
                                 struct ifg_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    *out_elf = NULL;
    if (copy < 0)
        return ifg_fail_errno(err, "%s cannot be read", name);
    return open_owned(copy, name, out_elf, err);
}

void elf_file_close(struct elf_file *elf)
{
    if (!elf)
        return;
    close(elf->fd);
    ifg_free(elf->symbols);
    ifg_free(elf->strings);
    ifg_free(elf->versions);
    ifg_free(elf->relocations);
    ifg_free(elf);
}

const char *elf_file_name(const struct elf_file *elf)
{
    return elf->name;
}

enum elf_machine elf_file_machine(const struct elf_file *elf)
{
    return elf->machine;
}

bool elf_file_has_fixed_address(const struct elf_file *elf)
{
    return elf->fixed;
}

int elf_file_descriptor(const struct elf_file *elf)
{
    return elf->fd;
}

bool elf_file_unwind_index(const struct elf_file *elf, uint64_t *out_address)
{
    *out_address = elf->unwind_index;
    return elf->unwind_index != 0;
}

const char *elf_file_build_id(const struct elf_file *elf)
{
    return elf->build_id;
}
