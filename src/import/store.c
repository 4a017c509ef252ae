// SPDX-License-Identifier: Apache-2.0
/* Records in memory, details in a file: see store.h. */
#include "import/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "import/import.h"

#define CHUNK_FIRST  16u
#define CHUNK_LAST   65536u /* 2 MiB: given back to the system at once when freed */
#define WRITE_BYTES  (1u << 20)
#define WINDOW_FIRST 4096u      /* read at once if details are not read in their order ... */
#define WINDOW_LAST  (1u << 20) /* ... and if they are */

_Static_assert(sizeof(struct record) == IMPORT_RECORD_BYTES, "as documented");

struct chunk {
    struct chunk *next;
    uint32_t count;
    uint32_t capacity;
    struct record records[];
};

struct lane {
    struct chunk *first;
    struct chunk *last;
    size_t count;
};

struct store {
    struct lane *lanes;
    size_t lane_count; /* all that there is room for */
    char *directory;
    int fd; /* -1: no details yet */
    uint8_t *pending;
    size_t pending_size;
    uint64_t written; /* bytes in the file */
    uint8_t *window;
    size_t window_size;
    size_t window_capacity;
    size_t wanted; /* bytes to read at once */
    uint64_t window_at;
};

enum ifg_status store_create(const char *beside, struct store **out_store, struct ifg_error *err)
{
    struct store *store = ifg_alloc(1, sizeof *store);
    const char *slash = strrchr(beside, '/');

    *out_store = NULL;
    if (store)
        store->directory =
            slash ? ifg_strndup(beside, (size_t)(slash - beside) + 1) : ifg_strdup(".");
    if (!store || !store->directory) {
        ifg_free(store);
        return ifg_fail_no_memory(err, "to import");
    }
    store->fd = -1;
    *out_store = store;
    return IFG_OK;
}

static void free_chunks(struct lane *lane)
{
    while (lane->first) {
        struct chunk *next = lane->first->next;

        ifg_free(lane->first);
        lane->first = next;
    }
    memset(lane, 0, sizeof *lane);
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->lane_count; i++)
        free_chunks(&store->lanes[i]);
    ifg_free(store->lanes);
    if (store->fd >= 0)
        close(store->fd);
    ifg_free(store->directory);
    ifg_free(store->pending);
    ifg_free(store->window);
    ifg_free(store);
}

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "for the events (%u bytes each; --max-events limits them)",
                              IMPORT_RECORD_BYTES);
}

static struct lane *find_lane(struct store *store, uint32_t thread)
{
    if (!IFG_ARRAY_ROOM_ZEROED(store->lanes, store->lane_count, (size_t)thread + 1, IFG_ARRAY_ANY))
        return NULL;
    return &store->lanes[thread];
}

enum ifg_status store_add(struct store *store, uint32_t thread, const struct record *record,
                          struct ifg_error *err)
{
    struct lane *lane = find_lane(store, thread);
    struct chunk *chunk;

    if (!lane)
        return no_memory(err);
    chunk = lane->last;
    if (!chunk || chunk->count == chunk->capacity) {
        uint32_t capacity = chunk ? chunk->capacity * 4 : CHUNK_FIRST;

        capacity = capacity < CHUNK_LAST ? capacity : CHUNK_LAST;
        chunk = ifg_alloc(1, sizeof *chunk + capacity * sizeof chunk->records[0]);
        if (!chunk)
            return no_memory(err);
        chunk->capacity = capacity;
        if (lane->last)
            lane->last->next = chunk;
        else
            lane->first = chunk;
        lane->last = chunk;
    }
    chunk->records[chunk->count++] = *record;
    lane->count++;
    return IFG_OK;
}

static enum ifg_status open_details(struct store *store, struct ifg_error *err)
{
    char name[4096];

