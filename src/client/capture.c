// SPDX-License-Identifier: Apache-2.0
/*
 * See capture.h. One file for each inference, written straight from the program's own memory with
 * write(2): no copy in its heap, a pointer that leads nowhere is an error and no crash, and a full
 * disk is one as well. Nothing here waits; what finds no room is counted.
 */
#include "client/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client_internal.h"

#define DIRECTORY_BYTES 200u
#define PATH_BYTES      (DIRECTORY_BYTES + 80)
#define WRITE_MOST      (1u << 30) /* bytes at once: write(2) takes no more than 2^31 */

static struct ifg_capture_head *head; /* NULL: nobody wants inputs */
static char directory[DIRECTORY_BYTES];
static uint32_t files;

int ifg_capture_open(void)
{
    const char *path = secure_getenv(IFG_ENV_CAPTURE);
    const char *slash = path ? strrchr(path, '/') : NULL;
    struct ifg_capture_head *mapped = MAP_FAILED;
    int saved_errno = errno;
    struct stat info;
    int fd = -1;

    if (head || !slash || (size_t)(slash - path) >= sizeof directory || !client_may_call())
        goto out;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size >= (off_t)sizeof *head)
        mapped = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mapped != MAP_FAILED &&
        (mapped->magic != IFG_CAPTURE_MAGIC || mapped->version != IFG_CAPTURE_VERSION)) {
        munmap(mapped, sizeof *head);
        mapped = MAP_FAILED;
    }
    if (mapped != MAP_FAILED) {
        memcpy(directory, path, (size_t)(slash - path));
        __atomic_add_fetch(&mapped->processes, 1, __ATOMIC_RELAXED);
        head = mapped;
    }
out:
    errno = saved_errno;
    return head != NULL;
}

void ifg_capture_refuse(int why)
{
    if (head && why >= 0 && why < IFG_CAPTURE_WHYS)
        __atomic_add_fetch(&head->refused[why], 1, __ATOMIC_RELAXED);
}

/* ---- which ---- */

static void slowest_path(char out[PATH_BYTES], uint32_t model, uint64_t ticks)
{
    snprintf(out, PATH_BYTES, "%s/" IFG_CAPTURE_SLOWEST "%d-%u-%llu", directory, (int)getpid(),
             model, (unsigned long long)ticks);
}

/* What was the slowest makes room at once: inputs of an inference that is not must not stay. */
static void forget_slowest(uint32_t model, uint64_t ticks)
{
    char path[PATH_BYTES];
    struct stat info;

    if (!ticks)
        return;
    slowest_path(path, model, ticks);
    if (stat(path, &info) == 0 && unlink(path) == 0)
        __atomic_sub_fetch(&head->used, (uint64_t)info.st_size, __ATOMIC_RELAXED);
}

