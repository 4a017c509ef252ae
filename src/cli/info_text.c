// SPDX-License-Identifier: Apache-2.0
/* `inferogram info` for people: the answer first, then the evidence. */
#include "cli/info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/convert.h"
#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/stats_functions.h"
#include "runtimes/runtimes.h"
#include "timeline/samples.h"
#include "trace/keys.h"

#define OPEN_SHOWN 8
#define LISTED_MAX 12

#define LABEL_COLUMNS      13
#define INSTRUMENT_COLUMNS 64
#define CUT_WORTH_SAYING   0.05

void info_start_time(const struct info_request *request, char *out, size_t size)
{
    time_t seconds =
        (time_t)(trace_reader_file(request->reader)->created_realtime_ns / 1000000000u);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || !strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &utc))
        snprintf(out, size, "unknown");
}

double info_seconds(const struct info_request *request)
{
    return (double)timeline_length_ns(request->timeline) * 1e-9;
}

/* Not processes and threads of the system, but where what the machine uses is kept; imported traces
 * may have a pid or tid 0 of their own. */
bool info_is_machine(const struct trace_process_entry *process)
{
    return !process->pid && strcmp(process->program, "system") == 0;
}

bool info_is_resources(const struct trace_thread_entry *thread)
{
    return !thread->tid && (strcmp(thread->name, "resources") == 0 ||
                            strcmp(thread->name, TRACE_THREAD_FLIGHT) == 0);
}

static uint64_t *count_of_device(const struct timeline *timeline, const struct stats_row *row,
                                 struct info_counts *counts)
{
    const char *what = row->first_location < timeline->location_count
                           ? timeline->locations[row->first_location].function
                           : "";

    if (strcmp(what, TRACE_WORK_SYNC) == 0)
        return &counts->waits;
    return strcmp(what, TRACE_WORK_MEMORY) == 0 ? &counts->memory : &counts->device;
}

struct info_counts info_count(const struct info_request *request)
{
    const struct stats *stats = request->stats;
    struct info_counts counts = { 0 };

    for (size_t i = 0; i < stats->row_count; i++) {
        if (stats->rows[i].kind == TRACE_LOCATION_ML)
            counts.ml += stats->rows[i].count;
        else if (stats->rows[i].kind == TRACE_LOCATION_OP)
            counts.ops += stats->rows[i].count;
        else if (stats->rows[i].kind == TRACE_LOCATION_DEVICE)
            *count_of_device(request->timeline, &stats->rows[i], &counts) += stats->rows[i].count;
        else if (stats->rows[i].kind == TRACE_LOCATION_DRIVER)
            counts.driver += stats->rows[i].count;
        else
            counts.zones += stats->rows[i].count;
    }
    return counts;
}

const char *info_fate(const struct trace_process_entry *process, char *out, size_t size)
{
    if (!process->ended) {
        snprintf(out, size, "end unknown");
        return out;
    }
    switch (process->fate) {
    case TRACE_FATE_EXITED:
        snprintf(out, size, "exited with %u", process->fate_code);
        break;
    case TRACE_FATE_KILLED:
        snprintf(out, size, "killed by signal %u", process->fate_code);
        break;
    case TRACE_FATE_EXEC:
        snprintf(out, size, "replaced by exec");
        break;
    case TRACE_FATE_RUNNING:
        snprintf(out, size, "still running");
        break;
    default:
        snprintf(out, size, "ended");
    }
    return out;
}

static const char *fact(const struct info_request *request, const char *key, const char *otherwise)
{
    const char *value = trace_find_fact(trace_reader_tables(request->reader), key);

    return value && *value ? value : otherwise;
}