    store->pending = ifg_alloc(WRITE_BYTES, 1);
    if (!store->pending)
        return no_memory(err);
    store->pending_size = 1; /* offset 0 means "none" */
    store->fd = open(store->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (store->fd >= 0)
        return IFG_OK;
    /* Not every file system can make a file without a name. */
    if ((size_t)snprintf(name, sizeof name, "%s/.inferogram-import-XXXXXX", store->directory) >=
        sizeof name)
        return ifg_fail(err, IFG_INVALID, "the name of the output directory is too long");
    store->fd = mkostemp(name, O_CLOEXEC);
    if (store->fd < 0)
        return ifg_fail_errno(err, "cannot make a temporary file in %s", store->directory);
    unlink(name);
    return IFG_OK;
}

static enum ifg_status write_pending(struct store *store, const void *bytes, size_t size,
                                     struct ifg_error *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t wrote = write(store->fd, (const uint8_t *)bytes + done, size - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return ifg_fail_errno(err, "cannot write to a temporary file in %s", store->directory);
        done += (size_t)wrote;
    }
    store->written += size;
    return IFG_OK;
}

static enum ifg_status put_bytes(struct store *store, const void *bytes, size_t size,
                                 struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    if (store->pending_size + size > WRITE_BYTES) {
        status = write_pending(store, store->pending, store->pending_size, err);
        store->pending_size = 0;
    }
    if (!status && size > WRITE_BYTES)
        return write_pending(store, bytes, size, err);
    if (!status && size) {
        memcpy(store->pending + store->pending_size, bytes, size);
        store->pending_size += size;
    }
    return status;
}

enum ifg_status store_put_details(struct store *store, const void *bytes, size_t size,
                                  uint64_t *out_offset, struct ifg_error *err)
{
    uint32_t head = (uint32_t)size;
    enum ifg_status status = IFG_OK;

    *out_offset = 0;
    if (store->fd < 0)
        status = open_details(store, err);
    if (status)
        return status;
    *out_offset = store->written + store->pending_size;
    status = put_bytes(store, &head, sizeof head, err);
    return status ? status : put_bytes(store, bytes, size, err);
}

/* Makes sure that size bytes from offset on are in the window. */
static enum ifg_status look_at(struct store *store, uint64_t offset, size_t size,
                               struct ifg_error *err)
{
    uint64_t window_end = store->window_at + store->window_size;
    size_t capacity = WINDOW_FIRST;
    size_t done = 0;

    if (offset >= store->window_at && offset - store->window_at <= store->window_size &&
        size <= store->window_size - (size_t)(offset - store->window_at))
        return IFG_OK;
    if (offset >= store->window_at && offset <= window_end + WINDOW_FIRST)
        capacity = store->wanted < WINDOW_LAST ? store->wanted * 2 : WINDOW_LAST;
    capacity = capacity > WINDOW_FIRST ? capacity : WINDOW_FIRST;
    store->wanted = capacity;
    capacity = capacity > size ? capacity : size;
    if (!IFG_ARRAY_ROOM(store->window, store->window_capacity, capacity, capacity))
        return no_memory(err);
    while (done < capacity) {
        ssize_t got =
            pread(store->fd, store->window + done, capacity - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ifg_fail_errno(err, "cannot read a temporary file in %s", store->directory);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    store->window_at = offset;
    store->window_size = done;
    if (done < size)
        return ifg_fail(err, IFG_INTERNAL, "a temporary file in %s became shorter",
                        store->directory);
    return IFG_OK;
}

enum ifg_status store_get_details(struct store *store, uint64_t offset, const uint8_t **out_bytes,
                                  size_t *out_size, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    uint32_t size = 0;

    *out_bytes = NULL;
    *out_size = 0;
    if (store->pending_size) {
        status = write_pending(store, store->pending, store->pending_size, err);
        store->pending_size = 0;
    }
    if (!status)
        status = look_at(store, offset, sizeof size, err);
    if (status)
        return status;
    memcpy(&size, store->window + (offset - store->window_at), sizeof size);
    status = look_at(store, offset, sizeof size + size, err);
    if (status)
        return status;
    *out_bytes = store->window + (offset - store->window_at) + sizeof size;
    *out_size = size;
    return IFG_OK;
}

/* By end. Of those that end together, what is no X comes first, as in the file; then X from the
 * inside out: the later start, then the narrower kind, then the one written later. */
static bool is_before(const struct record *a, const struct record *b)
{
    bool a_zone, b_zone;

    if (a->end != b->end)
        return a->end < b->end;
    a_zone = record_kind(a) >= RECORD_INNER_ZONE;
    b_zone = record_kind(b) >= RECORD_INNER_ZONE;
    if (a_zone != b_zone)
        return b_zone;
    if (!a_zone)
        return a->sequence < b->sequence;
    if (a->start != b->start)
        return a->start > b->start;
    if (record_kind(a) != record_kind(b))
        return record_kind(a) < record_kind(b);
    return a->sequence > b->sequence;
}

static void swap(struct record *a, struct record *b)
{
    struct record t = *a;

    *a = *b;
    *b = t;
}

static void sift(struct record *records, size_t at, size_t count)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= count)
            return;
        if (child + 1 < count && is_before(&records[child], &records[child + 1]))
            child++;
        if (!is_before(&records[at], &records[child]))
            return;
        swap(&records[at], &records[child]);
        at = child;
    }
}

