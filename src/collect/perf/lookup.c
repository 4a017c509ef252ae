// SPDX-License-Identifier: Apache-2.0
/*
 * See lookup.h. The child writes a stream of answers: varint frame, start, size, number of
 * locations; of each location flags, line, function, file. Before the frames of a module come a 0
 * and its number. The parent reads it as hostile bytes: the child has read hostile files.
 */
#include "collect/perf/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "symbol/names.h"
#include "system/process_status.h"
#include "system/rights.h"

#define ANSWER_MAX   ((size_t)512 << 20)
#define TELL_BYTES   ((size_t)64 << 10)  /* the child writes when it has so much */
#define MEMORY_MAX   ((uint64_t)8 << 30) /* of a child, with the files that it maps */
#define STALL_NS     8000000000ull       /* it says nothing for so long, and hardly runs: a pipe? */
#define STALL_CPU_NS 500000000ull
#define CHILDREN_MAX 256u /* that end early, in all */

#define KERNEL UINT32_MAX /* the owner of the kernel's code: nothing is opened by a foreign name */

/* What one child has to do. */
struct task {
    const struct modules *modules;
    const struct trace_frame *frames;
    size_t count;
    const bool *used; /* by number of the module: it has frames */
    uint32_t owner;
    size_t from; /* the first module */
};

static uint32_t owner_of(const struct module *module)
{
    return module->kind == TRACE_MODULE_KERNEL ? KERNEL : module->owner;
}

static bool is_of_task(const struct task *task, const struct module *module)
{
    return task->used[module->number] && owner_of(module) == task->owner;
}

/* ---- the child ---- */

#define NOT_BECOME 3 /* how it ends if it cannot have its owner's rights */

struct teller {
    int fd;
    struct ifg_bytes bytes;
};

