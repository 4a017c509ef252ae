// SPDX-License-Identifier: Apache-2.0
/*
 * Borrowing a thread by ptrace. See ptrace.h.
 *
 * The thread is stopped in its system call, and the frame of a signal is laid on its stack: all of
 * its registers, with the return address that leads to rt_sigreturn. It is exactly as if a signal
 * handler were called, except that the handler is the function that we want. At its end we wait at
 * the entry of rt_sigreturn, and do better than it: we put back what we saved, the floating point
 * state in full and the system call as one that was only stopped (rt_sigreturn would make some of
 * them fail with EINTR). If we are gone by then, rt_sigreturn does it.
 *
 * Signals are held back while the function runs, and come when the thread is back.
 */
#include "record/ptrace_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"

#if defined(__x86_64__)

#include <elf.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MS             1000000ull
#define STOP_NS        (500 * MS)
#define CALL_NS        (5000 * MS)
#define CALL_SLOWLY_NS (30000 * MS) /* on a slow disk, say: it still moves */
#define PAUSE_NS       100000
#define SEARCH_NS      3000000

#define RED_ZONE       128u
#define XSTATE_BYTES   32768u
#define FXSAVE_BYTES   512u
#define FXSAVE_UNUSED  464u /* from here on: says that more follows, which is not so */
#define RESTORER_ENTRY 9u   /* bytes of the restorer's code up to behind its syscall */
#define FLAG_DIRECTION 0x400u
#define FLAG_TRAP      0x100u
#define UC_WITH_SS     6u   /* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
#define NO_ALTSTACK    0x7f /* no valid flags: leave the alternate stack as it is */

/* The kernel's own, seen by tracers only. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

#define FAULTS                                                                                     \
    ((1ull << (SIGSEGV - 1)) | (1ull << (SIGBUS - 1)) | (1ull << (SIGILL - 1)) |                   \
     (1ull << (SIGFPE - 1)))

enum where {
    IN_ITS_CALL, /* stopped in the system call that it waited in */
    AT_RETURN,   /* at the entry of rt_sigreturn */
    ASTRAY,      /* somewhere in the function, which will not be finished */
};

struct ptrace_thread {
    pid_t tid;
    enum where where;
    uint64_t restorer;
    uint64_t frame;
    uint64_t kept_signals; /* came while the function ran, and could not be held back */
    struct user_regs_struct saved;
    uint64_t mask;
    size_t xstate_bytes;
    unsigned char xstate[XSTATE_BYTES];
};

static long trace(int request, pid_t tid, uintptr_t address, uintptr_t data)
{
    return syscall(SYS_ptrace, request, tid, address, data);
}

static void observe(const struct ptrace *remote, enum ptrace_phase phase)
{
    if (remote->observer)
        remote->observer(phase, remote->user);
}

/* ---- waiting ---- */

enum news { NEWS_STOPPED, NEWS_GONE, NEWS_LATE };

static enum news await(pid_t tid, uint64_t deadline_ns, int *out_status)
{
    const struct timespec pause = { 0, PAUSE_NS };

