// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: files of any content as the program to be started: ELF headers, segments,
 * dynamic tables and strings that point anywhere, scripts for interpreters of any name, and for
 * themselves.
 * Probing must end, stay inside its buffers and give one of its verdicts.
 */
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct program program;
    char reason[256];
    char path[64];

    if (fd < 0)
        fd = memfd_create("program", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    memset(&program, 0xee, sizeof program);
    program_probe(path, &program);
    if (program.kind > PROGRAM_CAPABILITIES ||
        strnlen(program.path, sizeof program.path) == sizeof program.path ||
        strlen(program_reason(&program, reason, sizeof reason)) >= sizeof reason)
        abort();
    return 0;
}
