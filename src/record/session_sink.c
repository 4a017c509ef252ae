// SPDX-License-Identifier: Apache-2.0
/* What the recording does for its sources: defines the processes that they see, knows how those
 * ended, and passes on what they say of themselves (collect/sink.h). */
#include <sys/wait.h>
#include <time.h>

#include "base/ticks.h"
#include "record/redact.h"
#include "record/session_internal.h"
#include "system/process_status.h"

/* When the process began, as CLOCK_MONOTONIC would have said it. */
static uint64_t start_of(const struct process_info *info)
{
    uint64_t now_ns = ifg_monotonic_ns(), ago_ns = process_age_ns(info->start_time);

    return ago_ns < now_ns ? now_ns - ago_ns : 0;
}

static void define_process(void *user, const struct sink_process *wanted, uint32_t index)
{
    struct session *session = user;
    struct process_info info;
    bool is_there = wanted->pid && process_describe(wanted->pid, &info, NULL) == IFG_OK;
    struct trace_process process = {
        .index = index,
        .pid = (uint32_t)wanted->pid,
        .clock = wanted->clock,
        .start_ticks = wanted->start ? wanted->start : ifg_monotonic_ns(),
        .program = wanted->program,
    };

    if (wanted->pid && session->next.pid == wanted->pid && !is_there) {
        info = session->next; /* it is gone already */
        is_there = true;
    }
    if (is_there) {
        process.parent_pid = (uint32_t)info.parent;
        process.program = info.program[0] ? info.program : info.name;
        process.arguments = info.arguments;
        process.arguments_bytes = info.arguments_bytes;
        process.directory = info.directory;
        if (!wanted->start)
            process.start_ticks = start_of(&info);
    } else if (wanted->pid && wanted->pid == session->recording.root) {
        process.program = session->result->program;
    }
    redact_write_process(session->options->redaction, session->recording.sink.writer, &process);
    sources_defined(&session->sources, wanted->pid, index, wanted->clock);
}

static enum trace_process_fate fate_of(void *user, pid_t pid, uint32_t *out_code)
{
    struct session *session = user;
    int status;

    *out_code = 0;
    if (pid == session->recording.root && session->root_is_child)
        session_note_command(session);
    status = session->result->wait_status;
    if (pid != session->recording.root || !session->result->command_ended)
        return TRACE_FATE_UNKNOWN;
    *out_code = (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return WIFSIGNALED(status) ? TRACE_FATE_KILLED : TRACE_FATE_EXITED;
}

static void report_instrument(void *user, const char *name, enum trace_instrument_state state,
                              const char *reason)
{
    struct session *session = user;

    instruments_report(&session->result->instruments, session->recording.sink.writer, name, state,
                       reason);
}

const struct sink_calls session_sink_calls = {
    .define_process = define_process,
    .fate = fate_of,
    .instrument = report_instrument,
};
