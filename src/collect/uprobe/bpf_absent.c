// SPDX-License-Identifier: Apache-2.0
/* In place of bpf.c where libbpf or a compiler for BPF was missing at build time. */
#include "collect/uprobe/uprobe_internal.h"

static enum ifg_status absent_open(const struct uprobe_options *options, void **out_state,
                                   struct ifg_error *err)
{
    (void)options;
    *out_state = NULL;
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "this build of Inferogram has no BPF: libbpf or clang was missing when it was "
                    "built (packages libbpf-dev and clang)");
}

const struct uprobe_backend uprobe_bpf_backend = { .open = absent_open };
