// SPDX-License-Identifier: Apache-2.0
/* Talking to an agent: see remote_options.h. */
#include "cli/remote_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "remote/token.h"

int remote_options_check(const struct cli_command *command, const struct remote_options *options)
{
    struct remote_fingerprint fingerprint;

    if (!options->host && (options->port || options->token_file || options->fingerprint))
        return cli_usage(command->name, "--port, --token-file and --fingerprint go with --address");
    if (options->fingerprint && !remote_fingerprint_read(options->fingerprint, &fingerprint))
        return cli_usage(command->name, "--fingerprint: give the 64 digits that the agent printed");
    if (options->host && !*options->host)
        return cli_usage(command->name, "--address: give a host");
    return CLI_YES;
}

int remote_options_apply(const struct remote_options *options, struct remote_token *token,
                         struct capture_options *out)
{
    const char *variable = getenv(REMOTE_TOKEN_VARIABLE);
    struct ifg_error err = { .message = "" };
    enum ifg_status status = IFG_OK;

    out->host = options->host;
    out->port = (uint16_t)(options->port ? options->port : REMOTE_PORT);
    out->tls =
        options->fingerprint && remote_fingerprint_read(options->fingerprint, &out->fingerprint);
    if (options->token_file)
        status = remote_token_read(options->token_file, token, &err);
    else if (variable && *variable)
        status = remote_token_set(variable, "the variable " REMOTE_TOKEN_VARIABLE, token, &err);
    else
        return CLI_YES;
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_PERMISSION ? CLI_LACKS : CLI_USAGE;
    }
    out->token = token;
    return CLI_YES;
}

int remote_split_address(const char *command, const char *option, const char *text, char *out_host,
                         size_t size, unsigned *out_port)
{
    const char *at = text;
    const char *colon = strrchr(text, ':');
    size_t length = strlen(text);
    char *end;
    unsigned long port;

    *out_port = 0;
    if (*text == '[') {
        const char *bracket = strchr(at++, ']');

        if (!bracket || (bracket[1] && bracket[1] != ':'))
            return cli_usage(command, "%s: '%s' is not ADDRESS or ADDRESS:PORT", option, text);
        length = (size_t)(bracket - at);
        colon = bracket[1] ? bracket + 1 : NULL;
    } else if (colon && strchr(text, ':') == colon) {
        length = (size_t)(colon - text);
    } else {
        colon = NULL; /* none, or the many of IPv6 */
    }
    if (colon) {
        port = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end || port < 1 || port > 65535)
            return cli_usage(command, "%s: a port is 1 to 65535, not '%s'", option, colon + 1);
        *out_port = (unsigned)port;
    }
    if (!length || length >= size)
        return cli_usage(command, "%s: '%s' is not ADDRESS or ADDRESS:PORT", option, text);
    snprintf(out_host, size, "%.*s", (int)length, at);
    if (strcmp(out_host, "localhost") == 0)
        snprintf(out_host, size, "127.0.0.1");
    return CLI_YES;
}

int remote_exit_for(enum capture_end end)
{
    static const int codes[] = {
        [CAPTURE_DONE] = CLI_YES,
        [CAPTURE_FAILED] = CLI_NO,
        [CAPTURE_VERSION] = REMOTE_EXIT_VERSION,
        [CAPTURE_BUSY] = REMOTE_EXIT_BUSY,
        [CAPTURE_LOST] = REMOTE_EXIT_LOST,
        [CAPTURE_EXISTS] = REMOTE_EXIT_EXISTS,
        [CAPTURE_CANNOT_WRITE] = REMOTE_EXIT_CANNOT_WRITE,
        [CAPTURE_LACKS] = CLI_LACKS,
        [CAPTURE_INSECURE] = REMOTE_EXIT_INSECURE,
    };

    return codes[end];
}

static void ignore_note(const char *text, void *user)
{
    (void)text;
    (void)user;
}

static void ignore_started(const struct remote_started *started, void *user)
{
    (void)started;
    (void)user;
}

static void ignore_progress(const struct remote_progress *progress, void *user)
{
    (void)progress;
    (void)user;
}

int remote_list(const struct remote_options *options, process_list_visit *visit, void *user,
                struct remote_listed *out_listed)
{
    struct remote_token token;
    struct capture_options capture = { .note = ignore_note,
                                       .started = ignore_started,
                                       .progress = ignore_progress,
                                       .process = visit,
                                       .user = user };
    struct ifg_error err = { .message = "" };
    int code = remote_options_apply(options, &token, &capture);
    enum capture_end end;

    if (code)
        return code;
    end = capture_list(&capture, out_listed, &err);
    if (end)
        cli_say("%s", err.message);
    return remote_exit_for(end);
}
