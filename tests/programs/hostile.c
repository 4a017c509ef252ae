// SPDX-License-Identifier: Apache-2.0
/*
 * A program that forges what a recorder reads of it, for some seconds; then it exits with 0. What
 * it writes over its region is rec_hostile.c's business, and what it does to a runtime
 * hostile_ort.c's.
 *
 *   hostile WAY SECONDS SEED FOLDER LIBRARY
 *                                ways: elf runtime perf-map jitdump names storm heap
 *
 * FOLDER is the program's own; LIBRARY is hostile_code.so, or for the way "runtime" one that looks
 * like ONNX Runtime. It prints "ready" when it begins. A run can be repeated by its SEED, but
 * for what threads do at the same time.
 */
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t seed = 88172645463325252ull;
static uint64_t thread_count;
static __thread uint64_t random_state;

#if defined(__x86_64__)
/* mov $1000000, %eax; 1: dec %eax; jnz 1b; ret */
static const uint8_t code[] = { 0xb8, 0x40, 0x42, 0x0f, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
#else
static const uint8_t code[1];
#endif

uint64_t hostile_random(void)
{
    if (!random_state) /* a thread's first */
        random_state = seed + 2 * __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

size_t hostile_below(size_t limit)
{
    return (size_t)(hostile_random() % limit);
}

uint64_t hostile_number(void)
{
    static const uint64_t edges[] = { 0,          1,          0x7fffffff,         0x80000000,
                                      0xffffffff, 1ull << 32, 0x7fffffffffffffff, ~0ull };
    size_t kind = hostile_below(4);

    if (kind == 0)
        return hostile_random();
    return kind == 1 ? hostile_below(4096) : edges[hostile_below(8)];
}

bool hostile_goes_on(const struct hostile *hostile)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec < hostile->end;
}

void hostile_name(char *out, size_t size)
{
    static const char *const parts[] = {
        "\033[31m", "\n", "\033]0;owned\007", "\xff\xfe", "\xed\xa0\x80", "\t", "%s%n",  "<script>",
        "\" ,\\",   "\r", " (deleted)",       "'; DROP",  "\xe2\x80\xae", "a",  "&amp;", "\xc0\x80"
    };
    size_t at = 0;

    while (at + 1 < size) {
        const char *part = parts[hostile_below(16)];

        for (; *part && at + 1 < size && hostile_below(8); part++)
            out[at++] = *part;
        if (hostile_below(12) == 0)
            break;
        if (at + 1 < size)
            out[at++] = (char)(1 + hostile_below(255));
    }
    if (!at)
        out[at++] = 'x';
    out[at] = '\0';
    for (char *slash; (slash = strchr(out, '/'));)
        *slash = '\\';
}

void hostile_change(uint8_t *bytes, size_t size, size_t keep, size_t keep_end)
{
    size_t at = hostile_below(size);
    size_t length = 1 + hostile_below(16);
    uint64_t number = hostile_number();
    size_t kind = hostile_below(4);

    if (at + length > size)
        length = size - at;
    if (at < keep_end && at + length > keep)
        return;
    if (kind == 0)
        bytes[at] ^= (uint8_t)(1u << hostile_below(8));
    else if (kind == 1)
        memmove(bytes + at, bytes + hostile_below(size - length + 1), length);
    else
        memcpy(bytes + at / 4 * 4, &number,
               (at / 4 * 4) + 8 <= size && (at / 4 * 4 + 8 <= keep || at / 4 * 4 >= keep_end)
                   ? (kind == 2 ? 4 : 8)
                   : 0);
}

void *hostile_made_code(size_t bytes)
{
    uint8_t *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || sizeof code < 2)
        return NULL;
    for (size_t at = 0; at + 64 <= bytes; at += 64)
        memcpy(memory + at, code, sizeof code);
    return memory;
}

void hostile_call(void *at)
{
    void (*run)(void);

    memcpy(&run, &at, sizeof run);
    run();
}

int main(int argc, char **argv)
{
    struct hostile hostile;
    struct timespec now;

    if (argc == 2 && strcmp(argv[1], "nothing") == 0)
        return 0;
    if (argc < 6)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &now);
    hostile.end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + strtod(argv[2], NULL);
    seed ^= strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull;
    seed |= 1; /* never 0 */
    hostile.folder = argv[4];
    hostile.library = argv[5];
    if (chdir(hostile.folder) < 0)
        return 3;
    puts("ready");
    fflush(stdout);
    if (strcmp(argv[1], "elf") == 0)
        return hostile_elf(&hostile);
    if (strcmp(argv[1], "runtime") == 0)
        return hostile_runtime(&hostile);
    if (strcmp(argv[1], "perf-map") == 0)
        return hostile_perf_map(&hostile);
    if (strcmp(argv[1], "jitdump") == 0)
        return hostile_jitdump(&hostile);
    if (strcmp(argv[1], "names") == 0)
        return hostile_names(&hostile, argv);
    if (strcmp(argv[1], "storm") == 0)
        return hostile_storm(&hostile);
    if (strcmp(argv[1], "heap") == 0)
        return hostile_heap(&hostile);
    fprintf(stderr, "hostile: no way '%s'\n", argv[1]);
    return 2;
}
