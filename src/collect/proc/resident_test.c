// SPDX-License-Identifier: Apache-2.0
/* Resident memory: of a fake tree of /proc, of this process, and of a child. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"
#include "tap.h"

#define MB (1024.0 * 1024)

static struct {
    uint32_t pid;
    char name[PROC_NAME_BYTES];
    double value;
} values[64];
static size_t value_count;

static void take(void *user, uint32_t pid, const char *name, double value)
{
    (void)user;
    REQUIRE(value_count < 64);
    values[value_count].pid = pid;
    snprintf(values[value_count].name, PROC_NAME_BYTES, "%s", name);
    values[value_count++].value = value;
}

static const struct proc_sink sink = { take, NULL, NULL };

/* NAN: it was not told in the last look. */
static double value(uint32_t pid, const char *name)
{
    for (size_t i = value_count; i-- > 0;)
        if (values[i].pid == pid && strcmp(values[i].name, name) == 0)
            return values[i].value;
    return (double)NAN;
}

static size_t look(struct proc_resident *resident, const pid_t *pids, size_t count)
{
    value_count = 0;
    return proc_resident_look(resident, pids, count, &sink);
}

static char root[200];

static void write_file(const char *name, const char *text)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", root, name);
    file = fopen(path, "we");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void put_status(const char *pid, unsigned rss, unsigned peak, unsigned anon)
{
    char name[64], text[300];

    snprintf(name, sizeof name, "%s/status", pid);
    snprintf(text, sizeof text,
             "Name:\tapp\nState:\tS\nVmHWM:\t%8u kB\nVmRSS:\t%8u kB\nRssAnon:\t%8u kB\n",
             peak * 1024, rss * 1024, anon * 1024);
    write_file(name, text);
}

static void begin_tree(void)
{
    const char *directory = getenv("TMPDIR");
    char path[300];
    static const char *const folders[] = { "", "/7", "/7/task", "/7/task/7", "/8" };

    snprintf(root, sizeof root, "%s/ifg-resident-%ld", directory && *directory ? directory : "/tmp",
             (long)getpid());
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        mkdir(path, 0700);
    }
}

static void end_tree(void)
{
    char command[300];

    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command) != 0)
        tap_note("cannot remove %s", root);
}

static void peaks_between_looks(void)
{
    const pid_t pid = 7;
    struct host_roots roots;
    struct proc_resident *resident;
    const char *name = "";
    uint32_t who = 0;

    begin_tree();
    roots = (struct host_roots){ root, root };
    resident = proc_resident_open(&roots);
    REQUIRE(resident != NULL);
    put_status("7", 10, 50, 4);
    CHECK_UINT(look(resident, &pid, 1), 1);
    CHECK(value(7, "resident bytes") == 10 * MB && value(7, "resident anon bytes") == 4 * MB);
    CHECK(isnan(value(7, "resident peak bytes"))); /* when that was is not known */
    put_status("7", 12, 90, 4);
    look(resident, &pid, 1);
    CHECK(value(7, "resident bytes") == 12 * MB && value(7, "resident peak bytes") == 90 * MB);
    CHECK(isnan(value(7, "resident anon bytes"))); /* as it was */
    look(resident, &pid, 1);
    CHECK(value(7, "resident bytes") == 12 * MB && isnan(value(7, "resident peak bytes")));
    put_status("7", 95, 95, 80); /* it grew: the value says it all */
    look(resident, &pid, 1);
    CHECK(value(7, "resident bytes") == 95 * MB && isnan(value(7, "resident peak bytes")));
    CHECK(value(7, "resident anon bytes") == 80 * MB);
    put_status("7", 2, 3, 1); /* another program in the same process */
    look(resident, &pid, 1);
    CHECK(value(7, "resident bytes") == 2 * MB && isnan(value(7, "resident peak bytes")));
    put_status("7", 3, 8, 1);
    look(resident, &pid, 1);
    CHECK(value(7, "resident peak bytes") == 8 * MB);
    CHECK(proc_resident_name(resident, 0, &who, &name) && who == 7);
    CHECK_STR(name, "app");
    CHECK(!proc_resident_name(resident, 1, &who, &name));
    write_file("7/status", "Name:\tapp\nState:\tZ (zombie)\n");
    CHECK_UINT(look(resident, &pid, 1), 1); /* it is still to be waited for */
    CHECK_UINT(value_count, 0);
    look(resident, NULL, 0);
    CHECK(!proc_resident_name(resident, 0, &who, &name));
    proc_resident_close(resident);
    end_tree();
}