    for (unsigned i = 0;; i++) {
        pid_t got = waitpid(tid, out_status, WNOHANG | __WALL);

        if (got == tid && WIFSTOPPED(*out_status))
            return NEWS_STOPPED;
        if (got == tid || (got < 0 && errno != EINTR))
            return NEWS_GONE;
        if (ifg_monotonic_ns() >= deadline_ns)
            return NEWS_LATE;
        if (i < 100)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Until the stop that PTRACE_INTERRUPT asked for; signals that come first are passed on. A stop by
 * job control counts, if it may. */
static bool await_interrupt(pid_t tid, bool may_be_job_control)
{
    uint64_t deadline = ifg_monotonic_ns() + STOP_NS;
    int status;

    while (await(tid, deadline, &status) == NEWS_STOPPED) {
        int number = WSTOPSIG(status) & 0x7f;

        if (is_event_stop(status))
            return may_be_job_control || number == SIGTRAP;
        if (WSTOPSIG(status) & 0x80)
            number = 0; /* entry or exit of a system call */
        if (trace(PTRACE_CONT, tid, 0, (uintptr_t)number) < 0)
            return false;
    }
    return false;
}

/* ---- taking a thread ---- */

static bool get_registers(pid_t tid, struct user_regs_struct *out)
{
    return trace(PTRACE_GETREGS, tid, 0, (uintptr_t)out) == 0;
}

static bool save(struct ptrace_thread *thread)
{
    struct iovec xstate = { thread->xstate, sizeof thread->xstate };

    if (!get_registers(thread->tid, &thread->saved) ||
        trace(PTRACE_GETREGSET, thread->tid, NT_X86_XSTATE, (uintptr_t)&xstate) < 0 ||
        xstate.iov_len < FXSAVE_BYTES || xstate.iov_len == sizeof thread->xstate ||
        trace(PTRACE_GETSIGMASK, thread->tid, sizeof thread->mask, (uintptr_t)&thread->mask) < 0)
        return false;
    thread->xstate_bytes = xstate.iov_len;
    return true;
}

struct search {
    struct ptrace *remote;
    struct ptrace_thread *thread;
    int refused; /* errno */
};

/* Stops it, and looks again: it may have gone on meanwhile. */
static bool take(pid_t tid, void *user)
{
    struct search *search = user;
    struct ptrace_thread *thread = search->thread;
    const struct user_regs_struct *saved = &thread->saved;

    thread->tid = tid;
    if (trace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0) {
        search->refused = errno;
        return false;
    }
    if (trace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && await_interrupt(tid, false) && save(thread) &&
        (long long)saved->orig_rax >= 0 && saved->cs == 0x33 &&
        ptrace_is_safe_call(search->remote, (long)saved->orig_rax, saved->rdi, saved->rip) &&
        ptrace_has_stack(search->remote, saved->rsp))
        return true;
    if (trace(PTRACE_DETACH, tid, 0, 0) < 0) { /* it is not stopped */
        trace(PTRACE_INTERRUPT, tid, 0, 0);
        if (await_interrupt(tid, true))
            trace(PTRACE_DETACH, tid, 0, 0);
    }
    return false;
}

static enum ifg_status no_thread(const struct ptrace *remote, const struct search *search,
                                 const struct ptrace_crowd *crowd, struct ifg_error *err)
{
    if (search->refused == EPERM)
        return ptrace_explain_rights(remote->pid, err);
    if (!crowd->threads)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)remote->pid);
    return ifg_fail(err, IFG_BUSY,
                    "no thread of process %d (it has %u) was seen waiting for input or sleeping: "
                    "%u ran, %u waited for locks, %u had too little stack; only there can a "
                    "library be loaded without harm. Try again when it is less busy, or start it "
                    "under us: inferogram record -- CMD",
                    (int)remote->pid, crowd->threads, crowd->running, crowd->waiting_for_locks,
                    crowd->small_stacks);
}

enum ifg_status ptrace_borrow(struct ptrace *remote, uint64_t restorer, unsigned wait_ms,
                              struct ifg_error *err)
{
    const struct timespec pause = { 0, SEARCH_NS };
    uint64_t deadline = ifg_monotonic_ns() + wait_ms * MS;
    struct search search = { .remote = remote };
    struct ptrace_crowd crowd;

    search.thread = ifg_alloc(1, sizeof *search.thread);
    if (!search.thread)
        return ifg_fail_no_memory(err, NULL);
    search.thread->restorer = restorer;
    while (!ptrace_find_waiting(remote, take, &search, &crowd)) {
        if (search.refused == EPERM || !crowd.threads || ifg_monotonic_ns() >= deadline) {
            enum ifg_status status = no_thread(remote, &search, &crowd, err);

            ifg_free(search.thread);
            return status;
        }
        nanosleep(&pause, NULL);
    }
    search.thread->where = IN_ITS_CALL;
    remote->thread = search.thread;
    observe(remote, PTRACE_STOPPED);
    return IFG_OK;
}

/* ---- the frame ---- */

/* As kernel and C library lay it out; only the first word of the mask counts. */
struct frame {
    uint64_t return_address;
    ucontext_t context;
};

/* What the system call would have returned to a program that a handler interrupted. */
static void fill_system_call(const struct user_regs_struct *saved, greg_t *registers)
{
    switch (-(long long)saved->rax) {
    case ERESTARTSYS:
    case ERESTARTNOINTR:
    case ERESTARTNOHAND:
        registers[REG_RAX] = (greg_t)saved->orig_rax;
        registers[REG_RIP] = (greg_t)saved->rip - 2;
        break;
    case ERESTART_RESTARTBLOCK:
        registers[REG_RAX] = -EINTR;
        break;
    }
}

static void fill_context(const struct ptrace_thread *thread, uint64_t fxsave, ucontext_t *out)
{
    const struct user_regs_struct *saved = &thread->saved;
    greg_t *registers = out->uc_mcontext.gregs;
    const unsigned long long values[][2] = {
        { REG_R8, saved->r8 },   { REG_R9, saved->r9 },   { REG_R10, saved->r10 },
        { REG_R11, saved->r11 }, { REG_R12, saved->r12 }, { REG_R13, saved->r13 },
        { REG_R14, saved->r14 }, { REG_R15, saved->r15 }, { REG_RDI, saved->rdi },
        { REG_RSI, saved->rsi }, { REG_RBP, saved->rbp }, { REG_RBX, saved->rbx },
        { REG_RDX, saved->rdx }, { REG_RAX, saved->rax }, { REG_RCX, saved->rcx },
        { REG_RSP, saved->rsp }, { REG_RIP, saved->rip }, { REG_EFL, saved->eflags },
    };

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        registers[values[i][0]] = (greg_t)values[i][1];
    registers[REG_CSGSFS] = (greg_t)(saved->cs | saved->ss << 48);
    fill_system_call(saved, registers);
    out->uc_flags = UC_WITH_SS;
    out->uc_stack.ss_flags = NO_ALTSTACK;
    memcpy(&out->uc_mcontext.fpregs, &fxsave, sizeof fxsave);
    memcpy(&out->uc_sigmask, &thread->mask, sizeof thread->mask);
}

