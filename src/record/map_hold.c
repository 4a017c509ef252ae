// SPDX-License-Identifier: Apache-2.0
/* Threads that hold who maps a runtime: see map_hold.h. */
#include "record/map_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/map_watch/map_watch.h"
#include "collect/runtime_files.h"
#include "record/thread_hold.h"

#define MS              1000000ull
#define CEILING_NS      (2000 * MS)
#define LONG_CEILING_NS (20000 * MS) /* the helper has 15 s to answer */
#define HELD_MAX        64           /* on one processor at a time */
#define LARGE_BYTES     ((off_t)32 << 20)
#define STACK_BYTES     ((size_t)256 << 10)
#define PRIORITY        1 /* of those in real time the lowest */

enum state {
    NOBODY,
    WAITS,  /* for the recorder's thread */
    TAKEN,  /* by it */
    LOOKED, /* at: to be let go */
};

struct guest {
    enum state state;
    pid_t pid;
    struct thread_hold hold; /* touched by its watcher only */
    bool is_held;
    bool in_time; /* it has been standing since it made the mapping */
    uint64_t until_ns;
};

/* One for each processor. */
struct watcher {
    struct map_hold *all;
    size_t ring;
    int wake_fd;
    bool is_running;
    bool is_first; /* it runs before the program that made a mapping: see map_hold.h */
    pthread_t thread;
    struct guest guests[HELD_MAX];
};

struct map_hold {
    struct map_hold_options options;
    struct map_watch *watch;
    int wake_fd; /* of the recorder's thread */
    pthread_t recorder;
    int policy; /* its own, for when it need not hurry */
    struct sched_param priority;
    bool hurries;
    bool may_hurry;
    atomic_bool is_over;
    sem_t is_ready;            /* counts the watchers that are */
    pthread_mutex_t mutex;     /* guards the states, and: */
    struct known_files *known; /* files that are no runtime */
    struct guest *looking;     /* whom the recorder's thread is looking at */
    size_t count;
    struct watcher watchers[];
};

/* ---- priorities ---- */

