// SPDX-License-Identifier: Apache-2.0
/*
 * What an agent and a capture say to each other: bytes to messages and back, and nothing else.
 *
 * Both begin with a preface of 16 bytes that is the same in all versions: a magic, the major and
 * the minor version. Ends of the same major version understand each other; a newer minor one may
 * append to a message, and may have kinds that the other skips.
 *
 * A message is a head of 8 bytes and its content: kind, flags, zero, and how long the content is.
 * The content is a sequence of variable-length numbers and texts with their lengths (base/bytes.h).
 * Every text has a limit and no control characters except in what is shown as it is.
 */
#ifndef IFG_REMOTE_PROTOCOL_H
#define IFG_REMOTE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define REMOTE_MAJOR         1u
#define REMOTE_MINOR         2u
#define REMOTE_PREFACE_BYTES 16u
#define REMOTE_HEAD_BYTES    8u
#define REMOTE_ASKED_MAX     2048u        /* the content of what an agent gets */
#define REMOTE_TOLD_MAX      (64u << 10)  /* of what it tells */
#define REMOTE_PART_MAX      (256u << 10) /* of the trace in one message */
#define REMOTE_PORT          8086u
#define REMOTE_PORTS         20u /* that are tried */

enum remote_kind {
    /* to the agent */
    REMOTE_TOKEN = 1,
    REMOTE_LIST,
    REMOTE_RECORD,
    REMOTE_STOP,
    REMOTE_PING, /* what time is it? */
    REMOTE_KEEP, /* the recording that is asked for next, when the connection is lost; since 1.2 */
    REMOTE_HAVE, /* so many messages have come, and need not be kept */
    REMOTE_RESUME, /* a recording that was kept */
    REMOTE_ASKED_END,

    /* from the agent */
    REMOTE_WELCOME = 0x81,
    REMOTE_REFUSED,
    REMOTE_PROCESS,  /* of a list */
    REMOTE_LISTED,   /* its end */
    REMOTE_NOTE,     /* something to be said */
    REMOTE_STARTED,  /* recording runs */
    REMOTE_PART,     /* of the trace */
    REMOTE_PROGRESS, /* a few times a second */
    REMOTE_ENDED,    /* the trace is complete */
    REMOTE_PONG,     /* the time */
    REMOTE_KEPT,     /* the recording is, and how to ask for it; since 1.2 */
    REMOTE_RESUMED,  /* what comes next is what did not come before */
    REMOTE_TOLD_END,
};

#define REMOTE_PIECE_ENDS 1u /* a flag of REMOTE_PART: here a reader may stop */

struct remote_version {
    uint16_t major;
    uint16_t minor;
};

/* Whose words are to be read: each side accepts only those of the other. */
enum remote_side { REMOTE_ASKED, REMOTE_TOLD };

struct remote_message {
    uint8_t kind;
    uint8_t flags;
    const uint8_t *content; /* inside the bytes that were given */
    size_t size;
};

enum remote_taken {
    REMOTE_TAKEN,
    REMOTE_NOT_YET, /* it is not there as a whole */
    REMOTE_GARBAGE,
};

void remote_preface_put(uint8_t out[REMOTE_PREFACE_BYTES]);
/* False: this is not the protocol at all. */
bool remote_preface_get(const uint8_t in[REMOTE_PREFACE_BYTES], struct remote_version *out_version);

/* The message at the begin of so many bytes; *out_bytes: how many it takes. */
enum remote_taken remote_take(enum remote_side side, const uint8_t *data, size_t size,
                              struct remote_message *out_message, size_t *out_bytes);

/* Appends a whole message. */
void remote_put(struct ifg_bytes *out, enum remote_kind kind, uint8_t flags, const void *content,
                size_t size);

/* ---- what is asked ---- */

