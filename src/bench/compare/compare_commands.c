// SPDX-License-Identifier: Apache-2.0
/* Whole commands that take turns: a process each time, and one number from each process. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/compare/compare_internal.h"
#include "bench/result/json_number.h"

#define STDOUT_MAX   (64u << 20)
#define STDERR_TAIL  4096
#define POLL_MS      50
#define KIND_WAIT_MS 2000
#define NOT_STARTED  126

struct job {
    const struct compare_options *options;
    const struct compare_command *commands;
    enum compare_measure measure;
    const char *key;
    struct compare *compare;
    uint64_t random;
    uint32_t runs;
    double deadline;
    bool out_of_time;
    size_t *order;
};

struct ended {
    double wall_ms;
    double cpu_ms;
    uint64_t peak_bytes;
    int wait_status;
};

static bool is_stopped(const struct job *job)
{
    return job->options->bench.stop && *job->options->bench.stop;
}

/* ---- one run of one command ---- */

static void become(const struct compare_command *command, int out, int errors, int told)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int error;

    /* Ctrl-C is for us: we end the command, and everything that it has started. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, STDIN_FILENO);
    dup2(out >= 0 ? out : nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execvp(command->argv[0], command->argv);
    error = errno;
    if (write(told, &error, sizeof error) < 0)
        _exit(NOT_STARTED);
    _exit(NOT_STARTED);
}

static void end_group(pid_t pid, int pidfd)
{
    struct pollfd watched = { .fd = pidfd, .events = POLLIN };

    kill(-pid, SIGTERM);
    if (pidfd < 0 || poll(&watched, 1, KIND_WAIT_MS) != 1)
        kill(-pid, SIGKILL);
}

/* True if it ended by itself. A handler may restart system calls, so that waiting alone would not
 * notice that the user wants to stop. */
static bool await(const struct job *job, pid_t pid, double start, struct ended *out)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched = { .fd = pidfd, .events = POLLIN };
    struct rusage usage;
    bool alone = true;

    while (pidfd >= 0 && poll(&watched, 1, POLL_MS) != 1)
        if (is_stopped(job)) {
            end_group(pid, pidfd);
            alone = false;
            break;
        }
    while (wait4(pid, &out->wait_status, 0, &usage) < 0 && errno == EINTR)
        if (is_stopped(job) && alone) {
            end_group(pid, -1);
            alone = false;
        }
    out->wall_ms = 1e3 * (compare_now() - start);
    out->cpu_ms = 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    out->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (pidfd >= 0)
        close(pidfd);
    return alone;
}

static void last_line(int fd, char *out, size_t size)
{
    char tail[STDERR_TAIL + 1];
    struct stat facts;
    ssize_t count;
    char *line;

    snprintf(out, size, "%s", "it wrote nothing to stderr");
    if (fstat(fd, &facts))
        return;
    count =
        pread(fd, tail, STDERR_TAIL, facts.st_size > STDERR_TAIL ? facts.st_size - STDERR_TAIL : 0);
    while (count > 0 && (tail[count - 1] == '\n' || tail[count - 1] == ' '))
        count--;
    if (count <= 0)
        return;
    tail[count] = '\0';
    line = strrchr(tail, '\n');
    snprintf(out, size, "its last line on stderr: %.300s", line ? line + 1 : tail);
}

static enum ifg_status judge_end(const struct compare_command *command, const struct ended *ended,
                                 int errors, struct ifg_error *err)
{
    char line[400];

    if (WIFEXITED(ended->wait_status) && WEXITSTATUS(ended->wait_status) == 0)
        return IFG_OK;
    last_line(errors, line, sizeof line);
    if (WIFSIGNALED(ended->wait_status))
        return ifg_fail(err, IFG_INTERNAL, "'%s' was killed by signal %d (%s); %s", command->name,
                        WTERMSIG(ended->wait_status), strsignal(WTERMSIG(ended->wait_status)),
                        line);
    return ifg_fail(err, IFG_INTERNAL, "'%s' failed with exit status %d; %s", command->name,
                    WEXITSTATUS(ended->wait_status), line);
}

