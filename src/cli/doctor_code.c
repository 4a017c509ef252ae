// SPDX-License-Identifier: Apache-2.0
/* What samples are explained with: symbols of programs and of the kernel, and their code. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/small_file.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "symbol/disassemble.h"
#include "symbol/names.h"
#include "system/process_folder.h"

/* ---- names of programs ---- */

/* In a child: libdw reads files that are not ours, and may die of them. */
static int find_own_name(char *out, size_t size)
{
    struct names_location locations[NAMES_INLINED_MAX];
    struct elf_file *elf = NULL;
    struct names *names = NULL;
    uint64_t start;
    uint64_t length;
    Dl_info here;
    int fd = process_open_program(PROCESS_SELF);

    if (fd < 0 || elf_file_open_fd(fd, "this program", &elf, NULL) ||
        names_open(fd, elf, NULL, &names, NULL))
        return 1;
    if (!dladdr((void *)(uintptr_t)&doctor_disassembler, &here))
        return 0;
    if (names_find(names, (uint64_t)((uintptr_t)&doctor_disassembler - (uintptr_t)here.dli_fbase),
                   &start, &length, locations))
        snprintf(out, size, "%s%s", locations[0].function,
                 *locations[0].file ? " with its line" : "");
    return 0;
}

void doctor_symbols(struct doctor_finding *out)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    char found[96] = "";
    int ends[2];
    int status = -1;
    pid_t child;
    ssize_t got;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        doctor_say(out, DOCTOR_NO, "%s", strerror(errno));
        return;
    }
    child = fork();
    if (child == 0) {
        unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched to find out what works */
        status = find_own_name(found, sizeof found);
        _exit(write(ends[1], found, strlen(found)) < 0 || status);
    }
    close(ends[1]);
    got = read(ends[0], found, sizeof found - 1);
    found[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    if (child <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        doctor_say(out, DOCTOR_NO, "libdw could not read this very program");
        return;
    }
    doctor_say(
        out, DOCTOR_WORKS, "libdw%s%s; debug information from %s", *found ? " found " : "", found,
        servers && *servers ? "DEBUGINFOD_URLS" : "this machine only (DEBUGINFOD_URLS is not set)");
}

/* ---- names of the kernel ---- */

/* Whether the list of the kernel's functions says where they are. */
static bool addresses_are_shown(void)
{
    char line[256];
    FILE *file = fopen("/proc/kallsyms", "re");
    bool shown = false;

    for (unsigned i = 0; file && !shown && i < 64 && fgets(line, sizeof line, file); i++)
        shown = strtoull(line, NULL, 16) != 0;
    if (file)
        fclose(file);
    return shown;
}

void doctor_kernel_names(struct doctor_finding *out)
{
    uint64_t restricted = ifg_read_number("/proc/sys/kernel/kptr_restrict");
    struct perf_error_facts facts;

    perf_error_read_facts(&facts);
    if (access("/proc/kallsyms", F_OK) < 0) {
        doctor_say(out, DOCTOR_ABSENT, "this kernel has no list of its functions (kallsyms)");
    } else if (addresses_are_shown()) {
        doctor_say(out, DOCTOR_WORKS, "%s", "");
    } else if (restricted != IFG_NO_NUMBER && restricted > 0) {
        doctor_say(out, DOCTOR_NO, "kptr_restrict is %" PRIu64, restricted);
        doctor_fix(out, "sudo sysctl kernel.kptr_restrict=0%s",
                   !facts.root && facts.paranoid > 1 ? " kernel.perf_event_paranoid=1" : "");
    } else if (!facts.root && facts.paranoid > 1) {
        doctor_say(out, DOCTOR_NO, "perf_event_paranoid is %d", facts.paranoid);
        doctor_fix(out, "sudo sysctl kernel.perf_event_paranoid=1");
    } else {
        doctor_say(out, DOCTOR_NO, "/proc/kallsyms hides the addresses, as in containers");
    }
}

/* ---- libraries without a file ---- */

/* A child that maps a file without a name, like a library that was deleted after it was loaded. */
static pid_t make_keeper(int *out_keeper, uintptr_t *out_address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("inferogram-doctor", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    int ends[2] = { -1, -1 };
    int told[2] = { -1, -1 };
    pid_t child = -1;
    char byte = 0;

    *out_keeper = -1;
    if (fd >= 0 && ftruncate(fd, (off_t)page) == 0)
        memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    *out_address = (uintptr_t)memory;
    if (memory != MAP_FAILED && pipe2(ends, O_CLOEXEC) == 0 && pipe2(told, O_CLOEXEC) == 0)
        child = fork();
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 1); /* as programs are; a file with capabilities is not */
        close(ends[1]);
        _exit(write(told[1], &byte, 1) < 0 || read(ends[0], &byte, 1) != 0);
    }
    if (told[1] >= 0)
        close(told[1]);
    if (child > 0 && read(told[0], &byte, 1) != 1)
        *out_address = 0; /* it ended at once */
    if (told[0] >= 0)
        close(told[0]);
    if (ends[0] >= 0)
        close(ends[0]);
    *out_keeper = ends[1];
    if (memory != MAP_FAILED)
        munmap(memory, page);
    return child;
}

void doctor_deleted_libraries(struct doctor_finding *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t address;
    char path[96];
    char byte;
    int keeper;
    pid_t child = make_keeper(&keeper, &address);
    struct iovec here = { &byte, 1 };
    struct iovec there = { NULL, 1 };
    bool memory;
    int fd;

    if (child <= 0) {
        doctor_say(out, DOCTOR_NO, "no process could be made to try it with");
        if (keeper >= 0)
            close(keeper);
        return;
    }
    there.iov_base = (void *)address;
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIxPTR "-%" PRIxPTR, (int)child, address,
             address + page);
    memory = process_vm_readv(child, &here, 1, &there, 1, 0) == 1;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        doctor_say(out, DOCTOR_WORKS, "read whole, like those in memory only (memfd)");
        close(fd);
    } else if (errno == EPERM || errno == EACCES) {
        doctor_say(out, DOCTOR_NO,
                   memory ? "only what is in the program's memory of them is read: exported names, "
                            "no lines; for their files, record with sudo"
                          : "neither their files nor the program's memory may be read");
    } else {
        doctor_say(out, DOCTOR_NO, "%s: %s", "/proc/PID/map_files", strerror(errno));
    }
    if (keeper >= 0)
        close(keeper); /* the child ends */
    waitpid(child, NULL, 0);
}

/* ---- code ---- */

void doctor_disassembler(struct doctor_finding *out)
{
    struct disassembled instruction;
    struct utsname system;

    if (uname(&system) < 0 || !disassemble_knows(system.machine))
        doctor_say(out, DOCTOR_ABSENT, "annotate shows source lines; code of %s is not read",
                   system.machine);
    else if (disassemble((const uint8_t *)(uintptr_t)&doctor_disassembler, 16, 0, &instruction))
        doctor_say(out, DOCTOR_WORKS, "Zydis, for x86-64");
    else
        doctor_say(out, DOCTOR_NO, "an instruction of this very program was not understood");
}
