// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is annotated with NVTX and ITT, as the tests want it. Prints how many annotations
 * of each kind it made.
 *
 *   annotated nvtx N      N times: two pushes, a mark, a span, a push in a domain
 *   annotated itt N       N times: two tasks, a counter, a marker
 *   annotated threads T N both, on T threads
 *   annotated fork        a child between push and pop
 *   annotated cross       ranges of two domains that cross
 *   annotated confined    its first annotation comes when it may not open files any more
 *   annotated inside      a range that ends inside of a zone of ours, which it does not lie in
 *   annotated until FILE  pushes and pops until the file is there
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "itt_program.h"
#include "nvtx_program.h"

static int rounds;
static void *domain;
static struct itt_domain *tasks;

static void annotate_nvtx(void)
{
    struct nvtx_event event = nvtx_text("in a domain");

    event.category = 1;
    event.payload_type = NVTX_PAYLOAD_U64;
    event.payload.u64 = 42;
    nvtx_push("outer");
    nvtx_push("inner");
    nvtx_mark("mark");
    nvtx_pop();
    nvtx_end(nvtx_start("span"));
    nvtx_domain_push(domain, &event);
    nvtx_domain_pop(domain);
    nvtx_pop();
}

static void annotate_itt(void)
{
    static const struct itt_id none;
    void (*inc)(const struct itt_domain *, struct itt_string *);
    void (*marker)(const struct itt_domain *, struct itt_id, struct itt_string *, int);

    ITT_CALL(inc, ITT_COUNTER_INC_V3);
    ITT_CALL(marker, ITT_MARKER);
    itt_task_begin(tasks, none, itt_string_create("outer task"));
    itt_task_begin(tasks, none, itt_string_create("inner task"));
    if (inc && itt_is_on(tasks))
        inc(tasks, itt_string_create("done"));
    if (marker && itt_is_on(tasks))
        marker(tasks, none, itt_string_create("marker"), 0);
    itt_task_end(tasks);
    itt_task_end(tasks);
}

static void *annotate_both(void *user)
{
    (void)user;
    for (int i = 0; i < rounds; i++) {
        annotate_nvtx();
        annotate_itt();
    }
    return NULL;
}

static void begin(void)
{
    nvtx_begin_by_variable();
    itt_begin_by_variable();
    domain = nvtx_domain("mine");
    nvtx_category(domain, 1, "first");
    tasks = itt_domain_create("tasks");
}

static int run_threads(int count)
{
    pthread_t threads[64];

    if (count > 64)
        return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, annotate_both, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int run_fork(void)
{
    int status = -1;
    pid_t child;

    nvtx_push("around the fork");
    child = fork();
    if (child == 0) {
        nvtx_push("in the child");
        nvtx_pop();
        nvtx_pop();
        _exit(0);
    }
    waitpid(child, &status, 0);
    nvtx_pop();
    return status;
}

static void run_cross(void)
{
    for (int i = 0; i < 10; i++) {
        nvtx_push("left");
        nvtx_push_in(domain, "right");
        nvtx_pop();
        nvtx_push("next");
        nvtx_domain_pop(domain);
        nvtx_pop();
        nvtx_pop(); /* one too many */
    }
}

/* The library is in the program if somebody records; it is not linked with it. */
static void run_inside(void)
{
    static ifg_location location = { "of the library", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    void *library = dlopen("libinferogram.so.0", RTLD_NOW | RTLD_NOLOAD);
    void *found[2] = { library ? dlsym(library, "ifg_zone_begin") : NULL,
                       library ? dlsym(library, "ifg_zone_end") : NULL };
    ifg_zone (*zone_begin)(ifg_location *);
    void (*zone_end)(ifg_zone);
    ifg_zone zone;

    if (!found[0] || !found[1])
        return;
    memcpy(&zone_begin, &found[0], sizeof zone_begin);
    memcpy(&zone_end, &found[1], sizeof zone_end);
    nvtx_push("crossing");
    zone = zone_begin(&location);
    nvtx_pop();
    zone_end(zone);
}

/* From here on, opening a file is death. */
static int confine(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    rounds = argc > 2 ? (int)strtol(argv[argc - 1], NULL, 10) : 0;
    if (strcmp(what, "confined") == 0 && confine() != 0)
        return 77;
    begin();
    if (strcmp(what, "confined") == 0) {
        annotate_both(NULL);
    } else if (strcmp(what, "nvtx") == 0) {
        for (int i = 0; i < rounds; i++)
            annotate_nvtx();
    } else if (strcmp(what, "itt") == 0) {
        for (int i = 0; i < rounds; i++)
            annotate_itt();
    } else if (strcmp(what, "threads") == 0) {
        return run_threads((int)strtol(argv[2], NULL, 10));
    } else if (strcmp(what, "fork") == 0) {
        return run_fork();
    } else if (strcmp(what, "inside") == 0) {
        run_inside();
    } else if (strcmp(what, "cross") == 0) {
        run_cross();
    } else if (strcmp(what, "until") == 0) {
        annotate_nvtx();
        puts("ready");
        fflush(stdout);
        while (access(argv[2], F_OK) < 0) {
            annotate_nvtx();
            usleep(1000);
        }
    } else {
        return 2;
    }
    printf("%s %d\n", what, rounds);
    return 0;
}
