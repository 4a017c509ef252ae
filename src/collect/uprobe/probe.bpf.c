// SPDX-License-Identifier: Apache-2.0
/*
 * What runs in the kernel when a probe is hit: two programs for all probes. The cookie of a probe
 * tells them what to take along.
 *
 * The kernel lets only programs under the GPL read the memory of a process. This one file may
 * therefore be used under the GNU General Public License, version 2, as well.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "collect/uprobe/record_internal.h"

char probe_license[] SEC("license") = "Dual BSD/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 22);
} events SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PROBE_THREADS);
    __type(key, __u32);
    __type(value, struct call_stack);
} stacks SEC(".maps");

/* Texts of open calls, by thread and depth. The oldest makes room for a new one. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64);
    __type(value, struct probe_text);
} texts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PROBE_NAMESPACES);
    __type(key, __u32);
    __type(value, struct probe_namespace);
} namespaces SEC(".maps");

/* Who may be watched, by process number; only with settings.only_permitted. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PROBE_PROCESSES);
    __type(key, __u32);
    __type(value, __u32);
} permitted SEC(".maps");

const volatile struct probe_settings settings SEC(".rodata.settings") = { 0 };
struct probe_counts counts SEC(".bss.counts") = { 0 };

static const struct call_stack no_calls = { 0 };
static const struct probe_text no_text = { 0 };

/* Registers of the process as the kernel shows them to programs; part of its interface. */
#if defined(PROBE_X86_64)
struct registers {
    __u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    __u64 rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
};
#define RESULT(regs)   ((regs)->rax)
#define ENTRY_SP(regs) ((regs)->rsp)
#define LEAVE_SP(regs) ((regs)->rsp - 8) /* what it was at the entry: the address is popped */
#elif defined(PROBE_AARCH64)
struct registers {
    __u64 x[31], sp, pc, pstate;
};
#define RESULT(regs)   ((regs)->x[0])
#define ENTRY_SP(regs) ((regs)->sp)
#define LEAVE_SP(regs) ((regs)->sp)
#else
#error "which registers hold the arguments?"
#endif

static __always_inline void take_arguments(struct call_frame *frame, struct registers *regs)
{
#if defined(PROBE_X86_64)
    frame->arguments[0] = regs->rdi;
    frame->arguments[1] = regs->rsi;
    frame->arguments[2] = regs->rdx;
    frame->arguments[3] = regs->rcx;
    frame->arguments[4] = regs->r8;
    frame->arguments[5] = regs->r9;
#else
    frame->arguments[0] = regs->x[0];
    frame->arguments[1] = regs->x[1];
    frame->arguments[2] = regs->x[2];
    frame->arguments[3] = regs->x[3];
    frame->arguments[4] = regs->x[4];
    frame->arguments[5] = regs->x[5];
#endif
}

/* Argument 1 to 6. Volatile: a choice of values, not of addresses, which the verifier refuses. */
static __always_inline __u64 argument(const struct call_frame *frame, __u32 number)
{
    const volatile __u64 *arguments = frame->arguments;
    __u64 value = 0;

    for (__u32 i = 0; i < CALL_ARGUMENTS; i++) {
        __u64 candidate = arguments[i];

        if (number == i + 1)
            value = candidate;
    }
    return value;
}