#define REMOTE_TOKEN_MAX       128u
#define REMOTE_NAME_BYTES      128u
#define REMOTE_DURATION_MAX_US (366ull * 24 * 3600 * 1000000)
#define REMOTE_SAMPLE_HZ_MAX   10000u
#define REMOTE_OVERHEAD_MAX    500000u /* millionths */
#define REMOTE_RESOURCES_MAX   100000u /* looks in 1000 seconds */

struct remote_token {
    char text[REMOTE_TOKEN_MAX + 1];
};

enum remote_target {
    REMOTE_TARGET_ONLY, /* the only one that can be recorded */
    REMOTE_TARGET_PID,
    REMOTE_TARGET_NAME,
    REMOTE_TARGET_NEXT, /* of this name, if there is one */
    REMOTE_TARGET_END,
};

/* Of a request; from minor version 1 on, as the numbers at its end. */
enum remote_wish {
    REMOTE_PROMPT = 1,     /* somebody looks: send what is known sooner than a recording needs */
    REMOTE_NO_ARGS = 2,    /* leave out the arguments of programs */
    REMOTE_NO_SOURCES = 4, /* and the text of sampled files */
    REMOTE_NO_GPU = 8,
    REMOTE_NO_RESOURCES = 16,
    REMOTE_SCHED = 32,  /* switches and wakeups */
    REMOTE_MEMORY = 64, /* resident memory every 10 ms */
    REMOTE_WISHES_END = 128,
};

struct remote_request {
    enum remote_target target;
    uint32_t pid;
    char name[REMOTE_NAME_BYTES];
    uint64_t duration_us; /* 0: until somebody stops it */
    uint32_t ops;         /* operators of every so many inferences; 0: none */
    bool no_sample;
    bool knows_clock;        /* the rest of it: */
    int64_t clock_offset_ns; /* the agent's CLOCK_REALTIME less that of the capture */
    uint64_t clock_error_ns; /* it is that, give or take so much */
    char boot_id[96];        /* of the machine that captures, whose clock that is; "" unknown */
    uint32_t wishes;         /* of enum remote_wish; for each of the following, 0 is as usual */
    uint32_t sample_hz;      /* call stacks, a second */
    uint32_t overhead_ppm;   /* or as many as cost this much */
    uint32_t resources_mhz;  /* looks at CPUs and memory, in 1000 seconds */
    uint64_t delay_us;       /* before anything is recorded */
    uint64_t timeout_us;     /* of the wait for the next process */
    uint64_t max_bytes;      /* of the trace */
};

struct remote_ping {
    uint64_t asked_ns; /* CLOCK_REALTIME of who asks */
};

#define REMOTE_MINOR_KEEP  2u
#define REMOTE_KEEP_MAX_MS 600000u /* ten minutes */
#define REMOTE_KEY_DIGITS  32u

struct remote_keep {
    uint32_t keep_ms; /* 0: it need not be kept, or not any more */
};

/* Messages of the agent are counted from the request for a recording on. */
struct remote_have {
    uint64_t count;
};

struct remote_resume {
    char key[REMOTE_KEY_DIGITS + 1];
    uint64_t count; /* that have come */
};

/* Whether it can be the name of a program: not empty, not too long, no control characters. */
bool remote_is_name(const char *text);

/* The minor version that an agent must have to do all of it. */
unsigned remote_request_minor(const struct remote_request *request);

/* ---- what is told ---- */

struct remote_welcome {
    char version[64]; /* of the tool */
    char host[64];
    bool wants_token;
};

enum remote_refusal {
    REMOTE_REFUSAL_FAILED,
    REMOTE_REFUSAL_TOKEN, /* none, or a wrong one */
    REMOTE_REFUSAL_BUSY,  /* too many captures, or somebody else records that process */
    REMOTE_REFUSAL_NOT_FOUND,
    REMOTE_REFUSAL_PERMISSION,
    REMOTE_REFUSAL_UNSUPPORTED,
    REMOTE_REFUSAL_TLS, /* it is to be spoken, and was not */
    REMOTE_REFUSAL_END,
};

struct remote_refused {
    enum remote_refusal why;
    char text[768];
};

