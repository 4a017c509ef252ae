// SPDX-License-Identifier: Apache-2.0
/*
 * What Python's SessionOptions.register_custom_ops_library calls: the door to an ONNX Runtime that
 * is part of a Python module and exports nothing. helper.py says by an environment variable what it
 * is going to do: while there is none, the table is looked at; a label with "check" sets the traps.
 *
 * Modules before 1.21 have an environment of their own that the table does not know, and allow no
 * other: what can be seen then is what Python does.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/ort_helper/job.h"
#include "collect/ort_helper/probe.h"
#include "collect/ort_helper/tell.h"

__attribute__((visibility("default"))) void *RegisterCustomOps(void *options,
                                                               const struct ort_base *base);

void *RegisterCustomOps(void *options, const struct ort_base *base)
{
    static char path[] = "/proc/self/fd/4";
    const char *label = getenv(PROBE_LABEL_VARIABLE);
    static bool opened;
    static bool good;

    _Static_assert(JOB_MODEL_FD == 4, "path");
    if (!opened) {
        opened = true;
        tell_to(JOB_RESULT_FD);
        good = probe_open(base) && probe_table(JOB_MODEL_FD, true);
    }
    if (good && label) {
        if (strstr(label, "check"))
            probe_check(path);
        if (strstr(label, "end"))
            probe_tell_names();
        probe_add_operators(options);
    }
    return NULL;
}
