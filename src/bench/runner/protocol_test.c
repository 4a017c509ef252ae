// SPDX-License-Identifier: Apache-2.0
/* Messages go through unchanged, and what makes no sense is refused. */
#include "bench/runner/protocol.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"

static struct ifg_error err;

static struct ifg_cursor over(const struct ifg_bytes *body)
{
    return ifg_cursor_over(body->data, body->size);
}

static void make_pair(struct channel *a, struct channel *b)
{
    int fds[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    *a = (struct channel){ .fd = fds[0] };
    *b = (struct channel){ .fd = fds[1] };
}

static void messages(void)
{
    struct channel a, b;
    struct ifg_bytes body;
    struct message got = { 0 };
    int on = 1;

    make_pair(&a, &b);
    setsockopt(b.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    ifg_bytes_init(&body, PROTOCOL_MESSAGE_MAX);
    ifg_bytes_init(&got.body, PROTOCOL_MESSAGE_MAX);
    ifg_bytes_put(&body, "hello", 5);
    REQUIRE_INT(protocol_send(&a, MESSAGE_LOAD, &body, &err), IFG_OK);
    REQUIRE_INT(protocol_send(&a, MESSAGE_QUIT, NULL, &err), IFG_OK);
    REQUIRE_INT(protocol_receive(&b, &got, &err), IFG_OK);
    CHECK_UINT(got.kind, MESSAGE_LOAD);
    REQUIRE_UINT(got.body.size, 5);
    CHECK_BYTES(got.body.data, "hello", 5);
    CHECK_INT(b.peer, getpid());
    REQUIRE_INT(protocol_receive(&b, &got, &err), IFG_OK);
    CHECK_UINT(got.kind, MESSAGE_QUIT);
    CHECK_UINT(got.body.size, 0);
    REQUIRE(send(a.fd, "\1\0\0\4\1", 5, 0) == 5); /* one byte too long */
    CHECK_INT(protocol_receive(&b, &got, &err), IFG_CORRUPT);
    REQUIRE(send(a.fd, "\4\0\0\0\1ab", 7, 0) == 7);
    close(a.fd);
    CHECK_INT(protocol_receive(&b, &got, &err), IFG_IO); /* in the middle */
    CHECK_INT(protocol_receive(&b, &got, &err), IFG_IO);
    CHECK_INT(protocol_send(&b, MESSAGE_QUIT, &body, &err), IFG_IO);
    close(b.fd);
    ifg_bytes_fini(&body);
    ifg_bytes_fini(&got.body);
}

static uint8_t sent[3 * PROTOCOL_DATA_MAX + 17];

static void *send_data(void *channel)
{
    struct ifg_error own;

    CHECK_INT(protocol_send_data(channel, sent, sizeof sent, &own), IFG_OK);
    CHECK_INT(protocol_send_data(channel, sent, 0, &own), IFG_OK);
    CHECK_INT(protocol_send_data(channel, sent, sizeof sent, &own), IFG_OK);
    CHECK_INT(protocol_send_data(channel, sent, 3, &own), IFG_OK);
    return NULL;
}

static void data(void)
{
    struct channel a, b;
    pthread_t thread;
    uint8_t *got = ifg_alloc(1, sizeof sent);

    REQUIRE(got != NULL);
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 7 + (i >> 11));
    make_pair(&a, &b);
    REQUIRE(pthread_create(&thread, NULL, send_data, &a) == 0);
    CHECK_INT(protocol_receive_data(&b, got, sizeof sent, &err), IFG_OK);
    CHECK(memcmp(got, sent, sizeof sent) == 0);
    CHECK_INT(protocol_receive_data(&b, NULL, sizeof sent, &err), IFG_OK); /* not wanted */
    pthread_join(thread, NULL);
    CHECK_INT(protocol_receive_data(&b, got, 2, &err), IFG_CORRUPT); /* more than asked for */
    close(a.fd);
    close(b.fd);
    ifg_free(got);
}

static void ports_and_lines(void)
{
    struct ifg_bench_port ports[2] = {
        { .name = "x",
          .type = IFG_BENCH_FLOAT,
          .rank = 2,
          .dims = { -1, 4 },
          .dim_names = { "n" } },
        { .name = NULL, .type = 0 },
    };
    struct ifg_bytes body;
    struct ifg_cursor cursor;
    struct port_list got;
    char **lines;
    char line[8];
    size_t count;

    ifg_bytes_init(&body, PROTOCOL_MESSAGE_MAX);
    protocol_put_ports(&body, ports, 2);
    cursor = over(&body);
    REQUIRE(protocol_get_ports(&cursor, &got));
    REQUIRE_UINT(got.count, 2);
    CHECK_STR(got.items[0].name, "x");
    CHECK_STR(got.items[0].dim_names[0], "n");
    CHECK(got.items[0].dim_names[1] == NULL);
    CHECK_INT(got.items[0].dims[0], -1);
    CHECK_STR(got.items[1].name, "");
    CHECK_UINT(ifg_cursor_left(&cursor), 0);
    tensor_port_list_fini(&got);
    for (size_t i = 0; i < body.size; i++) { /* cut anywhere */
        cursor = ifg_cursor_over(body.data, i);
        CHECK(!protocol_get_ports(&cursor, &got) && got.items == NULL);
    }
    ifg_bytes_clear(&body);
    ifg_bytes_put_varint(&body, 2);
    protocol_put_text(&body, "one");
    protocol_put_text(&body, "");
    protocol_put_text(&body, "a\nb\303\244\303\244\303\244");
    cursor = over(&body);
    REQUIRE(protocol_get_lines(&cursor, &lines, &count));
    REQUIRE_UINT(count, 2);
    CHECK_STR(lines[0], "one");
    ifg_free(lines[0]);
    ifg_free(lines[1]);
    ifg_free(lines);
    protocol_get_line(&cursor, line, sizeof line);
    CHECK_STR(line, "a b\303\244\303\244"); /* one line, whole characters */
    ifg_bytes_clear(&body);
    ifg_bytes_put_string(&body, "a\0b", 3);
    cursor = over(&body);
    CHECK(protocol_get_text(&cursor) == NULL && cursor.failed);
    ifg_bytes_fini(&body);
}

static bool is_taken(const struct ifg_bench_tensor *tensor)
{
    struct ifg_bytes body;
    struct ifg_cursor cursor;
    struct tensor_list got;
    bool good;

    ifg_bytes_init(&body, PROTOCOL_MESSAGE_MAX);
    ifg_bytes_put_varint(&body, 1);
    protocol_put_tensor(&body, tensor);
    cursor = over(&body);
    good = protocol_get_tensors(&cursor, &got);
    CHECK_UINT(got.count, good);
    if (good)
        CHECK_UINT(got.items[0].bytes, tensor->bytes);
    tensor_list_fini(&got);
    ifg_bytes_fini(&body);
    return good;
}

static void tensors(void)
{
    struct ifg_bench_tensor tensor = {
        .name = "x", .type = IFG_BENCH_FLOAT, .rank = 2, .dims = { 3, 4 }, .bytes = 48
    };
    struct tensor texts = { .type = IFG_BENCH_STRING, .rank = 1, .dims = { 2 } };

    CHECK(is_taken(&tensor));
    tensor.bytes = 47;
    CHECK(!is_taken(&tensor));
    tensor.dims[0] = -3;
    CHECK(!is_taken(&tensor));
    tensor.dims[0] = INT64_MAX / 2;
    CHECK(!is_taken(&tensor));
    tensor.dims[0] = INT64_C(1) << 60; /* 2^64 bytes are 0 */
    tensor.bytes = 0;
    CHECK(!is_taken(&tensor));
    tensor.dims[0] = 0;
    CHECK(is_taken(&tensor));
    tensor.rank = 17;
    CHECK(!is_taken(&tensor));
    tensor = (struct ifg_bench_tensor){ .type = IFG_BENCH_UINT8,
                                        .rank = 1,
                                        .dims = { (int64_t)PROTOCOL_TENSORS_MAX + 1 },
                                        .bytes = PROTOCOL_TENSORS_MAX + 1 };
    CHECK(!is_taken(&tensor));
    texts.data = (uint8_t *)(uintptr_t) "a\0bc";
    texts.bytes = 5;
    CHECK(protocol_texts_fit(&texts));
    texts.bytes = 4; /* the second does not end */
    CHECK(!protocol_texts_fit(&texts));
    texts.bytes = 5;
    texts.dims[0] = 3;
    CHECK(!protocol_texts_fit(&texts));
}

static void work_and_status(void)
{
    struct runner_work work = { .kind = RUNNER_OPEN,
                                .workers = 3,
                                .queries = UINT64_MAX,
                                .duration_ns = 5,
                                .rate_hz = 12.5,
                                .seed = UINT64_MAX,
                                .first_set = 9 };
    struct runner_work got;
    struct ifg_bytes body;
    struct ifg_cursor cursor;

    ifg_bytes_init(&body, PROTOCOL_MESSAGE_MAX);
    protocol_put_work(&body, &work);
    cursor = over(&body);
    REQUIRE(protocol_get_work(&cursor, &got));
    CHECK(got.kind == RUNNER_OPEN && got.workers == 3 && got.queries == UINT64_MAX);
    CHECK(got.duration_ns == 5 && got.rate_hz == 12.5 && got.seed == UINT64_MAX);
    CHECK_UINT(got.per_query, 1); /* 0 means that */
    CHECK_UINT(got.first_set, 9);
    ifg_bytes_clear(&body);
    work.workers = PROTOCOL_WORKERS_MAX + 1;
    protocol_put_work(&body, &work);
    cursor = over(&body);
    CHECK(!protocol_get_work(&cursor, &got));
    ifg_bytes_clear(&body);
    ifg_bytes_put_varint(&body, (uint64_t) - (int)IFG_CORRUPT);
    protocol_put_text(&body, "it is broken");
    ifg_bytes_put_varint(&body, 99); /* no status */
    protocol_put_text(&body, "");
    cursor = over(&body);
    CHECK_INT(protocol_get_status(&cursor, &err), IFG_CORRUPT);
    CHECK_STR(err.message, "it is broken");
    CHECK(!cursor.failed);
    CHECK_INT(protocol_get_status(&cursor, &err), IFG_CORRUPT);
    CHECK(cursor.failed);
    ifg_bytes_fini(&body);
}

TAP_MAIN(TAP_CASE(messages), TAP_CASE(data), TAP_CASE(ports_and_lines), TAP_CASE(tensors),
         TAP_CASE(work_and_status))