static enum ifg_status read_number(const struct job *job, const struct compare_command *command,
                                   int fd, double *out_value, struct ifg_error *err)
{
    struct stat facts;
    char *text;
    enum ifg_status status = IFG_OK;
    ssize_t got;

    if (fstat(fd, &facts))
        return ifg_fail_errno(err, "cannot read what '%s' printed", command->name);
    if (facts.st_size > STDOUT_MAX)
        return ifg_fail(err, IFG_INVALID, "'%s' printed more than 64 MB", command->name);
    text = ifg_alloc((size_t)facts.st_size + 1, 1);
    if (!text)
        return ifg_fail_no_memory(err, NULL);
    got = pread(fd, text, (size_t)facts.st_size, 0);
    if (got < 0)
        status = ifg_fail_errno(err, "cannot read what '%s' printed", command->name);
    else if (!json_last_number(text, (size_t)got, job->key, out_value))
        status = ifg_fail(err, IFG_INVALID,
                          "'%s' printed no JSON document with a number '%s'; the document must be "
                          "the last thing on its stdout",
                          command->name, job->key);
    else if (!(*out_value > 0))
        status = ifg_fail(err, IFG_INVALID,
                          "'%s' printed %g for '%s'; only numbers above 0 can be compared",
                          command->name, *out_value, job->key);
    ifg_free(text);
    return status;
}

