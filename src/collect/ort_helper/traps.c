// SPDX-License-Identifier: Apache-2.0
/* Breakpoints of a process on its own code: see traps.h. */
#include "collect/ort_helper/traps.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define TRAP_BYTES 1
static const uint8_t trap_code[TRAP_BYTES] = { 0xcc }; /* int3: the program counter is behind it */
#define TRAP_LENGTH_SEEN 1
#elif defined(__aarch64__)
#define TRAP_BYTES       4
static const uint8_t trap_code[TRAP_BYTES] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
#define TRAP_LENGTH_SEEN 0
#endif

static struct {
    uintptr_t function;
    uint8_t saved[8];
    volatile sig_atomic_t is_set;
} traps[TRAPS_MAX];
static size_t trap_count;
static traps_entered *on_entry;

#ifdef TRAP_BYTES

static uintptr_t program_counter(const ucontext_t *context)
{
#ifdef __x86_64__
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static void set_program_counter(ucontext_t *context, uintptr_t pc)
{
#ifdef __x86_64__
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
#else
    context->uc_mcontext.pc = pc;
#endif
}

static void arguments_of(const ucontext_t *context, uint64_t out[TRAPS_ARGUMENTS])
{
#ifdef __x86_64__
    static const int registers[TRAPS_ARGUMENTS] = { REG_RDI, REG_RSI, REG_RDX,
                                                    REG_RCX, REG_R8,  REG_R9 };

    for (size_t i = 0; i < TRAPS_ARGUMENTS; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[registers[i]];
#else
    for (size_t i = 0; i < TRAPS_ARGUMENTS; i++)
        out[i] = context->uc_mcontext.regs[i];
#endif
}

static void write_code(uintptr_t function, const uint8_t *code)
{
    char *start = (char *)function;

    memcpy(start, code, TRAP_BYTES);
    __builtin___clear_cache(start, start + TRAP_BYTES);
}

static void take_away(size_t i)
{
    if (!traps[i].is_set)
        return;
    write_code(traps[i].function, traps[i].saved);
    traps[i].is_set = 0;
}

static void on_trap(int number, siginfo_t *info, void *user)
{
    ucontext_t *context = user;
    uintptr_t pc = program_counter(context) - TRAP_LENGTH_SEEN;
    uint64_t arguments[TRAPS_ARGUMENTS];

    (void)info;
    for (size_t i = 0; i < trap_count; i++) {
        if (traps[i].function != pc || !traps[i].is_set)
            continue;
        take_away(i);
        arguments_of(context, arguments);
        set_program_counter(context, pc);
        on_entry(pc, arguments);
        return;
    }
    signal(number, SIG_DFL); /* not ours: it happens again, and ends this process */
}

const char *traps_init(traps_entered *entered)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };

    action.sa_sigaction = on_trap;
    sigemptyset(&action.sa_mask);
    on_entry = entered;
    return sigaction(SIGTRAP, &action, NULL) ? "SIGTRAP cannot be handled" : NULL;
}

void traps_add(uintptr_t function)
{
    for (size_t i = 0; i < trap_count; i++)
        if (traps[i].function == function)
            return;
    if (trap_count < TRAPS_MAX)
        traps[trap_count++].function = function;
}

void traps_forget(void)
{
    for (size_t i = 0; i < trap_count; i++)
        take_away(i);
    trap_count = 0;
}

const char *traps_set(void)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < trap_count; i++) {
        uintptr_t first = traps[i].function / page_bytes * page_bytes;
        uintptr_t end = traps[i].function + TRAP_BYTES;

        if (traps[i].is_set)
            continue;
        if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE | PROT_EXEC))
            return "this system does not let a process write to its own code";
        memcpy(traps[i].saved, (const void *)traps[i].function, TRAP_BYTES);
        traps[i].is_set = 1;
        write_code(traps[i].function, trap_code);
    }
    return NULL;
}

#else

const char *traps_init(traps_entered *entered)
{
    on_entry = entered;
    return "breakpoints are known for x86-64 and aarch64 only";
}

void traps_add(uintptr_t function)
{
    (void)function;
}

void traps_forget(void)
{
    trap_count = 0;
}

const char *traps_set(void)
{
    return "breakpoints are known for x86-64 and aarch64 only";
}

#endif