static void write_title(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    char program[80];
    char cpus[16];
    char cpu[80];
    char kernel[80];
    char when[32];

    info_start_time(request, when, sizeof when);
    cli_clean(fact(request, TRACE_FACT_RECORD_PROGRAM,
                   tables->process_count ? tables->processes[0].program : "unknown program"),
              program, sizeof program);
    cli_print(
        out, "%s%s%s, %.2f s, recorded %s on %s x %s, %s\n\n", cli_bold(true, STDOUT_FILENO),
        program, cli_bold(false, STDOUT_FILENO), info_seconds(request), when,
        cli_clean(fact(request, TRACE_FACT_HOST_CPUS, "?"), cpus, sizeof cpus),
        cli_clean(fact(request, TRACE_FACT_HOST_CPU, "unknown CPU"), cpu, sizeof cpu),
        cli_clean(fact(request, TRACE_FACT_HOST_KERNEL, "unknown kernel"), kernel, sizeof kernel));
}

static void write_damage(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_file_info *file = trace_reader_file(request->reader);
    char number[32];

    if (!file->finished)
        cli_print(out,
                  "  ! the recording was not finished (the recorder was killed, or the disk was "
                  "full): read up to its last whole block\n");
    if (file->skipped_bytes)
        cli_print(out,
                  "  ! %s bytes are damaged or incomplete, the first at offset %llu; %llu blocks "
                  "are missing\n",
                  cli_count(file->skipped_bytes, number), (unsigned long long)file->first_damage,
                  (unsigned long long)file->damaged_blocks);
    if (request->timeline->undecoded_blocks)
        cli_print(out, "  ! %llu blocks could not be decoded\n",
                  (unsigned long long)request->timeline->undecoded_blocks);
    if (!file->finished || file->skipped_bytes || request->timeline->undecoded_blocks)
        cli_print(out, "\n");
}

static void write_counts(const struct info_request *request, struct ifg_bytes *out)
{
    const struct timeline *timeline = request->timeline;
    const struct info_counts ended = info_count(request);
    const struct {
        const char *one;
        const char *many;
        uint64_t count;
        bool always;
    } counts[] = {
        { "zone", "zones", ended.zones, true },
        { "ML event", "ML events", ended.ml, true },
        { "operator", "operators", ended.ops, false },
        { "piece of device work", "pieces of device work", ended.device, false },
        { "wait for a device", "waits for devices", ended.waits, false },
        { "change of device memory", "changes of device memory", ended.memory, false },
        { "driver call", "driver calls", ended.driver, false },
        { "message", "messages", timeline->message_count, false },
        { "counter value", "counter values", timeline->counter_count, false },
        { "async span", "async spans", timeline->async_count, false },
        { "flow", "flows", timeline->flow_count, false },
        { "allocation or free", "allocations and frees", timeline->allocation_count, false },
        { "frame", "frames", timeline->frame_count, false },
        { "detail", "details", timeline->attribute_count, false },
    };
    const char *separator = "";
    char number[32];

    cli_print(out, "Events       ");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!counts[i].always && !counts[i].count)
            continue;
        cli_print(out, "%s%s %s", separator, cli_count(counts[i].count, number),
                  counts[i].count == 1 ? counts[i].one : counts[i].many);
        separator = " · ";
    }
    cli_print(out, "\nDropped      %s\n", cli_count(timeline->dropped, number));
}

static void write_losses(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    char what[120];
    char number[32];

    for (size_t i = 0; i < tables->loss_count; i++)
        cli_print(out, "             %s %s\n", cli_count(tables->losses[i].count, number),
                  cli_clean(tables->losses[i].what, what, sizeof what));
}

/* What a flight recorder kept, and why it wrote it. */
static void write_flight(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *keeps = trace_find_fact(tables, TRACE_FACT_FLIGHT_KEEPS);
    const char *not_kept = fact(request, TRACE_FACT_FLIGHT_NOT_KEPT_S, "0");
    char kept[80];
    char why[500];
    char when[40];
    char line[800];

    if (!keeps)
        return;
    cli_print(out, "Flight       written by a flight recorder that keeps the last %s\n",
              cli_clean(keeps, kept, sizeof kept));
    snprintf(line, sizeof line, "trigger: %s, at %s",
             cli_clean(fact(request, TRACE_FACT_FLIGHT_TRIGGER, "unknown"), why, sizeof why),
             cli_clean(fact(request, TRACE_FACT_FLIGHT_TRIGGER_TIME, "an unknown time"), when,
                       sizeof when));
    cli_print(out, "%*s", LABEL_COLUMNS, "");
    text_wrap(out, (struct text_frame){ LABEL_COLUMNS, LABEL_COLUMNS + 2, 0 }, line);
    cli_print(out, "\n");
    if (strtod(not_kept, NULL) > 0)
        cli_print(out, "%*sthe first %.1f s of the recording are not kept\n", LABEL_COLUMNS, "",
                  strtod(not_kept, NULL));
}