static bool hurry(pthread_t thread)
{
    const struct sched_param param = { .sched_priority = PRIORITY };

    /* What it starts meanwhile is as it would have been. */
    return pthread_setschedparam(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

static void calm_down(void)
{
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &(struct sched_param){ 0 });
}

/* The calling thread. On the processor where the program is, the one cannot run while the other
 * does. */
static bool begin_hurry(int cpu)
{
    cpu_set_t *cpus;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    bool is_first;

    if (!hurry(pthread_self()))
        return false;
    cpus = CPU_ALLOC((size_t)cpu + 1);
    if (!cpus)
        return false;
    CPU_ZERO_S(bytes, cpus);
    CPU_SET_S((size_t)cpu, bytes, cpus);
    is_first = pthread_setaffinity_np(pthread_self(), bytes, cpus) == 0;
    CPU_FREE(cpus);
    return is_first;
}

/* Under the mutex: somebody waits for the recorder's thread, or nobody does any more. */
static void fit_recorder(struct map_hold *all, bool is_awaited)
{
    if (is_awaited == all->hurries || !all->may_hurry)
        return;
    if (is_awaited)
        all->hurries = hurry(all->recorder);
    else
        all->hurries = pthread_setschedparam(all->recorder, all->policy, &all->priority) != 0;
}

static void wake(int fd)
{
    eventfd_write(fd, 1);
}

/* ---- in the watchers ---- */

static bool is_known(struct map_hold *all, const struct map_seen *seen)
{
    bool found;

    pthread_mutex_lock(&all->mutex);
    found = runtime_files_have(all->known, (struct file_key){ seen->device, seen->inode });
    pthread_mutex_unlock(&all->mutex);
    return found;
}

/* The file that was mapped, to be read; -1. Who mapped it may be gone, but not the file. Its name
 * may mean something else here, which must not be opened. */
static int open_mapped(const struct map_seen *seen, struct stat *out_information)
{
    char file[PATH_MAX + 64];

    snprintf(file, sizeof file, "/proc/%d/root%s", (int)seen->pid, seen->path);
    if (stat(file, out_information) < 0) {
        snprintf(file, sizeof file, "%s", seen->path);
        if (stat(file, out_information) < 0 || out_information->st_ino != seen->inode ||
            major(out_information->st_dev) != seen->device >> 32 ||
            minor(out_information->st_dev) != (uint32_t)seen->device)
            return -1;
    }
    if (!S_ISREG(out_information->st_mode))
        return -1;
    return open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* A file without a name that says it. watcher: whose thread this is, NULL: none. In a large file
 * this takes a while: not at the cost of others. */
static bool is_runtime(struct map_hold *all, const struct watcher *watcher,
                       const struct map_seen *seen)
{
    char file[64];
    struct stat information;
    bool exports, is_slow;
    int fd = open_mapped(seen, &information);

    if (fd < 0)
        return false;
    is_slow = watcher && information.st_size > LARGE_BYTES;
    if (is_slow)
        calm_down();
    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    exports = runtime_file_exports(file, NULL);
    close(fd);
    if (is_slow)
        begin_hurry(map_watch_ring_cpu(all->watch, watcher->ring));
    if (!exports) {
        pthread_mutex_lock(&all->mutex);
        runtime_files_add(all->known, (struct file_key){ seen->device, seen->inode });
        pthread_mutex_unlock(&all->mutex);
    }
    return exports;
}

static bool is_held_already(const struct watcher *watcher, pid_t tid)
{
    for (size_t i = 0; i < HELD_MAX; i++)
        if (watcher->guests[i].hold.tid == tid)
            return true;
    return false;
}

static void announce(struct watcher *watcher, pid_t pid, struct thread_hold *hold)
{
    struct map_hold *all = watcher->all;
    size_t at = 0;

    pthread_mutex_lock(&all->mutex);
    while (at < HELD_MAX && watcher->guests[at].state != NOBODY)
        at++;
    if (at < HELD_MAX) {
        watcher->guests[at] = (struct guest){
            .state = WAITS,
            .pid = pid,
            .hold = *hold,
            .is_held = hold->tid != 0,
            /* Else it may have done all that it had to do before it was held. */
            .in_time = hold->tid != 0 && watcher->is_first,
            .until_ns = ifg_monotonic_ns() + CEILING_NS,
        };
        fit_recorder(all, true);
    }
    pthread_mutex_unlock(&all->mutex);
    if (at == HELD_MAX)
        thread_hold_release(hold); /* it is found a little later */
    else
        wake(all->wake_fd);
}

static void on_mapping(const struct map_seen *seen, void *user)
{
    struct watcher *watcher = user;
    struct map_hold *all = watcher->all;
    bool is_child = seen->tid == all->options.child;
    bool is_named = runtime_file_is_named(seen->path, NULL);
    struct thread_hold hold = { 0 };

    if ((!is_named && is_known(all, seen)) ||
        !all->options.wants(all->options.user, seen->pid, is_named) ||
        is_held_already(watcher, seen->tid))
        return;
    if (!all->is_over)
        thread_hold_thread(&hold, seen->tid, is_child, &all->is_over);
    if (!is_named && !is_runtime(all, watcher, seen)) {
        thread_hold_release(&hold);
        return;
    }
    announce(watcher, seen->pid, &hold);
}

/* Who has been looked at goes on, and who has been standing for too long. Returns when the next one
 * will have been, in milliseconds from now; -1: nobody stands. */
static int let_go(struct watcher *watcher, bool everybody)
{
    uint64_t now_ns = ifg_monotonic_ns();
    uint64_t first_ns = UINT64_MAX;

    pthread_mutex_lock(&watcher->all->mutex);
    for (size_t i = 0; i < HELD_MAX; i++) {
        struct guest *guest = &watcher->guests[i];

        if (everybody || guest->state == LOOKED || (guest->is_held && now_ns >= guest->until_ns)) {
            thread_hold_release(&guest->hold);
            guest->is_held = false;
        }
        if (guest->state == LOOKED)
            guest->state = NOBODY;
        if (guest->is_held && guest->until_ns < first_ns)
            first_ns = guest->until_ns;
    }
    pthread_mutex_unlock(&watcher->all->mutex);
    return first_ns == UINT64_MAX ? -1 : (int)((first_ns - now_ns) / MS) + 1;
}

static void *watch(void *user)
{
    struct watcher *watcher = user;
    struct map_hold *all = watcher->all;

    watcher->is_first = begin_hurry(map_watch_ring_cpu(all->watch, watcher->ring));
    sem_post(&all->is_ready);
    while (!all->is_over) {
        struct pollfd polled[2] = { { map_watch_ring_fd(all->watch, watcher->ring), POLLIN, 0 },
                                    { watcher->wake_fd, POLLIN, 0 } };
        eventfd_t count;

        poll(polled, 2, let_go(watcher, false));
        if (polled[1].revents)
            eventfd_read(watcher->wake_fd, &count);
        map_watch_ring_read(all->watch, watcher->ring, on_mapping, watcher);
    }
    let_go(watcher, true);
    return NULL;
}

/* ---- in the recorder's thread ---- */

int map_hold_fd(const struct map_hold *hold)
{
    return hold->wake_fd;
}

static struct guest *next_guest(struct map_hold *all, struct watcher **out_watcher)
{
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < HELD_MAX; k++) {
            if (all->watchers[i].guests[k].state == WAITS) {
                *out_watcher = &all->watchers[i];
                return &all->watchers[i].guests[k];
            }
        }
    }
    return NULL;
}

void map_hold_work(struct map_hold *hold, map_hold_look *look, map_hold_looked *looked, void *user)
{
    struct watcher *watcher;
    eventfd_t count;

    if (eventfd_read(hold->wake_fd, &count) < 0)
        return;
    pthread_mutex_lock(&hold->mutex);
    while ((hold->looking = next_guest(hold, &watcher)) != NULL) {
        struct guest *guest = hold->looking;

        guest->state = TAKEN;
        pthread_mutex_unlock(&hold->mutex);
        look(user, guest->pid);
        pthread_mutex_lock(&hold->mutex);
        looked(user, guest->pid, guest->is_held && guest->in_time);
        guest->state = LOOKED;
        wake(watcher->wake_fd);
    }
    fit_recorder(hold, false);
    pthread_mutex_unlock(&hold->mutex);
}

