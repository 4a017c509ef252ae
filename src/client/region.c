// SPDX-License-Identifier: Apache-2.0
/*
 * The library's beginning and end in a process: making the shared region, starting clean after a
 * fork, waiting at exit when asked to.
 *
 * A program that a recorder launched (IFG_SESSION), or the child of one that is being recorded,
 * puts its region into the recorder's directory, so that it is found even if it lives for a
 * millisecond, closes all its descriptors or is reparented. Any other program uses a memfd, which
 * is found through /proc and vanishes with it.
 */
#include "client/client_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define WAIT_SECONDS_DEFAULT 30
#define WAIT_STEP_NS         2000000

static const uint32_t never_recording;
static const uint32_t always_wanted = 1;
const uint32_t *ifg_recording_word = &never_recording;
const uint32_t *ifg_event_word = &never_recording;

struct ifg_wire_control *client_control;
enum ifg_tick_source client_ticks;

/* Who launched or records us, and where it looks for regions. */
struct session {
    char directory[IFG_WIRE_SESSION_MAX];
    uint32_t recorder_pid;
    uint64_t recorder_pid_ns;
    bool lossless;
};

/* From the environment, read once: the environment may change under us later. */
static struct {
    struct session session;
    bool wait;
    bool debug;
    bool off;
    unsigned wait_seconds;
    unsigned filters; /* seccomp filters that the recorder has itself */
} settings;

static bool populate_works = true;

/* The region is a file of a file system that may be full one day. */
static bool region_is_file;

/* The region's descriptor, kept so that a recorder finds it through /proc. It is remembered with
 * its identity: the program may close it and open something else in its place. */
static int region_fd = -1;
static dev_t region_device;
static ino_t region_inode;

void client_debug(const char *format, ...)
{
    char line[256];
    va_list args;
    int length;

    if (!settings.debug || !client_may_call())
        return;
    va_start(args, format);
    length = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (length < 0)
        return;
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length + 1) < 0)
        return;
}

/* Events are wanted by a recorder or by handles; a program that is left alone has neither. */
static void set_recording_word(const uint32_t *word)
{
    __atomic_store_n(&ifg_recording_word, word, __ATOMIC_RELEASE);
    client_event_word_choose();
}

void client_event_word_choose(void)
{
    const uint32_t *recording = __atomic_load_n(&ifg_recording_word, __ATOMIC_ACQUIRE);
    bool tapped = client_is_tapped() && client_confinement != IFG_CONFINED_CLOCK;

    __atomic_store_n(&ifg_event_word, tapped ? &always_wanted : recording, __ATOMIC_RELEASE);
}

bool client_needs_memory(void)
{
    return region_is_file;
}

bool client_populate(void *start, size_t bytes)
{
    if (!region_is_file || !populate_works)
        return true; /* pages come when they are touched; only a memfd is used then */
    if (!client_may_call())
        return false;
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    if (errno == EINVAL) {
        populate_works = false;
        return true;
    }
    return false;
}

/* Whether the recorder is gone. In another pid namespace its number means nothing, but it holds a
 * lock on its directory for as long as it lives. */
