// SPDX-License-Identifier: Apache-2.0
/* Mappings of code in all processes, by one perf event per processor: see map_watch.h. */
#include "collect/map_watch/map_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/rights.h"
#include "system/trace_rule.h"

#define PROCESSORS_MAX 4096
#define RING_BYTES     ((size_t)256 << 10)
#define RECORD_MAX     (4096 + 256) /* a path and its head */

/* PERF_RECORD_MMAP2 behind its header. */
struct mmap2_record {
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
};

struct ring {
    int fd;
    int cpu;
    uint64_t lost;
    struct perf_event_mmap_page *page;
};

struct map_watch {
    int epoll_fd;
    size_t page_bytes;
    size_t ring_count;
    struct ring rings[PROCESSORS_MAX];
};

void map_watch_close(struct map_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->ring_count; i++) {
        munmap(watch->rings[i].page, watch->page_bytes + RING_BYTES);
        close(watch->rings[i].fd);
    }
    if (watch->epoll_fd >= 0)
        close(watch->epoll_fd);
    ifg_free(watch);
}

static enum ifg_status refused(struct ifg_error *err)
{
    if (errno == EPERM || errno == EACCES)
        return ifg_fail(err, IFG_PERMISSION,
                        "only root may watch the mappings of all processes; new ones are looked "
                        "for every 50 ms instead");
    return ifg_fail_errno(err, "cannot watch the mappings of all processes");
}

/* A processor that is off is passed over. */
static enum ifg_status open_ring(struct map_watch *watch, int cpu, struct ifg_error *err)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .mmap = 1,
        .mmap2 = 1,
        .watermark = 1,
        .wakeup_watermark = 1,
    };
    struct epoll_event wanted = { .events = EPOLLIN };
    void *page;
    int fd;

    rights_raise();
    fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    rights_lower();
    if (fd < 0)
        return errno == ENODEV ? IFG_OK : refused(err);
    rights_raise();
    page = mmap(NULL, watch->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    rights_lower();
    if (page == MAP_FAILED) {
        enum ifg_status status = refused(err);

        close(fd);
        return status;
    }
    watch->rings[watch->ring_count++] = (struct ring){ .fd = fd, .cpu = cpu, .page = page };
    if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &wanted) < 0)
        return ifg_fail_errno(err, "epoll_ctl");
    return IFG_OK;
}

enum ifg_status map_watch_open(struct map_watch **out_watch, struct ifg_error *err)
{
    struct map_watch *watch = ifg_alloc(1, sizeof *watch);
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    enum ifg_status status = IFG_OK;

    *out_watch = NULL;
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->epoll_fd < 0)
        status = ifg_fail_errno(err, "epoll_create1");
    else if (processors < 1 || processors > PROCESSORS_MAX)
        status = ifg_fail(err, IFG_UNSUPPORTED, "a machine with %ld processors", processors);
    for (int cpu = 0; !status && cpu < (int)processors; cpu++)
        status = open_ring(watch, cpu, err);
    if (status) {
        map_watch_close(watch);
        return status;
    }
    *out_watch = watch;
    return IFG_OK;
}

static void copy_out(const struct ring *ring, size_t page_bytes, uint64_t at, void *out,
                     size_t bytes)
{
    const char *data = (const char *)ring->page + page_bytes;
    size_t begin = (size_t)(at % RING_BYTES);
    size_t first = bytes < RING_BYTES - begin ? bytes : RING_BYTES - begin;

    memcpy(out, data + begin, first);
    memcpy((char *)out + first, data, bytes - first);
}

static void deliver(const char *record, size_t bytes, map_watch_seen *seen, void *user)
{
    struct mmap2_record head;
    struct map_seen what;

    if (bytes <= sizeof head)
        return;
    memcpy(&head, record, sizeof head);
    what = (struct map_seen){
        .pid = (pid_t)head.pid,
        .tid = (pid_t)head.tid,
        .device = (uint64_t)head.major << 32 | head.minor,
        .inode = head.inode,
        .path = record + sizeof head,
    };
    /* What other users' processes map is nobody's business here, and goes no further. */
    if (memchr(what.path, '\0', bytes - sizeof head) && what.path[0] == '/' && what.pid > 0 &&
        (!trace_rule_applies() || trace_rule_is_own(what.pid)))
        seen(&what, user);
}

static void read_ring(const struct map_watch *watch, struct ring *ring, map_watch_seen *seen,
                      void *user)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;

    while (tail < head) {
        struct perf_event_header header;
        char record[RECORD_MAX];
        size_t bytes;

        copy_out(ring, watch->page_bytes, tail, &header, sizeof header);
        if (header.size < sizeof header || header.size > head - tail) { /* cannot be */
            tail = head;
            break;
        }
        bytes = header.size - sizeof header;
        if (bytes <= sizeof record) {
            copy_out(ring, watch->page_bytes, tail + sizeof header, record, bytes);
            if (header.type == PERF_RECORD_MMAP2)
                deliver(record, bytes, seen, user);
            else if (header.type == PERF_RECORD_LOST)
                ring->lost++;
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

void map_watch_read(struct map_watch *watch, map_watch_seen *seen, void *user)
{
    for (size_t i = 0; i < watch->ring_count; i++)
        read_ring(watch, &watch->rings[i], seen, user);
}

int map_watch_fd(const struct map_watch *watch)
{
    return watch->epoll_fd;
}

uint64_t map_watch_lost(const struct map_watch *watch)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < watch->ring_count; i++)
        lost += watch->rings[i].lost;
    return lost;
}

size_t map_watch_ring_count(const struct map_watch *watch)
{
    return watch->ring_count;
}

int map_watch_ring_cpu(const struct map_watch *watch, size_t ring)
{
    return watch->rings[ring].cpu;
}

int map_watch_ring_fd(const struct map_watch *watch, size_t ring)
{
    return watch->rings[ring].fd;
}

void map_watch_ring_read(struct map_watch *watch, size_t ring, map_watch_seen *seen, void *user)
{
    read_ring(watch, &watch->rings[ring], seen, user);
}
