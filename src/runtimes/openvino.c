// SPDX-License-Identifier: Apache-2.0
/* OpenVINO, followed through its C interface by probes/openvino.probe. */
#include "runtimes/runtimes.h"

static const char *const libraries[] = { "libopenvino_c.so", NULL };

const struct runtime runtime_openvino = {
    .name = "OpenVINO",
    .libraries = libraries,
    .probes = "openvino",
};
