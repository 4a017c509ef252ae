// SPDX-License-Identifier: Apache-2.0
/* Handing inputs over: which ones, within which limits, and what happens where they cannot be. */
#include "client/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define LIMIT (1u << 20)

static char folder[] = "/tmp/ifg-capture-test-XXXXXX";
static struct ifg_capture_head *shared;

/* What the recorder does. Each case has a process of its own. */
static void begin(enum ifg_capture_mode mode, uint32_t first, uint64_t limit)
{
    const struct ifg_capture_head head = { .magic = IFG_CAPTURE_MAGIC,
                                           .version = IFG_CAPTURE_VERSION,
                                           .open = 1,
                                           .mode = mode,
                                           .first = first,
                                           .limit = limit };
    char path[64];
    int fd;

    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/capture", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_INT(pwrite(fd, &head, sizeof head, 0), (int)sizeof head);
    shared = mmap(NULL, sizeof head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(shared != MAP_FAILED);
    close(fd);
    setenv(IFG_ENV_CAPTURE, path, 1);
    REQUIRE(ifg_capture_open());
    CHECK_UINT(shared->processes, 1);
}

/* Counts files that begin so; the last one's name goes to out. */
static unsigned count_files(const char *prefix, char out[300])
{
    DIR *files = opendir(folder);
    struct dirent *entry;
    unsigned count = 0;

    REQUIRE(files != NULL);
    while ((entry = readdir(files)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            count++;
            if (out)
                snprintf(out, 300, "%s/%s", folder, entry->d_name);
        }
    closedir(files);
    return count;
}

static void end(void)
{
    char command[100];

    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
}

static ifg_model *model_called(const char *name)
{
    return ifg_model_create(
        &(ifg_model_options){ .struct_size = sizeof(ifg_model_options), .name = name });
}

/* One inference with an input of so many floats. */
static void infer(ifg_model *model, uint64_t ticks, int failed, int64_t floats, const void *data)
{
    if (ifg_capture_wants(model, ticks, failed))
        ifg_capture_put(model, 5, 1000, ticks, failed,
                        &(struct ifg_capture_tensor){
                            .name = "x", .data = data, .dims = &floats, .rank = 1, .type = 1 },
                        1);
}

static void first_of_each_model(void)
{
    static const float data[4] = { 1, 2, 3, 4 };
    ifg_model *a = model_called("a");
    ifg_model *b = model_called("b");
    struct ifg_capture_file file;
    struct ifg_capture_entry entry;
    char path[300];
    char rest[17];
    int fd;

    begin(IFG_CAPTURE_FIRST, 2, LIMIT);
    for (int i = 0; i < 5; i++)
        infer(a, 10, 0, 4, data);
    CHECK_UINT(count_files(IFG_CAPTURE_INPUTS, NULL), 2);
    infer(b, 10, 1, 4, data);
    CHECK_UINT(count_files(IFG_CAPTURE_INPUTS, path), 3);
    CHECK_UINT(count_files(IFG_CAPTURE_PART, NULL), 0);
    CHECK_UINT(shared->writing, 0);
    CHECK_UINT(shared->used, 3 * (sizeof file + sizeof entry + 1 + sizeof data));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE_INT(read(fd, &file, sizeof file), (int)sizeof file);
    REQUIRE_INT(read(fd, &entry, sizeof entry), (int)sizeof entry);
    REQUIRE_INT(read(fd, rest, sizeof rest), 17);
    CHECK_UINT(file.bytes, sizeof file + sizeof entry + 17);
    CHECK_UINT(file.location, 5);
    CHECK_UINT(entry.rank, 1);
    CHECK_INT(entry.dims[0], 4);
    CHECK_BYTES(rest, "x", 1);
    CHECK_BYTES(rest + 1, data, sizeof data);
    close(fd);
    end();
}

static void slowest_replaces(void)
{
    static const float data[4] = { 1, 2, 3, 4 };
    ifg_model *model = model_called("a");
    char path[300];

    begin(IFG_CAPTURE_SLOW, 0,
          sizeof(struct ifg_capture_file) + sizeof(struct ifg_capture_entry) + 1 +
              sizeof data); /* room for one alone */
    infer(model, 10, 0, 4, data);
    infer(model, 30, 0, 4, data);
    infer(model, 20, 0, 4, data);
    infer(model, 90, 1, 4, data); /* failed: it did nothing that could be slow */
    CHECK_UINT(count_files(IFG_CAPTURE_SLOWEST, path), 1);
    CHECK_STR(strrchr(path, '-'), "-30");
    /* One that cannot be kept takes the place all the same. */
    CHECK(ifg_capture_wants(model, 40, 0));
    ifg_capture_refuse(IFG_CAPTURE_TYPE);
    CHECK_UINT(count_files(IFG_CAPTURE_SLOWEST, NULL), 0);
    CHECK_UINT(shared->used, 0);
    CHECK_UINT(shared->refused[IFG_CAPTURE_TYPE], 1);
    infer(model, 35, 0, 4, data);
    CHECK_UINT(count_files(IFG_CAPTURE_SLOWEST, NULL), 0);
    end();
}

static void failed_only(void)
{
    static const float data[4] = { 1, 2, 3, 4 };
    ifg_model *model = model_called("a");

    begin(IFG_CAPTURE_FAILED, 0, LIMIT);
    infer(model, 10, 0, 4, data);
    infer(model, 10, 1, 4, data);
    CHECK_UINT(count_files(IFG_CAPTURE_INPUTS, NULL), 1);
    shared->open = 0;
    infer(model, 10, 1, 4, data);
    CHECK_UINT(count_files(IFG_CAPTURE_INPUTS, NULL), 1);
    end();
}

static void what_cannot_be(void)
{
    static const float data[4] = { 1, 2, 3, 4 };
    const int64_t sizes[3] = { -1, INT64_MAX, INT64_MAX };
    struct ifg_capture_tensor tensor = { .name = "x", .data = data, .dims = sizes, .type = 1 };
    struct rlimit limit;
    ifg_model *model = model_called("a");

    begin(IFG_CAPTURE_FIRST, 100, LIMIT);
    infer(model, 10, 0, LIMIT / 4, data); /* with its head it is beyond the limit */
    CHECK_UINT(shared->refused[IFG_CAPTURE_NO_ROOM], 1);
    errno = 17;
    infer(model, 10, 0, 4, (void *)16); /* a pointer that leads nowhere */
    CHECK_INT(errno, 17);
    CHECK_UINT(shared->refused[IFG_CAPTURE_UNWRITTEN], 1);
    for (uint32_t rank = 1; rank <= 3; rank += 2) { /* a negative size, and one that overflows */
        tensor.rank = rank;
        tensor.dims = sizes + (rank == 3);
        if (rank == 3)
            tensor.rank = 2;
        REQUIRE(ifg_capture_wants(model, 10, 0));
        ifg_capture_put(model, 5, 0, 10, 0, &tensor, 1);
    }
    CHECK_UINT(shared->refused[IFG_CAPTURE_TYPE], 2);
    tensor.rank = IFG_CAPTURE_RANK + 1;
    ifg_capture_put(model, 5, 0, 10, 0, &tensor, 1);
    CHECK_UINT(shared->refused[IFG_CAPTURE_TOO_MANY], 1);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 100; /* a larger file would end the program */
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    infer(model, 10, 0, 4, data);
    CHECK_UINT(shared->refused[IFG_CAPTURE_UNWRITTEN], 2);
    CHECK_UINT(count_files(IFG_CAPTURE_INPUTS, NULL), 0);
    CHECK_UINT(count_files(IFG_CAPTURE_PART, NULL), 0);
    CHECK_UINT(shared->used, 0);
    CHECK_UINT(shared->writing, 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    end();
}

/* The child of a fork begins anew: its files are its own. */
static void after_a_fork(void)
{
    static const float data[4] = { 1, 2, 3, 4 };
    ifg_model *model = model_called("a");
    int status;
    pid_t child;

    begin(IFG_CAPTURE_SLOW, 0, LIMIT);
    infer(model, 50, 0, 4, data);
    child = fork();
    if (child == 0) {
        infer(model, 20, 0, 4, data);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_UINT(count_files(IFG_CAPTURE_SLOWEST, NULL), 2);
    end();
}

static void nobody_wants(void)
{
    setenv(IFG_ENV_CAPTURE, "/nowhere/capture", 1);
    CHECK(!ifg_capture_open());
    setenv(IFG_ENV_CAPTURE, "/dev/null", 1);
    CHECK(!ifg_capture_open());
    CHECK(!ifg_capture_wants(model_called("a"), 10, 1));
    ifg_capture_refuse(IFG_CAPTURE_TYPE);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        TAP_CASE(first_of_each_model), TAP_CASE(slowest_replaces), TAP_CASE(failed_only),
        TAP_CASE(what_cannot_be),      TAP_CASE(after_a_fork),     TAP_CASE(nobody_wants),
    };

    return tap_run(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
