// SPDX-License-Identifier: Apache-2.0
/*
 * A program of an attacker. It holds a module of Python in its memory to be taken for an
 * interpreter, and when somebody starts it as one it leaves a proof of whose rights it got.
 *
 *   false_python hold|guard MODULE   maps it, says "ready PID" and waits; guard: it is not dumpable
 *   false_python ...                 appends to the file `proof` beside this program, and answers
 *                                    on descriptor 3 that the module has no function worth a probe
 *
 * Built twice: as one that exports what an interpreter does, and as one that does not.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef IS_FORGED
int Py_BytesMain(int argc, char **argv);

int Py_BytesMain(int argc, char **argv)
{
    (void)argv;
    return argc;
}
#endif

static int hold(const char *module, int guard)
{
    int fd = open(module, O_RDONLY | O_CLOEXEC);
    struct stat found;

    if (fd < 0 || fstat(fd, &found) < 0 ||
        mmap(NULL, (size_t)found.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return 1;
    if (guard)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

/* The value of a line of /proc/self/status. */
static void status_line(const char *key, char *out, size_t size)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];

    snprintf(out, size, "?");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            snprintf(out, size, "%s", line + strlen(key) + 2);
            out[strcspn(out, "\n")] = '\0';
        }
    if (file)
        fclose(file);
}

static void leave_proof(const char *script)
{
    static const char answer[] = "ort 1.20.1\nend\n";
    char path[PATH_MAX + 8], capabilities[64], bounding[64], filter[16];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash;
    FILE *proof;
    pid_t child;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return;
    memcpy(slash + 1, "proof", 6);
    status_line("CapPrm", capabilities, sizeof capabilities);
    status_line("CapBnd", bounding, sizeof bounding);
    status_line("Seccomp", filter, sizeof filter);
    child = fork();
    if (child == 0) {
        setsid();
        sleep(30);
        _exit(0);
    }
    proof = fopen(path, "ae");
    if (proof) {
        fprintf(proof,
                "uid %d euid %d gid %d groups %d capabilities %s %s seccomp %s forks %s by %s\n",
                (int)getuid(), (int)geteuid(), (int)getgid(), getgroups(0, NULL), capabilities,
                bounding, filter, child > 0 ? "yes" : "no", script);
        fclose(proof);
    }
    if (write(3, answer, sizeof answer - 1) < 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "hold") == 0 || strcmp(argv[1], "guard") == 0))
        return hold(argv[2], argv[1][0] == 'g');
    leave_proof(argc > 3 ? argv[3] : "?");
    return 0;
}