static bool claim_slowest(ifg_model *model, struct client_capture *state, uint64_t ticks)
{
    uint64_t slowest = __atomic_load_n(&state->slowest, __ATOMIC_RELAXED);

    do
        if (ticks <= slowest)
            return false;
    while (!__atomic_compare_exchange_n(&state->slowest, &slowest, ticks, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    if (client_may_call())
        forget_slowest(client_model_id(model), slowest);
    return true;
}

int ifg_capture_wants(ifg_model *model, uint64_t ticks, int failed)
{
    struct client_capture *state = model ? client_model_capture(model) : NULL;
    int saved_errno = errno;
    bool wanted = false;

    if (!head || !state || !__atomic_load_n(&head->open, __ATOMIC_RELAXED))
        return 0;
    switch (head->mode) {
    case IFG_CAPTURE_FIRST:
        wanted = __atomic_load_n(&state->runs, __ATOMIC_RELAXED) < head->first &&
                 __atomic_fetch_add(&state->runs, 1, __ATOMIC_RELAXED) < head->first;
        break;
    case IFG_CAPTURE_SLOW:
        wanted = !failed && claim_slowest(model, state, ticks);
        break;
    case IFG_CAPTURE_FAILED:
        wanted = failed;
        break;
    default:
        break;
    }
    if (wanted && !client_may_call()) {
        ifg_capture_refuse(IFG_CAPTURE_CONFINED);
        wanted = false;
    }
    errno = saved_errno;
    return wanted;
}

/* ---- the file ---- */

static bool write_all(int fd, const void *data, uint64_t bytes)
{
    const char *at = data;

    while (bytes) {
        ssize_t done = write(fd, at, bytes < WRITE_MOST ? (size_t)bytes : WRITE_MOST);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        bytes -= (uint64_t)done;
    }
    return true;
}

/* A file beyond this limit would not be an error but a signal that ends the program. */
static bool may_be_so_large(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

static bool reserve(uint64_t bytes)
{
    uint64_t used = __atomic_load_n(&head->used, __ATOMIC_RELAXED);

    do
        if (bytes > head->limit || used > head->limit - bytes)
            return false;
    while (!__atomic_compare_exchange_n(&head->used, &used, used + bytes, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return true;
}

/* The bytes of the whole file, or -1 - why. */
static int64_t measure(const struct ifg_capture_tensor *tensors, size_t count)
{
    uint64_t bytes = sizeof(struct ifg_capture_file) + count * sizeof(struct ifg_capture_entry);

    if (count > IFG_CAPTURE_TENSORS)
        return -1 - IFG_CAPTURE_TOO_MANY;
    for (size_t i = 0; i < count; i++) {
        const struct ifg_capture_tensor *tensor = &tensors[i];
        size_t name_bytes = strlen(tensor->name);
        int is_bad;

        if (tensor->rank > IFG_CAPTURE_RANK || name_bytes > IFG_CAPTURE_NAME_BYTES)
            return -1 - IFG_CAPTURE_TOO_MANY;
        if (__builtin_add_overflow(
                bytes, ifg_capture_bytes(tensor->type, tensor->dims, tensor->rank, &is_bad),
                &bytes) ||
            is_bad)
            return -1 - IFG_CAPTURE_TYPE;
        bytes += name_bytes;
        if (bytes > INT64_MAX)
            return -1 - IFG_CAPTURE_NO_ROOM;
    }
    return (int64_t)bytes;
}

static bool write_tensors(int fd, const struct ifg_capture_tensor *tensors, size_t count)
{
    int is_bad;

    for (size_t i = 0; i < count; i++) {
        const struct ifg_capture_tensor *tensor = &tensors[i];
        struct ifg_capture_entry entry = {
            .type = tensor->type,
            .rank = tensor->rank,
            .name_bytes = (uint32_t)strlen(tensor->name),
            .bytes = ifg_capture_bytes(tensor->type, tensor->dims, tensor->rank, &is_bad),
        };

        if (tensor->rank)
            memcpy(entry.dims, tensor->dims, tensor->rank * sizeof *entry.dims);
        if (!write_all(fd, &entry, sizeof entry))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!write_all(fd, tensors[i].name, strlen(tensors[i].name)))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!write_all(
                fd, tensors[i].data,
                ifg_capture_bytes(tensors[i].type, tensors[i].dims, tensors[i].rank, &is_bad)))
            return false;
    return true;
}

/* False: there is no such file, and its bytes are free again. */
static bool write_file(const char *path, const struct ifg_capture_file *file,
                       const struct ifg_capture_tensor *tensors)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good =
        fd >= 0 && write_all(fd, file, sizeof *file) && write_tensors(fd, tensors, file->tensors);

    if (fd >= 0) {
        close(fd);
        if (!good)
            unlink(path);
    }
    if (!good) {
        __atomic_sub_fetch(&head->used, file->bytes, __ATOMIC_RELAXED);
        ifg_capture_refuse(IFG_CAPTURE_UNWRITTEN);
    }
    return good;
}

/* Whoever is the slowest of its model now has this name, and nobody else. */
static void publish(ifg_model *model, const struct ifg_capture_file *file, const char *part,
                    uint32_t number)
{
    const struct client_capture *state = client_model_capture(model);
    bool is_slowest = head->mode == IFG_CAPTURE_SLOW;
    char path[PATH_BYTES];

    if (is_slowest)
        slowest_path(path, client_model_id(model), file->ticks);
    else
        snprintf(path, sizeof path, "%s/" IFG_CAPTURE_INPUTS "%u-%u", directory, file->pid, number);
    if (is_slowest && __atomic_load_n(&state->slowest, __ATOMIC_RELAXED) != file->ticks) {
        unlink(part); /* another thread was slower meanwhile */
        __atomic_sub_fetch(&head->used, file->bytes, __ATOMIC_RELAXED);
    } else if (rename(part, path) < 0) {
        unlink(part);
        __atomic_sub_fetch(&head->used, file->bytes, __ATOMIC_RELAXED);
        ifg_capture_refuse(IFG_CAPTURE_UNWRITTEN);
    }
}

static void put(ifg_model *model, const struct ifg_capture_file *file,
                const struct ifg_capture_tensor *tensors)
{
    uint32_t number = __atomic_add_fetch(&files, 1, __ATOMIC_RELAXED);
    char part[PATH_BYTES];

    if (!may_be_so_large(file->bytes)) {
        ifg_capture_refuse(IFG_CAPTURE_UNWRITTEN);
        return;
    }
    if (!reserve(file->bytes)) {
        ifg_capture_refuse(IFG_CAPTURE_NO_ROOM);
        return;
    }
    __atomic_add_fetch(&head->writing, 1, __ATOMIC_RELAXED);
    snprintf(part, sizeof part, "%s/" IFG_CAPTURE_PART "%u-%u", directory, file->pid, number);
    if (write_file(part, file, tensors))
        publish(model, file, part, number);
    __atomic_sub_fetch(&head->writing, 1, __ATOMIC_RELAXED);
}

void ifg_capture_put(ifg_model *model, uint32_t location, uint64_t start, uint64_t ticks,
                     int failed, const struct ifg_capture_tensor *tensors, size_t count)
{
    int64_t bytes = head && model ? measure(tensors, count) : 0;
    int saved_errno = errno;
    int cancel;

    if (!bytes)
        return;
    if (bytes < 0) {
        ifg_capture_refuse((int)(-1 - bytes));
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* our calls are no place to end at */
    put(model,
        &(struct ifg_capture_file){ .magic = IFG_CAPTURE_FILE_MAGIC,
                                    .version = IFG_CAPTURE_VERSION,
                                    .tensors = (uint32_t)count,
                                    .pid = (uint32_t)getpid(),
                                    .tid = client_thread_id(),
                                    .location = location,
                                    .failed = failed != 0,
                                    .start = start,
                                    .ticks = ticks,
                                    .bytes = (uint64_t)bytes },
        tensors);
    pthread_setcancelstate(cancel, &cancel);
    errno = saved_errno;
}
