// SPDX-License-Identifier: Apache-2.0
/*
 * What the tool and the process that runs models say to each other.
 *
 * Over a socket: messages of a length (u32, little endian), a kind (u8) and a body of
 * variable-length integers and strings. The tool asks, the other side answers each question with
 * one message. Tensors follow the message that announces them as DATA messages, in order, nothing
 * for empty ones. In shared memory: the word to stop, and the times of queries, so that the loop
 * that is timed makes no system call. Neither side trusts the other's bytes.
 */
#ifndef IFG_BENCH_PROTOCOL_H
#define IFG_BENCH_PROTOCOL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/status.h"
#include "bench/runner/runner.h"
#include "bench/inputs/tensor.h"

#define PROTOCOL_VERSION 1u

/* Where the process finds its two descriptors. */
#define PROTOCOL_SOCKET 3
#define PROTOCOL_MEMORY 4

#define PROTOCOL_HEAD_BYTES   5u
#define PROTOCOL_MESSAGE_MAX  (64u << 20)
#define PROTOCOL_DATA_MAX     (1u << 20)
#define PROTOCOL_TEXT_MAX     65536u
#define PROTOCOL_LIST_MAX     4096u      /* ports, tensors, settings, lines */
#define PROTOCOL_NODES_MAX    (1u << 20) /* more are not told */
#define PROTOCOL_TENSORS_MAX  (UINT64_C(1) << 36)
#define PROTOCOL_WORKERS_MAX  1024u
#define PROTOCOL_SLOTS_MAX    256u
#define PROTOCOL_SETS_MAX     65536u
#define PROTOCOL_SCHEDULE_MAX (UINT64_C(1) << 26) /* queries of an open loop */

enum message_kind {
    /* questions */
    MESSAGE_OPEN = 1,  /* u version, text runtime, text library, s pin */
    MESSAGE_LOAD,      /* text path, u count, (text key, text value)... */
    MESSAGE_BIND,      /* u slot, u set, u workers, tensors; DATA follows */
    MESSAGE_RUN,       /* u slot, work */
    MESSAGE_RESULTS,   /* u slot, u set */
    MESSAGE_REFERENCE, /* */
    MESSAGE_DEVICES,   /* */
    MESSAGE_UNLOAD,    /* u slot */
    MESSAGE_QUIT,      /* no answer */
    /* both ways */
    MESSAGE_DATA = 32,
    /* answers */
    MESSAGE_FAILED = 64, /* u -status, text */
    MESSAGE_OPENED,      /* u version, u open_ns, u rss, text name, text version */
    MESSAGE_LOADED,      /* see protocol_get_loaded */
    MESSAGE_DONE,        /* */
    MESSAGE_RAN,         /* u unserved, u query that failed, u -status, text */
    MESSAGE_TENSORS,     /* tensors; DATA follows */
    MESSAGE_NUMBER,      /* u */
    MESSAGE_LINES,       /* u count, text... */
};

/* ---- shared memory ---- */

#define SHARED_SAMPLES 32768u

/* One query's times, CLOCK_MONOTONIC. Query i of a run is in place i % SHARED_SAMPLES. */
struct shared_sample {
    _Atomic uint64_t full; /* i + 1 once the rest is there; the tool puts 0 when it has taken it */
    _Atomic uint64_t due_ns;
    _Atomic uint64_t start_ns;
    _Atomic uint64_t end_ns;
};

/* On lines of their own: the tool writes while workers run. */
struct shared_area {
    _Alignas(64) _Atomic uint32_t stop;    /* the tool wants the run to end */
    _Alignas(64) _Atomic uint64_t begun;   /* queries handed out in this run */
    _Alignas(64) _Atomic uint64_t drained; /* taken by the tool, whose places are free again */
    _Alignas(64) struct shared_sample samples[SHARED_SAMPLES];
};

/* ---- a socket with messages ---- */

struct channel {
    int fd;
    /* Called when the socket is not ready; returns once it may be, or with the reason to give up.
     * NULL: the socket blocks. */
    enum ifg_status (*wait)(void *user, short events, struct ifg_error *err);
    void *user;
    pid_t peer; /* who sent last, as the system tells it; 0: not told */
};

struct message {
    uint8_t kind;
    struct ifg_bytes body;
};

/* All fail with IFG_IO when the other side has gone and IFG_CORRUPT when it talks nonsense. */
enum ifg_status protocol_send(struct channel *channel, enum message_kind kind,
                              const struct ifg_bytes *body, struct ifg_error *err) IFG_MUST_CHECK;
/* message->body is initialised by the caller and reused. */
enum ifg_status protocol_receive(struct channel *channel, struct message *message,
                                 struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status protocol_send_data(struct channel *channel, const void *data, size_t bytes,
                                   struct ifg_error *err) IFG_MUST_CHECK;
/* data NULL: reads and forgets. */
enum ifg_status protocol_receive_data(struct channel *channel, void *data, size_t bytes,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* ---- bodies ---- */

/* NULL is sent as "". */
void protocol_put_text(struct ifg_bytes *body, const char *text);
/* A copy that belongs to the caller, or NULL: no text, too long, a NUL in it, or no memory; the
 * cursor has failed then. */
char *protocol_get_text(struct ifg_cursor *cursor);
/* The same into a buffer, cut to its size; control characters become blanks. */
void protocol_get_line(struct ifg_cursor *cursor, char *out, size_t size);
/* A number of at most `most`. */
uint64_t protocol_get_number(struct ifg_cursor *cursor, uint64_t most);

void protocol_put_ports(struct ifg_bytes *body, const struct ifg_bench_port *ports, size_t count);
bool protocol_get_ports(struct ifg_cursor *cursor, struct port_list *out_ports);

/* What is to come as DATA. The data of the tensors that were read is NULL; sizes agree with types
 * and shapes, and are at most PROTOCOL_TENSORS_MAX in all. */
void protocol_put_tensor(struct ifg_bytes *body, const struct ifg_bench_tensor *tensor);
bool protocol_get_tensors(struct ifg_cursor *cursor, struct tensor_list *out_tensors);
bool protocol_size_fits(int32_t type, const int64_t *dims, uint32_t rank, uint64_t size);
/* Texts are as many as there are elements, and end. */
bool protocol_texts_fit(const struct tensor *tensor);

void protocol_put_work(struct ifg_bytes *body, const struct runner_work *work);
bool protocol_get_work(struct ifg_cursor *cursor, struct runner_work *out_work);

/* u slot, u load_ns, u specialization_ns, u rss, ports, ports, u count, (text provider,
 * u nodes)..., text reason, u count, (text name, text op_type, text provider)... */
bool protocol_get_loaded(struct ifg_cursor *cursor, struct runner_loaded *out_loaded);
bool protocol_get_lines(struct ifg_cursor *cursor, char ***out_lines, size_t *out_count);
/* The status that an answer FAILED or RAN tells, with its sentence; IFG_CORRUPT and a failed cursor
 * if it makes no sense. */
enum ifg_status protocol_get_status(struct ifg_cursor *cursor, struct ifg_error *err);

#endif
