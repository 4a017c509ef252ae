// SPDX-License-Identifier: Apache-2.0
/*
 * What an agent uses while a program emits a million zones a second and a capture writes them at
 * the other end of a connection over the loopback: its share of a core, with its recorder, and what
 * is lost. Five seconds, or so many as CAPTURE_COST_SECONDS says.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "bench.h"

#define SECONDS 5u

static void fail(const char *what)
{
    fprintf(stderr, "capture_cost: %s\n", what);
    exit(1);
}

static pid_t start(const char *const *arguments, int output)
{
    pid_t child = fork();

    if (child == 0) {
        if (output >= 0)
            dup2(output, STDOUT_FILENO);
        execv(bench_tool(), (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    return child;
}

/* Its port is behind the colon of the line that it prints. */
static pid_t start_agent(char *out_port, size_t size)
{
    const char *const arguments[] = { "inferogram", "agent", "-q", NULL };
    char line[128] = "";
    char *colon;
    int ends[2];
    pid_t agent;

    if (pipe(ends) < 0)
        fail("no pipe");
    agent = start(arguments, ends[1]);
    close(ends[1]);
    colon = read(ends[0], line, sizeof line - 1) > 0 ? strrchr(line, ':') : NULL;
    if (!colon)
        fail("the agent did not start");
    close(ends[0]);
    line[strcspn(line, "\n")] = '\0';
    snprintf(out_port, size, "%s", colon + 1);
    return agent;
}

static pid_t recorder_of(pid_t agent)
{
    char path[64];
    long pid = 0;
    char text[32] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)agent, (int)agent);
    file = fopen(path, "r");
    if (file) {
        if (fgets(text, sizeof text, file))
            pid = strtol(text, NULL, 10);
        fclose(file);
    }
    return (pid_t)pid;
}

static double cpu_of(pid_t agent, pid_t recorder)
{
    return bench_process_cpu_seconds(agent) + bench_process_cpu_seconds(recorder);
}

int main(int argc, char **argv)
{
    const char *given = getenv("CAPTURE_COST_SECONDS");
    unsigned seconds = given ? (unsigned)strtoul(given, NULL, 10) : SECONDS;
    char file[256], port[16], pid[16];
    const char *const arguments[] = { "inferogram", "capture", "-q", "-a", "127.0.0.1", "-p",
                                      port,         "--pid",   pid,  "-o", file,        NULL };
    double deadline, begin, wall, agent_cpu, capture_cpu;
    uint64_t emitted;
    pid_t agent, capture, recorder;
    int status = 0;

    bench_begin("capture_cost", argc, argv);
    snprintf(file, sizeof file, "%s", bench_file("captured.ifg"));
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    agent = start_agent(port, sizeof port);
    capture = start(arguments, -1);
    deadline = bench_wall_seconds() + 10;
    while (!ifg_is_recording() && bench_wall_seconds() < deadline)
        usleep(500);
    recorder = recorder_of(agent);
    if (!ifg_is_recording() || !recorder)
        fail("the capture did not start");
    sleep(1);
    agent_cpu = cpu_of(agent, recorder);
    capture_cpu = bench_process_cpu_seconds(capture);
    begin = bench_wall_seconds();
    emitted = bench_emit_million_a_second(seconds);
    wall = bench_wall_seconds() - begin;
    agent_cpu = cpu_of(agent, recorder) - agent_cpu;
    capture_cpu = bench_process_cpu_seconds(capture) - capture_cpu;
    kill(capture, SIGINT);
    waitpid(capture, &status, 0);
    kill(agent, SIGTERM);
    waitpid(agent, NULL, 0);
    if (status)
        fail("the capture did not end well");
    bench_result("seconds", wall, "s");
    bench_result("zones_per_second", (double)emitted / wall, "zones/s");
    bench_bar("agent_percent", 100 * agent_cpu / wall, 15, "% of a core");
    bench_result("capture_percent", 100 * capture_cpu / wall, "% of a core");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "zones");
    bench_bar("missing", (double)emitted - (double)bench_info(file, "zones"), 0, "zones");
    return bench_end();
}