/* Whole in a pipe; on a terminal there is room for what follows. */
static size_t command_columns(void)
{
    size_t columns = text_table_columns();

    return columns == SIZE_MAX ? columns : columns > 100 ? 72 : columns - 40;
}

/* Became the same program once more: what it became has the line of both. */
static bool is_replaced_by_itself(const struct trace_tables *tables, size_t index)
{
    const struct trace_process_entry *process = &tables->processes[index];

    for (size_t i = index + 1; process->fate == TRACE_FATE_EXEC && i < tables->process_count; i++)
        if (tables->processes[i].pid == process->pid)
            return strcmp(tables->processes[i].program, process->program) == 0;
    return false;
}

/* How often it did, up to this entry. */
static unsigned count_execs(const struct trace_tables *tables, size_t index)
{
    unsigned count = 0;

    for (size_t i = 0; i < index; i++)
        if (tables->processes[i].pid == tables->processes[index].pid)
            count = is_replaced_by_itself(tables, i) ? count + 1 : 0;
    return count;
}

/* What is known of it before its library was there: what it used, and nothing else. The entry that
 * follows is the same process. */
bool info_is_known_later(const struct trace_tables *tables, size_t index)
{
    const struct trace_process_entry *process = &tables->processes[index];

    if (process->fate != TRACE_FATE_UNKNOWN)
        return false;
    for (size_t t = 0; t < tables->thread_count; t++)
        if (tables->threads[t].process == index && !info_is_resources(&tables->threads[t]))
            return false;
    for (size_t i = index + 1; i < tables->process_count; i++)
        if (tables->processes[i].pid == process->pid)
            return strcmp(tables->processes[i].program, process->program) == 0;
    return false;
}

static void write_processes(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *label = "Processes";
    char words[64];
    const char *left_out =
        cli_clean(fact(request, TRACE_FACT_RECORD_ARGUMENTS, ""), words, sizeof words);
    size_t shown = 0;
    size_t more = 0;

    for (size_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *process = &tables->processes[i];
        unsigned threads = 0, execs;
        const char *command = *process->arguments ? process->arguments : process->program;
        const struct merge_part *part = info_part_of(request, i);
        char fate[48];
        char host[72];

        if (info_is_machine(process) || is_replaced_by_itself(tables, i) ||
            info_is_known_later(tables, i))
            continue;
        if (shown++ >= LISTED_MAX) {
            more++;
            continue;
        }
        for (size_t t = 0; t < tables->thread_count; t++)
            threads += tables->threads[t].process == i && !info_is_resources(&tables->threads[t]);
        cli_print(out, "%-12s %u  ", label, process->pid);
        text_put_cell(out, command, command_columns(), TEXT_LAST);
        if (*left_out && *process->arguments)
            cli_print(out, " (%s)", left_out);
        cli_print(out, "  (");
        if (part && part->numbers_from && part->numbers_from <= process->pid)
            cli_print(out, "pid %u of %s, ", process->pid - part->numbers_from,
                      cli_clean(*part->host ? part->host : part->file, host, sizeof host));
        execs = count_execs(tables, i);
        if (execs > 1)
            cli_print(out, "%u x ", execs);
        if (execs)
            cli_print(out, "exec, ");
        if (threads) /* none: it is known only by what it used */
            cli_print(out, "%u thread%s, ", threads, threads == 1 ? "" : "s");
        cli_print(out, "%s)\n", info_fate(process, fate, sizeof fate));
        label = "";
    }
    if (more)
        cli_print(out, "             and %zu more (all with --json)\n", more);
}

