// SPDX-License-Identifier: Apache-2.0
/* Where functions of a stripped ONNX Runtime are: see helper.h. */
#include "collect/ort_helper/helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/report.h"
#include "symbol/code.h"
#include "symbol/elf_file.h"

#define WORDS_MAX (4u << 20)

/* From an address of the loaded library to places in its file. Not found stays not found. */
static void locate(struct elf_file *elf, const struct report_function *function,
                   struct ort_point *out)
{
    struct elf_position position;

    memset(out, 0, sizeof *out);
    if (!function->address || !elf_file_locate(elf, function->address, &position) ||
        !position.executable || !code_probe_offset(elf, function->address, &out->probe_offset))
        return;
    out->file_offset = position.file_offset;
    out->argument = function->argument;
    out->path = function->path;
    out->checked = function->checked;
}

static void explain(const struct report *report, struct ort_backtrace *out)
{
    if (out->execute_kernel.file_offset)
        return;
    if (report->unchecked[0])
        snprintf(out->missing, sizeof out->missing, "what was found could not be checked: %.300s",
                 report->unchecked);
    else
        snprintf(out->missing, sizeof out->missing,
                 "no function of this build was called once for each node with the index of the "
                 "node as an argument");
}

static void put_frames(struct ifg_bytes *out, struct elf_file *elf, const struct report *report)
{
    const struct report_chain *chain = report_run_chain(report);

    for (size_t i = 0; chain && i < chain->count; i++) {
        struct report_function function = { .address = chain->functions[i] };
        struct ort_point point;

        locate(elf, &function, &point);
        answer_put(out, "frame %zu 0x%" PRIx64 "%s\n", i, point.file_offset,
                   point.probe_offset > point.file_offset ? " landing-pad" : "");
    }
}

static void put_answer(struct ifg_bytes *out, struct elf_file *elf, const struct report *report,
                       bool python)
{
    struct report_verdict verdict;
    struct ort_backtrace backtrace;

    memset(&backtrace, 0, sizeof backtrace);
    report_judge(report, &verdict);
    locate(elf, &verdict.execute_kernel, &backtrace.execute_kernel);
    locate(elf, &verdict.run, &backtrace.run);
    locate(elf, &verdict.initialize, &backtrace.initialize);
    locate(elf, &verdict.load, &backtrace.load);
    locate(elf, &verdict.load_path, &backtrace.load_path);
    locate(elf, &verdict.load_array, &backtrace.load_array);
    if (!python)
        locate(elf, &verdict.api_run, &backtrace.api_run);
    if (backtrace.execute_kernel.file_offset && verdict.names.function) {
        backtrace.names.argument = verdict.names.argument;
        backtrace.names.checked = verdict.names.checked;
        memcpy(backtrace.names.offsets, verdict.names.offsets, sizeof backtrace.names.offsets);
    }
    explain(report, &backtrace);

    answer_put(out, "%s\nversion", ANSWER_FIRST_LINE);
    answer_put_text(out, report->version);
    answer_put(out, "\nbuild-id");
    answer_put_text(out, elf_file_build_id(elf));
    answer_put(out, "\n");
    put_frames(out, elf, report);
    answer_put_backtrace(out, &backtrace);
    answer_put(out, "end\n");
}

enum ifg_status helper_backtrace(const struct helper *helper, struct ifg_bytes *out,
                                 struct ifg_error *err)
{
    struct elf_file *elf = NULL;
    struct report *report = NULL;
    struct ifg_bytes words;
    enum ifg_status status;

    ifg_bytes_init(&words, WORDS_MAX);
    status = elf_file_open_fd(helper->library_fd, helper->library, &elf, err);
    if (!status)
        status = helper_run_job(helper, "backtrace", &words, err);
    if (!status)
        status = report_read((const char *)words.data, words.size, &report, err);
    if (!status && !report->version[0])
        status = ifg_fail(err, IFG_UNSUPPORTED, "%.300s did not say its version", helper->library);
    if (!status)
        put_answer(out, elf, report, helper->python != NULL);
    report_free(report);
    elf_file_close(elf);
    ifg_bytes_fini(&words);
    return status;
}
