// SPDX-License-Identifier: Apache-2.0
/* See chain.h: a build without BPF. */
#include "collect/python/chain.h"

enum ifg_status chain_open(struct chain **out_chain, struct ifg_error *err)
{
    *out_chain = NULL;
    return ifg_fail(err, IFG_UNSUPPORTED, "this build has no BPF");
}

void chain_close(struct chain *chain)
{
    (void)chain;
}

int chain_program(const struct chain *chain)
{
    (void)chain;
    return -1;
}

bool chain_put(struct chain *chain, uint32_t pid, const struct chain_process *process)
{
    (void)chain, (void)pid, (void)process;
    return false;
}

void chain_drop(struct chain *chain, uint32_t pid)
{
    (void)chain, (void)pid;
}

void chain_read(struct chain *chain, chain_seen *seen, void *user)
{
    (void)chain, (void)seen, (void)user;
}

void chain_costs(const struct chain *chain, struct chain_cost *out_cost)
{
    (void)chain;
    *out_cost = (struct chain_cost){ 0 };
}
