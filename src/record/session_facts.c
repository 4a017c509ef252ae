// SPDX-License-Identifier: Apache-2.0
/* What a trace has about its recording: the machine, the command, how it ended, what it cost, and
 * what no process could tell: that nothing was there to be watched, or why it was not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ticks.h"
#include "record/redact.h"
#include "record/session_internal.h"
#include "runtimes/runtimes.h"
#include "system/host.h"
#include "trace/keys.h"

static void write_host_facts(struct trace_writer *writer)
{
    char cpus[16], memory[24];
    struct host_facts host;
    const struct {
        const char *key, *value;
    } facts[] = {
        { TRACE_FACT_HOST_NAME, host.name },
        { TRACE_FACT_HOST_MACHINE, host.machine },
        { TRACE_FACT_HOST_KERNEL, host.kernel },
        { TRACE_FACT_HOST_CPU, host.cpu },
        { TRACE_FACT_HOST_CPUS, cpus },
        { TRACE_FACT_HOST_MEMORY_BYTES, memory },
        { TRACE_FACT_HOST_LOAD, host.load },
        { TRACE_FACT_HOST_CLOCKSOURCE, host.clock_source },
        { TRACE_FACT_HOST_BOOT_ID, host.boot_id },
    };

    host_read(&host_system, &host);
    snprintf(cpus, sizeof cpus, "%u", host.online);
    memory[0] = '\0'; /* 0 is not known */
    if (host.memory_bytes)
        snprintf(memory, sizeof memory, "%llu", (unsigned long long)host.memory_bytes);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (*facts[i].value)
            trace_writer_fact(writer, facts[i].key, facts[i].value);
    if (host.hypervisor[0] || host.tells_flags)
        trace_writer_fact(writer, TRACE_FACT_HOST_VIRTUAL, host.hypervisor[0] ? "yes" : "no");
}

void session_write_facts(struct session *session)
{
    struct trace_writer *writer = session->recording.sink.writer;
    enum ifg_tick_source source = ifg_tick_source_choose();

    /* SINK_CLOCK_COUNTER and SINK_CLOCK_MONOTONIC, before anybody can name another. */
    sink_clock(&session->recording.sink,
               source == IFG_TICKS_CNTVCT ? TRACE_CLOCK_CNTVCT : TRACE_CLOCK_TSC, 0,
               source == IFG_TICKS_CNTVCT ? "CNTVCT" : "TSC");
    sink_clock(&session->recording.sink, TRACE_CLOCK_MONOTONIC, 1000000000u, "CLOCK_MONOTONIC");
    trace_writer_fact(writer, TRACE_FACT_TOOL_VERSION, session->options->tool_version);
    redact_write_command(session->options->redaction, writer, session->options->words,
                         session->options->word_count, session->options->command);
    trace_writer_fact(writer, TRACE_FACT_RECORD_MODE,
                      session->options->command ? "launch"
                      : session->options->next  ? "next"
                                                : "attach");
    trace_writer_fact(writer, TRACE_FACT_RECORD_PROGRAM, session->result->program);
    for (size_t i = 0; i < session->options->fact_count; i++)
        trace_writer_fact(writer, session->options->facts[i].key, session->options->facts[i].value);
    write_host_facts(writer);
    session_write_clock_pair(session);
}

bool session_annotations_are_off(const struct session *session)
{
    return session->options->annotations && strcmp(session->options->annotations, "off") == 0;
}

/* What the command gets besides its own environment. */
/* What is known of a runtime of which no hook and no source has told. */
static void write_silent_runtime(struct session *session, const struct runtime *runtime, bool told)
{
    struct instruments *instruments = &session->result->instruments;
    const char *reason = session->hooks.reason;
    char seen[512];
    char probed[INSTRUMENT_NAME_BYTES];

    snprintf(probed, sizeof probed, "%s by probes", runtime->name);
    if ((session->hooks.preload || session->hooks.python) &&
        !instruments_find(instruments, probed) &&
        unhooked_explain(&session->runtimes, runtime, !told, seen, sizeof seen))
        reason = seen;
    else if (told || runtime->probes)
        return;
    else if (session->options->hook == SESSION_HOOK_NONE)
        reason = "--hook none was given";
    instruments_report(instruments, session->recording.sink.writer, runtime->name,
                       *reason ? TRACE_INSTRUMENT_UNAVAILABLE : TRACE_INSTRUMENT_OFF,
                       *reason ? reason : "no process used it");
}

