// SPDX-License-Identifier: Apache-2.0
/*
 * Runs with each sample, while the sampled thread stands still: follows the chain of calls that the
 * Python interpreter keeps for it. That is the only moment at which the chain can be read and be
 * true; a moment later it is another one.
 *
 * The kernel lets only programs under the GPL read the memory of a process. This one file may
 * therefore be used under the GNU General Public License, version 2, as well.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "collect/python/chain_record.h"

#define NOT_AGAIN_NS 50000000ull /* a thread that Python did not know is not looked for so long */

char chain_license[] SEC("license") = "Dual BSD/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 22);
} chains SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CHAIN_PROCESSES);
    __type(key, __u32);
    __type(value, struct chain_process);
} processes SEC(".maps");

/* Threads of native pools, and when they were looked for. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32);
    __type(value, __u64);
} strangers SEC(".maps");

struct work {
    struct chain_record record;
    __u8 blob[CHAIN_BLOB]; /* of a frame */
    __u8 code[CHAIN_BLOB];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct work);
} works SEC(".maps");

const volatile struct chain_settings settings SEC(".rodata.settings") = { 0 };
struct chain_cost cost SEC(".bss.cost") = { 0 };

/* Where the kernel keeps what pthread_self() gives. */
#if defined(PROBE_X86_64)
struct thread_struct {
    unsigned long fsbase;
} __attribute__((preserve_access_index));
#define SELF(task)  BPF_CORE_READ(task, thread.fsbase)
#define IP(context) ((context)->regs.rip)
#elif defined(PROBE_AARCH64)
struct thread_words {
    unsigned long tp_value;
} __attribute__((preserve_access_index));
struct thread_struct {
    struct thread_words uw;
} __attribute__((preserve_access_index));
#define SELF(task)  BPF_CORE_READ(task, thread.uw.tp_value)
#define IP(context) ((context)->regs.pc)
#endif
struct task_struct {
    struct thread_struct thread;
} __attribute__((preserve_access_index));

static __always_inline __u64 word(__u64 address)
{
    __u64 value = 0;

    if (bpf_probe_read_user(&value, sizeof value, (const void *)address))
        return 0;
    return value;
}

/* Looking for a thread's state: done when `thread` is it, or 0. */
struct search {
    const struct chain_process *process;
    __u64 self;
    __u64 thread;
};

static long look_at_thread(__u32 index, void *opaque)
{
    struct search *search = opaque;

    (void)index;
    if (!search->thread || word(search->thread + search->process->thread_id) == search->self)
        return 1;
    search->thread = word(search->thread + search->process->thread_next);
    return 0;
}

static __always_inline __u64 blob_word(const struct work *work, __u32 offset)
{
    return *(const __u64 *)&work->blob[offset & (CHAIN_BLOB - 8)];
}

static __always_inline __u32 half_word(const struct work *work, __u32 offset)
{
    return *(const __u32 *)&work->code[offset & (CHAIN_BLOB - 4)];
}

/* Of a frame that was not begun, or memory that is none: 0. */
static __always_inline __u32 print_of(const struct chain_process *process, struct work *work,
                                      __u64 code)
{
    __u64 file, name, own;

    if (bpf_probe_read_user(work->code, CHAIN_CODE, (const void *)(code + process->code_from)))
        return 0;
    file =
        *(const __u64 *)&work->code[(process->code_file - process->code_from) & (CHAIN_BLOB - 8)];
    name =
        *(const __u64 *)&work->code[(process->code_name - process->code_from) & (CHAIN_BLOB - 8)];
    own = process->code_version ? half_word(work, process->code_version - process->code_from)
                                : word(name + process->text_hash);
    return chain_print(half_word(work, process->code_line - process->code_from), file, name, own);
}

struct walk {
    const struct chain_process *process;
    struct work *work;
    __u64 frame;
    __u32 count;
};

