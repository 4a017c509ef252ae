// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of Python calls, as the kernel reads them with each sample: loading its program (BPF),
 * telling it of processes, and taking what it found.
 */
#ifndef IFG_COLLECT_PYTHON_CHAIN_H
#define IFG_COLLECT_PYTHON_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collect/python/chain_record.h"

struct chain;

typedef void chain_seen(const struct chain_record *record, void *user);

/* IFG_PERMISSION, IFG_UNSUPPORTED: why not, for people. */
enum ifg_status chain_open(struct chain **out_chain, struct ifg_error *err) IFG_MUST_CHECK;
void chain_close(struct chain *chain); /* accepts NULL */

/* What PERF_EVENT_IOC_SET_BPF takes. */
int chain_program(const struct chain *chain);

/* Chains of this process are read from now on, until it is dropped. */
bool chain_put(struct chain *chain, uint32_t pid, const struct chain_process *process);
void chain_drop(struct chain *chain, uint32_t pid);

/* Hands out what is there; records are whole and have at most CHAIN_FRAMES frames. */
void chain_read(struct chain *chain, chain_seen *seen, void *user);
void chain_costs(const struct chain *chain, struct chain_cost *out_cost);

#endif
