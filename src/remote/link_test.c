// SPDX-License-Identifier: Apache-2.0
/* The queue between a recorder and a socket: nothing lost, nothing unbounded, nobody waits. */
#include "remote/link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "remote/protocol.h"
#include "tap.h"
#include "trace/output.h"

struct pair {
    int ends[2];
    struct remote_link *link;
    struct trace_output *output;
};

static void make(struct pair *pair)
{
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->ends) == 0);
    REQUIRE(fcntl(pair->ends[0], F_SETFL, O_NONBLOCK) == 0);
    REQUIRE(remote_link_create(pair->ends[0], "test", &pair->link, NULL) == IFG_OK);
    REQUIRE(remote_link_output(pair->link, &pair->output, NULL) == IFG_OK);
}

static ssize_t write_piece(struct pair *pair, const void *data, size_t size)
{
    return pair->output->functions->write(pair->output, data, size);
}

/* As much of the trace as is there now, appended to out; the number of pieces. */
static size_t take_all(int end, struct ifg_bytes *raw, struct ifg_bytes *out)
{
    uint8_t buffer[65536];
    size_t at = 0;
    size_t pieces = 0;
    struct remote_message message;
    size_t used;
    ssize_t got;

    while ((got = recv(end, buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
        ifg_bytes_put(raw, buffer, (size_t)got);
    while (remote_take(REMOTE_TOLD, raw->data + at, raw->size - at, &message, &used) ==
           REMOTE_TAKEN) {
        ifg_bytes_put(out, message.content, message.size);
        pieces += message.flags & REMOTE_PIECE_ENDS;
        at += used;
    }
    memmove(raw->data, raw->data + at, raw->size - at);
    raw->size -= at;
    return pieces;
}

static void pieces_come_whole_and_in_order(void)
{
    struct pair pair;
    struct ifg_bytes raw, out;
    size_t size = 3u * REMOTE_PART_MAX + 17;
    uint8_t *piece = ifg_alloc(size, 1);
    size_t pieces = 0;

    REQUIRE(piece);
    make(&pair);
    ifg_bytes_init(&raw, 64u << 20);
    ifg_bytes_init(&out, 64u << 20);
    for (size_t i = 0; i < size; i++)
        piece[i] = (uint8_t)(i * 7 + i / 251);
    CHECK_INT(write_piece(&pair, piece, size), (long long)size);
    CHECK_INT(write_piece(&pair, "end", 3), 3);
    while (out.size < size + 3) {
        CHECK(remote_link_push(pair.link));
        pieces += take_all(pair.ends[1], &raw, &out);
    }
    CHECK_UINT(pieces, 2);
    CHECK_UINT(out.size, size + 3);
    CHECK_BYTES(out.data, piece, size);
    CHECK_BYTES(out.data + size, "end", 3);
    CHECK_INT(trace_output_close(pair.output, NULL), IFG_OK);
    remote_link_destroy(pair.link);
    ifg_bytes_fini(&raw);
    ifg_bytes_fini(&out);
    ifg_free(piece);
}

/* Nobody reads: it accepts no more long before it is full, and says so without waiting. */
static void a_full_queue_accepts_no_more(void)
{
    struct pair pair;
    uint8_t *piece = ifg_alloc(1, 1u << 20);
    struct ifg_bytes raw, out;
    unsigned written = 0;

    REQUIRE(piece);
    make(&pair);
    ifg_bytes_init(&raw, 64u << 20);
    ifg_bytes_init(&out, 64u << 20);
    while (pair.output->functions->accepts(pair.output) && written < 100) {
        CHECK_INT(write_piece(&pair, piece, 1u << 20), 1 << 20);
        written++;
    }
    CHECK(written >= 8 && written < 20);
    while (out.size < (size_t)written << 20) {
        remote_link_push(pair.link);
        take_all(pair.ends[1], &raw, &out);
    }
    CHECK(pair.output->functions->accepts(pair.output));
    CHECK_INT(trace_output_close(pair.output, NULL), IFG_OK);
    remote_link_destroy(pair.link);
    ifg_bytes_fini(&raw);
    ifg_bytes_fini(&out);
    ifg_free(piece);
}

static void a_reader_that_stands_still_is_given_up(void)
{
    struct pair pair;
    uint8_t *piece = ifg_alloc(1, 1u << 20);
    unsigned written = 0;

    REQUIRE(piece);
    make(&pair);
    remote_link_set_patience(pair.link, 50);
    while (write_piece(&pair, piece, 1u << 20) > 0)
        REQUIRE(++written < 100);
    CHECK_INT(errno, ETIMEDOUT);
    CHECK(written <= REMOTE_LINK_LIMIT_BYTES >> 20);
    CHECK(!remote_link_flush(pair.link));
    CHECK(trace_output_close(pair.output, NULL) != IFG_OK);
    remote_link_destroy(pair.link);
    ifg_free(piece);
}

static void a_reader_that_is_gone_is_noticed(void)
{
    struct pair pair;

    make(&pair);
    close(pair.ends[1]);
    CHECK_INT(write_piece(&pair, "x", 1), -1);
    CHECK_INT(errno, EPIPE);
    CHECK(!pair.output->functions->accepts(pair.output));
    CHECK(trace_output_close(pair.output, NULL) != IFG_OK);
    remote_link_destroy(pair.link);
}

/* A child that keeps its recording, and the agent that gives it a new connection. */
static void make_kept(struct pair *pair, int control[2])
{
    struct remote_kept kept = { .key = "0123456789abcdef0123456789abcdef", .keep_ms = 60000 };

    make(pair);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control) == 0);
    remote_link_keep(pair->link, control[1], &kept);
}

static void replace_connection(struct pair *pair, int control, uint64_t count)
{
    int ends[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    REQUIRE(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    REQUIRE(remote_link_order_resume(control, ends[0], count));
    close(ends[0]);
    close(pair->ends[1]);
    pair->ends[1] = ends[1];
}

static void finish_kept(struct pair *pair, int control[2])
{
    close(control[0]);
    trace_output_close(pair->output, NULL);
    remote_link_destroy(pair->link);
    close(pair->ends[0]);
    close(pair->ends[1]);
}

static void what_has_not_arrived_is_sent_again(void)
{
    struct pair pair;
    struct ifg_bytes raw, out;
    int control[2];

    make_kept(&pair, control);
    ifg_bytes_init(&raw, 1u << 20);
    ifg_bytes_init(&out, 1u << 20);
    REQUIRE(write_piece(&pair, "one ", 4) == 4);
    REQUIRE(write_piece(&pair, "two ", 4) == 4);
    take_all(pair.ends[1], &raw, &out);           /* it came, but nobody knows */
    CHECK(remote_link_order_have(control[0], 2)); /* that it is kept, and the first piece */
    CHECK(remote_link_order_wait(control[0]));
    REQUIRE(write_piece(&pair, "three ", 6) == 6); /* without a connection */
    replace_connection(&pair, control[0], 2);
    REQUIRE(write_piece(&pair, "four", 4) == 4);
    ifg_bytes_clear(&raw);
    ifg_bytes_clear(&out);
    CHECK_UINT(take_all(pair.ends[1], &raw, &out), 3);
    ifg_bytes_put(&out, "", 1);
    CHECK_STR((const char *)out.data, "two three four");
    ifg_bytes_fini(&raw);
    ifg_bytes_fini(&out);
    finish_kept(&pair, control);
}

static void a_kept_link_is_bounded(void)
{
    static uint8_t piece[1u << 20];
    struct pair pair;
    int control[2];
    size_t written = 0;

    make_kept(&pair, control);
    CHECK(remote_link_order_wait(control[0]));
    while (pair.output->functions->accepts(pair.output) && written < 64) {
        REQUIRE(write_piece(&pair, piece, sizeof piece) == (ssize_t)sizeof piece);
        written++;
    }
    CHECK_UINT(written, REMOTE_LINK_MUCH_BYTES / sizeof piece);
    replace_connection(&pair, control[0], 99); /* more than there ever were */
    CHECK(!pair.output->functions->accepts(pair.output));
    close(control[0]); /* the agent does not keep it any more */
    control[0] = -1;
    CHECK(!remote_link_push(pair.link));
    finish_kept(&pair, control);
}

TAP_MAIN(TAP_CASE(what_has_not_arrived_is_sent_again), TAP_CASE(a_kept_link_is_bounded),
         TAP_CASE(pieces_come_whole_and_in_order), TAP_CASE(a_full_queue_accepts_no_more),
         TAP_CASE(a_reader_that_stands_still_is_given_up),
         TAP_CASE(a_reader_that_is_gone_is_noticed))
