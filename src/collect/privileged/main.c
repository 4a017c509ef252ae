// SPDX-License-Identifier: Apache-2.0
/*
 * inferogram-privileged: what an administrator gives capabilities to, instead of all of Inferogram.
 * A recorder of an ordinary user starts it. It opens events and probes for that user's own
 * processes, and does nothing else; it reads no file but the kernel's, no argument and no
 * environment variable.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/privileged/protocol.h"
#include "collect/privileged/serve.h"
#include "system/rights.h"

#define FILES_MAX 64

static bool is_our_socket(void)
{
    struct stat file;
    int type = 0;
    socklen_t size = sizeof type;

    return fstat(PRIVILEGED_SOCKET, &file) == 0 && S_ISSOCK(file.st_mode) &&
           getsockopt(PRIVILEGED_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

/* Nothing of the caller's surroundings is left but the socket. */
static bool close_all(void)
{
    const struct rlimit no_core = { 0, 0 }, files = { FILES_MAX, FILES_MAX };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < PRIVILEGED_SOCKET; i++)
        if (null < 0 || (null != i && dup2(null, i) != i))
            return false;
    if (syscall(SYS_close_range, PRIVILEGED_SOCKET + 1, ~0u, 0) < 0)
        return false;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    return setrlimit(RLIMIT_CORE, &no_core) == 0 && setrlimit(RLIMIT_NOFILE, &files) == 0 &&
           chdir("/") == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int main(void)
{
    if (!rights_begin())
        return 1;
    if (!is_our_socket()) {
        fputs("inferogram-privileged is started by inferogram, and does nothing by itself\n",
              stderr);
        return 2;
    }
    return close_all() ? serve(PRIVILEGED_SOCKET) : 1;
}
