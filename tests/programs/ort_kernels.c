// SPDX-License-Identifier: Apache-2.0
/*
 * A debugger for one question: which nodes does a program run? It stands in for probes of the
 * kernel, and knows nothing but what it is told.
 *
 *   ort_kernels LIBRARY OFFSET ARGUMENT [NAMES-ARGUMENT O1 O2 O3 O4 O5] -- COMMAND...
 *
 * Sets a breakpoint at OFFSET of LIBRARY as soon as COMMAND has loaded it. Each time the function
 * returns, prints "INDEX NAME TYPE" on descriptor 3: the argument, and the texts that the way of
 * offsets leads to. Watches one thread. Exit status: that of COMMAND; 3 if it cannot be watched.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH_MAX   64
#define BREAKPOINTS 16
#define TEXT        512

#ifdef __x86_64__

static pid_t pid;
static FILE *out;
static struct {
    uint64_t offset;
    unsigned argument;
    unsigned names_argument;
    uint64_t names[5];
} told;

/* Breakpoints: the function, then the places it returns to. */
static struct {
    uint64_t address;
    long saved;
} breakpoints[BREAKPOINTS];
static size_t breakpoint_count;

static struct {
    uint64_t stack;
    uint64_t index;
    char name[TEXT];
    char type[TEXT];
} open_calls[DEPTH_MAX];
static size_t depth;

static void give_up(const char *why)
{
    fprintf(stderr, "ort_kernels: %s\n", why);
    exit(3);
}

static uint64_t peek(uint64_t address)
{
    uint64_t value = 0;
    struct iovec here = { &value, sizeof value };
    struct iovec there = { (void *)(uintptr_t)address, sizeof value };

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof value ? value : 0;
}

static void peek_text(uint64_t address, char *text)
{
    size_t used = 0;

    for (; used + 1 < TEXT; used++) {
        struct iovec here = { text + used, 1 };
        struct iovec there = { (void *)(uintptr_t)(address + used), 1 };

        if (process_vm_readv(pid, &here, 1, &there, 1, 0) != 1 || !text[used])
            break;
    }
    text[used] = '\0';
}

static uint64_t argument_of(const struct user_regs_struct *regs, unsigned number)
{
    const uint64_t arguments[] = {
        0, regs->rdi, regs->rsi, regs->rdx, regs->rcx, regs->r8, regs->r9
    };

    return arguments[number];
}

static void set_breakpoint(uint64_t address)
{
    for (size_t i = 0; i < breakpoint_count; i++)
        if (breakpoints[i].address == address)
            return;
    if (breakpoint_count == BREAKPOINTS)
        give_up("it is called from too many places");
    breakpoints[breakpoint_count].address = address;
    breakpoints[breakpoint_count].saved = ptrace(PTRACE_PEEKTEXT, pid, address, NULL);
    ptrace(PTRACE_POKETEXT, pid, address, (breakpoints[breakpoint_count].saved & ~0xffL) | 0xcc);
    breakpoint_count++;
}

static void on_enter(const struct user_regs_struct *regs)
{
    uint64_t at = argument_of(regs, told.names_argument);

    if (depth == DEPTH_MAX)
        give_up("too deep");
    open_calls[depth].stack = regs->rsp + 8;
    open_calls[depth].index = argument_of(regs, told.argument);
    if (told.names_argument) {
        at = peek(peek(peek(at + told.names[0]) + told.names[1]) + told.names[2]);
        at = peek(at + 8 * open_calls[depth].index);
        peek_text(peek(at + told.names[3]), open_calls[depth].name);
        peek_text(peek(at + told.names[4]), open_calls[depth].type);
    }
    depth++;
    set_breakpoint(peek(regs->rsp));
}

static void on_return(const struct user_regs_struct *regs)
{
    if (!depth || open_calls[depth - 1].stack != regs->rsp)
        return;
    depth--;
    fprintf(out, "%" PRIu64 " %s %s\n", open_calls[depth].index, open_calls[depth].name,
            open_calls[depth].type);
}

