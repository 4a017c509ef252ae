// SPDX-License-Identifier: Apache-2.0
/* inferogram agent: serves recordings of this machine's processes to `inferogram capture`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agent_record.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/metrics_options.h"
#include "cli/metrics_watch.h"
#include "cli/remote_options.h"
#include "remote/agent.h"
#include "remote/listener.h"
#include "remote/token.h"

struct request {
    const char *listen;
    const char *token_file;
    bool tls;
    const char *tls_cert;
    const char *tls_key;
    const char *metrics;
    const char *otlp;
    struct metrics_watch_options watch;
    bool quiet;
    char address[REMOTE_HOST_BYTES];
};

/* What the agent's callbacks know. */
struct callbacks {
    struct agent_user user;  /* first: children get it as that */
    const char *metrics_url; /* "": none */
};

static int take_name(const struct option_use *use, void *user)
{
    struct metrics_watch_options *watch = &((struct request *)user)->watch;

    if (watch->name_count == WATCH_NAMES_MOST)
        return cli_usage(use->command, "--name: at most %u names", WATCH_NAMES_MOST);
    watch->names[watch->name_count++] = use->value;
    return CLI_YES;
}

static const struct option_row option_rows[] = {
    { "listen", 0, "ADDRESS[:PORT]", "listen here [127.0.0.1, the first free port from 8086 on]",
      OPTION_TEXT, IFG_AT(struct request, listen) },
    { "token-file", 0, "FILE", "let other users in who have this token; made if missing",
      OPTION_PATH, IFG_AT(struct request, token_file) },
    { "tls", 0, NULL, "encrypt on the loopback as well, and want the token from everybody",
      OPTION_FLAG, IFG_AT(struct request, tls) },
    { "tls-cert", 0, "FILE", "this certificate (PEM) [one made at the first start]", OPTION_PATH,
      IFG_AT(struct request, tls_cert) },
    { "tls-key", 0, "FILE", "its key (PEM)", OPTION_PATH, IFG_AT(struct request, tls_key) },
    { "metrics", 0, "[ADDRESS:]PORT", METRICS_HELP, OPTION_TEXT, IFG_AT(struct request, metrics) },
    { "otlp", 0, "URL", OTLP_HELP, OPTION_TEXT, IFG_AT(struct request, otlp) },
    { "name", 0, "S", "with --metrics or --otlp: watch only programs of this name (glob)",
      OPTION_CALL, .take = take_name },
    { "quiet", 'q', NULL, "print nothing but addresses and the fingerprint", OPTION_FLAG,
      IFG_AT(struct request, quiet) },
    { 0 },
};

static enum ifg_status token_from_file(const char *path, struct remote_token *token,
                                       struct ifg_error *err)
{
    enum ifg_status status = remote_token_read(path, token, err);

    if (status != IFG_NOT_FOUND)
        return status;
    status = remote_token_make(token, err);
    return status ? status : remote_token_write(path, token, err);
}

/* Without a terminal nobody would see a token that was made up: then there is none. */
static int choose_token(const struct request *request, struct remote_token *token,
                        struct agent_options *agent)
{
    const char *variable = getenv(REMOTE_TOKEN_VARIABLE);
    struct ifg_error err = { .message = "" };
    enum ifg_status status;

    if (request->token_file)
        status = token_from_file(request->token_file, token, &err);
    else if (variable && *variable)
        status = remote_token_set(variable, "the variable " REMOTE_TOKEN_VARIABLE, token, &err);
    else if (isatty(STDERR_FILENO) && !request->quiet)
        status = remote_token_make(token, &err);
    else
        return CLI_YES;
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_PERMISSION ? CLI_LACKS : CLI_USAGE;
    }
    agent->token = token;
    return CLI_YES;
}

/* Other machines can reach the agent: then everybody has to show the token, inside TLS. */
static int choose_tls(const struct request *request, struct agent_options *agent,
                      struct remote_identity **out_identity)
{
    struct ifg_error err = { .message = "" };
    enum ifg_status status = IFG_OK;
    bool is_loopback = true;

    *out_identity = NULL;
    if (!request->tls_cert != !request->tls_key)
        return cli_usage("agent", "--tls-cert and --tls-key go together");
    if (agent->address)
        status = remote_listener_check(agent->address, &is_loopback, &err);
    if (!status && is_loopback && !request->tls && !request->tls_cert)
        return CLI_YES;
    if (!status && !agent->token)
        status = ifg_fail(&err, IFG_INVALID,
                          "on %s, everybody needs the token: give a --token-file (made if it does "
                          "not exist), or listen on the loopback without --tls and forward the "
                          "port from the other machine with 'ssh -L %u:127.0.0.1:%u HOST'",
                          agent->address ? agent->address : "127.0.0.1 with --tls", REMOTE_PORT,
                          REMOTE_PORT);
    if (!status)
        status = request->tls_cert
                     ? remote_identity_load(request->tls_cert, request->tls_key, out_identity, &err)
                     : remote_identity_own(out_identity, &err);
    agent->identity = *out_identity;
    if (!status)
        return CLI_YES;
    cli_say("%s", err.message);
    return status == IFG_PERMISSION ? CLI_LACKS : CLI_USAGE;
}