/* Below the thread's stack, from its top: floating point state, text, frame. Sets *out_text. */
static bool write_frame(const struct ptrace *remote, const char *text, uint64_t *out_text)
{
    struct ptrace_thread *thread = remote->thread;
    size_t text_bytes = text ? strlen(text) + 1 : 0;
    uint64_t fxsave = (thread->saved.rsp - RED_ZONE - FXSAVE_BYTES) & ~63ull;
    unsigned char fx[FXSAVE_BYTES];
    struct frame frame = { .return_address = thread->restorer };

    memcpy(fx, thread->xstate, FXSAVE_UNUSED);
    memset(fx + FXSAVE_UNUSED, 0, sizeof fx - FXSAVE_UNUSED);
    fill_context(thread, fxsave, &frame.context);
    *out_text = fxsave - text_bytes;
    thread->frame = ((*out_text - sizeof frame) & ~15ull) - 8; /* as after a call */
    return pwrite(remote->memory, fx, sizeof fx, (off_t)fxsave) == (ssize_t)sizeof fx &&
           (!text ||
            pwrite(remote->memory, text, text_bytes, (off_t)*out_text) == (ssize_t)text_bytes) &&
           pwrite(remote->memory, &frame, sizeof frame, (off_t)thread->frame) ==
               (ssize_t)sizeof frame;
}

/* ---- the call ---- */

static bool is_at_return(const struct ptrace_thread *thread, const struct user_regs_struct *now)
{
    return now->orig_rax == SYS_rt_sigreturn && now->rip == thread->restorer + RESTORER_ENTRY &&
           now->rsp == thread->frame + 8;
}

/* A signal that was not held back: a fault of the function itself, or one that somebody sent. True:
 * go on with *number (0: without it). */
static bool meet_signal(struct ptrace_thread *thread, int *number)
{
    siginfo_t info;

    if (*number == SIGSTOP || *number == SIGTSTP || *number == SIGTTIN || *number == SIGTTOU)
        return true; /* stops the process; this thread stops when it is back */
    if (trace(PTRACE_GETSIGINFO, thread->tid, 0, (uintptr_t)&info) == 0 && info.si_code > 0)
        return false;
    if (*number >= 1 && *number <= 64)
        thread->kept_signals |= 1ull << (*number - 1);
    *number = 0;
    return true;
}

static enum ifg_status stuck(const struct ptrace *remote, struct ifg_error *err)
{
    return ifg_fail(err, IFG_BUSY,
                    "a call in process %d did not come to an end within 5 s: another thread holds "
                    "a lock that it needs. It was given up, and the program goes on; try again",
                    (int)remote->pid);
}

/* Follows the function to its end. */
static enum ifg_status follow(struct ptrace *remote, struct ifg_error *err)
{
    struct ptrace_thread *thread = remote->thread;
    uint64_t start = ifg_monotonic_ns();
    uint64_t deadline = start + CALL_NS;
    struct user_regs_struct now;
    bool told = false;
    int number = 0;
    int status = 0;

    for (;;) {
        enum news news;

        if (trace(PTRACE_SYSCALL, thread->tid, 0, (uintptr_t)number) < 0 && errno == ESRCH)
            break;
        number = 0;
        news = await(thread->tid, deadline, &status);
        if (news == NEWS_GONE)
            break;
        if (news == NEWS_LATE) {
            trace(PTRACE_INTERRUPT, thread->tid, 0, 0);
            if (!await_interrupt(thread->tid, true) || !get_registers(thread->tid, &now) ||
                now.orig_rax == SYS_futex || ifg_monotonic_ns() - start > CALL_SLOWLY_NS)
                return stuck(remote, err);
            deadline += CALL_NS;
            continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            if (!get_registers(thread->tid, &now))
                break;
            if (is_at_return(thread, &now)) {
                thread->where = AT_RETURN;
                observe(remote, PTRACE_RETURNED);
                return IFG_OK;
            }
            if (!told)
                observe(remote, PTRACE_INSIDE);
            told = true;
        } else if (!is_event_stop(status)) {
            number = WSTOPSIG(status);
            if (!meet_signal(thread, &number))
                return ifg_fail(err, IFG_INTERNAL,
                                "a call in process %d failed with signal %d; it was given up, and "
                                "the program goes on",
                                (int)remote->pid, number);
        }
    }
    return ifg_fail(err, IFG_NOT_FOUND, "process %d ended meanwhile", (int)remote->pid);
}

