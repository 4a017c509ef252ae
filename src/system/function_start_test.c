// SPDX-License-Identifier: Apache-2.0
/* Where functions begin: in this program, in the C library, and in files that are none. */
#include "system/function_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

struct position {
    const void *address;
    char path[4096];
    uint64_t offset;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *user)
{
    struct position *position = user;
    uintptr_t wanted = (uintptr_t)position->address;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD || wanted < begin || wanted - begin >= segment->p_filesz)
            continue;
        position->offset = wanted - begin + segment->p_offset;
        snprintf(position->path, sizeof position->path, "%s",
                 info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
        return 1;
    }
    return 0;
}

static void a_function_of_the_c_library(void)
{
    struct position position = { .address = dlsym(RTLD_DEFAULT, "fopen") };
    int fd;

    REQUIRE(position.address && dl_iterate_phdr(find_segment, &position) == 1);
    fd = open(position.path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(function_start_is(fd, position.offset));
    for (uint64_t i = 1; i < 12; i++)
        CHECK(!function_start_is(fd, position.offset + i));
    close(fd);
}

/* Anywhere in a file of one's own; in others' only where they begin. */
static void whose_file_it_is_decides(void)
{
    struct position position = { .address = dlsym(RTLD_DEFAULT, "fopen") };
    int status = -1;
    pid_t child;

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    REQUIRE(position.address && dl_iterate_phdr(find_segment, &position) == 1);
    child = fork();
    if (child == 0) {
        int fd = open(position.path, O_RDONLY | O_CLOEXEC);

        if (setuid(61234) < 0 || !function_start_may_be_probed(fd, position.offset))
            _exit(1);
        for (uint64_t i = 1; i < 12; i++)
            if (i != 4 && function_start_may_be_probed(fd, position.offset + i))
                _exit(2);
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    {
        int fd = open(position.path, O_RDONLY | O_CLOEXEC); /* root's own */

        CHECK(function_start_may_be_probed(fd, position.offset + 1));
        close(fd);
    }
}

/* Every byte of the head of an ELF file, wrong in turn: an answer, and no crash. */
static void damaged_files_have_none(void)
{
    static unsigned char bytes[65536];
    struct position position = { .address = (const void *)(uintptr_t)&damaged_files_have_none };
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("elf", MFD_CLOEXEC);
    ssize_t size;

    REQUIRE(from >= 0 && fd >= 0 && dl_iterate_phdr(find_segment, &position) == 1);
    size = read(from, bytes, sizeof bytes);
    REQUIRE(size > 1024);
    for (size_t length = 0; length < 1024; length += 7) {
        REQUIRE_INT(ftruncate(fd, 0), 0);
        REQUIRE_INT(pwrite(fd, bytes, length, 0), (ssize_t)length);
        CHECK(!function_start_is(fd, position.offset));
    }
    REQUIRE_INT(pwrite(fd, bytes, (size_t)size, 0), size);
    for (size_t i = 0; i < 1024; i++) {
        unsigned char wrong = (unsigned char)~bytes[i];
        bool answer;

        REQUIRE_INT(pwrite(fd, &wrong, 1, (off_t)i), 1);
        answer = function_start_is(fd, position.offset) || function_start_is(fd, UINT64_MAX);
        (void)answer;
        REQUIRE_INT(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
    }
    close(fd);
    close(from);
}

TAP_MAIN(TAP_CASE(a_function_of_the_c_library), TAP_CASE(whose_file_it_is_decides),
         TAP_CASE(damaged_files_have_none))