/* Annotations that no process has told of. */
static void write_silent_annotations(struct session *session)
{
    struct instruments *instruments = &session->result->instruments;
    const char *reason = "no process used NVTX or ITT";
    bool is_missing = *session->hooks.no_annotations != '\0';

    if (instruments_find(instruments, "annotations"))
        return;
    if (!session->options->command)
        reason = "NVTX and ITT look for a collector when a program starts: start it with "
                 "'inferogram record -- CMD'";
    else if (session_annotations_are_off(session))
        reason = "--annotations off was given";
    else if (is_missing)
        reason = session->hooks.no_annotations;
    else if (!session->hooks.annotations)
        reason = session->options->hook == SESSION_HOOK_NONE ? "--hook none was given"
                                                             : "--hook uprobe was given";
    instruments_report(instruments, session->recording.sink.writer, "annotations",
                       is_missing ? TRACE_INSTRUMENT_UNAVAILABLE : TRACE_INSTRUMENT_OFF, reason);
}

static void write_instruments(struct session *session)
{
    struct instruments *instruments = &session->result->instruments;
    bool told = instruments_have_runtime(instruments);

    if (!session->processes)
        instruments_report(
            instruments, session->recording.sink.writer, "zones", TRACE_INSTRUMENT_UNAVAILABLE,
            session->refused_count ? session->refused[0].why : "no process carried libinferogram");
    if (session->result->no_library)
        instruments_report(instruments, session->recording.sink.writer, "models",
                           session->result->hooked ? TRACE_INSTRUMENT_OFF
                                                   : TRACE_INSTRUMENT_UNAVAILABLE,
                           session->result->hooked ? "no process used a runtime that is known"
                                                   : "no process carried libinferogram");
    for (size_t i = 0; runtimes[i]; i++)
        write_silent_runtime(session, runtimes[i], told);
    write_silent_annotations(session);
}

static void write_refused(struct session *session)
{
    char what[300];

    session->result->refused = (uint32_t)session->refused_count;
    if (session->refused_count)
        snprintf(session->result->refusal, sizeof session->result->refusal, "%s",
                 session->refused[0].why);
    for (size_t i = 0; i < session->refused_count; i++) {
        snprintf(what, sizeof what, "process not recorded: %s", session->refused[i].why);
        trace_writer_loss(session->recording.sink.writer, 0, what, 1);
    }
}

static void write_device_cost(struct session *session)
{
    const struct device_cost_sum *cost = &session->context.device_cost;
    struct trace_writer *writer = session->recording.sink.writer;
    char text[64];

    if (!cost->calls && !(cost->read_s > 0))
        return;
    snprintf(text, sizeof text, "%" PRIu64, cost->calls);
    trace_writer_fact(writer, TRACE_FACT_DEVICE_CALLS, text);
    snprintf(text, sizeof text, "%.6f", cost->call_s);
    trace_writer_fact(writer, TRACE_FACT_DEVICE_CALL_S, text);
    snprintf(text, sizeof text, "%.6f", cost->read_s);
    trace_writer_fact(writer, TRACE_FACT_DEVICE_READ_S, text);
}

void session_write_end(struct session *session, const char *reason)
{
    struct session_result *result = session->result;
    char text[64];

    trace_writer_fact(session->recording.sink.writer, TRACE_FACT_RECORD_END, reason);
    snprintf(text, sizeof text, "%.6f", result->totals.seconds);
    trace_writer_fact(session->recording.sink.writer, TRACE_FACT_RECORD_SECONDS, text);
    snprintf(text, sizeof text, "%.6f", result->recorder_cpu_s);
    trace_writer_fact(session->recording.sink.writer, TRACE_FACT_RECORD_CPU_SECONDS, text);
    write_device_cost(session);
    write_refused(session);
    write_instruments(session);
    session_write_clock_pair(session);
}
