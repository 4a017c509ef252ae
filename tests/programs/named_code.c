// SPDX-License-Identifier: Apache-2.0
/*
 * Code made at run time, whose names are in files that anybody may have made:
 * named_code [DUMP [NEXT FALSE]]
 *
 * Prints "PID ADDRESS", waits for a line, and runs the code until SIGTERM; without input half a
 * second. With DUMP it maps this file as runtimes do with a jitdump; then, with NEXT, it renames
 * its folder so, and puts a link to the folder FALSE in its place.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
/* mov $1000000, %eax; 1: dec %eax; jnz 1b; ret */
static const unsigned char code[] = { 0xb8, 0x40, 0x42, 0x0f, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
#else
static const unsigned char code[1];
#endif

static bool map_dump(int count, char **arguments)
{
    const char *folder;
    int fd = open(arguments[1], O_RDONLY);

    if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return false;
    folder = dirname(arguments[1]);
    return count < 4 || (rename(folder, arguments[2]) == 0 && symlink(arguments[3], folder) == 0);
}

int main(int count, char **arguments)
{
    void *location = (void *)0x10000000000; /* for lists that are written before */
    void *memory = mmap(location, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void (*run)(void);
    char line[8];
    bool forever;
    clock_t end;

    if (memory == MAP_FAILED || sizeof code < 2)
        return 77;
    memcpy(memory, code, sizeof code);
    memcpy(&run, &memory, sizeof run);
    if (count > 1 && !map_dump(count, arguments))
        return 1;
    printf("%d %lx\n", (int)getpid(), (unsigned long)memory);
    fflush(stdout);
    forever = fgets(line, sizeof line, stdin) != NULL;
    end = clock() + CLOCKS_PER_SEC / 2;
    while (forever || clock() < end)
        run();
    return 0;
}
