// SPDX-License-Identifier: Apache-2.0
/*
 * Exchanges two files again and again until it is ended: exchange ONE OTHER. Whoever looks at a
 * path and then uses it may find the other file there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#define SECONDS_MAX 120

int main(int argc, char **argv)
{
    time_t end = time(NULL) + SECONDS_MAX;

    if (argc != 3)
        return 2;
    puts("ready");
    fflush(stdout);
    while (time(NULL) < end)
        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) < 0)
            return 1;
    return 0;
}