/* How many columns a text takes: bytes that go on a character do not count. */
static void describe_instrument(const struct trace_instrument_entry *instrument, char *out,
                                size_t size)
{
    struct advice advice;
    char name[INSTRUMENT_COLUMNS];
    char reason[sizeof advice.sentence];

    advice_split(instrument->reason, &advice);
    cli_clean(instrument->name, name, sizeof name);
    cli_clean(advice.sentence, reason, sizeof reason);
    if (instrument->state == TRACE_INSTRUMENT_UNAVAILABLE)
        snprintf(out, size, "%s not available%s%s", name, *reason ? ": " : "", reason);
    else
        snprintf(out, size, "%s %s%s%s%s", name,
                 instrument->state == TRACE_INSTRUMENT_ON    ? "on"
                 : instrument->state == TRACE_INSTRUMENT_OFF ? "off"
                                                             : "?",
                 *reason ? " (" : "", reason, *reason ? ")" : "");
}

/* The command that changes it, below, as doctor shows it; false: there is none. */
static bool write_command(const struct trace_instrument_entry *instrument, struct ifg_bytes *out)
{
    size_t columns = text_line_columns(STDOUT_FILENO);
    struct advice advice;
    char command[sizeof advice.command];

    advice_split(instrument->reason, &advice);
    if (!*advice.command)
        return false;
    cli_clean(advice.command, command, sizeof command);
    cli_print(out, "\n");
    advice_put_command(out, command,
                       LABEL_COLUMNS + 2 + strlen(command) <= columns ? LABEL_COLUMNS + 2 : 4,
                       columns);
    return true;
}

/* What was on comes first, the plain ones before those that say how. */
static unsigned rank_of(const struct trace_instrument_entry *instrument)
{
    switch (instrument->state) {
    case TRACE_INSTRUMENT_ON:
        return *instrument->reason ? 1 : 0;
    case TRACE_INSTRUMENT_UNAVAILABLE:
        return 2;
    default:
        return 3;
    }
}

/* As many in a line as fit. */
static void write_instruments(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *label = "Instruments";
    bool begun = false; /* a line that has text in it */
    size_t used = 0;

    for (size_t n = 0; n < 4 * tables->instrument_count; n++) {
        const struct trace_instrument_entry *instrument =
            &tables->instruments[n % tables->instrument_count];
        char text[640];
        size_t columns;

        if (rank_of(instrument) != n / tables->instrument_count)
            continue;
        describe_instrument(instrument, text, sizeof text);
        columns = text_columns(text);
        if (begun && LABEL_COLUMNS + used + 3 + columns <= text_line_columns(STDOUT_FILENO)) {
            cli_print(out, " · %s", text);
            used += 3 + columns;
        } else {
            cli_print(out, "%s%-*s", begun ? "\n" : "", LABEL_COLUMNS, label);
            used =
                text_wrap(out, (struct text_frame){ LABEL_COLUMNS, LABEL_COLUMNS + 2, 0 }, text) -
                LABEL_COLUMNS;
            label = "";
        }
        begun = !write_command(instrument, out);
    }
    if (begun)
        cli_print(out, "\n");
}

bool info_sampling(const struct info_request *request, struct info_sampling *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const struct {
        const char *key;
        double *value;
    } facts[] = {
        { TRACE_FACT_SAMPLES_HZ, &out->hz },
        { TRACE_FACT_SAMPLES_COUNT, &out->samples },
        { TRACE_FACT_SAMPLES_LOST, &out->lost },
        { TRACE_FACT_SAMPLES_ROOTED, &out->rooted_share },
        { TRACE_FACT_SAMPLES_INFERRED, &out->inferred_share },
        { TRACE_FACT_SAMPLES_UNWIND_NS, &out->unwind_us },
        { TRACE_FACT_SAMPLES_OVERHEAD_PCT, &out->overhead_pct },
        { TRACE_FACT_SAMPLES_OVERHEAD_ERROR_PCT, &out->overhead_error_pct },
        { TRACE_FACT_SAMPLES_OVERHEAD_ESTIMATE_PCT, &out->estimate_pct },
        { TRACE_FACT_SAMPLES_ON_SHARE, &out->on_share },
    };

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const char *value = trace_find_fact(tables, facts[i].key);

        *facts[i].value = value ? strtod(value, NULL) : (double)NAN;
    }
    out->rooted_share /= out->samples > 0 ? out->samples : (double)NAN;
    out->inferred_share /= out->samples > 0 ? out->samples : (double)NAN;
    out->unwind_us /= out->samples > 0 ? 1e3 * out->samples : (double)NAN;
    return out->samples >= 0 || timeline_has_profile(request->timeline);
}

