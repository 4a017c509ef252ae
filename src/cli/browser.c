// SPDX-License-Identifier: Apache-2.0
/* Opening the browser: see browser.h. */
#include "cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>

#include "cli/cli.h"

extern char **environ;

void browser_open(const char *url)
{
    char *const arguments[] = { "xdg-open", (char *)(uintptr_t)url, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int failed;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* so that Ctrl-C is not meant for it */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    failed = posix_spawnp(&pid, "xdg-open", &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        cli_say("no browser was opened (xdg-open: %s); open the address yourself",
                strerror(failed));
}