static bool recorder_is_gone(const struct session *session)
{
    bool locked;
    int fd;

    if (!client_may_call() || session->recorder_pid_ns ||
        kill((pid_t)session->recorder_pid, 0) == 0 || errno != ESRCH)
        return false;
    fd = open(session->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return !locked;
}

/* Creates the region's file where the recorder looks for it. */
static int open_session_file(const struct session *session)
{
    char path[sizeof session->directory + 64];

    if (!session->directory[0])
        return -1;
    if (recorder_is_gone(session))
        return -1; /* nobody would ever look there */
    snprintf(path, sizeof path, "%s/%d-%llx", session->directory, (int)getpid(),
             (unsigned long long)ifg_monotonic_ns());
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void *map_region(int fd)
{
    size_t bytes = ifg_wire_region_bytes();
    struct rlimit limit;
    void *region;

    /* A file larger than allowed is not only refused: it is answered by a signal that kills. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
        errno = EFBIG;
        return NULL;
    }
    if (ftruncate(fd, (off_t)bytes) < 0)
        return NULL;
    region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (region == MAP_FAILED)
        return NULL;
    /* Not part of core dumps: they would grow by 64 MiB for nothing. */
    madvise(region, bytes, MADV_DONTDUMP);
    return region;
}

/* Maps fd and keeps it; closes it when that fails. */
static void *adopt_region(int fd)
{
    struct stat identity;
    void *region = map_region(fd);

    if (region &&
        (fstat(fd, &identity) < 0 || !client_populate(region, IFG_WIRE_DEFINITIONS_OFFSET))) {
        munmap(region, ifg_wire_region_bytes());
        region = NULL;
    }
    if (!region) {
        client_debug("inferogram: cannot map shared memory (errno %d)", errno);
        close(fd);
        return NULL;
    }
    region_fd = fd;
    region_device = identity.st_dev;
    region_inode = identity.st_ino;
    return region;
}

static void *create_in_session(const struct session *session)
{
    int fd = open_session_file(session);
    void *region;

    region_is_file = true;
    region = fd < 0 ? NULL : adopt_region(fd);

    if (region && !populate_works) {
        /* An old kernel. A full tmpfs would kill us at some later store: use a memfd instead. */
        munmap(region, ifg_wire_region_bytes());
        close(fd);
        region_fd = -1;
        region = NULL;
    }
    return region;
}

static void *create_in_memfd(void)
{
    /* By number, and the seals below too: so the library needs no libc newer than 2.17. */
    int fd = (int)syscall(SYS_memfd_create, IFG_WIRE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *region;

    region_is_file = false;
    if (fd < 0) {
        client_debug("inferogram: cannot create shared memory (errno %d): not recordable", errno);
        return NULL;
    }
    region = adopt_region(fd);
    /* Whoever maps it can rely on its size. An old kernel may refuse: then it is watched for. */
    if (region)
        syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return region;
}

static bool region_fd_is_ours(void)
{
    struct stat now;

    return region_fd >= 0 && fstat(region_fd, &now) == 0 && now.st_dev == region_device &&
           now.st_ino == region_inode;
}

int client_region_locked(void)
{
    if (!client_may_call() || !region_fd_is_ours())
        return -1;
    if (flock(region_fd, LOCK_SH | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? 1 : -1;
    flock(region_fd, LOCK_UN);
    return 0;
}

/* A child of a fork joins whoever records its parent at that moment. */
static struct session session_of(const struct ifg_wire_control *parent)
{
    struct session session = { 0 };

    if (!parent)
        return settings.session;
    if (!__atomic_load_n(&parent->recording, __ATOMIC_ACQUIRE) || !parent->recorder_pid)
        return session;
    memcpy(session.directory, parent->session, sizeof session.directory);
    session.directory[sizeof session.directory - 1] = '\0';
    session.recorder_pid = parent->recorder_pid;
    session.recorder_pid_ns = parent->recorder_pid_ns;
    session.lossless = parent->lossless;
    return session;
}

/* Makes a region and publishes it. `parent` is the one that this process had before a fork, or
 * NULL. */
static void start_region(struct ifg_wire_control *parent)
{
    struct session session = session_of(parent);
    bool in_session = true;
    struct ifg_wire_control *control = create_in_session(&session);

    if (!control) {
        in_session = false;
        control = create_in_memfd();
    }
    client_control = control;
    if (!control) {
        set_recording_word(&never_recording);
        return;
    }
    control->version = IFG_WIRE_VERSION;
    control->pid = (uint32_t)getpid();
    control->parent_pid = (uint32_t)getppid();
    control->region_bytes = ifg_wire_region_bytes();
    control->tick_source = (uint32_t)client_ticks;
    control->abilities = IFG_WIRE_CAN_CONFINE | (region_is_file ? 0 : IFG_WIRE_IS_MEMFD);
    control->confinement = (uint32_t)client_confinement;
    control->next_location = 2; /* 1 stands for "the definition log was full" */
    control->next_model = 2;
    control->start_ns = ifg_monotonic_ns();
    control->start_ticks = client_now();
    snprintf(control->library_version, sizeof control->library_version, "%d.%d.%d",
             IFG_VERSION_MAJOR, IFG_VERSION_MINOR, IFG_VERSION_PATCH);
    snprintf(control->program, sizeof control->program, "%s", program_invocation_short_name);
    if (parent)
        client_definitions_inherit(parent);
    if (in_session) {
        control->recorder_pid = session.recorder_pid;
        control->recorder_pid_ns = session.recorder_pid_ns;
        control->lossless = session.lossless;
        memcpy(control->session, session.directory, sizeof control->session);
    }
    /* Recording from the first event on: into rings that hold the beginning until somebody drains.
     */
    control->recording = in_session || settings.wait;
    __atomic_store_n(&control->magic, IFG_WIRE_MAGIC, __ATOMIC_RELEASE);
    set_recording_word(&control->recording);
    client_debug("inferogram: pid %d is recordable (%s)", (int)getpid(),
                 in_session ? "launched by a recorder" : "memfd");
}

/* "PID:FLAGS:DIRECTORY", as the recorder wrote it. */
static void parse_session(const char *value)
{
    char *end;
    unsigned long pid = strtoul(value, &end, 10);

    if (end == value || *end != ':' || pid == 0 || pid > INT32_MAX)
        return;
    for (end++; *end && *end != ':'; end++) {
        if (*end == 'L')
            settings.session.lossless = true;
        else if (*end == 'F' && end[1] >= '0' && end[1] <= '9')
            settings.filters = (unsigned)strtoul(end + 1, NULL, 10);
    }
    if (*end != ':' || end[1] != '/' || strlen(end + 1) >= sizeof settings.session.directory)
        return;
    settings.session.recorder_pid = (uint32_t)pid;
    memcpy(settings.session.directory, end + 1, strlen(end + 1) + 1);
}

static bool is_set(const char *name)
{
    const char *value = secure_getenv(name);

    return value && *value && strcmp(value, "0") != 0;
}

static void read_settings(void)
{
    const char *session = secure_getenv(IFG_ENV_SESSION);
    const char *timeout = secure_getenv(IFG_ENV_TIMEOUT);
    const char *clock = secure_getenv(IFG_ENV_CLOCK);

    if (session)
        parse_session(session);
    settings.wait = is_set(IFG_ENV_WAIT);
    settings.debug = is_set(IFG_ENV_DEBUG);
    settings.off = is_set(IFG_ENV_OFF);
    settings.wait_seconds = WAIT_SECONDS_DEFAULT;
    if (timeout && *timeout)
        settings.wait_seconds = (unsigned)strtoul(timeout, NULL, 10);
    client_ticks = ifg_tick_source_choose();
    if (clock && strcmp(clock, "monotonic") == 0)
        client_ticks = IFG_TICKS_MONOTONIC;
}

void client_leave_alone(void)
{
    set_recording_word(&never_recording);
    client_ring_abandon();
    client_ticks = 0; /* nobody reads a clock any more */
}

/* The child of a confined process cannot have a region of its own, and must not use that of its
 * parent. */
static void leave_child_alone(void)
{
    client_rings_forked();
    set_recording_word(&never_recording);
    client_confinement = IFG_CONFINED_CALLS;
    client_control = NULL;
    region_fd = -1;
}

static void before_fork(void)
{
    client_models_lock();
}

static void after_fork_in_parent(void)
{
    client_models_unlock();
}

/* The parent's region in a child. If a handler forked in the middle of a record, the child goes on
 * writing there when the handler returns: into private memory then, which nobody reads. */
static void discard_region(void *region, bool still_written)
{
    size_t bytes = ifg_wire_region_bytes();

    if (!still_written ||
        mmap(region, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        munmap(region, bytes);
}

static void after_fork_in_child(void)
{
    struct ifg_wire_control *parent = client_control;
    int saved_errno = errno;
    int parent_fd;
    bool interrupted;

    client_models_forked();
    client_models_unlock();
    client_tap_forked();
    if (!client_may_call()) {
        leave_child_alone();
        return;
    }
    parent_fd = region_fd_is_ours() ? region_fd : -1;
    region_fd = -1;
    interrupted = client_rings_forked();
    if (parent) {
        start_region(parent);
        discard_region(parent, interrupted);
    }
    if (parent_fd >= 0)
        close(parent_fd);
    errno = saved_errno;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* Profiling handles that the environment asks for come from a library beside this one. */
static void load_handles(void)
{
    /* Installed beside this library; in a build tree, in the folder of their room. */
    static const char *const folders[] = { "/", "/../handles/" };
    static const char name[] = "libinferogram-handles.so.0";
    const char *asked = secure_getenv(IFG_ENV_PROFILE);
    const char *slash = NULL;
    void *library = NULL;
    Dl_info self;

    if (!asked || !*asked || !client_may_call())
        return;
    if (dladdr((void *)(uintptr_t)&load_handles, &self))
        slash = strrchr(self.dli_fname, '/');
    for (int i = 0; i < 2 && slash && !library; i++) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof path, "%.*s%s%s", (int)(slash - self.dli_fname), self.dli_fname,
                     folders[i], name) < (int)sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library && !dlopen(name, RTLD_NOW | RTLD_LOCAL))
        say("inferogram: IFG_PROFILE is set, but libinferogram-handles.so.0 cannot be loaded\n");
    dlerror(); /* ours, not the program's */
}

static __attribute__((constructor)) void library_starts(void)
{
    int saved_errno = errno;

    read_settings();
    if (!settings.off) {
        client_confine_start(settings.session.directory[0] != '\0', settings.filters);
        client_rings_start();
        start_region(NULL);
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        load_handles();
    }
    errno = saved_errno;
}

static bool everything_is_drained(void)
{
    uint32_t used = __atomic_load_n(&client_control->rings_used, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < used && i < IFG_WIRE_RINGS; i++) {
        uint32_t slots;
        struct ifg_wire_ring *ring =
            (void *)((char *)client_control + ifg_wire_ring_offset(i, &slots));

        if (__atomic_load_n(&ifg_wire_states(client_control)[i], __ATOMIC_ACQUIRE) !=
                IFG_WIRE_FREE_RING &&
            __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) <
                __atomic_load_n(&ring->head, __ATOMIC_RELAXED))
            return false;
    }
    return true;
}

/* IFG_WAIT: a short program waits here until a recorder has taken everything. */
static __attribute__((destructor)) void library_ends(void)
{
    const struct timespec step = { 0, WAIT_STEP_NS };
    uint64_t deadline;
    uint32_t drained;
    char line[192];

    if (!client_control || !settings.wait || !client_may_call() ||
        client_control->pid != (uint32_t)getpid())
        return;
    __atomic_store_n(&client_control->waiting, 1, __ATOMIC_RELEASE);
    snprintf(line, sizeof line,
             "inferogram: waiting up to %u s to be recorded: inferogram record --pid %d\n",
             settings.wait_seconds, (int)getpid());
    say(line);
    deadline = ifg_monotonic_ns() + settings.wait_seconds * 1000000000ull;
    drained = __atomic_load_n(&client_control->drained, __ATOMIC_ACQUIRE);
    for (;;) {
        uint32_t now = __atomic_load_n(&client_control->drained, __ATOMIC_ACQUIRE);

        if (now - drained >= 2 && everything_is_drained())
            return; /* two whole passes: the second began after our last event */
        if (ifg_monotonic_ns() >= deadline)
            break;
        nanosleep(&step, NULL);
    }
    say("inferogram: nobody recorded this program in time; what it kept is lost\n");
}