/* Only of programs that ran Python. */
static void write_python(const struct trace_tables *tables, struct ifg_bytes *out)
{
    const char *named = trace_find_fact(tables, TRACE_FACT_SAMPLES_PYTHON);
    const char *refused = trace_find_fact(tables, TRACE_FACT_SAMPLES_PYTHON_REFUSED);
    const char *lost = trace_find_fact(tables, TRACE_FACT_SAMPLES_PYTHON_LOST);
    double without = (refused ? strtod(refused, NULL) : 0) + (lost ? strtod(lost, NULL) : 0);
    char number[2][32];

    if (!named)
        return;
    cli_print(out, "%*s%s with Python functions", LABEL_COLUMNS, "",
              cli_count(ifg_u64_of(strtod(named, NULL)), number[0]));
    if (without > 0)
        cli_print(out,
                  ", %s without them though Python ran: its calls could not be read for certain",
                  cli_count(ifg_u64_of(without), number[1]));
    cli_print(out, "\n");
}

static void write_sampling(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    struct info_sampling sampling;
    const char *cut;
    const char *copied;
    const char *problem;
    char number[32];
    char text[240];

    if (!info_sampling(request, &sampling) || !(sampling.samples >= 0))
        return;
    cli_print(out, "Sampling     %s samples", cli_count(ifg_u64_of(sampling.samples), number));
    if (sampling.hz > 0)
        cli_print(out, " at %.0f Hz", sampling.hz);
    if (sampling.lost >= 0)
        cli_print(out, " · %s lost", cli_count(ifg_u64_of(sampling.lost), number));
    if (sampling.rooted_share >= 0)
        cli_print(out, " · %.1f %% rooted, %.1f %% with uncertain frames",
                  100 * sampling.rooted_share, 100 * sampling.inferred_share);
    if (sampling.unwind_us >= 0)
        cli_print(out, " · %.1f µs per stack", sampling.unwind_us);
    if (sampling.overhead_pct > -100)
        cli_print(out, "\n%*sslowed the program down by %.1f %% (± %.1f, measured)", LABEL_COLUMNS,
                  "", sampling.overhead_pct > 0 ? sampling.overhead_pct : 0.0,
                  sampling.overhead_error_pct);
    else if (sampling.estimate_pct >= 0)
        cli_print(out, "\n%*sabout %.1f %% of the program's time", LABEL_COLUMNS, "",
                  sampling.estimate_pct);
    cli_print(out, "\n");
    cut = trace_find_fact(tables, TRACE_FACT_SAMPLES_CUT);
    copied = trace_find_fact(tables, TRACE_FACT_SAMPLES_STACK_BYTES);
    if (cut && copied && strtod(cut, NULL) > CUT_WORTH_SAYING * sampling.samples)
        cli_print(out, "%*s%.0f %% of the stacks are deeper than the copies (%.0f KiB at last)\n",
                  LABEL_COLUMNS, "", 100 * strtod(cut, NULL) / sampling.samples,
                  strtod(copied, NULL) / 1024);
    write_python(tables, out);
    problem = trace_find_fact(tables, TRACE_FACT_SAMPLES_NAMES_PROBLEM);
    if (problem)
        cli_print(out, "             %s\n", cli_clean(problem, text, sizeof text));
}

size_t info_clock_threads(const struct trace_tables *tables, uint32_t clock)
{
    size_t count = 0;

    for (uint32_t i = 0; i < tables->thread_count; i++)
        count += trace_thread_clock(tables, i) == clock;
    return count;
}

