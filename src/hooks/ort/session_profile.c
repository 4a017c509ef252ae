// SPDX-License-Identifier: Apache-2.0
/* Starting and ending a session's profile, and handing its file and runs to the recorder. */
#include "hooks/ort/session_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "hooks/ort/wrap.h"

#define RUNS_MAX   64u
#define RUNS_MIN   2u
#define WAIT_MS    300
#define LOAD_BYTES 128
#define EVENTS_MAX 20000u /* about 12 MB of ONNX Runtime's JSON */

struct profiled_run {
    uint64_t thread;
    uint64_t start;
    uint64_t end;
};

struct ort_profile {
    struct ort_runtime *rt;
    struct ort_session *session;
    ifg_model *model;
    uint32_t number;
    struct session_profile_load load;
    uint32_t wanted;
    uint32_t begun;
    uint32_t ended;
    bool finished;
    pthread_rwlock_t running; /* read: a run goes on; write: the profile ends */
    char path[ORT_TEXT];      /* without an ending */
    pthread_mutex_t lock;
    struct profiled_run runs[RUNS_MAX];
    struct ort_profile *next;
};

/* All of them, for the end of the process. */
static struct ort_profile *profiles;
static pthread_mutex_t profiles_lock = PTHREAD_MUTEX_INITIALIZER;

/* A program that exits without releasing its sessions would leave empty files. Registered after
 * ONNX Runtime was loaded, this runs before its own end. */
static void finish_all(void)
{
    struct ort_profile *profile;

    pthread_mutex_lock(&profiles_lock);
    profile = profiles;
    pthread_mutex_unlock(&profiles_lock);
    for (; profile; profile = profile->next)
        session_profile_finish(profile);
}

struct ort_profile *session_profile_create(struct ort_runtime *rt, struct ort_session_options *ours)
{
    static uint32_t counter;
    const char *directory = ifg_session_directory();
    struct ort_profile *profile = *directory ? calloc(1, sizeof *profile) : NULL;
    pthread_rwlockattr_t attributes;
    int length;