/* A process that can be recorded; the fields are those of `inferogram ls`. */
struct remote_process {
    uint32_t pid;
    uint32_t recorder;
    bool library;
    char user[64];
    char name[64];
    char program[512];
    char arguments[4096]; /* NUL between them */
    size_t arguments_bytes;
    char runtimes[256];
    char how[48];
    char missing[800];
    bool lacks_rights; /* that is what is missing: those of this user, the same for all */
};

struct remote_listed {
    uint32_t hidden;
    uint32_t lacking;
    char rights[768];
};

struct remote_note {
    char text[512];
};

struct remote_started {
    uint32_t pid;
    char program[64];
};

struct remote_progress {
    uint64_t elapsed_us;
    uint64_t events;
    uint64_t inferences;
    uint64_t dropped;
    uint64_t bytes; /* of the trace */
    uint32_t models;
};

struct remote_ended {
    bool program_ended;
    uint64_t samples;
    struct remote_progress totals;
    char note[768]; /* what else is to be said; "": nothing */
};

struct remote_pong {
    uint64_t asked_ns; /* as in the question */
    uint64_t agent_ns; /* CLOCK_REALTIME of the agent */
};

struct remote_kept {
    char key[REMOTE_KEY_DIGITS + 1]; /* which recording; a secret between the two */
    uint32_t keep_ms;                /* after the connection is lost */
};

/* The content of messages. Getters: false if it is none; what they fill is then to be ignored. */
void remote_token_put(struct ifg_bytes *out, const struct remote_token *token);
bool remote_token_get(const struct remote_message *message, struct remote_token *out);
void remote_request_put(struct ifg_bytes *out, const struct remote_request *request);
bool remote_request_get(const struct remote_message *message, struct remote_request *out);
void remote_ping_put(struct ifg_bytes *out, const struct remote_ping *ping);
bool remote_ping_get(const struct remote_message *message, struct remote_ping *out);
void remote_pong_put(struct ifg_bytes *out, const struct remote_pong *pong);
bool remote_pong_get(const struct remote_message *message, struct remote_pong *out);
void remote_keep_put(struct ifg_bytes *out, const struct remote_keep *keep);
bool remote_keep_get(const struct remote_message *message, struct remote_keep *out);
void remote_have_put(struct ifg_bytes *out, const struct remote_have *have);
bool remote_have_get(const struct remote_message *message, struct remote_have *out);
void remote_resume_put(struct ifg_bytes *out, const struct remote_resume *resume);
bool remote_resume_get(const struct remote_message *message, struct remote_resume *out);
void remote_kept_put(struct ifg_bytes *out, const struct remote_kept *kept);
bool remote_kept_get(const struct remote_message *message, struct remote_kept *out);
void remote_welcome_put(struct ifg_bytes *out, const struct remote_welcome *welcome);
bool remote_welcome_get(const struct remote_message *message, struct remote_welcome *out);
void remote_refused_put(struct ifg_bytes *out, const struct remote_refused *refused);
bool remote_refused_get(const struct remote_message *message, struct remote_refused *out);
void remote_process_put(struct ifg_bytes *out, const struct remote_process *process);
bool remote_process_get(const struct remote_message *message, struct remote_process *out);
void remote_listed_put(struct ifg_bytes *out, const struct remote_listed *listed);
bool remote_listed_get(const struct remote_message *message, struct remote_listed *out);
void remote_note_put(struct ifg_bytes *out, const struct remote_note *note);
bool remote_note_get(const struct remote_message *message, struct remote_note *out);
void remote_started_put(struct ifg_bytes *out, const struct remote_started *started);
bool remote_started_get(const struct remote_message *message, struct remote_started *out);
void remote_progress_put(struct ifg_bytes *out, const struct remote_progress *progress);
bool remote_progress_get(const struct remote_message *message, struct remote_progress *out);
void remote_ended_put(struct ifg_bytes *out, const struct remote_ended *ended);
bool remote_ended_get(const struct remote_message *message, struct remote_ended *out);

#endif
