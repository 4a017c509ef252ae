// SPDX-License-Identifier: Apache-2.0
/*
 * The operators of one model: each node of its graph, and all of a type together.
 *
 * Times are self times: without operators inside (the branches of If, the body of Loop), so that
 * they add up. What was not recorded of an operator (its type, its provider) is "".
 */
#ifndef IFG_ANALYZE_OPERATOR_USE_H
#define IFG_ANALYZE_OPERATOR_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define OPERATOR_PROVIDERS 8u /* of one type that are told apart */

struct operator_node {
    const char *name;
    const char *type;
    const char *provider; /* as the runtime says it: "CPUExecutionProvider" */
    uint32_t location;    /* the first one of this name, type and provider */
    uint64_t count;       /* executions */
    uint64_t total_ns;
    uint64_t self_ns;
    uint64_t device_ns; /* devices were busy with it: see device_time.h */
};

struct operator_provider {
    const char *name;
    uint64_t nodes;
};

struct operator_type {
    const char *type;
    uint64_t nodes;
    uint64_t count; /* executions of all of them */
    uint64_t total_ns;
    uint64_t self_ns;
    uint64_t device_ns;
    struct operator_provider providers[OPERATOR_PROVIDERS]; /* most nodes first */
    size_t provider_count;
};

struct operator_use {
    uint64_t runs;               /* inferences with operators in them */
    bool host_time;              /* some of its times are the host's: see operator_is_host_time */
    uint64_t self_ns;            /* of all operators */
    uint64_t device_ns;          /* same */
    bool device_recorded;        /* else device_ns says nothing */
    struct operator_node *nodes; /* longest self time first */
    size_t node_count;
    struct operator_type *types; /* same */
    size_t type_count;
};

/* Of the model with this index. */
enum ifg_status operator_use_create(const struct timeline *timeline, uint32_t model,
                                    struct operator_use **out_use,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void operator_use_destroy(struct operator_use *use); /* accepts NULL */

/* Whether a slice, which is an operator, is of a provider that runs asynchronously, so that its
 * time is the host's, and the device's is not known: work of devices was not recorded in its
 * process. Where it does not tell its provider, those of its model are taken. */
bool operator_is_host_time(const struct timeline *timeline, size_t slice);

/* The same by location. */
enum ifg_status operator_host_times(const struct timeline *timeline,
                                    bool **out_by_location) IFG_MUST_CHECK;

#endif
