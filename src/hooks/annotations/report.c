// SPDX-License-Identifier: Apache-2.0
/*
 * The word that `info` shows of annotations in this process, the names of threads, and what has to
 * happen at a fork.
 */
#include "hooks/annotations/annotations.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hooks/ort/map.h"

#define INSTRUMENT    "annotations"
#define DOMAINS_SHOWN 16
#define NAMES_WAITING 64
#define THREAD_NAME   32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;

static bool has_source[3];
static const char *next_path[3];
static const struct annotations_domain *shown[DOMAINS_SHOWN];
static unsigned shown_count;
static unsigned domain_count;
static uint64_t lost[ANNOTATIONS_LOSSES];

struct waiting_name {
    uint32_t thread;
    char name[THREAD_NAME];
};

static struct waiting_name waiting[NAMES_WAITING];
static unsigned waiting_count;

void annotations_lock(void)
{
    pthread_mutex_lock(&lock);
}

void annotations_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void annotations_remember(struct ort_map *map, const void *handle, void *ours)
{
    annotations_lock();
    ort_map_add(map, handle, ours);
    annotations_unlock();
}

static void before_fork(void)
{
    annotations_lock();
    annotations_spans_lock();
}

static void after_fork_in_parent(void)
{
    annotations_spans_unlock(false);
    annotations_unlock();
}

static void after_fork_in_child(void)
{
    annotations_ranges_forked();
    annotations_spans_unlock(true);
    annotations_unlock();
}

static void start(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void annotations_start(void)
{
    pthread_once(&start_once, start);
}

/* ---- what is told ---- */

static size_t add(char *text, size_t used, size_t size, const char *format, const char *word)
{
    int more = used < size ? snprintf(text + used, size - used, format, word) : 0;

    return used + (more > 0 ? (size_t)more : 0);
}

static void report(void)
{
    static const char *const names[] = { NULL, "NVTX", "ITT" };
    static const char *const losses[] = {
        [ANNOTATIONS_TOO_DEEP] = "ranges more than 128 deep were not recorded",
        [ANNOTATIONS_TOO_MANY_THREADS] = "ranges of more than 1,024 threads were not recorded",
        [ANNOTATIONS_TOO_MANY_SPANS] = "spans beyond 8,192 open ones were not recorded",
        [ANNOTATIONS_TOO_MANY_DOMAINS] = "domains beyond 1,024 were not recorded",
    };
    char reason[ANNOTATIONS_TEXT_MAX] = "";
    char rest[48];
    size_t used = 0;

    for (int i = 1; i <= 2; i++)
        if (has_source[i])
            used = add(reason, used, sizeof reason, used ? " and %s" : "%s", names[i]);
    for (unsigned i = 0; i < shown_count; i++) {
        used = add(reason, used, sizeof reason, i ? ", %.40s" : "; domains: %.40s", shown[i]->name);
        if (!shown[i]->is_wanted)
            used = add(reason, used, sizeof reason, " (%s)", "left out");
    }
    snprintf(rest, sizeof rest, " and %u more", domain_count - shown_count);
    if (domain_count > shown_count)
        used = add(reason, used, sizeof reason, "%s", rest);
    for (int i = 1; i <= 2; i++)
        if (next_path[i] && !(i == 2 && next_path[1] && strcmp(next_path[1], next_path[2]) == 0))
            used = add(reason, used, sizeof reason, "; %.200s gets them too", next_path[i]);
    for (int i = 0; i < ANNOTATIONS_LOSSES; i++)
        if (__atomic_load_n(&lost[i], __ATOMIC_RELAXED))
            used = add(reason, used, sizeof reason, "; %s", losses[i]);
    ifg_instrument_report(INSTRUMENT, IFG_INSTRUMENT_ON, reason);
}

void annotations_report_source(enum annotations_source source, const char *next)
{
    annotations_lock();
    if (!has_source[source] || next_path[source] != next) {
        has_source[source] = true;
        next_path[source] = next;
        report();
    }
    annotations_unlock();
}

void annotations_report_domain(const struct annotations_domain *domain)
{
    domain_count++;
    if (shown_count < DOMAINS_SHOWN)
        shown[shown_count++] = domain;
    else if ((domain_count & (domain_count - 1)) != 0)
        return; /* each report takes room among the definitions */
    report();
}

/* The first of each kind is told; how many there were is not known where it happens. */
void annotations_lose(enum annotations_loss loss)
{
    if (__atomic_fetch_add(&lost[loss], 1, __ATOMIC_RELAXED))
        return;
    annotations_lock();
    report();
    annotations_unlock();
}

/* ---- names of threads ---- */

void annotations_thread_name(uint32_t thread, const struct annotations_text *name)
{
    char text[THREAD_NAME];
    unsigned at = 0;

    snprintf(text, sizeof text, "%.*s", (int)name->length, name->bytes);
    if (ifg_is_confined())
        return; /* asking for our own number may be what kills it */
    if (thread == (uint32_t)syscall(SYS_gettid)) {
        ifg_thread_name(text);
        return;
    }
    annotations_lock();
    while (at < waiting_count && waiting[at].thread != thread)
        at++;
    if (at < NAMES_WAITING) {
        waiting[at].thread = thread;
        memcpy(waiting[at].name, text, sizeof text);
        if (at == waiting_count)
            __atomic_store_n(&waiting_count, at + 1, __ATOMIC_RELAXED);
    }
    annotations_unlock();
}

void annotations_thread_arrives(void)
{
    uint32_t thread;

    if (!__atomic_load_n(&waiting_count, __ATOMIC_RELAXED) || ifg_is_confined())
        return;
    thread = (uint32_t)syscall(SYS_gettid);
    annotations_lock();
    for (unsigned i = 0; i < waiting_count; i++) {
        if (waiting[i].thread != thread)
            continue;
        ifg_thread_name(waiting[i].name);
        waiting[i] = waiting[waiting_count - 1];
        __atomic_store_n(&waiting_count, waiting_count - 1, __ATOMIC_RELAXED);
        break;
    }
    annotations_unlock();
}
