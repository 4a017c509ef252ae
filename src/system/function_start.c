// SPDX-License-Identifier: Apache-2.0
/* Where functions begin, by .eh_frame_hdr: see function_start.h. The file is hostile. */
#include "system/function_start.h"

#include <elf.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 128
#define ENTRIES_MAX  (1u << 24)

/* Encodings of DWARF pointers in the header that every linker writes. */
#define FOUR_BYTES_OF_HERE   0x1b /* signed, relative to their own place */
#define FOUR_BYTES           0x03
#define FOUR_BYTES_OF_HEADER 0x3b

struct header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame;
    uint32_t count;
};

struct entry {
    int32_t start; /* relative to the header */
    int32_t frame;
};

struct image {
    int fd;
    bool found_code, found_table;
    uint64_t address;       /* of the place */
    uint64_t table_offset;  /* of .eh_frame_hdr in the file */
    uint64_t table_address; /* and in memory */
};

static bool get(int fd, void *out, size_t size, uint64_t offset)
{
    return offset <= (uint64_t)LONG_MAX - size &&
           pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

static bool read_segments(struct image *image, uint64_t offset)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;

    if (!get(image->fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof segment ||
        head.e_phnum > SEGMENTS_MAX)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (head.e_phoff > (uint64_t)LONG_MAX / 2 ||
            !get(image->fd, &segment, sizeof segment, head.e_phoff + i * sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X && offset >= segment.p_offset &&
            offset - segment.p_offset < segment.p_filesz && !image->found_code) {
            image->address = segment.p_vaddr + (offset - segment.p_offset);
            image->found_code = true;
        }
        if (segment.p_type == PT_GNU_EH_FRAME && !image->found_table) {
            image->table_offset = segment.p_offset;
            image->table_address = segment.p_vaddr;
            image->found_table = true;
        }
    }
    return image->found_code && image->found_table;
}

bool function_start_is(int fd, uint64_t offset)
{
    struct image image = { .fd = fd };
    struct header header;
    uint32_t low = 0, high;

    if (!read_segments(&image, offset) || !get(fd, &header, sizeof header, image.table_offset) ||
        header.version != 1 || header.frame_encoding != FOUR_BYTES_OF_HERE ||
        header.count_encoding != FOUR_BYTES || header.table_encoding != FOUR_BYTES_OF_HEADER ||
        header.count > ENTRIES_MAX)
        return false;
    high = header.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct entry entry;
        uint64_t start;

        if (!get(fd, &entry, sizeof entry,
                 image.table_offset + sizeof header + (uint64_t)middle * sizeof entry))
            return false;
        start = image.table_address + (uint64_t)(int64_t)entry.start;
        if (start == image.address)
            return true;
        if (start < image.address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* endbr64 or, on arm64, bti c: the first instruction where others may jump to. */
static bool is_landing_pad(int fd, uint64_t offset)
{
#if defined(__x86_64__)
    static const unsigned char pad[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
#else
    static const unsigned char pad[4] = { 0x5f, 0x24, 0x03, 0xd5 };
#endif
    unsigned char bytes[sizeof pad];

    return get(fd, bytes, sizeof bytes, offset) && memcmp(bytes, pad, sizeof pad) == 0;
}

bool function_start_may_be_probed(int fd, uint64_t offset)
{
    struct stat file;

    if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
        return false;
    if (file.st_uid == getuid() || function_start_is(fd, offset))
        return true;
    return offset >= 4 && is_landing_pad(fd, offset - 4) && function_start_is(fd, offset - 4);
}
