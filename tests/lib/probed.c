// SPDX-License-Identifier: Apache-2.0
/* Drives tests/programs/probe_target: see probed.h. */
#include "probed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    char bytes[65536];
    ssize_t got = -1;

    while (in >= 0 && out >= 0 && (got = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)got) != got)
            break;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return got == 0;
}

__attribute__((noreturn)) static void become(const struct probed *target, unsigned surroundings,
                                             int in, int out)
{
    if (surroundings & PROBED_OWN_FILES) {
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", target->directory, "tmpfs", 0, NULL) < 0)
            _exit(90);
        if (!copy_file(PROBE_WORK, target->library))
            _exit(91);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    dup2(out, 1);
    execl(PROBE_TARGET, "probe_target", target->library, (char *)0);
    _exit(92);
}

bool probed_await_ready(struct probed *target)
{
    char line[256];

    target->location_count = 0;
    while (fgets(line, sizeof line, target->out)) {
        char *save = NULL;
        char *word = strtok_r(line, " \n", &save);
        char *name = strtok_r(NULL, " \n", &save);
        char *offset = strtok_r(NULL, " \n", &save);
        char *address = strtok_r(NULL, " \n", &save);
        char *range = strtok_r(NULL, " \n", &save);
        size_t i = target->location_count;

        if (word && name && strcmp(word, "ready") == 0) {
            target->own_pid = (pid_t)strtol(name, NULL, 10);
            return true;
        }
        if (!range || i == sizeof target->locations / sizeof target->locations[0])
            continue;
        snprintf(target->locations[i].name, sizeof target->locations[i].name, "%s", name);
        snprintf(target->locations[i].range, sizeof target->locations[i].range, "%s", range);
        target->locations[i].offset = strtoull(offset, NULL, 10);
        target->locations[i].address = strtoull(address, NULL, 10);
        target->location_count++;
    }
    fprintf(stderr, "probe_target did not start\n");
    return false;
}

bool probed_start(struct probed *target, unsigned surroundings)
{
    const char *base = getenv("TMPDIR");
    unsigned long flags = SIGCHLD;
    int in[2];
    int out[2];

    *target = (struct probed){ 0 };
    snprintf(target->directory, sizeof target->directory, "%.40s/probed-XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(target->directory) || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        perror("probed_start");
        return false;
    }
    snprintf(target->library, sizeof target->library, "%s/libwork.so", target->directory);
    if (!(surroundings & PROBED_OWN_FILES) && !copy_file(PROBE_WORK, target->library)) {
        perror(PROBE_WORK);
        return false;
    }
    flags |= surroundings & PROBED_OWN_FILES ? (unsigned long)CLONE_NEWNS : 0;
    flags |= surroundings & PROBED_OWN_PIDS ? (unsigned long)CLONE_NEWPID : 0;
    target->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (target->pid == 0)
        become(target, surroundings, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    target->in = fdopen(in[1], "w");
    target->out = fdopen(out[0], "r");
    return target->pid > 0 && probed_await_ready(target);
}

void probed_tell(struct probed *target, const char *command)
{
    fprintf(target->in, "%s\n", command);
    fflush(target->in);
}

uint64_t probed_ask(struct probed *target, const char *format, ...)
{
    char command[128];
    char line[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    probed_tell(target, command);
    return fgets(line, sizeof line, target->out) ? strtoull(line, NULL, 10) : UINT64_MAX;
}

int probed_end(struct probed *target)
{
    int status = -1;

    signal(SIGPIPE, SIG_IGN);
    if (target->in) {
        probed_tell(target, "quit");
        fclose(target->in);
    }
    if (target->out)
        fclose(target->out);
    while (target->pid > 0 && waitpid(target->pid, &status, 0) < 0 && errno == EINTR)
        ;
    unlink(target->library);
    rmdir(target->directory);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int location_of(const struct probed *target, const char *name)
{
    for (size_t i = 0; i < target->location_count; i++)
        if (strcmp(target->locations[i].name, name) == 0)
            return (int)i;
    fprintf(stderr, "no function %s\n", name);
    exit(1);
}

uint64_t probed_offset(const struct probed *target, const char *name)
{
    return target->locations[location_of(target, name)].offset;
}

const char *probed_file(const struct probed *target)
{
    static char path[320];

    snprintf(path, sizeof path, "/proc/%d/root%s", (int)target->pid, target->library);
    return path;
}

const char *probed_map_file(const struct probed *target, const char *name)
{
    static char path[96];

    snprintf(path, sizeof path, "/proc/%d/map_files/%s", (int)target->pid,
             target->locations[location_of(target, name)].range);
    return path;
}

bool probed_code(const struct probed *target, pid_t pid, const char *name,
                 unsigned char out_bytes[PROBED_CODE_BYTES])
{
    char path[48];
    int fd;
    ssize_t got;

    snprintf(path, sizeof path, "/proc/%d/mem", (int)(pid ? pid : target->pid));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = pread(fd, out_bytes, PROBED_CODE_BYTES,
                (off_t)target->locations[location_of(target, name)].address);
    close(fd);
    return got == PROBED_CODE_BYTES;
}
