// SPDX-License-Identifier: Apache-2.0
/*
 * The capturing end: asks an agent for a recording and appends what comes to a file.
 *
 * What arrives is written at once. When the connection is lost, or this process is killed, the file
 * is a trace up to the last piece that came whole. An agent that keeps the recording for a while
 * goes on where it was when the connection is there again.
 */
#ifndef IFG_REMOTE_CAPTURE_H
#define IFG_REMOTE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "remote/identity.h"
#include "remote/protocol.h"

enum capture_end {
    CAPTURE_DONE,
    CAPTURE_FAILED,       /* no connection, or the agent could not do it; the sentence tells */
    CAPTURE_VERSION,      /* the other end speaks another version */
    CAPTURE_BUSY,         /* it has too much to do, or somebody else records that process */
    CAPTURE_LOST,         /* the file has what came until then */
    CAPTURE_EXISTS,       /* the file does, and was not to be replaced */
    CAPTURE_CANNOT_WRITE, /* the file; a full disk, say */
    CAPTURE_LACKS,        /* a token, or rights of the agent */
    CAPTURE_INSECURE,     /* it is not the agent of the fingerprint, or one end does not encrypt */
};

struct capture_options {
    const char *host;
    uint16_t port;
    const struct remote_token *token; /* NULL: none was given */
    bool tls;                         /* with this agent and no other: */
    struct remote_fingerprint fingerprint;
    const char *path;
    bool overwrite;
    uint32_t reconnect_ms; /* try again for so long when the connection is lost; 0: do not */
    bool is_temporary;     /* nobody is to be told of the path */
    struct remote_request request;

    void (*note)(const char *text, void *user);
    void (*started)(const struct remote_started *started, void *user);
    void (*progress)(const struct remote_progress *progress, void *user);
    void (*process)(const struct remote_process *process, void *user); /* of capture_list */
    void *user;
};

struct capture_result {
    bool is_started;
    bool is_stopped; /* by a signal to us */
    uint64_t bytes;  /* of the file */
    struct remote_started started;
    struct remote_ended ended;
};

/* SIGINT, SIGTERM and SIGHUP end the recording; a second one leaves it at what there is. */
enum capture_end capture_run(const struct capture_options *options,
                             struct capture_result *out_result, struct ifg_error *err);

/* The processes that the agent could record. Signals are the caller's. */
enum capture_end capture_list(const struct capture_options *options,
                              struct remote_listed *out_listed, struct ifg_error *err);

#endif