static void heap_sort(struct record *records, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(records, i, count);
    for (size_t i = count; i-- > 1;) {
        swap(&records[0], &records[i]);
        sift(records, 0, i);
    }
}

static void insertion_sort(struct record *records, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct record moving = records[i];
        size_t j = i;

        for (; j > 0 && is_before(&moving, &records[j - 1]); j--)
            records[j] = records[j - 1];
        records[j] = moving;
    }
}

/* qsort would take a second copy of everything; this takes none. */
static void quick_sort(struct record *records, size_t count, unsigned rounds)
{
    while (count > 24) {
        struct record pivot;
        size_t low = 0, high = count - 1;

        if (rounds-- == 0) {
            heap_sort(records, count);
            return;
        }
        if (is_before(&records[count / 2], &records[0]))
            swap(&records[count / 2], &records[0]);
        if (is_before(&records[high], &records[0]))
            swap(&records[high], &records[0]);
        if (is_before(&records[high], &records[count / 2]))
            swap(&records[high], &records[count / 2]);
        pivot = records[count / 2];
        for (;;) {
            while (is_before(&records[low], &pivot))
                low++;
            while (is_before(&pivot, &records[high]))
                high--;
            if (low >= high)
                break;
            swap(&records[low++], &records[high--]);
        }
        high++; /* everything before `high` is not after the pivot */
        if (high < count - high) {
            quick_sort(records, high, rounds);
            records += high;
            count -= high;
        } else {
            quick_sort(records + high, count - high, rounds);
            count = high;
        }
    }
    insertion_sort(records, count);
}

void store_sort_records(struct record *records, size_t count)
{
    bool sorted = true;
    unsigned rounds = 2;

    for (size_t i = 1; i < count && sorted; i++)
        sorted = !is_before(&records[i], &records[i - 1]);
    for (size_t left = count; left > 1; left /= 2)
        rounds += 2;
    if (!sorted)
        quick_sort(records, count, rounds);
}

enum ifg_status store_take_sorted(struct store *store, uint32_t thread, struct record **out_records,
                                  size_t *out_count, struct ifg_error *err)
{
    struct lane *lane = thread < store->lane_count ? &store->lanes[thread] : NULL;
    struct record *records;
    size_t at = 0;

    *out_records = NULL;
    *out_count = 0;
    if (!lane || !lane->count)
        return IFG_OK;
    records = ifg_alloc(lane->count, sizeof *records);
    if (!records)
        return no_memory(err);
    while (lane->first) { /* each chunk is freed before the next is copied */
        struct chunk *chunk = lane->first;

        memcpy(records + at, chunk->records, chunk->count * sizeof *records);
        at += chunk->count;
        lane->first = chunk->next;
        ifg_free(chunk);
    }
    memset(lane, 0, sizeof *lane);
    store_sort_records(records, at);
    *out_records = records;
    *out_count = at;
    return IFG_OK;
}
