// SPDX-License-Identifier: Apache-2.0
/*
 * Resident memory of processes, looked at many times a second: see proc.h.
 *
 * One text tells all of it, /proc/PID/status, 7 us a look as it is kept open. The kernel keeps the
 * highest value that a process ever had (VmHWM): when that grew since the look before, it is the
 * peak of the time between, exactly, however short it was. Nothing is ever reset: the program may
 * ask for its own peak, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"
#include "system/process_status.h"

#define KEPT_OPEN   32u          /* processes beyond have their file opened at every look */
#define TEXT_BYTES  (16u * 1024) /* a user may be in a thousand groups */
#define CHILD_BYTES 1024u

struct resident {
    uint32_t pid;
    bool listed; /* it was in the list of this look */
    bool found;  /* it never was: a child that was seen here first */
    bool gone;
    int status, children; /* descriptors, or -1 */
    char name[PROC_COMM_BYTES];
    uint64_t bytes, anon_bytes, peak_bytes; /* of the look before; MISSING */
};

struct proc_resident {
    const struct host_roots *roots;
    struct resident items[PROC_PROCESSES_MAX];
    size_t count;
    size_t left_out, most_left_out; /* for which there was no room, at this look and at most */
    unsigned open;                  /* descriptors, two each */
    char text[TEXT_BYTES];
};

struct proc_resident *proc_resident_open(const struct host_roots *roots)
{
    struct proc_resident *resident = ifg_alloc(1, sizeof *resident);

    if (resident)
        resident->roots = roots;
    return resident;
}

static void close_one(struct proc_resident *resident, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    *fd = -1;
    resident->open--;
}

void proc_resident_close(struct proc_resident *resident)
{
    if (!resident)
        return;
    for (size_t i = 0; i < resident->count; i++) {
        close_one(resident, &resident->items[i].status);
        close_one(resident, &resident->items[i].children);
    }
    ifg_free(resident);
}

static void add(struct proc_resident *resident, uint32_t pid, bool found)
{
    if (resident->count == PROC_PROCESSES_MAX) {
        resident->left_out++;
        return;
    }
    resident->items[resident->count++] = (struct resident){
        .pid = pid,
        .listed = !found,
        .found = found,
        .status = -1,
        .children = -1,
        .bytes = MISSING,
        .anon_bytes = MISSING,
        .peak_bytes = MISSING,
    };
}

static struct resident *find(struct proc_resident *resident, uint32_t pid)
{
    for (size_t i = 0; i < resident->count; i++)
        if (resident->items[i].pid == pid)
            return &resident->items[i];
    return NULL;
}

/* The text of a file of a process. Its descriptor stays that of the process: when another one gets
 * the same number later, reading fails. */
static bool read_text(struct proc_resident *resident, int *fd, const char *path, char *out,
                      size_t size)
{
    int once = *fd >= 0 ? *fd : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = once >= 0 ? pread(once, out, size - 1, 0) : -1;
    int error = errno;

    if (*fd < 0 && once >= 0) {
        if (got >= 0 && resident->open < 2 * KEPT_OPEN) {
            *fd = once;
            resident->open++;
        } else {
            close(once);
        }
    }
    out[got > 0 ? got : 0] = '\0';
    errno = error;
    return got > 0;
}

/* Children of the first thread, which mostly is who makes them; others come with the list. */
static void find_children(struct proc_resident *resident, size_t index)
{
    char path[300], text[CHILD_BYTES];
    const char *at = text;
    uint64_t pid;

    snprintf(path, sizeof path, "%s/%u/task/%u/children", resident->roots->proc,
             resident->items[index].pid, resident->items[index].pid);
    if (!read_text(resident, &resident->items[index].children, path, text, sizeof text))
        return;
    while (ifg_parse_number(at, &at, &pid)) {
        if (!*at)
            break; /* cut: perhaps only the begin of a number */
        if (pid && pid <= UINT32_MAX && !find(resident, (uint32_t)pid))
            add(resident, (uint32_t)pid, true);
    }
}

static void put_values(struct resident *item, const struct process_status *now,
                       const struct proc_sink *sink)
{
    bool same = item->peak_bytes != MISSING && now->peak_rss_bytes != MISSING;
    uint64_t most =
        item->bytes != MISSING && item->bytes > now->rss_bytes ? item->bytes : now->rss_bytes;

    proc_put(sink, item->pid, "resident bytes", (double)now->rss_bytes);
    /* A smaller peak is that of another program in the same process. */
    if (same && now->peak_rss_bytes > item->peak_bytes && now->peak_rss_bytes > most)
        proc_put(sink, item->pid, "resident peak bytes", (double)now->peak_rss_bytes);
    if (now->anon_bytes != item->anon_bytes)
        proc_put_count(sink, item->pid, "resident anon bytes", now->anon_bytes);
    item->bytes = now->rss_bytes;
    item->anon_bytes = now->anon_bytes;
    item->peak_bytes = now->peak_rss_bytes;
}

static void look_at(struct proc_resident *resident, size_t index, const struct proc_sink *sink)
{
    struct resident *item = &resident->items[index];
    struct process_status now;
    char path[256];

    snprintf(path, sizeof path, "%s/%u/status", resident->roots->proc, item->pid);
    if (!read_text(resident, &item->status, path, resident->text, sizeof resident->text)) {
        item->gone = errno == ENOENT || errno == ESRCH;
        return;
    }
    process_status_parse(resident->text, &now);
    if (now.rss_bytes == MISSING) {
        item->gone = item->found; /* it has ended and nobody asked how */
        return;
    }
    snprintf(item->name, sizeof item->name, "%.15s", now.name);
    put_values(item, &now, sink);
    find_children(resident, index);
}

size_t proc_resident_look(struct proc_resident *resident, const pid_t *pids, size_t count,
                          const struct proc_sink *sink)
{
    size_t kept = 0, looked = 0;

    resident->left_out = 0;
    for (size_t i = 0; i < count; i++) {
        struct resident *item = find(resident, (uint32_t)pids[i]);

        if (item)
            item->listed = true;
        else
            add(resident, (uint32_t)pids[i], false);
    }
    for (size_t i = 0; i < resident->count; i++) { /* it grows meanwhile */
        if (resident->items[i].listed)
            resident->items[i].found = false;
        if (resident->items[i].listed || resident->items[i].found)
            look_at(resident, i, sink);
    }
    for (size_t i = 0; i < resident->count; i++) {
        struct resident *item = &resident->items[i];

        if ((item->listed || item->found) && !item->gone) {
            item->listed = false;
            looked += item->bytes != MISSING;
            resident->items[kept++] = *item;
            continue;
        }
        close_one(resident, &item->status);
        close_one(resident, &item->children);
    }
    resident->count = kept;
    if (resident->left_out > resident->most_left_out)
        resident->most_left_out = resident->left_out;
    return looked;
}

size_t proc_resident_left_out(const struct proc_resident *resident)
{
    return resident->most_left_out;
}

bool proc_resident_name(const struct proc_resident *resident, size_t index, uint32_t *out_pid,
                        const char **out_name)
{
    if (index >= resident->count)
        return false;
    *out_pid = resident->items[index].pid;
    *out_name = resident->items[index].name;
    return true;
}
