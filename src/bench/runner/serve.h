// SPDX-License-Identifier: Apache-2.0
/* Answering the tool: see bench/runner/protocol.h. */
#ifndef IFG_BENCH_RUNNER_SERVE_H
#define IFG_BENCH_RUNNER_SERVE_H

#include "bench/runner/protocol.h"

/* Until the tool says so or has gone (IFG_OK), or says what makes no sense. */
enum ifg_status serve(int socket_fd, struct shared_area *shared,
                      struct ifg_error *err) IFG_MUST_CHECK;

#endif
