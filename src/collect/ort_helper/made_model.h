// SPDX-License-Identifier: Apache-2.0
/*
 * The models that the helper runs, made in memory. Their nodes stand in the opposite order of their
 * execution, so that the index of a node is not the number of nodes that ran before it.
 */
#ifndef IFG_COLLECT_ORT_HELPER_MADE_MODEL_H
#define IFG_COLLECT_ORT_HELPER_MADE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define MADE_MODEL_BYTES  2048
#define MADE_MODEL_DOMAIN "inferogram.probe"
#define MADE_MODEL_NODES  6
#define MADE_MODEL_INPUT  "v0"
#define MADE_MODEL_OUTPUT "v6"

/* What runs, in order: our own operators (P0, P1, ...) and ones of the runtime (N). The node that
 * runs first has the highest index. */
#define MADE_MODEL_ORDER "PPNPNP"
#define MADE_MODEL_SEEN  4 /* nodes right behind one of ours, and the first */

/* Nodes are named by this and their index. */
#define MADE_MODEL_PREFIX        "ifg-node-"
#define MADE_MODEL_NESTED_PREFIX "ifg-yes-"

/* One float in, one float out. Returns its bytes. */
size_t made_model(uint8_t out[MADE_MODEL_BYTES]);

/* Six of our own inside of the first branch of an If. Both branches are alike but for names; and in
 * order, as is asked for there: the first to run has index 0. */
#define MADE_MODEL_NESTED_ORDER "PPPPPP"
size_t made_model_nested(uint8_t out[MADE_MODEL_BYTES]);

/* The name of our operator at a place of the order, such as P3. */
extern const char made_model_ops[MADE_MODEL_NODES][4];

#endif