/* Only those that something was timed by. */
static void write_clocks(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *label = "Clocks";

    for (uint32_t i = 0; i < tables->clock_count; i++) {
        const struct trace_clock_entry *clock = &tables->clocks[i];
        struct trace_clock_rate rate = trace_clock_rate(request->reader, i);
        size_t threads = info_clock_threads(tables, i);
        const char *kind = trace_clock_kind_name(clock->kind);
        char name[80];

        if (!threads)
            continue;
        cli_print(out, "%-*s%s", LABEL_COLUMNS, label,
                  cli_clean(*clock->name ? clock->name
                            : kind       ? kind
                                         : "unnamed",
                            name, sizeof name));
        if (rate.hz > 0 && clock->kind != TRACE_CLOCK_MONOTONIC)
            cli_print(out, ", %.6f MHz", rate.hz * 1e-6);
        if (rate.hz > 0 && clock->nominal_hz && clock->kind != TRACE_CLOCK_MONOTONIC)
            cli_print(out, " (%+.1f ppm)", (rate.hz / (double)clock->nominal_hz - 1) * 1e6);
        cli_print(out, ", read %zu time%s, of %zu thread%s", rate.pairs, rate.pairs == 1 ? "" : "s",
                  threads, threads == 1 ? "" : "s");
        if (rate.contradictions)
            cli_print(out, "; %zu readings contradict the others", rate.contradictions);
        cli_print(out, "\n");
        label = "";
    }
}

/* Of a capture: how to put its times beside those of this machine. */
static void write_offset(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *offset = trace_find_fact(tables, TRACE_FACT_CAPTURE_OFFSET_NS);
    const char *error = trace_find_fact(tables, TRACE_FACT_CAPTURE_ERROR_NS);
    double ns = offset ? strtod(offset, NULL) : 0;
    char amount[32];
    char either[32];

    if (!offset || !error)
        return;
    cli_print(out,
              "%-*sthe recorded machine's time of day is %s %s that of the capturing one (± %s)\n",
              LABEL_COLUMNS, "", cli_duration(ns < 0 ? -ns : ns, amount),
              ns < 0 ? "behind" : "ahead of", cli_duration(strtod(error, NULL), either));
}

/* Inside of the program, without what CUPTI itself takes. */
static void write_device_cost(const struct trace_tables *tables, double seconds,
                              struct ifg_bytes *out)
{
    const char *calls = trace_find_fact(tables, TRACE_FACT_DEVICE_CALL_S);
    const char *read = trace_find_fact(tables, TRACE_FACT_DEVICE_READ_S);

    if (calls && read && seconds > 0)
        cli_print(out, "; following the GPU took %.1f %% of one core in the program",
                  100 * (strtod(calls, NULL) + strtod(read, NULL)) / seconds);
}

static void write_file(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_file_info *file = trace_reader_file(request->reader);
    struct info_counts counts = info_count(request);
    uint64_t zones = counts.zones + counts.ml + counts.ops + counts.device + counts.waits +
                     counts.memory + counts.driver;
    const char *cpu =
        trace_find_fact(trace_reader_tables(request->reader), TRACE_FACT_RECORD_CPU_SECONDS);
    const char *ran =
        trace_find_fact(trace_reader_tables(request->reader), TRACE_FACT_RECORD_SECONDS);
    double seconds = ran ? strtod(ran, NULL) : info_seconds(request);
    char size[32];
    char path[200];

    cli_print(out, "File         %s, %s, format %u.%u", cli_clean(request->path, path, sizeof path),
              cli_size(file->file_bytes, size), file->major, file->minor);
    if (zones >= 1000 &&
        !timeline_has_profile(request->timeline)) /* those have code and sources, too */
        cli_print(out, ", %.2f bytes per zone", (double)file->file_bytes / (double)zones);
    if (cpu && seconds > 0)
        cli_print(out, "; the recorder ran %.2f s and took %.1f %% of one core", seconds,
                  100 * strtod(cpu, NULL) / seconds);
    write_device_cost(trace_reader_tables(request->reader), seconds, out);
    cli_print(out, "\n");
}