static __always_inline __u64 wake_flag(void)
{
    if (!settings.wake_bytes)
        return 0;
    return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= settings.wake_bytes
               ? BPF_RB_FORCE_WAKEUP
               : BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_ids(struct probe_record *record, __u64 cookie)
{
    __u64 ids = bpf_get_current_pid_tgid();
    __u32 index = COOKIE_NAMESPACE(cookie);
    const struct probe_namespace *space;
    struct bpf_pidns_info own = { 0 };

    record->pid = (__u32)(ids >> 32);
    record->tid = (__u32)ids;
    if (index == NAMESPACE_INITIAL) {
        record->own_pid = record->pid;
        record->own_tid = record->tid;
        return;
    }
    space = bpf_map_lookup_elem(&namespaces, &index);
    if (space)
        bpf_get_ns_current_pid_tgid(space->device, space->inode, &own, sizeof own);
    record->own_pid = own.tgid;
    record->own_tid = own.pid;
}

static __always_inline void fill(struct probe_record *record, const struct call_frame *frame,
                                 __u32 kind, __u32 depth)
{
    record->cookie = frame->cookie;
    record->start_ns = frame->start_ns;
    record->end_ns = 0;
    record->result = 0;
    record->out_word = 0;
    record->out_status = 0;
    record->text_status = 0;
    record->kind = kind;
    record->depth = depth;
    for (int i = 0; i < CALL_ARGUMENTS; i++)
        record->arguments[i] = frame->arguments[i];
    fill_ids(record, frame->cookie);
}

static __always_inline void fill_end(struct probe_record *record, const struct call_frame *frame,
                                     struct registers *regs, __u64 end_ns)
{
    __u32 out = COOKIE_OUT(frame->cookie);
    __u64 word = 0;

    record->end_ns = end_ns;
    record->result = RESULT(regs);
    if (!out)
        return;
    record->out_status =
        (__s32)bpf_probe_read_user(&word, sizeof word, (const void *)argument(frame, out));
    record->out_word = word;
}

/* regs: of the return, with kind PROBE_CALL; otherwise not used. */
static __always_inline void emit(const struct call_frame *frame, __u32 kind, __u32 depth,
                                 struct registers *regs, __u64 end_ns,
                                 const struct probe_text *text)
{
    struct probe_record *record;

    if (COOKIE_TEXT(frame->cookie)) {
        struct probe_text_record *large = bpf_ringbuf_reserve(&events, sizeof *large, 0);

        if (!large)
            goto full;
        record = &large->head;
        fill(record, frame, kind, depth);
        record->text_status = text ? (__s32)text->status : -1;
        if (text)
            __builtin_memcpy(large->text, text->bytes, sizeof large->text);
        if (kind == PROBE_CALL)
            fill_end(record, frame, regs, end_ns);
        bpf_ringbuf_submit(large, wake_flag());
        return;
    }
    record = bpf_ringbuf_reserve(&events, sizeof *record, 0);
    if (!record)
        goto full;
    fill(record, frame, kind, depth);
    if (kind == PROBE_CALL)
        fill_end(record, frame, regs, end_ns);
    bpf_ringbuf_submit(record, wake_flag());
    return;
full:
    __sync_fetch_and_add(&counts.ring_full, 1);
}

static __always_inline void read_text(struct probe_text *text, __u64 address, __u64 cookie)
{
    __u64 behind = 0;

    if (cookie & COOKIE_TEXT_BEHIND) {
        bpf_probe_read_user(&behind, sizeof behind, (const void *)address);
        address = behind;
    }
    text->status = bpf_probe_read_user_str(text->bytes, sizeof text->bytes, (const void *)address);
}

static __always_inline struct probe_text *take_text(__u64 key, __u64 address, __u64 cookie)
{
    struct probe_text *text;

    bpf_map_update_elem(&texts, &key, &no_text, BPF_ANY);
    text = bpf_map_lookup_elem(&texts, &key);
    if (text)
        read_text(text, address, cookie);
    return text;
}

static __always_inline struct call_stack *stack_of(__u64 ids)
{
    __u32 tid = (__u32)ids;
    __u32 pid = (__u32)(ids >> 32);
    struct call_stack *stack = bpf_map_lookup_elem(&stacks, &tid);

    if (!stack) {
        bpf_map_update_elem(&stacks, &tid, &no_calls, BPF_ANY);
        stack = bpf_map_lookup_elem(&stacks, &tid);
        if (!stack) {
            __sync_fetch_and_add(&counts.too_many, 1);
            return 0;
        }
        __sync_fetch_and_add(&counts.stacks_made, 1);
    }
    if (stack->pid != pid) { /* the number of a thread that is long gone */
        stack->pid = pid;
        stack->depth = 0;
    }
    return stack;
}

/* The number of this process where the recorder lives; 0: it has none there. */
static __always_inline __u32 own_process(void)
{
    struct bpf_pidns_info own = { 0 };

    if (!settings.inode)
        return (__u32)(bpf_get_current_pid_tgid() >> 32);
    if (bpf_get_ns_current_pid_tgid(settings.device, settings.inode, &own, sizeof own))
        return 0;
    return own.tgid;
}

static __always_inline int is_permitted(void)
{
    __u32 process = settings.only_permitted ? own_process() : 0;
    const __u32 *state;

    if (!settings.only_permitted)
        return 1;
    state = process ? bpf_map_lookup_elem(&permitted, &process) : 0;
    return state && *state == PROBE_PERMITTED;
}

/*
 * A probe stays in a process that executes another program, which may have rights that the
 * recorder's user lacks. This runs before the first instruction of the new program: it is not
 * permitted until somebody has asked again.
 */
SEC("raw_tp/sched_process_exec")
int process_execs(void *context)
{
    __u32 process = own_process();

    (void)context;
    if (process && bpf_map_delete_elem(&permitted, &process) == 0)
        __sync_fetch_and_add(&counts.executed, 1);
    return 0;
}

SEC("uprobe")
int probe_point(struct registers *regs)
{
    __u64 ids = bpf_get_current_pid_tgid();
    __u32 tid = (__u32)ids;
    __u64 cookie = bpf_get_attach_cookie(regs);
    struct call_stack *stack = bpf_map_lookup_elem(&stacks, &tid);
    struct probe_text *text = 0;
    struct call_frame frame = { .cookie = cookie };
    __u64 key = (__u64)tid << 32 | 0xffffffff;

    if (!is_permitted())
        return 0;
    take_arguments(&frame, regs);
    if (COOKIE_TEXT(cookie))
        text = take_text(key, argument(&frame, COOKIE_TEXT(cookie)), cookie);
    frame.start_ns = bpf_ktime_get_ns();
    emit(&frame, PROBE_POINT, stack && stack->pid == ids >> 32 ? stack->depth : 0, regs, 0, text);
    return 0;
}

SEC("uprobe")
int probe_enter(struct registers *regs)
{
    __u64 ids = bpf_get_current_pid_tgid();
    __u64 cookie = bpf_get_attach_cookie(regs);
    struct call_stack *stack = is_permitted() ? stack_of(ids) : 0;
    struct probe_text *text = 0;
    struct call_frame *frame;
    __u32 depth;

    if (!stack)
        return 0;
    frame = call_enter(stack, cookie, ENTRY_SP(regs));
    if (!frame) {
        __sync_fetch_and_add(&counts.too_deep, 1);
        return 0;
    }
    depth = stack->depth - 1;
    take_arguments(frame, regs);
    if (COOKIE_TEXT(cookie))
        text = take_text(ids << 32 | depth, argument(frame, COOKIE_TEXT(cookie)), cookie);
    /* As late as possible: what we do here is not the function's time. */
    frame->start_ns = bpf_ktime_get_ns();
    if (cookie & COOKIE_OPEN)
        emit(frame, PROBE_BEGIN, depth, regs, 0, text);
    return 0;
}

SEC("uprobe")
int probe_leave(struct registers *regs)
{
    __u64 end_ns = bpf_ktime_get_ns();
    __u64 ids = bpf_get_current_pid_tgid();
    __u32 tid = (__u32)ids;
    struct call_stack *stack = bpf_map_lookup_elem(&stacks, &tid);
    struct probe_text *text = 0;
    struct call_frame *frame;
    __u32 depth = 0;
    __u64 key;

    if (!stack || stack->pid != ids >> 32 || !is_permitted())
        return 0;
    frame = call_leave(stack, bpf_get_attach_cookie(regs), LEAVE_SP(regs), &depth);
    if (!frame)
        return 0;
    key = ids << 32 | depth;
    if (COOKIE_TEXT(frame->cookie))
        text = bpf_map_lookup_elem(&texts, &key);
    /* Memory that nobody had touched cannot be read here; whoever was called has touched it. */
    if (text && text->status < 0)
        read_text(text, argument(frame, COOKIE_TEXT(frame->cookie)), frame->cookie);
    emit(frame, PROBE_CALL, depth, regs, end_ns, text);
    if (text)
        bpf_map_delete_elem(&texts, &key);
    return 0;
}
