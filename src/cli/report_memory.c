// SPDX-License-Identifier: Apache-2.0
/* `inferogram report`: memory before, at most and after, and who held the heap at its peak. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/heap.h"
#include "analyze/memory.h"
#include "cli/cli.h"
#include "cli/module_name.h"
#include "cli/report_output.h"
#include "timeline/samples.h"

#define LABEL        14
#define HOLDERS      5u
#define MODELS_SHOWN 4u
#define LEAST_SHARE  0.005

static const char *size_of(double bytes, char *out)
{
    return cli_size(bytes >= 0 && bytes < 1e18 ? (uint64_t)bytes : 0, out);
}

static const char *model_name(const struct ml_input *input, uint32_t model)
{
    const char *name = model < input->model_count ? input->models[model].model->name : "";

    return *name ? name : "(no name)";
}

/* "inference #1 of det, Conv_12" */
static void say_scene(const struct ml_input *input, const struct memory_scene *scene, char *line,
                      size_t size)
{
    if (scene->model == TIMELINE_NONE) {
        if (*scene->zone)
            report_append(line, size, " (in %.80s)", scene->zone);
        return;
    }
    report_append(line, size, " (%s", timeline_category_name(scene->category));
    if (scene->number)
        report_append(line, size, " #%llu", (unsigned long long)scene->number);
    report_append(line, size, " of %.80s", model_name(input, scene->model));
    if (*scene->op)
        report_append(line, size, ", %.80s", scene->op);
    report_append(line, size, ")");
}

static void say_process(const struct ml_input *input, const struct memory_process *process,
                        char *line, size_t size)
{
    char text[32];

    report_append(line, size, "before %s", size_of(process->whole.before, text));
    if (!isnan(process->after_load))
        report_append(line, size, " · after load %s", size_of(process->after_load, text));
    report_append(line, size, " · peak %s", size_of(process->whole.peak, text));
    say_scene(input, &process->scene, line, size);
    report_append(line, size, " · delta %s", size_of(memory_delta(&process->whole), text));
    report_append(line, size, " · after %s", size_of(process->whole.after, text));
}

static void say_how(const struct memory *memory, char *line, size_t size)
{
    char interval[32];

    if (memory->process_count > 1)
        report_append(line, size, " · %zu more process%s: inferogram stats --by memory",
                      memory->process_count - 1, memory->process_count == 2 ? "" : "es");
    if (!memory->fine)
        report_append(line, size, " (polled every %s; record --memory polls every 10 ms)",
                      cli_duration((double)memory->resolution_ns, interval));
    else if (memory->gaps > 0)
        report_append(line, size, " · %.0f sampling gap%s, longest %.0f ms", memory->gaps,
                      memory->gaps == 1 ? "" : "s", memory->longest_gap_ms);
}

static void say_share(const struct heap_row *row, const struct heap_use *heap, char *line,
                      size_t size)
{
    report_append(line, size, " %.0f %%", 100 * row->peak.bytes / heap->peak.bytes);
    if (heap_error(&row->peak) >= 0.005 * heap->peak.bytes)
        report_append(line, size, " ± %.0f", 100 * heap_error(&row->peak) / heap->peak.bytes);
}

static void write_holders(const struct ml_input *input, struct ifg_bytes *out)
{
    const struct heap_use *heap = input->heap;
    char line[1600] = "";
    char text[32];
    char name[300];
    size_t said = 0;

    if (!heap || !(heap->peak.bytes > 0))
        return;
    report_append(line, sizeof line, "heap %s", size_of(heap->peak.bytes, text));
    report_append(line, sizeof line, " ± %s at its peak", size_of(heap_error(&heap->peak), text));
    for (size_t i = 0; i < heap->models.count && i < MODELS_SHOWN; i++) {
        const struct heap_row *row = &heap->models.rows[i];

        if (row->peak.bytes < LEAST_SHARE * heap->peak.bytes)
            break;
        if (row->model == TIMELINE_NONE)
            report_append(line, sizeof line, "%soutside of models", i ? " · " : ": ");
        else
            report_append(line, sizeof line, "%s%s of %.60s", i ? " · " : ": ",
                          timeline_category_name(row->category), model_name(input, row->model));
        say_share(row, heap, line, sizeof line);
    }
    if (heap->kept.bytes > 0)
        report_append(line, sizeof line, " · not freed in the end %s",
                      size_of(heap->kept.bytes, text));
    report_wrap(out, LABEL, "", line);
    line[0] = '\0';
    for (size_t i = 0; i < heap->functions.count && said < HOLDERS; i++) {
        const struct heap_row *row = &heap->functions.rows[i];

        if (row->peak.bytes < LEAST_SHARE * heap->peak.bytes)
            break;
        report_append(line, sizeof line, "%s%s%.70s", said++ ? " · " : "", row->guessed ? "? " : "",
                      module_name_short(row->name, name, sizeof name));
        if (*row->under)
            report_append(line, sizeof line, " < %.50s", row->under);
        say_share(row, heap, line, sizeof line);
    }
    if (said)
        report_wrap(out, LABEL, "held by ", line);
}

void report_write_memory(const struct report_request *request, struct ifg_bytes *out)
{
    const struct ml_input *input = request->report->input;
    const struct memory *memory = input->memory;
    char line[1200] = "";
    size_t at = out->size;

    if (memory && memory->process_count && memory->processes[0].looks > 1) {
        say_process(input, &memory->processes[0], line, sizeof line);
        say_how(memory, line, sizeof line);
        report_wrap(out, LABEL, "", line);
    }
    write_holders(input, out);
    if (!out->failed && out->size > at + LABEL) /* the label goes where blanks are */
        memcpy(out->data + at, "Memory", strlen("Memory"));
}