static long take_frame(__u32 index, void *opaque)
{
    struct walk *walk = opaque;
    const struct chain_process *process = walk->process;
    struct work *work = walk->work;
    struct chain_frame *out;

    if (!walk->frame || index >= CHAIN_FRAMES)
        return 1;
    /* Behind the last frame of a piece of memory may be nothing. */
    if (bpf_probe_read_user(work->blob, CHAIN_BLOB, (const void *)walk->frame) &&
        bpf_probe_read_user(work->blob, CHAIN_FRAME_LEAST, (const void *)walk->frame))
        return 1;
    asm volatile("" : "+r"(index)); /* else the compiler leaves out what the kernel wants to see */
    out = &work->record.frames[index & (CHAIN_FRAMES - 1)];
    out->code = blob_word(work, process->frame_code);
    out->instruction = blob_word(work, process->frame_instruction);
    if (process->instruction_bits == 32)
        out->instruction &= 0xffffffffu;
    out->owner = process->frame_owner ? work->blob[process->frame_owner & (CHAIN_BLOB - 1)] : 0;
    out->print = 0;
    if (process->shim_owner && out->owner >= process->shim_owner)
        out->code = walk->frame;
    else
        out->print = print_of(process, work, out->code & ~3ull);
    walk->frame = blob_word(work, process->frame_previous);
    walk->count = index + 1;
    return 0;
}

/* `loops`: this kernel has bpf_loop (5.17), and need not think through each turn of a loop. */
static __always_inline int sample(struct bpf_perf_event_data *context, int loops)
{
    __u64 ids = bpf_get_current_pid_tgid();
    __u32 pid = (__u32)(ids >> 32), tid = (__u32)ids, zero = 0;
    struct bpf_pidns_info own = { 0 };
    __u64 now = bpf_ktime_get_ns();
    struct search search = { 0 };
    struct walk walk = { 0 };
    struct task_struct *task;
    const __u64 *when;

    if (settings.inode) {
        if (bpf_get_ns_current_pid_tgid(settings.device, settings.inode, &own, sizeof own))
            return 1;
        pid = own.tgid;
        tid = own.pid;
    }
    search.process = walk.process = bpf_map_lookup_elem(&processes, &pid);
    walk.work = bpf_map_lookup_elem(&works, &zero);
    if (!search.process || !walk.process || !walk.work)
        return 1;
    when = bpf_map_lookup_elem(&strangers, &tid);
    if (when && now - *when < NOT_AGAIN_NS)
        return 1;
    task = (struct task_struct *)bpf_get_current_task();
    search.self = SELF(task);
    search.thread = word(search.process->threads);
    if (loops)
        bpf_loop(CHAIN_THREADS, look_at_thread, &search, 0);
    else
        for (__u32 i = 0; i < CHAIN_THREADS_OLD && !look_at_thread(i, &search); i++)
            ;
    if (!search.thread || word(search.thread + search.process->thread_id) != search.self) {
        bpf_map_update_elem(&strangers, &tid, &now, BPF_ANY);
        return 1;
    }
    walk.frame = word(search.thread + search.process->thread_frame);
    if (search.process->thread_indirect && walk.frame)
        walk.frame = word(walk.frame + search.process->indirect_frame);
    walk.work->record.time_ns = now;
    walk.work->record.ip = IP(context);
    walk.work->record.pid = pid;
    walk.work->record.tid = tid;
    if (loops)
        bpf_loop(CHAIN_FRAMES, take_frame, &walk, 0);
    else
        for (__u32 i = 0; i < CHAIN_FRAMES_OLD && !take_frame(i, &walk); i++)
            ;
    if (walk.count > CHAIN_FRAMES)
        return 1;
    walk.work->record.flags = walk.frame ? 0 : CHAIN_WHOLE;
    walk.work->record.count = walk.count;
    if (bpf_ringbuf_output(&chains, &walk.work->record,
                           CHAIN_HEAD + walk.count * sizeof(struct chain_frame), BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&cost.lost, 1);
    __sync_fetch_and_add(&cost.chains, 1);
    __sync_fetch_and_add(&cost.ns, bpf_ktime_get_ns() - now);
    return 1; /* the kernel takes its sample */
}

SEC("perf_event")
int chain_sample(struct bpf_perf_event_data *context)
{
    return sample(context, 1);
}

SEC("perf_event")
int chain_sample_old(struct bpf_perf_event_data *context)
{
    return sample(context, 0);
}