void map_hold_extend(struct map_hold *hold)
{
    if (!hold)
        return;
    pthread_mutex_lock(&hold->mutex);
    if (hold->looking)
        hold->looking->until_ns = ifg_monotonic_ns() + LONG_CEILING_NS;
    pthread_mutex_unlock(&hold->mutex);
}

static void end_watchers(struct map_hold *hold)
{
    hold->is_over = true;
    for (size_t i = 0; i < hold->count; i++) {
        if (hold->watchers[i].is_running) {
            wake(hold->watchers[i].wake_fd);
            pthread_join(hold->watchers[i].thread, NULL);
        }
        hold->watchers[i].is_running = false;
    }
    fit_recorder(hold, false);
}

struct rest {
    struct map_hold *hold;
    map_hold_looked *looked;
    void *user;
};

static void on_rest(const struct map_seen *seen, void *user)
{
    const struct rest *rest = user;
    struct map_hold *all = rest->hold;
    bool is_named = runtime_file_is_named(seen->path, NULL);

    if ((is_named || !is_known(all, seen)) &&
        all->options.wants(all->options.user, seen->pid, is_named) &&
        (is_named || is_runtime(all, NULL, seen)))
        rest->looked(rest->user, seen->pid, false);
}

void map_hold_end(struct map_hold *hold, map_hold_looked *looked, void *user)
{
    struct rest rest = { hold, looked, user };
    struct watcher *watcher;
    struct guest *guest;

    end_watchers(hold);
    while ((guest = next_guest(hold, &watcher)) != NULL) {
        guest->state = NOBODY;
        looked(user, guest->pid, false);
    }
    for (size_t i = 0; i < hold->count; i++)
        map_watch_ring_read(hold->watch, i, on_rest, &rest);
}

void map_hold_close(struct map_hold *hold)
{
    if (!hold)
        return;
    end_watchers(hold);
    for (size_t i = 0; i < hold->count; i++)
        if (hold->watchers[i].wake_fd >= 0)
            close(hold->watchers[i].wake_fd);
    if (hold->wake_fd >= 0)
        close(hold->wake_fd);
    sem_destroy(&hold->is_ready);
    pthread_mutex_destroy(&hold->mutex);
    map_watch_close(hold->watch);
    ifg_free(hold->known);
    ifg_free(hold);
}

/* Whoever has it runs as urgently as who waits for it. */
static void init_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static enum ifg_status start(struct watcher *watcher, struct ifg_error *err)
{
    pthread_attr_t attributes;
    int failed;

    watcher->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->wake_fd < 0)
        return ifg_fail_errno(err, "eventfd");
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    failed = pthread_create(&watcher->thread, &attributes, watch, watcher);
    pthread_attr_destroy(&attributes);
    if (failed)
        return ifg_fail(err, IFG_NO_MEMORY, "cannot start a thread");
    watcher->is_running = true;
    return IFG_OK;
}

enum ifg_status map_hold_open(const struct map_hold_options *options, struct map_hold **out_hold,
                              struct ifg_error *err)
{
    struct map_watch *watch = NULL;
    struct map_hold *hold = NULL;
    size_t count;
    enum ifg_status status = map_watch_open(&watch, err);

    *out_hold = NULL;
    if (status)
        return status;
    count = map_watch_ring_count(watch);
    hold = ifg_alloc(1, sizeof *hold + count * sizeof hold->watchers[0]);
    if (!hold) {
        map_watch_close(watch);
        return ifg_fail_no_memory(err, NULL);
    }
    hold->options = *options;
    hold->watch = watch;
    hold->recorder = pthread_self();
    hold->may_hurry = pthread_getschedparam(hold->recorder, &hold->policy, &hold->priority) == 0;
    hold->known = ifg_alloc(1, sizeof *hold->known);
    hold->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    init_mutex(&hold->mutex);
    sem_init(&hold->is_ready, 0, 0);
    if (!hold->known)
        status = ifg_fail_no_memory(err, NULL);
    else if (hold->wake_fd < 0)
        status = ifg_fail_errno(err, "eventfd");
    for (size_t i = 0; i < count; i++) {
        hold->watchers[i].all = hold;
        hold->watchers[i].ring = i;
        hold->watchers[i].wake_fd = -1;
    }
    for (; !status && hold->count < count; hold->count++)
        status = start(&hold->watchers[hold->count], err);
    /* On a busy machine it may take long until a thread runs for the first time. */
    for (size_t i = 0; !status && i < count; i++)
        while (sem_wait(&hold->is_ready) < 0 && errno == EINTR)
            ;
    if (status) {
        map_hold_close(hold);
        return status;
    }
    *out_hold = hold;
    return IFG_OK;
}
