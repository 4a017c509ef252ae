// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime in processes that run already and know nothing of us, seen by probes at the
 * functions of its C interface. What they see becomes the events that the launch hooks would have
 * written, as far as it can be seen from outside; the clock is CLOCK_MONOTONIC.
 *
 * The caller says which processes belong to the recording and gives time: ort_attach_look for each
 * of them now and then (how often is decided here), ort_attach_work as often as it drains.
 */
#ifndef IFG_COLLECT_ORT_ATTACH_ATTACH_H
#define IFG_COLLECT_ORT_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "collect/sink.h"
#include "collect/uprobe/uprobe.h"

struct ort_attach;

/* What is in a process. */
struct ort_attach_sight {
    unsigned watched;    /* copies of ONNX Runtime that have probes */
    unsigned refused;    /* those that could not be had; reason tells why */
    bool hooked;         /* our hooks are in it and tell everything */
    bool python_hooked;  /* our import hook is in it and tells of that package */
    bool python;         /* Python's package, which has the runtime inside */
    char reason[768];    /* of the first that was refused */
    enum ifg_status why; /* IFG_PERMISSION and so on, with reason */
};

/* Nothing is probed yet; the engine is opened when the first runtime is found. */
enum ifg_status ort_attach_open(enum uprobe_way way, struct ort_attach **out_attach,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* Also the operators, kept of every so many inferences of a session; 0: none. Not after a look. */
void ort_attach_ops(struct ort_attach *attach, uint32_t every);

/* A program that has been running for long can wait: what a library has to be asked for is found
 * out before its first probe is set, and not while calls are seen already. */
void ort_attach_ask_first(struct ort_attach *attach);

/* Whom to tell what is being waited for: a library that is new to us is run in a helper. */
void ort_attach_set_message_callback(struct ort_attach *attach,
                                     void (*say)(void *user, const char *text), void *user);

/* Opens the engine now, to learn whether it can be had. */
enum ifg_status ort_attach_prepare(struct ort_attach *attach, struct ifg_error *err) IFG_MUST_CHECK;

/* Looks for runtimes in a process that belongs to the recording, if it is time to, and sets probes.
 * With `now` it is time. out_sight may be NULL; it is about all that is known of this process. */
enum ifg_status ort_attach_look(struct ort_attach *attach, pid_t pid, bool now,
                                struct ort_attach_sight *out_sight,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* Before there is a file, what the probes see is kept. From here on it is written; what was kept of
 * other processes than `only` (0: all) is forgotten and they are let go. */
void ort_attach_begin(struct ort_attach *attach, struct sink *sink, pid_t only);

/* What was over before `since_ns`, and inferences that began before it, are not written. */
void ort_attach_since(struct ort_attach *attach, uint64_t since_ns);
/* Nor is what comes after `until_ns`; what is open then stays open. */
void ort_attach_until(struct ort_attach *attach, uint64_t until_ns);

/* Takes what the probes saw; writes what is full or old; notices processes that are gone or have
 * been replaced by exec. True if anything was seen. */
bool ort_attach_work(struct ort_attach *attach, uint64_t now_ns);

/* Processes are to be watched from their first call on: where that may have been too late, the
 * instrument says so. */
void ort_attach_from_start(struct ort_attach *attach);
/* This one was standing still while it was looked at, since it had mapped its runtime. */
void ort_attach_in_time(struct ort_attach *attach, pid_t pid);
/* This one had mapped a runtime and was not: if it is gone, and nothing of it was seen, that is
 * said. */
void ort_attach_too_late(struct ort_attach *attach, pid_t pid);

/* Whether a file that a process has just mapped could be a runtime, so that it is worth a look. */
bool ort_attach_may_be(struct ort_attach *attach, pid_t pid, const char *path, uint64_t device,
                       uint64_t inode);

/* A process in which a session was created, among what is kept; 0: none yet. */
pid_t ort_attach_creator(const struct ort_attach *attach);

/* It had a runtime before anybody waited: only a new session makes it the next one. To be said
 * before it is looked at. */
void ort_attach_was_there(struct ort_attach *attach, pid_t pid);

/* Lets a process go, with what was kept of it. */
void ort_attach_forget(struct ort_attach *attach, pid_t pid);

/* Takes all probes out, writes the rest and the ends of processes; frees. Accepts NULL. */
void ort_attach_close(struct ort_attach *attach);

/* After ort_attach_finish nothing is counted any more; for the totals of a recording. */
void ort_attach_finish(struct ort_attach *attach);

bool ort_attach_watches(const struct ort_attach *attach); /* anything at all */
int ort_attach_fd(const struct ort_attach *attach);       /* for poll; -1: none yet */
struct sink_counts ort_attach_count(const struct ort_attach *attach);

#endif
