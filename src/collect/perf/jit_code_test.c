// SPDX-License-Identifier: Apache-2.0
/* Code that a real child makes, lists and dumps, looked up after the child has ended. */
#include "collect/perf/jit_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "collect/perf/owners.h"
#include "tap.h"

#define PAGE 4096u

static struct jit_code_budget budget;
static uint8_t *memory; /* at the same address in the child */
static char list[64];
static int go[2], ready[2];
static struct owners *owners;

/* A child that has four pages of its own at `memory`, and waits. */
static pid_t start(void (*work)(void))
{
    pid_t child;
    char byte;

    memset(&budget, 0, sizeof budget);
    owners = owners_create();
    REQUIRE(owners != NULL);
    memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && pipe(go) == 0 && pipe(ready) == 0);
    child = fork();
    REQUIRE(child >= 0);
    if (!child) {
        close(go[1]);
        memset(memory, 0x90, 4 * PAGE);
        memory[PAGE + 8] = 0xc3;
        work();
        if (write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    snprintf(list, sizeof list, "/tmp/perf-%d.map", (int)child);
    return child;
}

static void end(pid_t child)
{
    close(go[0]);
    close(go[1]);
    close(ready[0]);
    waitpid(child, NULL, 0);
}

static void clean_up(struct jit_code *jit)
{
    jit_code_destroy(jit);
    owners_destroy(owners);
    CHECK_UINT(budget.pages, 0);
    CHECK_UINT(budget.descriptors, 0);
    munmap(memory, 4 * PAGE);
    unlink(list);
}

static void write_list(void)
{
    char path[64];
    FILE *out;

    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    out = fopen(path, "w");
    if (out) {
        fprintf(out, "%llx 800 made in the child\n", (unsigned long long)(uintptr_t)memory + 4000);
        fclose(out);
    }
}

static void do_nothing(void)
{
}

/* The program is gone when names are looked up; so is its list. */
static void list_and_code_of_a_program_that_ended(void)
{
    pid_t child = start(write_list);
    uint64_t base = (uint64_t)(uintptr_t)memory;
    struct jit_code *jit = jit_code_create((uint32_t)child, owners, &budget);
    struct jit_code_function function;
    uint8_t bytes[PAGE];
    uint64_t at;

    REQUIRE(jit != NULL);
    jit_code_saw(jit, base + PAGE + 8, 100);
    jit_code_saw(jit, base + PAGE + 8, 200);
    CHECK_UINT(budget.descriptors, 1);
    end(child);
    unlink(list);
    jit_code_load(jit);
    jit_code_load_names(jit);
    REQUIRE(jit_code_find(jit, base + PAGE + 8, &function));
    CHECK_STR(function.name, "made in the child");
    CHECK_UINT(function.start, base + 4000);
    CHECK_UINT(function.size, 0x800);
    CHECK_UINT(function.line, 0);
    CHECK(!jit_code_find(jit, base, &function));
    CHECK_UINT(jit_code_code(jit, base + PAGE + 8, base + 4000, base + 4000 + 0x800, bytes, &at),
               0x800);
    CHECK_UINT(at, base + 4000);
    CHECK_UINT(bytes[PAGE + 8 - 4000], 0xc3);
    CHECK_UINT(bytes[0], 0x90);
    clean_up(jit);
}

/* Pages that nobody sampled are not there: pieces are told with where they are. */
static void code_with_gaps(void)
{
    pid_t child = start(do_nothing);
    uint64_t base = (uint64_t)(uintptr_t)memory, at;
    struct jit_code *jit = jit_code_create((uint32_t)child, owners, &budget);
    static uint8_t bytes[8 * PAGE];
    size_t pages;

    REQUIRE(jit != NULL);
    jit_code_saw(jit, base + 4 * PAGE - 1, 100); /* pages 2 and 3; behind them may be nothing */
    pages = budget.pages;
    CHECK(pages >= 2 && pages <= 4);
    end(child);
    CHECK_UINT(jit_code_code(jit, base + 3 * PAGE, base, base + 4 * PAGE, bytes, &at), 2 * PAGE);
    CHECK_UINT(at, base + 2 * PAGE);
    CHECK_UINT(jit_code_code(jit, base + 3 * PAGE, base, base + PAGE, bytes, &at), 0);
    clean_up(jit);
}

/* While the process lives, everything can be read. */
static void code_of_a_living_process(void)
{
    pid_t child = start(do_nothing);
    uint64_t base = (uint64_t)(uintptr_t)memory, at;
    struct jit_code *jit = jit_code_create((uint32_t)child, owners, &budget);
    static uint8_t bytes[4 * PAGE];

    REQUIRE(jit != NULL);
    CHECK_UINT(jit_code_code(jit, base, base, base + 4 * PAGE, bytes, &at), 4 * PAGE);
    CHECK_UINT(bytes[PAGE + 8], 0xc3);
    end(child);
    clean_up(jit);
}

/* A list that is older than the process is of another one that had its number. */
static void a_list_of_another_process(void)
{
    pid_t child = start(write_list);
    uint64_t base = (uint64_t)(uintptr_t)memory;
    struct timespec old[2] = { { .tv_sec = time(NULL) - 3600 }, { .tv_sec = time(NULL) - 3600 } };
    struct jit_code_function function;
    struct jit_code *jit;

    REQUIRE(utimensat(AT_FDCWD, list, old, 0) == 0);
    jit = jit_code_create((uint32_t)child, owners, &budget);
    REQUIRE(jit != NULL);
    jit_code_saw(jit, base + 4000, 100);
    end(child);
    jit_code_load(jit);
    jit_code_load_names(jit);
    CHECK(!jit_code_find(jit, base + 4000, &function));
    clean_up(jit);
}

/* However many places are sampled, memory and descriptors are bounded. */
static void limits(void)
{
    pid_t child = start(do_nothing);
    uint64_t base = (uint64_t)(uintptr_t)memory;
    struct jit_code *jit = jit_code_create((uint32_t)child, owners, &budget);

    REQUIRE(jit != NULL);
    for (uint64_t i = 0; i < 100000; i++)
        jit_code_saw(jit, base + i * 64, 100 + i);
    CHECK(budget.pages <= 4096);
    CHECK(budget.reads >= 1);
    end(child);
    clean_up(jit);
}

static void which_files_are_dumps(void)
{
    CHECK(jit_code_is_dump("/tmp/jit-12.dump"));
    CHECK(jit_code_is_dump("/srv/.debug/jit/x/jit-12.dump"));
    CHECK(!jit_code_is_dump("/tmp/jit-12.dump.so"));
    CHECK(!jit_code_is_dump("/usr/lib/libjit-1.so"));
    CHECK(!jit_code_is_dump("/tmp/jit-.dump"));
    CHECK(!jit_code_is_dump(""));
}

TAP_MAIN(TAP_CASE(list_and_code_of_a_program_that_ended), TAP_CASE(code_with_gaps),
         TAP_CASE(code_of_a_living_process), TAP_CASE(a_list_of_another_process), TAP_CASE(limits),
         TAP_CASE(which_files_are_dumps))
