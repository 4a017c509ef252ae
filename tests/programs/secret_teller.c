// SPDX-License-Identifier: Apache-2.0
/*
 * secret_teller LIBRARY SECRET [PROGRAM ARGUMENTS...]: calls the library with "SECRET of USER"
 * again and again, USER being the number of whose rights it has; prints "ready USER" at first,
 * becomes PROGRAM on SIGUSR1, and ends by itself after a minute or two.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t go_on;

static void on_signal(int number)
{
    (void)number;
    go_on = 1;
}

int main(int argc, char **argv)
{
    const struct timespec pause = { 0, 2000000 };
    struct sigaction action = { .sa_handler = on_signal };
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*load)(const char *) =
        library ? (int (*)(const char *))dlsym(library, "secret_load") : NULL;

    char secret[256];

    if (!load)
        return 2;
    snprintf(secret, sizeof secret, "%s of %d", argv[2], (int)geteuid());
    sigaction(SIGUSR1, &action, NULL);
    printf("ready %d\n", (int)geteuid());
    fflush(stdout);
    for (int i = 0; i < 30000 && !go_on; i++) {
        load(secret);
        for (volatile int spin = 0; spin < 200000; spin++)
            ;
        nanosleep(&pause, NULL);
    }
    if (!go_on || argc < 4)
        return 0;
    execv(argv[3], argv + 3);
    return 3;
}
