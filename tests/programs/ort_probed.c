// SPDX-License-Identifier: Apache-2.0
/*
 * Which nodes does a program run? Seen by probes of the kernel, with offsets as the helper tells.
 *
 *   ort_probed LIBRARY OFFSET ARGUMENT NAMES-ARGUMENT O1 O2 O3 O4 O5 -- COMMAND...
 *
 * Prints "INDEX NAME TYPE" on descriptor 3 for each node that ended. Exit status: that of COMMAND;
 * 3 if there can be no probes, with the reason on stderr.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/uprobe/uprobe.h"

#define NODES_MAX 4096
#define TEXT      512

static pid_t pid;
static FILE *out;
static unsigned index_argument;
static uint64_t offsets[5];

/* Names are read once for each node: its graph's state lives as long as the session. */
static struct {
    uint64_t state;
    uint64_t index;
    char name[TEXT];
    char type[TEXT];
} nodes[NODES_MAX];
static size_t node_count;

static size_t peek(uint64_t address, void *to, size_t bytes)
{
    struct iovec here = { to, bytes };
    struct iovec there = { (void *)(uintptr_t)address, bytes };
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

    return got > 0 ? (size_t)got : 0;
}

static uint64_t peek_word(uint64_t address)
{
    uint64_t word = 0;

    return peek(address, &word, sizeof word) == sizeof word ? word : 0;
}

static void peek_text(uint64_t address, char *text)
{
    size_t used = 0;

    while (used + 1 < TEXT && peek(address + used, text + used, 1) && text[used])
        used++;
    text[used] = '\0';
}

static size_t node_of(uint64_t state, uint64_t number)
{
    size_t i = 0;
    uint64_t at;

    while (i < node_count && (nodes[i].state != state || nodes[i].index != number))
        i++;
    if (i < node_count || node_count == NODES_MAX)
        return i < node_count ? i : 0;
    at = peek_word(peek_word(state + offsets[1]) + offsets[2]);
    at = peek_word(at + 8 * number);
    nodes[i].state = state;
    nodes[i].index = number;
    peek_text(peek_word(at + offsets[3]), nodes[i].name);
    peek_text(peek_word(at + offsets[4]), nodes[i].type);
    return node_count++;
}

static void on_seen(const struct uprobe_event *event, void *user)
{
    uint64_t number = event->arguments[index_argument - 1];
    size_t i = node_of(event->out_word, number);

    (void)user;
    fprintf(out, "%" PRIu64 " %s %s\n", number, nodes[i].name, nodes[i].type);
}

/* Starts the command when a byte comes. */
static int start(char **command)
{
    int ends[2];
    char go;

    if (pipe(ends) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (read(ends[0], &go, 1) == 1)
            execvp(command[0], command);
        _exit(3);
    }
    close(ends[0]);
    return ends[1];
}

static int follow(struct uprobe *engine)
{
    int status;

    for (;;) {
        struct pollfd waiting = { .fd = uprobe_fd(engine), .events = POLLIN };
        pid_t ended = waitpid(pid, &status, WNOHANG);

        uprobe_read(engine, on_seen, NULL);
        if (ended == pid)
            break;
        poll(&waiting, 1, 20);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char **argv)
{
    struct uprobe_spec spec = { .flags = UPROBE_RETURN };
    struct ifg_error err = { 0 };
    struct uprobe *engine = NULL;
    int status = 3;
    int go;

    if (argc < 12)
        return 3;
    spec.file = argv[1];
    spec.offset = strtoull(argv[2], NULL, 0);
    index_argument = (unsigned)strtoul(argv[3], NULL, 10);
    spec.out_argument = (uint8_t)strtoul(argv[4], NULL, 10);
    for (int i = 0; i < 5; i++)
        offsets[i] = strtoull(argv[5 + i], NULL, 10);
    out = fdopen(3, "w");
    if (!out || index_argument < 1 || index_argument > UPROBE_ARGUMENTS || offsets[0])
        return 3;
    go = start(argv + 11);
    if (go < 0 || uprobe_open(NULL, &engine, &err) || uprobe_add(engine, pid, &spec, 1, &err)) {
        fprintf(stderr, "%s\n", err.message);
    } else if (write(go, "", 1) == 1) {
        status = follow(engine);
        fprintf(stderr, "lost %" PRIu64 "\n", uprobe_lost(engine).ring_full);
    }
    uprobe_close(engine);
    return status;
}