/* Stages are among the zones. */
static enum trace_location_kind group_of(const struct stats_row *row)
{
    switch (row->kind) {
    case TRACE_LOCATION_ML:
    case TRACE_LOCATION_OP:
    case TRACE_LOCATION_DEVICE:
    case TRACE_LOCATION_DRIVER:
        return row->kind;
    default:
        return TRACE_LOCATION_ZONE;
    }
}

static void write_rows(const struct info_request *request, struct ifg_bytes *out, const char *title,
                       enum trace_location_kind group)
{
    const struct text_column shown[7] = {
        { title, TEXT_LEFT, 20, 0 },     { "count", TEXT_RIGHT, 0, 0 },
        { "mean", TEXT_RIGHT, 0, 0 },    { "min", TEXT_RIGHT, 0, 2 },
        { "max", TEXT_RIGHT, 0, 1 },     { "total", TEXT_RIGHT, 0, 0 },
        { "of time", TEXT_RIGHT, 0, 0 },
    };
    const struct stats *stats = request->stats;
    struct text_table table;
    size_t rows = 0;
    bool host_times = false;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < stats->row_count && rows < request->top; i++) {
        const struct stats_row *row = &stats->rows[i];

        if (!row->count || group_of(row) != group)
            continue;
        if (!rows++)
            cli_print(out, "\n");
        text_table_put(&table, "  %s%s%s", row->kind == TRACE_LOCATION_STAGE ? "stage " : "",
                       row->name, row->host_time ? " *" : "");
        host_times |= row->host_time;
        text_table_count(&table, row->count);
        text_table_time(&table, row->mean_ns);
        text_table_time(&table, (double)row->min_ns);
        text_table_time(&table, (double)row->max_ns);
        text_table_time(&table, (double)row->total_ns);
        text_table_share(&table, row->share);
        text_table_next(&table);
    }
    text_table_end(&table, out);
    if (host_times)
        cli_print(out, "  * " PROVIDER_HOST_TIME "\n");
}

static void write_open(const struct info_request *request, struct ifg_bytes *out)
{
    const struct timeline *timeline = request->timeline;

    if (!timeline->unfinished_count)
        return;
    cli_print(out, "\nUnfinished\n");
    for (size_t i = 0; i < timeline->unfinished_count; i++) {
        size_t slice = timeline->unfinished[i];
        const struct timeline_location *location = &timeline->locations[timeline->location[slice]];
        const struct timeline_thread *thread =
            &timeline->threads[timeline_thread_of(timeline, slice)];
        char name[120];
        char model[120];
        char thread_name[64];
        char lasted[32];

        if (i == OPEN_SHOWN) {
            cli_print(out, "  and %zu more (all with --json)\n", timeline->unfinished_count - i);
            break;
        }
        cli_clean(location->model == TIMELINE_NONE ? "" : timeline->models[location->model].name,
                  model, sizeof model);
        cli_print(out, "  %s%s%s, on thread %u %s, open for %s when last seen\n", model,
                  *model ? " · " : "", cli_clean(location->name, name, sizeof name), thread->tid,
                  cli_clean(thread->name, thread_name, sizeof thread_name),
                  cli_duration((double)timeline_duration_ns(timeline, slice), lasted));
    }
}

void info_write_text(const struct info_request *request, struct ifg_bytes *out)
{
    write_title(request, out);
    write_damage(request, out);
    write_counts(request, out);
    write_losses(request, out);
    write_flight(request, out);
    info_write_merged(request, out);
    write_processes(request, out);
    write_instruments(request, out);
    write_sampling(request, out);
    write_clocks(request, out);
    write_offset(request, out);
    write_file(request, out);
    write_rows(request, out, "Models", TRACE_LOCATION_ML);
    write_rows(request, out, "Operators", TRACE_LOCATION_OP);
    write_rows(request, out, "Device work", TRACE_LOCATION_DEVICE);
    write_rows(request, out, "Driver calls", TRACE_LOCATION_DRIVER);
    write_rows(request, out, "Zones", TRACE_LOCATION_ZONE);
    write_open(request, out);
    text_fit(out);
}
