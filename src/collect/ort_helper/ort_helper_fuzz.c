// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: any text as the words of a process with a foreign library (chains that share
 * nothing, calls without chains, indices and sessions that contradict each other, lines cut short),
 * and as an answer of the helper (offsets, arguments, nodes below themselves, escapes).
 * Reading must stay inside of the text; what is found must be one of the functions that were told,
 * and what was read must be read again the same.
 */
#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_function(const struct report *report, const struct report_function *function)
{
    if (!function->address)
        return;
    if (function->argument > REPORT_ARGUMENTS || function->path > REPORT_ARGUMENTS)
        abort();
    for (size_t i = 0; i < report->chain_count; i++)
        for (size_t j = 0; j < report->chains[i].count; j++)
            if (report->chains[i].functions[j] == function->address)
                return;
    abort();
}

static void try_report(const char *text, size_t size)
{
    struct report *report;
    struct report_verdict verdict;

    if (report_read(text, size, &report, NULL))
        return;
    report_judge(report, &verdict);
    check_function(report, &verdict.execute_kernel);
    check_function(report, &verdict.run);
    check_function(report, &verdict.api_run);
    check_function(report, &verdict.initialize);
    check_function(report, &verdict.load);
    check_function(report, &verdict.load_path);
    check_function(report, &verdict.load_array);
    report_free(report);
}

static void try_backtrace(const char *text, size_t size)
{
    struct ort_backtrace first;
    struct ort_backtrace second;
    struct ifg_bytes again;

    if (answer_read_backtrace(text, size, &first, NULL))
        return;
    ifg_bytes_init(&again, 1 << 20);
    answer_put(&again, "%s\nversion", ANSWER_FIRST_LINE);
    answer_put_text(&again, first.version);
    answer_put(&again, "\nbuild-id");
    answer_put_text(&again, first.build_id);
    answer_put(&again, "\n");
    answer_put_backtrace(&again, &first);
    answer_put(&again, "end\n");
    if (answer_read_backtrace((const char *)again.data, again.size, &second, NULL) ||
        memcmp(&first.execute_kernel, &second.execute_kernel, sizeof first.execute_kernel) != 0 ||
        memcmp(&first.load_path, &second.load_path, sizeof first.load_path) != 0 ||
        strcmp(first.version, second.version) != 0)
        abort();
    ifg_bytes_fini(&again);
}

static void try_nodes(const char *text, size_t size)
{
    struct ort_nodes nodes;

    if (answer_read_nodes(text, size, &nodes, NULL))
        return;
    for (size_t i = 0; i < nodes.count; i++) {
        const struct ort_node *node = &nodes.items[i];
        const struct ort_node *found = ort_nodes_find(&nodes, node->parent, node->index);

        if (!found || found > node || (found != node && i == 0))
            abort();
    }
    ort_nodes_fini(&nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    try_report(text, size);
    try_backtrace(text, size);
    try_nodes(text, size);
    return 0;
}
