// SPDX-License-Identifier: Apache-2.0
/*
 * Handles for programs that know nothing of them: a text says what to make, and reports become
 * files.
 *
 *     stream:rate=1000,sampling=fourth,regex=^ocr,type=latency,dir=reports
 *     profile:samples=100,regex=^ocr,type=trace,dir=reports
 *
 * Several are separated by ';'. A value goes up to the next ",KEY=", so a regular expression may
 * have commas in it.
 */
#ifndef IFG_HANDLES_COMMAND_H
#define IFG_HANDLES_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include <inferogram/handles.h>

struct command {
    int is_stream;
    uint32_t report_ms;
    uint64_t samples;
    enum ifg_sampling sampling;
    enum ifg_report_type type;
    char regex[256];
    char glob[256];
    char name[64];
    char directory[512];
};

/* What `inferogram ctl` reads after its call; it has the same structure. */
struct ifg_handles_result {
    uint32_t calls;
    int32_t status; /* 0, or a negative errno value with the reason in text */
    uint32_t handles;
    uint32_t started;
    char text[2032];
};
extern IFG_API struct ifg_handles_result ifg_handles_result;

/* A command as above, or start, stop, flush, status for all handles that were made in this way. It
 * runs on a thread of the program that was interrupted, and waits for nothing. */
IFG_API void ifg_handles_command(const char *text, unsigned long unused);

/* Reads the first command of *text and moves it behind. 0, 1: there is none any more, or a negative
 * errno value with ifg_handle_error(). */
int command_parse(const char **text, struct command *out);

#endif
