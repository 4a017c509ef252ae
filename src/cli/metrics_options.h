// SPDX-License-Identifier: Apache-2.0
/* --metrics and --otlp of `agent` and `live`. */
#ifndef IFG_CLI_METRICS_OPTIONS_H
#define IFG_CLI_METRICS_OPTIONS_H

#include "metrics/listener.h"
#include "metrics/otlp_send.h"

#define METRICS_HELP "serve metrics for Prometheus here [address 127.0.0.1]"

#define OTLP_HELP "send metrics and spans to this OpenTelemetry collector (OTLP/HTTP)"

/* Where --otlp sends, and how often. */
struct otlp_options {
    struct otlp_target target;
    uint32_t interval_ms; /* 0: nothing is sent */
};

/* With the variables of OpenTelemetry. CLI_YES, or the exit status after a message. */
int metrics_open_otlp(const char *command, const char *url, struct otlp_options *out);

/* Opens what "[ADDRESS:]PORT" says; port 0 is any free one. CLI_YES, or the exit status after a
 * message. */
int metrics_open_address(const char *command, const char *text, struct metrics_address *out);

#endif
