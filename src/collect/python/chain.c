// SPDX-License-Identifier: Apache-2.0
/* Loading the program that reads chains of Python calls, and emptying its ring: see chain.h. */
#include "collect/python/chain.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "system/process_folder.h"
#include "system/rights.h"

#define INITIAL_PID_NAMESPACE 0xeffffffcu /* its inode: part of the kernel's interface */

/* The compiled program: generated from chain.bpf.c. */
extern const unsigned char chain_program_file[];
extern const size_t chain_program_file_size;

struct chain {
    struct bpf_object *object;
    int program, processes;
    struct ring_buffer *ring;
    const struct chain_cost *cost; /* in the kernel's memory */
    chain_seen *seen;
    void *user;
};

static int on_record(void *opaque, void *data, size_t size)
{
    struct chain *chain = opaque;
    const struct chain_record *record = data;

    if (size >= CHAIN_HEAD && record->count <= CHAIN_FRAMES &&
        size >= CHAIN_HEAD + record->count * sizeof record->frames[0] && chain->seen)
        chain->seen(record, chain->user);
    return 0;
}

static enum ifg_status refused(int error, struct ifg_error *err)
{
    if (error == EPERM || error == EACCES)
        return ifg_fail(err, IFG_PERMISSION, "root or CAP_BPF and CAP_PERFMON are needed");
    if (error == ESRCH || error == ENOENT)
        return ifg_fail(err, IFG_UNSUPPORTED, "this kernel does not describe its types (BTF)");
    return ifg_fail(err, IFG_UNSUPPORTED, "this kernel refuses the program that reads them: %s",
                    strerror(error));
}

/* Of the two forms of the program the one for this kernel. */
static bool choose_program(struct chain *chain, struct bpf_program **out_program)
{
    bool loops = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
    struct bpf_program *with = bpf_object__find_program_by_name(chain->object, "chain_sample");
    struct bpf_program *old = bpf_object__find_program_by_name(chain->object, "chain_sample_old");

    *out_program = loops ? with : old;
    return with && old && bpf_program__set_autoload(loops ? old : with, false) == 0;
}

static bool set_namespace(struct chain *chain)
{
    struct bpf_map *map = bpf_object__find_map_by_name(chain->object, ".rodata.settings");
    struct chain_settings settings = { 0 };
    struct stat own;

    if (process_entry(PROCESS_SELF, "ns/pid", &own) && own.st_ino != INITIAL_PID_NAMESPACE) {
        /* The kernel compares with its own form of a device number. */
        settings.device = (uint64_t)major(own.st_dev) << 20 | minor(own.st_dev);
        settings.inode = own.st_ino;
    }
    return map && bpf_map__set_initial_value(map, &settings, sizeof settings) == 0;
}

static enum ifg_status load(struct chain *chain, struct ifg_error *err)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "inferogram");
    struct bpf_program *program;
    struct bpf_map *cost;
    void *memory;
    bool chosen;
    int failed;

    chain->object = bpf_object__open_mem(chain_program_file, chain_program_file_size, &options);
    if (!chain->object)
        return ifg_fail_errno(err, "the BPF program of this build is damaged");
    rights_raise();
    chosen = choose_program(chain, &program);
    failed = chosen && set_namespace(chain) ? bpf_object__load(chain->object) : -EINVAL;
    if (!failed)
        chain->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(chain->object, "chains"),
                                       on_record, chain, NULL);
    rights_lower();
    if (failed)
        return refused(-failed, err);
    chain->program = bpf_program__fd(program);
    chain->processes = bpf_object__find_map_fd_by_name(chain->object, "processes");
    cost = bpf_object__find_map_by_name(chain->object, ".bss.cost");
    memory = cost ? mmap(NULL, sizeof *chain->cost, PROT_READ, MAP_SHARED, bpf_map__fd(cost), 0)
                  : MAP_FAILED;
    chain->cost = memory == MAP_FAILED ? NULL : memory;
    if (!chain->ring || !chain->cost || chain->processes < 0 || chain->program < 0)
        return ifg_fail_errno(err, "cannot map the ring of a BPF program");
    return IFG_OK;
}

enum ifg_status chain_open(struct chain **out_chain, struct ifg_error *err)
{
    struct chain *chain = ifg_alloc(1, sizeof *chain);
    enum ifg_status status;

    *out_chain = NULL;
    if (!chain)
        return ifg_fail_no_memory(err, NULL);
    libbpf_set_print(NULL);
    status = load(chain, err);
    if (status)
        chain_close(chain);
    else
        *out_chain = chain;
    return status;
}

void chain_close(struct chain *chain)
{
    if (!chain)
        return;
    ring_buffer__free(chain->ring);
    if (chain->cost)
        munmap((void *)(uintptr_t)chain->cost, sizeof *chain->cost);
    bpf_object__close(chain->object);
    ifg_free(chain);
}

int chain_program(const struct chain *chain)
{
    return chain->program;
}

bool chain_put(struct chain *chain, uint32_t pid, const struct chain_process *process)
{
    int failed;

    rights_raise();
    failed = bpf_map_update_elem(chain->processes, &pid, process, BPF_ANY);
    rights_lower();
    return !failed;
}

void chain_drop(struct chain *chain, uint32_t pid)
{
    rights_raise();
    bpf_map_delete_elem(chain->processes, &pid);
    rights_lower();
}

void chain_read(struct chain *chain, chain_seen *seen, void *user)
{
    chain->seen = seen;
    chain->user = user;
    ring_buffer__consume(chain->ring);
    chain->seen = NULL;
}

void chain_costs(const struct chain *chain, struct chain_cost *out_cost)
{
    out_cost->chains = __atomic_load_n(&chain->cost->chains, __ATOMIC_RELAXED);
    out_cost->ns = __atomic_load_n(&chain->cost->ns, __ATOMIC_RELAXED);
    out_cost->lost = __atomic_load_n(&chain->cost->lost, __ATOMIC_RELAXED);
}