static void flush(struct teller *teller)
{
    for (size_t done = 0; done < teller->bytes.size;) {
        ssize_t wrote = write(teller->fd, teller->bytes.data + done, teller->bytes.size - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            _exit(1);
        done += (size_t)wrote;
    }
    ifg_bytes_clear(&teller->bytes);
}

static void tell_location(struct teller *teller, const struct names_location *location)
{
    ifg_bytes_put_varint(&teller->bytes,
                         (uint64_t)location->guessed | (uint64_t)location->inlined << 1);
    ifg_bytes_put_varint(&teller->bytes, location->line);
    ifg_bytes_put_string(&teller->bytes, location->function, strlen(location->function));
    ifg_bytes_put_string(&teller->bytes, location->file, strlen(location->file));
}

static void tell_head(struct teller *teller, size_t frame, uint64_t start, uint64_t size,
                      size_t locations)
{
    ifg_bytes_put_varint(&teller->bytes, frame + 1);
    ifg_bytes_put_varint(&teller->bytes, start);
    ifg_bytes_put_varint(&teller->bytes, size);
    ifg_bytes_put_varint(&teller->bytes, locations);
}

static void tell_file(struct teller *teller, const struct module *module,
                      const struct trace_frame *frames, size_t count)
{
    struct names *names;

    if (!module->elf || names_open(elf_file_descriptor(module->elf), module->elf, module->table,
                                   &names, NULL) != IFG_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct names_location locations[NAMES_INLINED_MAX];
        uint64_t start, size;
        size_t found;

        if (frames[i].module != module->number)
            continue;
        found = names_find(names, frames[i].address, &start, &size, locations);
        tell_head(teller, i, start, size, found);
        for (size_t location = 0; location < found; location++)
            tell_location(teller, &locations[location]);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
    names_close(names);
}

static void tell_jit_code(struct teller *teller, const struct module *module,
                          const struct trace_frame *frames, size_t count)
{
    jit_code_load_names(module->jit);
    for (size_t i = 0; i < count; i++) {
        struct names_location location = { .function = "" };
        struct jit_code_function found;

        if (frames[i].module != module->number ||
            !jit_code_find(module->jit, frames[i].address, &found))
            continue;
        location.function = found.name;
        location.file = found.file;
        location.line = found.line;
        tell_head(teller, i, found.start, found.size, 1);
        tell_location(teller, &location);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
}

static void tell_kernel(struct teller *teller, const struct module *module,
                        const struct trace_frame *frames, size_t count)
{
    struct name_list *list;

    rights_raise();
    list = name_list_read("/proc/kallsyms", NAME_LIST_KALLSYMS);
    rights_lower();
    for (size_t i = 0; list && i < count; i++) {
        struct names_location location = { .file = "" };
        uint64_t start, size;

        if (frames[i].module != module->number ||
            !name_list_find(list, frames[i].address, &location.function, &start, &size))
            continue;
        tell_head(teller, i, start, size, 1);
        tell_location(teller, &location);
        if (teller->bytes.size > TELL_BYTES)
            flush(teller);
    }
    name_list_destroy(list);
}

static int compare_numbers(const void *left, const void *right)
{
    const int *a = left;
    const int *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* Traces, samples and files of others are no business of who reads this one's. */
static void close_others(const struct task *task, int fd)
{
    size_t modules = modules_count(task->modules), count = 0;
    int *wanted = ifg_alloc(modules + 4, sizeof *wanted);
    unsigned next = 3;

    if (!wanted)
        _exit(1);
    wanted[count++] = fd;
    for (size_t i = task->from; i < modules; i++) {
        const struct module *module = modules_at(task->modules, i);

        if (is_of_task(task, module) && module->elf)
            wanted[count++] = elf_file_descriptor(module->elf);
        else if (is_of_task(task, module) && module->jit && jit_code_list(module->jit) >= 0)
            wanted[count++] = jit_code_list(module->jit);
    }
    qsort(wanted, count, sizeof *wanted, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)wanted[i] > next)
            syscall(SYS_close_range, next, (unsigned)wanted[i] - 1, 0);
        if ((unsigned)wanted[i] >= next)
            next = (unsigned)wanted[i] + 1;
    }
    syscall(SYS_close_range, next, ~0u, 0);
    ifg_free(wanted);
}

/* Debug information can be made to need any amount of both. If memory gets short, it is this
 * process that ends. */
static void set_limits(unsigned timeout_s)
{
    struct rlimit no_core = { 0, 0 };
    struct rlimit cpu = { timeout_s + 1, timeout_s + 1 };
    struct process_status own;
    int fd;

    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    if (process_status_of(PROCESS_SELF, &own) && own.data_bytes < UINT64_MAX - MEMORY_MAX) {
        struct rlimit memory = { own.data_bytes + MEMORY_MAX, own.data_bytes + MEMORY_MAX };

        setrlimit(RLIMIT_DATA, &memory);
    }
    fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t wrote = write(fd, "1000", 4);

        (void)wrote;
        close(fd);
    }
}

static void be_child(int fd, const struct task *task, unsigned timeout_s, pid_t parent)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM };
    struct teller teller = { .fd = fd };

    set_limits(timeout_s);
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        signal(deadly[i], SIG_DFL);
    clearenv(); /* debuginfod would be asked in root's name, wherever the file says */
    if (task->owner != KERNEL && !owners_become(modules_owners(task->modules), task->owner))
        _exit(NOT_BECOME);
    close_others(task, fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after that: another user is another parent's child */
    if (getppid() != parent)
        _exit(1);
    ifg_bytes_init(&teller.bytes, TELL_BYTES * 16);
    for (size_t i = task->from; i < modules_count(task->modules); i++) {
        const struct module *module = modules_at(task->modules, i);

        if (!is_of_task(task, module))
            continue;
        ifg_bytes_put_varint(&teller.bytes, 0);
        ifg_bytes_put_varint(&teller.bytes, module->number);
        flush(&teller);
        if (module->kind == TRACE_MODULE_FILE || module->kind == TRACE_MODULE_VDSO)
            tell_file(&teller, module, task->frames, task->count);
        else if (module->kind == TRACE_MODULE_KERNEL)
            tell_kernel(&teller, module, task->frames, task->count);
        else if (module->jit)
            tell_jit_code(&teller, module, task->frames, task->count);
    }
    flush(&teller);
    _exit(0);
}

/* ---- the parent ---- */

/* What became of a child. */
struct answer {
    struct ifg_bytes words;
    bool stalled, late;
    int status;
    uint32_t module; /* the last one that it began with; 0: none */
};