/* One write: whoever waits for the address has the fingerprint as well. */
static void show_address(const char *address, uint16_t port, void *user)
{
    const struct callbacks *callbacks = user;
    const struct agent_options *agent = callbacks->user.agent;
    bool is_v6 = strchr(address, ':') != NULL;
    char fingerprint[REMOTE_FINGERPRINT_TEXT] = "";

    if (agent->identity)
        remote_fingerprint_write(remote_identity_fingerprint(agent->identity), fingerprint);
    printf("%s%s%s:%u\n%s%s%s", is_v6 ? "[" : "", address, is_v6 ? "]" : "", (unsigned)port,
           *fingerprint ? "fingerprint " : "", fingerprint, *fingerprint ? "\n" : "");
    if (*callbacks->metrics_url)
        printf("%s\n", callbacks->metrics_url);
    fflush(stdout);
    if (!agent->say)
        return;
    if (agent->identity)
        cli_say("serving recordings until Ctrl-C; from another machine, with the token: inferogram "
                "capture -a HOST -p %u --fingerprint %s --token-file FILE -o run.ifg",
                (unsigned)port, fingerprint);
    else
        cli_say("serving recordings until Ctrl-C; from another machine: ssh -L %u:%s:%u HOST, then "
                "inferogram capture -a 127.0.0.1 -p %u -o run.ifg",
                (unsigned)port, address, (unsigned)port, (unsigned)port);
}

static void show(const char *text, void *user)
{
    (void)user;
    cli_say("%s", text);
}

/* Whoever asks for metrics gets them, or a reason: the agent does not run without. */
static int start_metrics(struct request *request, struct metrics_address *address,
                         struct metrics_watch **out_watch)
{
    struct ifg_error err = { .message = "" };
    int code = CLI_YES;

    if (!request->metrics && !request->otlp && request->watch.name_count)
        return cli_usage("agent", "--name goes with --metrics and --otlp");
    if (!request->metrics && !request->otlp)
        return CLI_YES;
    if (request->otlp)
        code = metrics_open_otlp("agent", request->otlp, &request->watch.otlp);
    if (!code && request->metrics)
        code = metrics_open_address("agent", request->metrics, address);
    if (code)
        return code;
    request->watch.quiet = request->quiet;
    if (metrics_watch_start(&request->watch, address, out_watch, &err) == IFG_OK)
        return CLI_YES;
    cli_say("%s", err.message);
    return CLI_NO;
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct remote_token token;
    struct remote_identity *identity = NULL;
    struct metrics_address address = { .socket = -1 };
    struct callbacks callbacks = { .metrics_url = address.url };
    struct agent_options agent = { .version = INFEROGRAM_VERSION,
                                   .list = agent_list,
                                   .record = agent_record,
                                   .listening = show_address,
                                   .user = &callbacks };
    struct ifg_error err = { .message = "" };
    struct option_words words;
    enum ifg_status status;
    int code = options_parse(&agent_command, argc, argv, &request, &words);

    if (code)
        return code;
    if (words.count)
        return cli_usage("agent", "unexpected argument '%s'", words.items[0]);
    if (request.listen) {
        unsigned port;

        code = remote_split_address("agent", "--listen", request.listen, request.address,
                                    sizeof request.address, &port);
        agent.port = (uint16_t)port;
        agent.address = request.address;
    }
    if (!code)
        code = start_metrics(&request, &address, &callbacks.user.watch);
    if (!code)
        code = choose_token(&request, &token, &agent);
    if (!code)
        code = choose_tls(&request, &agent, &identity);
    if (code) {
        metrics_watch_stop(callbacks.user.watch);
        return code;
    }
    callbacks.user.agent = &agent;
    if (!request.quiet)
        agent.say = show;
    if (agent.token && !request.token_file && !getenv(REMOTE_TOKEN_VARIABLE))
        cli_say("token for other users, in IFG_AGENT_TOKEN: %s", token.text);
    status = agent_run(&agent, &err);
    metrics_watch_stop(callbacks.user.watch);
    remote_identity_destroy(identity);
    if (status)
        cli_say("%s", err.message);
    return status == IFG_INVALID ? CLI_USAGE : cli_exit_for(status);
}

const struct cli_command agent_command = {
    .name = "agent",
    .summary = "let 'inferogram capture' on another machine record processes here",
    .usage = "[--listen ADDRESS[:PORT]] [--token-file FILE] [--tls]\n"
             "[--metrics [ADDRESS:]PORT] [--otlp URL] [--name S]... [OPTIONS]",
    .about = "Prints an address and serves recordings of this machine's processes there until "
             "Ctrl-C, with the rights of the user who started it. On the loopback, you and root "
             "can connect, and other users with the token; forward the port with ssh (or adb) to "
             "reach it from another machine. On any other address, all is encrypted with TLS, "
             "everybody needs the token, and captures know the agent by the fingerprint that it "
             "prints.\n"
             "With --metrics, it also watches the programs that it can record, all the time, and "
             "serves counts and latencies of their models for Prometheus; with --otlp, it sends "
             "them, and single events as spans, to a collector of OpenTelemetry.",
    .tables = { option_rows },
    .examples = "inferogram agent\n"
                "ssh -t -L 8086:127.0.0.1:8086 board inferogram agent\n"
                "inferogram agent --listen 127.0.0.1:9000 --token-file ~/.inferogram-token\n"
                "inferogram agent --listen 0.0.0.0 --token-file ~/.inferogram-token\n"
                "inferogram agent --metrics 9095\n"
                "inferogram agent --otlp http://127.0.0.1:4318",
    .exits =
        "0 stopped by Ctrl-C or SIGTERM, 1 cannot listen, 2 usage error, or no token where one "
        "is needed, 4 the token or the key can be read by others",
    .silent = true,
    .run = run,
};