enum ifg_status ptrace_call(struct ptrace *remote, uint64_t function, const char *text,
                            uint64_t number, struct ifg_error *err)
{
    struct ptrace_thread *thread = remote->thread;
    struct user_regs_struct call = thread->saved;
    uint64_t mask = ~FAULTS;
    uint64_t text_at;

    if (!write_frame(remote, text, &text_at)) {
        char byte;

        if (pread(remote->memory, &byte, 1, (off_t)thread->saved.rsp) == 0) /* no memory at all */
            return ifg_fail(err, IFG_NOT_FOUND, "process %d ended meanwhile", (int)remote->pid);
        return ifg_fail(err, IFG_BUSY,
                        "process %d has no room on the stack of the thread that was to load the "
                        "library; try again",
                        (int)remote->pid);
    }
    call.rip = function;
    call.rsp = thread->frame;
    call.rdi = text ? text_at : 0;
    call.rsi = number;
    call.rax = 0;
    call.orig_rax = (unsigned long long)-1; /* in no system call */
    call.eflags &= ~(unsigned long long)(FLAG_DIRECTION | FLAG_TRAP);
    /* In this order: from the first step on, the thread finds back by itself. */
    if (trace(PTRACE_SETREGS, thread->tid, 0, (uintptr_t)&call) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d ended meanwhile", (int)remote->pid);
    thread->where = ASTRAY;
    trace(PTRACE_SETSIGMASK, thread->tid, sizeof mask, (uintptr_t)&mask);
    observe(remote, PTRACE_CALLING);
    return follow(remote, err);
}

/* ---- back ---- */

/* The kernel continues a stopped system call only from a stop like the first one. The restorer is
 * begun once more, and stopped before it does anything. */
static bool go_to_stop(struct ptrace_thread *thread)
{
    struct user_regs_struct now;

    if (!get_registers(thread->tid, &now))
        return false;
    now.rip = thread->restorer;
    now.orig_rax = (unsigned long long)-1;
    return trace(PTRACE_SETREGS, thread->tid, 0, (uintptr_t)&now) == 0 &&
           trace(PTRACE_INTERRUPT, thread->tid, 0, 0) == 0 &&
           trace(PTRACE_CONT, thread->tid, 0, 0) == 0 && await_interrupt(thread->tid, true);
}

static void restore(struct ptrace_thread *thread)
{
    struct iovec xstate = { thread->xstate, thread->xstate_bytes };

    /* What the kernel had remembered of its wait may be lost: another wait was given up. */
    if (thread->where == ASTRAY && -(long long)thread->saved.rax == ERESTART_RESTARTBLOCK)
        thread->saved.rax = (unsigned long long)-EINTR;
    trace(PTRACE_SETREGSET, thread->tid, NT_X86_XSTATE, (uintptr_t)&xstate);
    trace(PTRACE_SETSIGMASK, thread->tid, sizeof thread->mask, (uintptr_t)&thread->mask);
    trace(PTRACE_SETREGS, thread->tid, 0, (uintptr_t)&thread->saved);
}

void ptrace_give_back(struct ptrace *remote)
{
    struct ptrace_thread *thread = remote->thread;

    if (!thread)
        return;
    if (thread->where == ASTRAY || (thread->where == AT_RETURN && go_to_stop(thread)))
        restore(thread);
    observe(remote, PTRACE_RESTORED);
    for (int number = 1; number <= 64; number++)
        if (thread->kept_signals >> (number - 1) & 1)
            syscall(SYS_tgkill, remote->pid, thread->tid, number);
    trace(PTRACE_DETACH, thread->tid, 0, 0);
    ifg_free(thread);
    remote->thread = NULL;
}

#else /* other machines */

enum ifg_status ptrace_borrow(struct ptrace *remote, uint64_t restorer, unsigned wait_ms,
                              struct ifg_error *err)
{
    (void)remote, (void)restorer, (void)wait_ms;
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "libraries can be loaded into running programs only on x86-64; start the "
                    "program under us instead: inferogram record -- CMD");
}

enum ifg_status ptrace_call(struct ptrace *remote, uint64_t function, const char *text,
                            uint64_t number, struct ifg_error *err)
{
    (void)function, (void)text;
    return ptrace_borrow(remote, 0, (unsigned)number, err);
}

void ptrace_give_back(struct ptrace *remote)
{
    (void)remote;
}

#endif