static uint64_t cpu_of(pid_t child)
{
    clockid_t clock;
    uint64_t used_ns = clock_getcpuclockid(child, &clock) ? UINT64_MAX : ifg_clock_ns(clock);

    return used_ns == UINT64_MAX ? 0 : used_ns;
}

static void listen(struct answer *answer, int fd, pid_t child, uint64_t end_ns)
{
    uint64_t spoke_ns = ifg_monotonic_ns(), spoke_cpu_ns = 0;
    uint8_t chunk[16384];

    for (;;) {
        struct pollfd ready = { fd, POLLIN, 0 };
        uint64_t now_ns = ifg_monotonic_ns();
        ssize_t got;

        answer->late = now_ns >= end_ns;
        answer->stalled =
            now_ns - spoke_ns > STALL_NS && cpu_of(child) - spoke_cpu_ns < STALL_CPU_NS;
        if (answer->late || answer->stalled) {
            kill(child, SIGKILL);
            break;
        }
        if (now_ns - spoke_ns > STALL_NS) {
            spoke_ns = now_ns; /* it works */
            spoke_cpu_ns = cpu_of(child);
        }
        if (poll(&ready, 1, 100) <= 0 || !(ready.revents & (POLLIN | POLLHUP)))
            continue;
        got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        ifg_bytes_put(&answer->words, chunk, (size_t)got);
        spoke_ns = now_ns;
        spoke_cpu_ns = cpu_of(child);
    }
    while (waitpid(child, &answer->status, 0) < 0 && errno == EINTR)
        ;
}

static bool add_symbol(struct lookup *lookup, const struct trace_symbol *symbol)
{
    if (!IFG_ARRAY_ROOM(lookup->symbols, lookup->room, lookup->count + 1, IFG_ARRAY_ANY))
        return false;
    lookup->symbols[lookup->count++] = *symbol;
    return true;
}

/* A string of the answer, ended by NUL in place: the byte behind it has been read already, or is
 * put back by whoever reads it. Texts are therefore copied behind each other first. */
static const char *take_text(struct ifg_cursor *cursor, char **free_at)
{
    size_t size;
    const char *text = ifg_cursor_string(cursor, &size);
    char *copy = *free_at;

    if (cursor->failed)
        return "";
    memcpy(copy, text, size);
    copy[size] = '\0';
    *free_at += size + 1;
    return copy;
}

static bool may_name(const struct task *task, uint64_t frame)
{
    uint32_t module = frame && frame <= task->count ? task->frames[frame - 1].module : 0;

    return module && is_of_task(task, modules_at(task->modules, module - 1));
}

/* Copies never take more room than the answer: of each text the length goes and the NUL comes. */
static void understand(struct lookup *lookup, const struct task *task, struct answer *answer)
{
    struct ifg_cursor cursor = ifg_cursor_over(answer->words.data, answer->words.size);
    struct ifg_bytes *texts;
    char *free_at;

    if (!IFG_ARRAY_ROOM(lookup->texts, lookup->text_capacity, lookup->text_count + 1,
                        IFG_ARRAY_ANY))
        return;
    texts = &lookup->texts[lookup->text_count];
    ifg_bytes_init(texts, ANSWER_MAX + 1);
    if (!ifg_bytes_reserve(texts, answer->words.size + 1))
        return;
    lookup->text_count++;
    free_at = (char *)texts->data;
    while (ifg_cursor_left(&cursor) && !cursor.failed) {
        uint64_t frame = ifg_cursor_varint(&cursor);
        uint64_t start = ifg_cursor_varint(&cursor);
        uint64_t size, locations;

        if (!frame && start && start <= modules_count(task->modules) && !cursor.failed) {
            answer->module = (uint32_t)start;
            continue;
        }
        size = ifg_cursor_varint(&cursor);
        locations = ifg_cursor_varint(&cursor);
        if (!may_name(task, frame) || locations > NAMES_INLINED_MAX)
            break;
        for (uint64_t i = 0; i < locations; i++) {
            struct trace_symbol symbol = { .frame = (uint32_t)frame, .start = start, .size = size };
            uint64_t flags = ifg_cursor_varint(&cursor);

            symbol.line = (uint32_t)ifg_cursor_varint(&cursor);
            symbol.guessed = flags & 1;
            symbol.inlined = flags >> 1 & 1;
            symbol.function = take_text(&cursor, &free_at);
            symbol.file = take_text(&cursor, &free_at);
            if (cursor.failed || !add_symbol(lookup, &symbol))
                break;
        }
    }
}

