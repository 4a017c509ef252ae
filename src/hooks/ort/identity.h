// SPDX-License-Identifier: Apache-2.0
/*
 * What can be told of a model without running it, cheaply: which one it is, what it is called, and
 * whether somebody has prepared it for this machine before.
 */
#ifndef IFG_HOOKS_ORT_IDENTITY_H
#define IFG_HOOKS_ORT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_identity {
    uint64_t hash;        /* of the contents: all of it up to 1 MiB, samples of it beyond */
    uint64_t bytes;       /* of the file or the array; 0: could not be read */
    char graph_name[128]; /* may be empty */
    unsigned nodes;       /* of the graph, not of graphs inside of it */
    bool is_ort_format;
    bool has_ep_context; /* a provider has compiled parts of it */
    bool saved_by_ort;   /* ONNX Runtime wrote it after optimizing it */
};

/* Any bytes at all may be given; what is not understood stays empty. */
void identity_of_model(const void *data, size_t bytes, struct model_identity *out);

/* The same of a file, of which the weights are not read. False: it cannot be read. */
bool identity_of_file(const char *path, struct model_identity *out);

/* The same two for the Python hook. */
__attribute__((visibility("default"))) void ifg_ort_identify(const void *data, size_t bytes,
                                                             struct model_identity *out);
__attribute__((visibility("default"))) void ifg_ort_identify_file(const char *path,
                                                                  struct model_identity *out);

#endif
