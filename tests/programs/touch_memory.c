// SPDX-License-Identifier: Apache-2.0
/*
 * touch_memory WAIT_MS|- MEGABYTES HOLD_MS: waits (-: for its input), takes so much memory and
 * writes to all of it, keeps it, gives it back to the system, waits again. For tests of what is
 * resident and when.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void wait_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) * 1000000 : 200000000;
    long wait = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    void *memory;

    if (argc > 1 && strcmp(argv[1], "-") == 0)
        (void)getchar();
    else
        wait_ms(wait);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, 1, bytes);
    wait_ms(argc > 3 ? strtol(argv[3], NULL, 10) : 50);
    munmap(memory, bytes);
    wait_ms(wait);
    return 0;
}