static void children(void)
{
    const pid_t pid = 7;
    struct host_roots roots;
    struct proc_resident *resident;

    begin_tree();
    roots = (struct host_roots){ root, root };
    resident = proc_resident_open(&roots);
    REQUIRE(resident != NULL);
    put_status("7", 10, 10, 4);
    put_status("8", 20, 20, 4);
    write_file("7/task/7/children", "8 7 99999999999 x");
    CHECK_UINT(look(resident, &pid, 1), 2);
    CHECK(value(8, "resident bytes") == 20 * MB);
    write_file("8/status", "Name:\tapp\nState:\tZ (zombie)\n");
    CHECK_UINT(look(resident, &pid, 1), 1);
    proc_resident_close(resident);
    end_tree();
}

/* Who finds no room is counted: at most so many at one look, not the sum of all looks. */
static void too_many_are_counted(void)
{
    const pid_t pid = 7;
    struct host_roots roots;
    struct proc_resident *resident;
    char list[1024] = "";
    size_t used = 0;

    begin_tree();
    roots = (struct host_roots){ root, root };
    resident = proc_resident_open(&roots);
    REQUIRE(resident != NULL);
    put_status("7", 10, 10, 4);
    for (unsigned child = 1; child < PROC_PROCESSES_MAX; child++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%u ", 100 + child);
    write_file("7/task/7/children", list);
    look(resident, &pid, 1);
    CHECK_UINT(proc_resident_left_out(resident), 0);
    snprintf(list + used, sizeof list - used, "8 9 ");
    write_file("7/task/7/children", list);
    look(resident, &pid, 1);
    look(resident, &pid, 1);
    CHECK_UINT(proc_resident_left_out(resident), 2);
    proc_resident_close(resident);
    end_tree();
}

static void this_process(void)
{
    const pid_t self = getpid();
    size_t bytes = 100 << 20;
    struct proc_resident *resident = proc_resident_open(&host_system);
    double before;
    void *memory;

    REQUIRE(resident != NULL);
    CHECK(look(resident, &self, 1) >= 1);
    before = value((uint32_t)self, "resident bytes");
    CHECK(before > 1e5);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memset(memory, 1, bytes);
    munmap(memory, bytes);
    look(resident, &self, 1);
    CHECK(value((uint32_t)self, "resident peak bytes") >= before + 0.95 * (double)bytes);
    CHECK(value((uint32_t)self, "resident bytes") < before + 0.5 * (double)bytes);
    proc_resident_close(resident);
}

static void a_child(void)
{
    const pid_t self = getpid();
    struct proc_resident *resident = proc_resident_open(&host_system);
    pid_t child = fork();
    int status;

    REQUIRE(resident != NULL);
    if (!child) {
        pause();
        _exit(0);
    }
    REQUIRE(child > 0);
    look(resident, &self, 1);
    if (access("/proc/thread-self/children", F_OK) == 0) /* not in every kernel */
        CHECK(value((uint32_t)child, "resident bytes") > 1e4);
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(look(resident, &self, 1) >= 1);
    CHECK(isnan(value((uint32_t)child, "resident bytes")));
    proc_resident_close(resident);
}

static void no_memory(void)
{
    ifg_alloc_fail_after(0);
    CHECK(!proc_resident_open(&host_system));
    ifg_alloc_fail_after(-1);
    proc_resident_close(NULL);
}

TAP_MAIN(TAP_CASE(peaks_between_looks), TAP_CASE(children), TAP_CASE(too_many_are_counted),
         TAP_CASE(this_process), TAP_CASE(a_child), TAP_CASE(no_memory))
