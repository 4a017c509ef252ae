// SPDX-License-Identifier: Apache-2.0
/*
 * What is in a model file, without running it: weights are stepped over, never copied. Reads ONNX
 * (with external data), directories of models, and the header of ONNX Runtime's own format. Files
 * are hostile: every length is checked, nesting and counts are limited, and what is wrong is said
 * with the byte where it is.
 */
#ifndef IFG_ONNX_ONNX_H
#define IFG_ONNX_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ONNX_RANK_MAX 16
#define ONNX_TYPES    32 /* element types, TensorProto.DataType */

enum onnx_format { ONNX_FORMAT_ONNX, ONNX_FORMAT_ORT, ONNX_FORMAT_DIRECTORY };

struct onnx_port {
    char *name;
    int32_t type;  /* 0: not a tensor */
    char kind[16]; /* "tensor", "sequence", "map", "optional", "sparse" */
    bool has_shape;
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX]; /* -1: free */
    char *dim_names[ONNX_RANK_MAX];
};

struct onnx_opset {
    char *domain; /* "ai.onnx" for the default one */
    int64_t version;
};

struct onnx_weights { /* of one element type */
    uint64_t tensors;
    uint64_t elements;
    uint64_t bytes;
};

struct onnx_op_count {
    char *domain;
    char *op_type;
    uint64_t count; /* with those in subgraphs */
};

/* A node with what it weighs. Costs are estimates from shapes; unknown ones are -1. */
struct onnx_node {
    char *name;
    char *op_type;
    char *domain;
    uint64_t parameters; /* of the weights that it alone, or first, uses */
    uint64_t parameter_bytes;
    double flops;  /* a multiply and an add are two */
    double bytes;  /* read and written: inputs, weights, outputs */
    double weight; /* share of the model's cost, 0..1; all add up to 1 */
    int32_t type;  /* of the elements that it computes with: of its first input; 0: not known */
    bool in_subgraph;
    bool is_counted; /* false: in the cheaper branch of an If; not in the model's costs */
};

struct onnx_file { /* of a directory, or external data */
    char *path;    /* relative to the model */
    uint64_t bytes;
    bool missing;
    bool is_outside; /* named by the model, but not in its folder: not looked at */
};

struct onnx_function { /* operators that the model brings along */
    char *domain;
    char *name;
    uint64_t node_count;
};

struct onnx_model {
    char *path;
    enum onnx_format format;
    uint64_t file_bytes;     /* of the model file itself, or of all files of a directory */
    uint64_t external_bytes; /* that the model refers to */
    struct onnx_file *files;
    size_t file_count;
    char *content_id; /* the same identity as in traces */
    int64_t ir_version;
    char *producer; /* "pytorch 2.1", or "" */
    char *graph_name;
    char *ort_version; /* .ort: the format's version; else "" */
    struct onnx_opset *opsets;
    size_t opset_count;
    struct onnx_port *inputs; /* without initializers */
    size_t input_count;
    struct onnx_port *outputs;
    size_t output_count;
    struct onnx_weights weights[ONNX_TYPES]; /* initializers and tensors of Constant nodes */
    uint64_t parameters;
    uint64_t constant_parameters; /* of those, in Constant nodes */
    uint64_t weight_bytes;
    double quantized_share;    /* of parameters: 8 bits or fewer, or behind (De)Quantize nodes */
    struct onnx_op_count *ops; /* most frequent first */
    size_t op_count;
    uint64_t node_count; /* with subgraphs */
    uint64_t subgraph_count;
    struct onnx_function *functions;
    size_t function_count;
    struct onnx_node *nodes; /* in order */
    size_t nodes_listed;
    double flops; /* of the nodes that are known */
    double moved_bytes;
    uint64_t cost_unknown; /* nodes whose shapes could not be found out */
    char **notes;          /* what is odd about it, in sentences */
    size_t note_count;
    struct onnx_model **models; /* of a directory */
    size_t model_count;
    bool has_genai_config; /* of a directory: made for ONNX Runtime GenAI */
};

struct onnx_dim {
    const char *name; /* one without a name is called by its place: "input:1" */
    int64_t size;
};

struct onnx_options {
    bool costs;                  /* find out shapes and estimate costs; else nodes have none */
    const struct onnx_dim *dims; /* sizes of free dimensions; those without count as 1 */
    size_t dim_count;
};

/* IFG_NOT_FOUND, IFG_PERMISSION, IFG_CORRUPT ("byte 0 is '<'; this looks like HTML ..."). */
enum ifg_status onnx_open(const char *path, const struct onnx_options *options,
                          struct onnx_model **out_model, struct ifg_error *err) IFG_MUST_CHECK;
void onnx_close(struct onnx_model *model);

const char *onnx_type_name(int32_t type); /* "float32", "int4" */

/* Inputs that index a table of known size (Gather and the like): `below` is that size. Returns how
 * many were written. */
struct onnx_bound {
    const char *input; /* belongs to the model */
    int64_t below;
};
size_t onnx_input_bounds(const struct onnx_model *model, struct onnx_bound *out, size_t max);

#endif
