// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile messages between the tool and the process that runs models. Strategies: the first byte
 * chooses
 * 0 what came after loading, 1 tensors, 2 ports, 3 work, 4 lines, 5 a status: the rest is the body;
 * 6 the rest comes over a socket: messages, each read with its kind's reader, tensors with their
 *   data.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/runner/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* so that nothing is optimised away */

static void use_text(const char *text)
{
    sink += text ? strlen(text) : 0;
}

static void use_ports(const struct port_list *ports)
{
    char text[64];

    for (size_t i = 0; i < ports->count; i++) {
        use_text(ports->items[i].name);
        use_text(tensor_shape_text(ports->items[i].dims, ports->items[i].dim_names,
                                   ports->items[i].rank, text, sizeof text));
    }
}

static void read_loaded(struct ifg_cursor *cursor)
{
    struct runner_loaded loaded;

    if (!protocol_get_loaded(cursor, &loaded))
        return;
    if (loaded.slot >= PROTOCOL_SLOTS_MAX || loaded.placement_count > RUNNER_PLACEMENTS)
        abort();
    use_ports(&loaded.inputs);
    use_ports(&loaded.outputs);
    use_text(loaded.placement_reason);
    for (size_t i = 0; i < loaded.node_count; i++)
        use_text(loaded.nodes[i].provider);
    runner_loaded_fini(&loaded);
}

static void read_tensors(struct ifg_cursor *cursor, struct channel *channel)
{
    struct tensor_list tensors;
    struct ifg_error err;

    if (!protocol_get_tensors(cursor, &tensors))
        return;
    for (size_t i = 0; i < tensors.count; i++) {
        struct tensor *tensor = &tensors.items[i];

        if (tensor->bytes > PROTOCOL_TENSORS_MAX)
            abort();
        if (!channel || tensor->bytes > 1u << 16)
            continue;
        tensor->data = ifg_alloc(tensor->bytes + 1, 1);
        if (!tensor->data || protocol_receive_data(channel, tensor->data, tensor->bytes, &err))
            break;
        sink += protocol_texts_fit(tensor);
        if (tensor_type_bytes(tensor->type) && tensor->bytes)
            sink += tensor_value(tensor, tensor->bytes / tensor_type_bytes(tensor->type) - 1) > 0;
    }
    tensor_list_fini(&tensors);
}

static void read_ports(struct ifg_cursor *cursor)
{
    struct port_list ports;

    if (protocol_get_ports(cursor, &ports))
        use_ports(&ports);
    tensor_port_list_fini(&ports);
}

static void read_lines(struct ifg_cursor *cursor)
{
    char **lines;
    size_t count;

    if (!protocol_get_lines(cursor, &lines, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        use_text(lines[i]);
        ifg_free(lines[i]);
    }
    ifg_free(lines);
}

static void read_body(uint8_t kind, struct ifg_cursor cursor, struct channel *channel)
{
    struct runner_work work;
    struct ifg_error err = { 0 };

    switch (kind) {
    case 0:
        read_loaded(&cursor);
        break;
    case 1:
        read_tensors(&cursor, channel);
        break;
    case 2:
        read_ports(&cursor);
        break;
    case 3:
        if (protocol_get_work(&cursor, &work) && (work.workers == 0 || work.per_query == 0))
            abort();
        break;
    case 4:
        read_lines(&cursor);
        break;
    default:
        if (protocol_get_status(&cursor, &err))
            use_text(err.message);
        break;
    }
}

static void read_stream(const uint8_t *data, size_t size)
{
    struct channel channel = { .fd = -1 };
    struct message message = { 0 };
    struct ifg_error err;
    int fds[2];

    if (size > 1u << 16 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return;
    if (size == 0 || send(fds[0], data, size, MSG_DONTWAIT) == (ssize_t)size) {
        close(fds[0]);
        fds[0] = -1;
        channel.fd = fds[1];
        ifg_bytes_init(&message.body, PROTOCOL_MESSAGE_MAX);
        while (protocol_receive(&channel, &message, &err) == IFG_OK)
            read_body(message.kind, ifg_cursor_over(message.body.data, message.body.size),
                      &channel);
        ifg_bytes_fini(&message.body);
    }
    if (fds[0] >= 0)
        close(fds[0]);
    close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ifg_cursor cursor = ifg_cursor_over(data, size);
    uint8_t kind = ifg_cursor_byte(&cursor);

    if (kind == 6)
        read_stream(cursor.at, ifg_cursor_left(&cursor));
    else if (kind < 6)
        read_body(kind, cursor, NULL);
    return 0;
}