static enum ifg_status start_command(const struct compare_command *command, int out, int errors,
                                     pid_t *out_pid, struct ifg_error *err)
{
    int told[2];
    int error = 0;
    ssize_t got;

    if (pipe2(told, O_CLOEXEC))
        return ifg_fail_errno(err, "cannot make a pipe");
    *out_pid = fork();
    if (*out_pid == 0)
        become(command, out, errors, told[1]);
    close(told[1]);
    if (*out_pid < 0) {
        close(told[0]);
        return ifg_fail_errno(err, "cannot start '%s'", command->name);
    }
    do /* ends when exec has closed the other end */
        got = read(told[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(told[0]);
    if (got != sizeof error)
        return IFG_OK;
    while (waitpid(*out_pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = error;
    return ifg_fail_errno(err, "cannot start '%s'", command->argv[0]);
}

/* What has to be as it was before: a cache that is dropped, a file that is removed. */
static enum ifg_status prepare(struct job *job, struct ifg_error *err)
{
    char *argv[] = { "sh", "-c", (char *)(uintptr_t)job->options->prepare, NULL };
    const struct compare_command command = { .name = "--prepare", .argv = argv };
    struct ended ended = { 0 };
    enum ifg_status status;
    int errors;
    pid_t pid = 0;

    if (!job->options->prepare)
        return IFG_OK;
    errors = memfd_create("stderr", MFD_CLOEXEC);
    if (errors < 0)
        return ifg_fail_errno(err, "cannot make a file in memory");
    status = start_command(&command, -1, errors, &pid, err);
    if (!status && !await(job, pid, compare_now(), &ended))
        status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    if (!status)
        status = judge_end(&command, &ended, errors, err);
    close(errors);
    return status;
}

static enum ifg_status run_command(struct job *job, size_t number, double *out_value,
                                   struct ifg_error *err)
{
    const struct compare_command *command = &job->commands[number];
    struct compare_row *row = &job->compare->rows[number];
    struct ended ended = { 0 };
    int out = -1;
    int errors = memfd_create("stderr", MFD_CLOEXEC);
    pid_t pid = 0;
    double start;
    enum ifg_status status = IFG_OK;

    if (job->measure == COMPARE_JSON_KEY)
        out = memfd_create("stdout", MFD_CLOEXEC);
    if (errors < 0 || (job->measure == COMPARE_JSON_KEY && out < 0))
        status = ifg_fail_errno(err, "cannot make a file in memory");
    if (!status)
        status = prepare(job, err);
    start = compare_now();
    if (!status)
        status = start_command(command, out, errors, &pid, err);
    if (!status && !await(job, pid, start, &ended))
        status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    if (!status)
        status = judge_end(command, &ended, errors, err);
    if (!status) {
        *out_value = job->measure == COMPARE_CPU ? ended.cpu_ms : ended.wall_ms;
        row->peak_bytes = ended.peak_bytes > row->peak_bytes ? ended.peak_bytes : row->peak_bytes;
        job->runs++;
    }
    if (!status && job->measure == COMPARE_JSON_KEY)
        status = read_number(job, command, out, out_value, err);
    if (!status && job->measure == COMPARE_CPU && !(*out_value > 0))
        status = ifg_fail(err, IFG_INVALID,
                          "'%s' used no CPU time that could be measured; use --measure wall",
                          command->name);
    if (out >= 0)
        close(out);
    if (errors >= 0)
        close(errors);
    return status;
}

/* ---- turns ---- */

static void tell(const struct job *job, size_t row, size_t done, size_t wanted)
{
    const struct bench_options *bench = &job->options->bench;
    struct bench_progress progress = { .row = job->commands[row].name,
                                       .process = job->runs + 1,
                                       .phase = "measuring",
                                       .done = done,
                                       .wanted = wanted,
                                       .last_p50_ms = NAN };

    if (bench->progress)
        bench->progress(&progress, bench->user);
}

/* Four processes: ABBA or BAAB; the first two are a pair, and the last two. */
static enum ifg_status run_four(struct job *job, size_t row, size_t target, struct ifg_error *err)
{
    bool outside = compare_baseline_outside(&job->random);
    double value[4];

    for (int turn = 0; turn < 4; turn++) {
        bool baseline = outside == (turn == 0 || turn == 3);
        enum ifg_status status;

        tell(job, baseline ? 0 : row, job->compare->rows[row].unit_count, target);
        status = run_command(job, baseline ? 0 : row, &value[turn], err);
        if (status)
            return status;
        if (turn % 2) {
            double *pair = &value[turn - 1];

            status = compare_add_pair(job->compare, row, baseline ? pair[1] : pair[0],
                                      baseline ? pair[0] : pair[1], job->runs, err);
            if (status)
                return status;
        }
    }
    return IFG_OK;
}

static enum ifg_status gather(void *user, size_t target, struct ifg_error *err)
{
    struct job *job = user;
    bool more = true;

    while (more) {
        size_t count = compare_order(job->compare, &job->random, job->order);

        more = false;
        for (size_t i = 0; i < count; i++) {
            size_t row = job->order[i];
            enum ifg_status status;

            if (job->compare->rows[row].unit_count >= target)
                continue;
            if (compare_now() > job->deadline) {
                job->out_of_time = true;
                return IFG_OK;
            }
            more = true;
            status = run_four(job, row, target, err);
            if (status == IFG_CANCELLED) {
                job->compare->interrupted = true;
                return IFG_OK;
            }
            if (status)
                return status;
        }
    }
    return IFG_OK;
}

/* Files in the page cache, and whether it works at all, before anything counts. */
static enum ifg_status warm_up(struct job *job, struct ifg_error *err)
{
    size_t rows = job->compare->row_count;

    for (size_t i = 0; i < rows * job->options->warmups; i++) {
        double ignored;
        enum ifg_status status = run_command(job, i % rows, &ignored, err);

        if (status)
            return status;
    }
    job->runs = 0;
    return IFG_OK;
}

static enum ifg_status finish_row(struct compare_row *row, bool is_time, struct ifg_error *err)
{
    enum ifg_status status;

    if (!row->unit_count)
        return IFG_OK;
    status = statistics_summarize(row->unit_ms, row->unit_count, IFG_QUANTILE_LINEAR,
                                  STATISTICS_CONFIDENCE, &row->summary, err);
    row->p50_ms = row->summary.p[STATISTICS_P50];
    row->p50 = row->summary.interval[STATISTICS_P50];
    row->throughput = is_time ? 1e3 / row->p50_ms : NAN;
    return status;
}

static enum ifg_status measure(struct job *job, struct ifg_error *err)
{
    const struct compare_options *options = job->options;
    enum ifg_status status = warm_up(job, err);
    struct compare_plan plan;

    compare_make_plan(options, true, &plan);
    if (!status)
        status = compare_in_looks(job->compare, plan.processes, plan.processes_most, gather, job,
                                  &job->out_of_time, err);
    job->compare->processes = job->runs;
    for (size_t i = 0; i < job->compare->row_count && !status; i++)
        status = finish_row(&job->compare->rows[i], job->measure != COMPARE_JSON_KEY, err);
    return status;
}

enum ifg_status compare_commands(const struct compare_options *options,
                                 const struct compare_command *commands, size_t count,
                                 enum compare_measure how, const char *key,
                                 struct compare **out_compare, struct ifg_error *err)
{
    struct job job = { .options = options,
                       .commands = commands,
                       .measure = how,
                       .key = key,
                       .random = options->bench.inputs.seed };
    double start = compare_now();
    enum ifg_status status = compare_create(COMPARE_PROCESSES, options, count, &job.compare, err);

    if (status)
        return status;
    job.deadline = start + (options->max_s > 0 ? options->max_s : COMPARE_MAX_S);
    job.order = ifg_alloc(count, sizeof *job.order);
    if (!job.order || !compare_set(&job.compare->measure, how == COMPARE_CPU    ? "cpu"
                                                          : how == COMPARE_WALL ? "wall"
                                                                                : key))
        status = ifg_fail_no_memory(err, NULL);
    job.compare->value_unit = how == COMPARE_JSON_KEY ? "" : "ms";
    for (size_t i = 0; i < count && !status; i++)
        if (!compare_set(&job.compare->rows[i].name, commands[i].name))
            status = ifg_fail_no_memory(err, NULL);
    if (!status)
        status = measure(&job, err);
    job.compare->elapsed_s = compare_now() - start;
    ifg_free(job.order);
    if (status) {
        compare_destroy(job.compare);
        return status;
    }
    *out_compare = job.compare;
    return IFG_OK;
}