/* The first problem is the one that is told. */
static void tell_problem(struct lookup *lookup, const struct task *task,
                         const struct answer *answer, unsigned timeout_s)
{
    const char *path =
        answer->module ? modules_at(task->modules, answer->module - 1)->path : "a program";
    size_t size = sizeof lookup->problem;

    if (lookup->problem[0])
        return;
    if (answer->late)
        snprintf(lookup->problem, size, "looking up names took more than %u s", timeout_s);
    else if (answer->stalled)
        snprintf(lookup->problem, size,
                 "%.80s has no names: a file that it names for them cannot be read", path);
    else if (WIFSIGNALED(answer->status))
        snprintf(lookup->problem, size,
                 "reading names of %.80s ended with signal %d (%s); some are missing", path,
                 WTERMSIG(answer->status), strsignal(WTERMSIG(answer->status)));
    else if (WEXITSTATUS(answer->status) == NOT_BECOME)
        snprintf(lookup->problem, size,
                 "programs of user %u have no names: this process cannot take on that user's "
                 "rights to files",
                 (unsigned)owners_user(modules_owners(task->modules), task->owner));
}

/* One child. False: there is nothing left to do for this owner. */
static bool run_child(struct lookup *lookup, struct task *task, uint64_t end_ns, unsigned timeout_s)
{
    struct answer answer = { .stalled = false };
    pid_t parent = getpid();
    int ends[2];
    bool again;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC)) {
        snprintf(lookup->problem, sizeof lookup->problem, "no pipe for a process that reads names");
        return false;
    }
    ifg_bytes_init(&answer.words, ANSWER_MAX - lookup->bytes);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(ends[1], task, timeout_s, parent);
    }
    close(ends[1]);
    if (child > 0) {
        listen(&answer, ends[0], child, end_ns);
        understand(lookup, task, &answer);
        tell_problem(lookup, task, &answer, timeout_s);
    } else {
        snprintf(lookup->problem, sizeof lookup->problem, "no process could be made to read names");
    }
    close(ends[0]);
    again = child > 0 && !answer.late && (answer.stalled || WIFSIGNALED(answer.status)) &&
            answer.module > task->from;
    task->from = answer.module;
    lookup->bytes += answer.words.size;
    ifg_bytes_fini(&answer.words);
    return again && lookup->bytes < ANSWER_MAX;
}

static void run_owner(struct lookup *lookup, struct task *task, unsigned *children, uint64_t end_ns,
                      unsigned timeout_s)
{
    bool any = false;

    task->from = 0;
    for (size_t i = 0; i < modules_count(task->modules) && !any; i++)
        any = is_of_task(task, modules_at(task->modules, i));
    while (any && *children && run_child(lookup, task, end_ns, timeout_s))
        --*children;
}

void lookup_run(struct lookup *lookup, const struct modules *modules,
                const struct trace_frame *frames, size_t frame_count, unsigned timeout_s)
{
    const struct owners *owners = modules_owners(modules);
    bool *used = ifg_alloc(modules_count(modules) + 1, sizeof *used);
    struct task task = { modules, frames, frame_count, used, KERNEL, 0 };
    uint64_t end_ns = ifg_monotonic_ns() + timeout_s * 1000000000ull;
    unsigned children = CHILDREN_MAX;

    memset(lookup, 0, sizeof *lookup);
    for (size_t i = 0; used && i < frame_count; i++)
        used[frames[i].module] = true;
    if (used)
        run_owner(lookup, &task, &children, end_ns, timeout_s);
    /* Our own first: others may make us wait. */
    for (int others = 0; used && others < 2; others++)
        for (task.owner = 0; task.owner < owners_count(owners); task.owner++)
            if (owners_is_own(owners, task.owner) == !others)
                run_owner(lookup, &task, &children, end_ns, timeout_s);
    ifg_free(used);
}

void lookup_fini(struct lookup *lookup)
{
    for (size_t i = 0; i < lookup->text_count; i++)
        ifg_bytes_fini(&lookup->texts[i]);
    ifg_free(lookup->texts);
    ifg_free(lookup->symbols);
    memset(lookup, 0, sizeof *lookup);
}
