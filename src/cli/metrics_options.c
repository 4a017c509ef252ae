// SPDX-License-Identifier: Apache-2.0
/* The addresses of --metrics and --otlp: see metrics_options.h. */
#include "cli/metrics_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "metrics/otlp_export.h"

#define INTERVAL_MOST_MS 3600000u

int metrics_open_address(const char *command, const char *text, struct metrics_address *out)
{
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    struct ifg_error err = { .message = "" };
    char address[64] = "127.0.0.1";
    enum ifg_status status;
    unsigned long port;
    char *end;

    *out = (struct metrics_address){ .socket = -1 };
    port = strtoul(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || port > 65535)
        return cli_usage(command, "--metrics: '%s' is not PORT or ADDRESS:PORT", text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return cli_usage(command, "--metrics: write [%.*s]:PORT", (int)length, text);
    }
    if (length >= sizeof address)
        return cli_usage(command, "--metrics: '%s' is not PORT or ADDRESS:PORT", text);
    if (colon && length && !(length == 9 && strncmp(text, "localhost", length) == 0))
        snprintf(address, sizeof address, "%.*s", (int)length, text);
    status = metrics_address_open(address, (uint16_t)port, out, &err);
    if (!status)
        return CLI_YES;
    cli_say("%s", err.message);
    return status == IFG_INVALID ? CLI_USAGE : cli_exit_for(status);
}

int metrics_open_otlp(const char *command, const char *url, struct otlp_options *out)
{
    const char *interval = getenv(OTLP_INTERVAL_VARIABLE);
    struct ifg_error err = { .message = "" };
    unsigned long ms = OTLP_INTERVAL_MS;
    enum ifg_status status;
    char *end;

    *out = (struct otlp_options){ 0 };
    if (otlp_target_set(url, getenv(OTLP_HEADERS_VARIABLE), &out->target, &err))
        return cli_usage(command, "%s", err.message);
    status = otlp_send_prepare(&err);
    if (status) {
        cli_say("--otlp: %s", err.message);
        return cli_exit_for(status);
    }
    if (interval && *interval) {
        ms = strtoul(interval, &end, 10);
        if (*interval < '0' || *interval > '9' || *end || ms < 100 || ms > INTERVAL_MOST_MS)
            return cli_usage(command, "%s=%.40s is not a number of milliseconds from 100 to %u",
                             OTLP_INTERVAL_VARIABLE, interval, INTERVAL_MOST_MS);
    }
    out->interval_ms = (uint32_t)ms;
    return CLI_YES;
}