    if (!profile)
        return NULL;
    pthread_mutex_init(&profile->lock, NULL);
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&profile->running, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    profile->rt = rt;
    length = snprintf(profile->path, sizeof profile->path, "%s/file-%d-%u", directory,
                      (int)getpid(), __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    if (length < (int)sizeof profile->path - 8 &&
        ort_ok(rt, ORT_FN(rt, EnableProfiling, struct ort_session_options *,
                          ort_text)(ours, profile->path)))
        return profile;
    session_profile_destroy(profile);
    return NULL;
}

void session_profile_destroy(struct ort_profile *profile)
{
    pthread_rwlock_destroy(&profile->running);
    pthread_mutex_destroy(&profile->lock);
    free(profile);
}

void session_profile_start(struct ort_profile *profile, unsigned nodes, ifg_model *model,
                           uint32_t number, struct ort_session *session)
{
    static bool registered;

    profile->session = session;
    profile->model = model;
    profile->number = number;
    profile->wanted = nodes ? EVENTS_MAX / nodes : RUNS_MAX / 4;
    if (profile->wanted > RUNS_MAX)
        profile->wanted = RUNS_MAX;
    if (profile->wanted < RUNS_MIN)
        profile->wanted = RUNS_MIN;
    pthread_mutex_lock(&profiles_lock);
    profile->next = profiles;
    profiles = profile;
    if (!registered)
        registered = atexit(finish_all) == 0;
    pthread_mutex_unlock(&profiles_lock);
}

void session_profile_load(struct ort_profile *profile, const struct session_profile_load *load)
{
    profile->load = *load;
}

enum session_profile_part session_profile_begin(struct ort_profile *profile)
{
    if (__atomic_load_n(&profile->finished, __ATOMIC_ACQUIRE))
        return PROFILE_OVER;
    pthread_rwlock_rdlock(&profile->running);
    if (__atomic_load_n(&profile->finished, __ATOMIC_ACQUIRE)) {
        pthread_rwlock_unlock(&profile->running);
        return PROFILE_OVER;
    }
    if (__atomic_fetch_add(&profile->begun, 1, __ATOMIC_RELAXED) < profile->wanted)
        return PROFILE_WANTED;
    return PROFILE_EXTRA;
}

void session_profile_end(struct ort_profile *profile, enum session_profile_part part,
                         uint64_t start, uint64_t end, bool failed)
{
    bool is_enough;

    pthread_mutex_lock(&profile->lock);
    if (failed)
        profile->wanted = 0;
    else if (part == PROFILE_WANTED && profile->wanted && profile->ended < RUNS_MAX)
        profile->runs[profile->ended++] = (struct profiled_run){ ort_thread_id(), start, end };
    is_enough = profile->ended >= profile->wanted;
    pthread_mutex_unlock(&profile->lock);
    pthread_rwlock_unlock(&profile->running);
    if (is_enough)
        session_profile_finish(profile);
}

static int by_start(const void *a, const void *b)
{
    const struct profiled_run *left = a;
    const struct profiled_run *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

/* The times of the runs, and where ONNX Runtime's file is. */
static bool write_runs(struct ort_profile *profile, const char *file)
{
    char text[RUNS_MAX * 72 + LOAD_BYTES + ORT_TEXT * 2];
    char path[sizeof profile->path + 8];
    int length;
    bool good;
    int fd;

    snprintf(path, sizeof path, "%s.runs", profile->path);
    qsort(profile->runs, profile->ended, sizeof *profile->runs, by_start);
    length = snprintf(text, ORT_TEXT * 2, "inferogram ort-profile 1\nprofile %s\nsession %u\n",
                      file, profile->number);
    if (length < 0 || length >= ORT_TEXT * 2)
        return false;
    if (profile->load.end)
        length += snprintf(text + length, LOAD_BYTES, "load %llu %llu %llu %u %u %d\n",
                           (unsigned long long)profile->load.thread,
                           (unsigned long long)profile->load.start,
                           (unsigned long long)profile->load.end, profile->load.read_location,
                           profile->load.initialize_location, profile->load.is_cold);
    for (uint32_t i = 0; i < profile->ended; i++)
        length += snprintf(
            text + length, 72, "run %llu %llu %llu\n", (unsigned long long)profile->runs[i].thread,
            (unsigned long long)profile->runs[i].start, (unsigned long long)profile->runs[i].end);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    good = write(fd, text, (size_t)length) == length;
    close(fd);
    if (good)
        ifg_file_hand_over(profile->model, "ort-profile", path);
    else
        unlink(path);
    return good;
}

/* Ends the profile and hands it over. No run is going on. */
static void end_profile(struct ort_profile *profile)
{
    struct ort_allocator *allocator = NULL;
    struct ort_runtime *rt = profile->rt;
    char *file = NULL;

    if (!ort_ok(rt,
                ORT_FN(rt, GetAllocatorWithDefaultOptions, struct ort_allocator **)(&allocator)) ||
        !ort_ok(rt, ORT_FN(rt, SessionEndProfiling, struct ort_session *, struct ort_allocator *,
                           char **)(profile->session, allocator, &file)) ||
        !file)
        return;
    if (!ifg_is_recording() || ifg_is_confined() || !write_runs(profile, file))
        unlink(file); /* nobody would */
    ort_ok(rt, ORT_FN(rt, AllocatorFree, struct ort_allocator *, void *)(allocator, file));
}

void session_profile_finish(struct ort_profile *profile)
{
    struct timespec until;
    int saved_errno = errno;

    if (__atomic_load_n(&profile->finished, __ATOMIC_ACQUIRE))
        return;
    /* Runs that go on are waited for, and new ones wait for us, but not for long: then the profile
     * goes on too, and the end of the next run tries again. */
    until = ifg_timespec(ifg_realtime_ns() + WAIT_MS * 1000000);
    if (pthread_rwlock_timedwrlock(&profile->running, &until) == 0) {
        IFG_BEGIN(zone, "inferogram: operator profile ends");
        pthread_mutex_lock(&profile->lock);
        if (!profile->finished)
            end_profile(profile);
        __atomic_store_n(&profile->finished, true, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&profile->lock);
        IFG_END(zone);
        pthread_rwlock_unlock(&profile->running);
    }
    errno = saved_errno;
}