/* Executes what stood there, then sets the breakpoint again. */
static void step_over(size_t i, struct user_regs_struct *regs)
{
    int status;

    regs->rip = breakpoints[i].address;
    ptrace(PTRACE_SETREGS, pid, NULL, regs);
    ptrace(PTRACE_POKETEXT, pid, breakpoints[i].address, breakpoints[i].saved);
    ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        give_up("it ended in a step");
    ptrace(PTRACE_POKETEXT, pid, breakpoints[i].address, (breakpoints[i].saved & ~0xffL) | 0xcc);
}

static void on_trap(void)
{
    struct user_regs_struct regs;

    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    for (size_t i = 0; i < breakpoint_count; i++) {
        if (breakpoints[i].address != regs.rip - 1)
            continue;
        if (i == 0)
            on_enter(&regs);
        else
            on_return(&regs);
        step_over(i, &regs);
        return;
    }
}

/* The function's address, or 0 while the library is not mapped. */
static uint64_t find_function(const struct stat *library)
{
    char path[64], line[4096];
    uint64_t found = 0;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *at = line;
        uint64_t start = strtoull(at, &at, 16);
        uint64_t end = strtoull(at + 1, &at, 16);
        char executable = at[3];
        uint64_t offset = strtoull(at + 6, &at, 16);

        while (*at && *at != '/' && *at != '\n')
            if (*at++ == ' ' && strtoull(at, NULL, 10) == library->st_ino && executable == 'x' &&
                told.offset >= offset && told.offset < offset + (end - start))
                found = start + (told.offset - offset);
    }
    if (maps)
        fclose(maps);
    return found;
}

/* Goes from system call to system call until the library is there. */
static int wait_for_library(const struct stat *library)
{
    int status;

    for (;;) {
        struct user_regs_struct regs;
        uint64_t function = 0;

        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return status;
        ptrace(PTRACE_GETREGS, pid, NULL, &regs);
        if (WSTOPSIG(status) == (SIGTRAP | 0x80) && regs.orig_rax == SYS_mmap)
            function = find_function(library);
        if (function) {
            set_breakpoint(function);
            ptrace(PTRACE_CONT, pid, NULL, 0);
            return -1;
        }
        ptrace(PTRACE_SYSCALL, pid, NULL,
               WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == (SIGTRAP | 0x80)
                   ? 0
                   : WSTOPSIG(status));
    }
}

static int watch(const char *library)
{
    struct stat found;
    int status;

    if (stat(library, &found) < 0)
        give_up("no such library");
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        give_up("the program cannot be started");
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_SYSCALL, pid, NULL, 0);
    status = wait_for_library(&found);
    while (status < 0 || WIFSTOPPED(status)) {
        if (waitpid(pid, &status, 0) != pid)
            give_up("it is gone");
        if (!WIFSTOPPED(status))
            break;
        if (WSTOPSIG(status) == SIGTRAP)
            on_trap();
        ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char **argv)
{
    int command = 4;

    if (argc < 6)
        return 3;
    told.offset = strtoull(argv[2], NULL, 0);
    told.argument = (unsigned)strtoul(argv[3], NULL, 10);
    if (strcmp(argv[4], "--") != 0 && argc > 11) {
        told.names_argument = (unsigned)strtoul(argv[4], NULL, 10);
        for (int i = 0; i < 5; i++)
            told.names[i] = strtoull(argv[5 + i], NULL, 10);
        command = 10;
    }
    if (told.argument < 1 || told.argument > 6 || told.names_argument > 6)
        return 3;
    out = fdopen(3, "w");
    if (!out)
        give_up("descriptor 3 is not open");
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[command + 1], argv + command + 1);
        _exit(3);
    }
    return watch(argv[1]);
}

#else

int main(void)
{
    fprintf(stderr, "ort_kernels: x86-64 only\n");
    return 3;
}

#endif
