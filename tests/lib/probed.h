// SPDX-License-Identifier: Apache-2.0
/*
 * Drives tests/programs/probe_target from C: starts it where wanted, tells it what to do, and looks
 * at the bytes of its functions.
 */
#ifndef IFG_TESTS_PROBED_H
#define IFG_TESTS_PROBED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define PROBED_CODE_BYTES 16

enum probed_surroundings {
    PROBED_PLAIN = 0,
    PROBED_OWN_FILES = 1, /* in a mount namespace, with the library where only it can see it */
    PROBED_OWN_PIDS = 2,  /* in a pid namespace */
};

struct probed {
    pid_t pid;
    FILE *in, *out;
    char library[256]; /* as the program names it */
    char directory[64];
    struct {
        char name[32];
        uint64_t offset;
        uint64_t address;
        char range[40]; /* of the mapping, as in map_files */
    } locations[16];
    size_t location_count;
    pid_t own_pid; /* as the program itself sees it */
};

/* The library is copied into a directory of its own. False: tells why on stderr. */
bool probed_start(struct probed *target, unsigned surroundings);

/* Sends a command and waits for its answer; UINT64_MAX when the program is gone. */
uint64_t probed_ask(struct probed *target, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void probed_tell(struct probed *target, const char *command); /* waits for nothing */
bool probed_await_ready(struct probed *target);

/* Ends it if it lives and returns its status: 7 after a good end. */
int probed_end(struct probed *target);

uint64_t probed_offset(const struct probed *target, const char *name);

/* The library for whoever is outside: through /proc/PID/root. */
const char *probed_file(const struct probed *target);
const char *probed_map_file(const struct probed *target, const char *name);

/* The code of a function in the memory of process pid (0: the target). */
bool probed_code(const struct probed *target, pid_t pid, const char *name,
                 unsigned char out_bytes[PROBED_CODE_BYTES]);

#endif
