// SPDX-License-Identifier: Apache-2.0
/*
 * Asks the helper for ONNX Runtime as the recorder does.
 *
 *   ort_ask backtrace LIBRARY [PYTHON]   "version ..., execute_kernel ..., run ..." in one line
 *   ort_ask nodes LIBRARY MODEL          how many, whether some are in branches, a whole run
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collect/ort_helper/ort_helper.h"

static struct ifg_error err;

static int failed(void)
{
    fprintf(stderr, "%s: %s\n", ifg_status_name(err.status), err.message);
    return 1;
}

static int ask_backtrace(const char *library, const char *python)
{
    struct ort_helper_options options = ORT_HELPER_OPTIONS_INIT;
    struct ort_backtrace found;

    options.python = python;
    options.timeout_s = 3;
    if (ort_helper_backtrace(library, &options, &found, &err))
        return failed();
    printf("%s execute_kernel 0x%" PRIx64 " %u names %u run 0x%" PRIx64 " %u load_path %u %u\n",
           found.version, found.execute_kernel.probe_offset, found.execute_kernel.argument,
           found.names.argument, found.run.probe_offset, found.run.argument,
           found.load_path.argument, found.load_path.path);
    return 0;
}

static int ask_nodes(const char *library, const char *model)
{
    struct ort_helper_options options = ORT_HELPER_OPTIONS_INIT;
    size_t in_branches = 0;
    struct ort_nodes nodes;

    if (ort_helper_nodes(library, model, &options, &nodes, &err))
        return failed();
    for (size_t i = 0; i < nodes.count; i++)
        in_branches += nodes.items[i].is_in_branch;
    printf("%zu nodes, %s, %s\n", nodes.count,
           in_branches ? "some in branches" : "none in branches",
           nodes.complete ? "complete" : nodes.note);
    ort_nodes_fini(&nodes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "nodes") == 0)
        return ask_nodes(argv[2], argv[3]);
    if (argc > 2 && strcmp(argv[1], "backtrace") == 0)
        return ask_backtrace(argv[2], argv[3]);
    return 2;
}
