// SPDX-License-Identifier: Apache-2.0
/*
 * Files of inputs that a program hands over, whatever is in them. Strategies:
 *
 * The input is one byte of what to do and the content of a file. Bit 0: its length is put into its
 * head, so that mutations get past the first check; bit 1: it is one that is taken at the end; bit
 * 2: it is cut short after it was begun; bit 3: the limit is small.
 *
 * The recorder must not crash, hang, keep more than the limit, or write a file that cannot be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/hooks.h"
#include "record/source.h"
#include "trace/inputs.h"
#include "trace/reader.h"
#include "wire/capture.h"

#define LIMIT (64u << 10)
#define SMALL 300u
#define STEPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct source source_inputs;

static char folder[] = "/tmp/ifg-inputs-fuzz-XXXXXX";
static char trace_path[64], file_path[64], head_path[64];

static void remove_folder(void)
{
    unlink(trace_path);
    unlink(file_path);
    unlink(head_path);
    rmdir(folder);
}

static void prepare(void)
{
    if (!mkdtemp(folder))
        abort();
    snprintf(trace_path, sizeof trace_path, "%s/t.ifg", folder);
    snprintf(head_path, sizeof head_path, "%s/capture", folder);
    atexit(remove_folder);
}

static void write_file(uint8_t how, const uint8_t *data, size_t size)
{
    const uint64_t bytes = size;
    int fd;

    snprintf(file_path, sizeof file_path, "%s/%s", folder,
             how & 2 ? "slowest-7-1-9" : "inputs-7-1");
    fd = open(file_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    if ((how & 1) && size >= sizeof(struct ifg_capture_file) &&
        pwrite(fd, &bytes, sizeof bytes, offsetof(struct ifg_capture_file, bytes)) !=
            (ssize_t)sizeof bytes)
        abort();
    close(fd);
}

static void report_nothing(void *user, const char *name, enum trace_instrument_state state,
                           const char *reason)
{
    (void)user, (void)name, (void)state;
    if (strnlen(reason, 1024) == 1024)
        abort();
}

static enum ifg_status count_bytes(size_t tensor, const void *data, size_t bytes, void *user,
                                   struct ifg_error *err)
{
    (void)tensor, (void)data, (void)err;
    *(uint64_t *)user += bytes;
    return IFG_OK;
}

static void check_trace(uint64_t limit)
{
    struct trace_reader *reader;
    struct trace_input_list list;
    uint64_t bytes = 0;

    if (trace_reader_open(trace_path, &reader, NULL) || trace_inputs_read(reader, &list, NULL) ||
        list.damaged || list.count > 1)
        abort();
    for (size_t i = 0; i < list.count; i++)
        if (trace_inputs_each_part(reader, &list.items[i], count_bytes, &bytes, NULL))
            abort();
    if (bytes > limit)
        abort();
    trace_inputs_fini(&list);
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sink_calls calls = { .instrument = report_nothing };
    static char *command[] = { (char *)"x", NULL };
    uint8_t how = size ? data[0] : 0;
    struct session_options options = {
        .command = command, .capture = { SESSION_CAPTURE_FIRST, 1, how & 8 ? SMALL : LIMIT }
    };
    struct hooks hooks = { .preload = true };
    struct recording recording = {
        .options = &options, .hooks = &hooks, .directory = folder, .sink = { .calls = &calls }
    };
    void *state = NULL;
    bool any;

    if (!trace_path[0])
        prepare();
    if (!size || size > 2 * LIMIT)
        return 0;
    unlink(head_path);
    if (trace_writer_create(trace_path, true, &recording.sink.writer, NULL) ||
        source_inputs.open(&recording, &state, NULL) || !source_inputs.begin(state))
        abort();
    source_inputs.defined(state, 7, 0, 0);
    write_file(how, data + 1, size - 1);
    for (int i = 0; i < STEPS; i++) {
        if (source_inputs.work(state, (uint64_t)(i + 1) << 40, &any, NULL))
            abort();
        if (i == 0 && (how & 4) && truncate(file_path, (off_t)(size / 2)) && errno != ENOENT)
            abort();
    }
    if (source_inputs.finish(state, NULL))
        abort();
    source_inputs.close(state);
    hooks_fini(&hooks);
    if (trace_writer_close(recording.sink.writer, NULL))
        abort();
    check_trace(options.capture.max_bytes);
    return 0;
}
