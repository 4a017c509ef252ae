// SPDX-License-Identifier: Apache-2.0
/*
 * Work of devices and calls of their drivers: between libraries of one version, not for programs.
 *
 * A call is written by the thread that made it, when it is over, and so lies in whatever is open
 * there. Work is written by whoever learns of it, later; it has its own times and says on which
 * stream of which device it was.
 */
#ifndef IFG_CLIENT_DEVICE_H
#define IFG_CLIENT_DEVICE_H

#include <stdint.h>

#include <inferogram/inferogram.h>

#include "wire/wire.h"

/* A location of work or (is_call) of calls; what is one of TRACE_WORK_... A name of more than
 * IFG_WIRE_STRING_MAX goes on in the file; twice that is all that is kept of it. */
IFG_API uint32_t ifg_device_location(int is_call, const char *name, const char *what);

/* A location of a counter of a device. */
IFG_API uint32_t ifg_device_level_location(const char *name);

/* Names a device; again after a name that was not known yet. */
IFG_API void ifg_device_define(uint32_t device, const char *name, const char *id);

/* A call of this thread, from start (ifg_ticks) until now. */
IFG_API void ifg_device_call(uint32_t location, uint64_t start, uint64_t correlation);

/* IFG_WIRE_WORK, _WAIT or _MEMORY, with its start by CLOCK_MONOTONIC. While this thread's ring is
 * full, waits for the recorder as long as *patience_ns lasts, and takes what it waited off it; then
 * the work is dropped and counted as any event is. Not on threads that the program waits for. */
IFG_API void ifg_device_work(enum ifg_wire_kind kind, uint32_t location, uint64_t start_ns,
                             const struct ifg_wire_work *work, uint64_t *patience_ns);

/* What a counter of a device is from ns on; with the same patience. */
IFG_API void ifg_device_level(uint32_t location, uint32_t device, uint64_t ns, double value,
                              uint64_t *patience_ns);

/* So much work was lost before it came here: counted as dropped by this thread. */
IFG_API void ifg_device_lost(uint64_t count);

/* Sleeps until somebody begins or ends to record, or at most so long (0: as it takes). Returns
 * whether somebody records. May return too early. */
IFG_API int ifg_device_await(int while_recording, uint64_t at_most_ns);

/* Whether devices are followed from now on: the recorder asks for what is held back at the end. */
IFG_API void ifg_device_follow(int is_followed);

/* Whether the recorder waits for it. Answer by ifg_device_told when it has been written. */
IFG_API int ifg_device_is_asked(void);
IFG_API void ifg_device_told(void);

/* Whether what is followed costs too much, and less is to be. */
IFG_API int ifg_device_is_too_much(void);

/* What it costs: CPU time that reading and writing work took. Calls are counted here, and some of
 * them timed. */
IFG_API void ifg_device_cost(uint64_t read_ns);

/* Whether system calls may be made, and a recorder could ever come. */
IFG_API int ifg_device_may_watch(void);

#endif
