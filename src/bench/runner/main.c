// SPDX-License-Identifier: Apache-2.0
/*
 * inferogram-bench-runner: holds a runtime and models and runs them when the tool says so
 * (bench/runner/protocol.h). Started by `inferogram bench`, `compare` and `gate`; nobody needs to
 * start it by hand.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/runner/serve.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nobody listens */
}

static struct shared_area *map_memory(int fd)
{
    struct stat facts;
    void *area;

    if (fstat(fd, &facts) < 0 || facts.st_size != (off_t)sizeof(struct shared_area))
        return NULL;
    /* There at once: a page that is first touched beside the clock would be seen. */
    area = mmap(NULL, sizeof(struct shared_area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                fd, 0);
    return area == MAP_FAILED ? NULL : area;
}

int main(void)
{
    struct ifg_error err = { 0 };
    struct shared_area *shared;
    struct stat facts;

    /* Whoever stops the tool with the keyboard does not mean us: the tool decides. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* of the tool, or of the recorder between us */
    shared = map_memory(PROTOCOL_MEMORY);
    if (!shared || fstat(PROTOCOL_SOCKET, &facts) < 0 || !S_ISSOCK(facts.st_mode)) {
        say("inferogram-bench-runner is started by `inferogram bench`; by itself it does "
            "nothing\n");
        return EXIT_USAGE;
    }
    close(PROTOCOL_MEMORY);
    fcntl(PROTOCOL_SOCKET, F_SETFD, FD_CLOEXEC); /* not for what a runtime starts */
    if (serve(PROTOCOL_SOCKET, shared, &err)) {
        say("inferogram-bench-runner: ");
        say(err.message);
        say("\n");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}
