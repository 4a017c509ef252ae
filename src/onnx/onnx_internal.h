// SPDX-License-Identifier: Apache-2.0
/*
 * A model while it is being understood: graphs with their nodes, tensors and values.
 *
 * Everything lives in one arena with a ceiling and dies with it. Functions that can fail return
 * false and leave the reason in the wire's status.
 */
#ifndef IFG_ONNX_ONNX_INTERNAL_H
#define IFG_ONNX_ONNX_INTERNAL_H

#include "onnx/onnx.h"
#include "onnx/wire.h"

#define NUMBERS_MAX  1024u /* elements of a constant that are worth knowing: shapes, axes, scales */
#define NESTING_MAX  32u   /* graphs in graphs */
#define ONNX_MEMORY  (1u << 30)
#define NOTES_MAX    64u
#define UNKNOWN_SIZE (-1) /* of a dimension */

/* ---- memory ---- */

struct arena {
    struct arena_block *blocks;
    size_t used; /* of all blocks */
};

void *arena_alloc(struct arena *arena, size_t count, size_t size); /* zeroed; NULL: none left */
char *arena_text(struct arena *arena, const char *text, size_t length);
void arena_fini(struct arena *arena);

/* Room for one more at the end of an array: the new array, or NULL. Grows by doubling. */
void *arena_append(struct arena *arena, void *items, size_t count, size_t size);

/* ---- what is in the file ---- */

struct tensor {
    const char *name;
    int32_t type;
    bool rank_fits; /* dims are all of them */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    uint64_t elements;
    uint64_t bytes;        /* as they are kept in memory, from type and elements */
    const double *numbers; /* of small ones, else NULL */
    uint32_t number_count;
    bool is_quantized; /* counted as such, though its type is none of the small ones */
};

struct value {
    const char *name;
    const struct graph *graph; /* where the name belongs */
    struct value *next;        /* in the table */
    int32_t type;
    bool known; /* the rank is known; dims may be UNKNOWN_SIZE */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    const struct onnx_port *declared; /* what the file says, or NULL */
    const double *numbers;            /* NaN: not known */
    uint32_t number_count;
    struct tensor *tensor; /* a weight */
    struct node *producer;
    bool is_weight;              /* a weight, or one that only changed its form */
    uint64_t pending_parameters; /* not yet counted for a node */
    uint64_t pending_bytes;
    const struct onnx_port *input; /* an input of the model reaches it unchanged */
};

struct attribute {
    const char *name;
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints; /* the first NUMBERS_MAX */
    uint32_t int_count;
    uint64_t ints_in_file;
    const double *floats;
    uint32_t float_count;
    uint64_t floats_in_file;
    uint64_t strings_in_file;
    uint64_t string_bytes;
    struct tensor *tensor;
    uint32_t kind; /* ATTRIBUTE_..., or another field of the message; 0: nothing was given */
};

struct node {
    const char *name;
    const char *op_type;
    const char *domain;
    const char **input_names;
    const char **output_names;
    struct value **inputs; /* NULL: left out */
    struct value **outputs;
    uint32_t input_count;
    uint32_t output_count;
    struct attribute *attributes;
    uint32_t attribute_count;
    struct graph *graphs; /* inside of it */
    struct graph *last_graph;
    uint64_t parameters;
    uint64_t parameter_bytes;
    double flops;
    double bytes;
    double weight;
    bool is_counted; /* false: in the cheaper branch of an If */
};

struct graph {
    const char *name;
    const char *attribute; /* "then_branch"; "" for the model's own */
    struct graph *parent;
    struct graph *next; /* in the same node */
    uint32_t depth;
    struct node *nodes;
    size_t node_count;
    struct tensor **initializers;
    size_t initializer_count;
    struct onnx_port *inputs;
    size_t input_count;
    struct onnx_port *outputs;
    size_t output_count;
    struct onnx_port *infos;
    size_t info_count;
};

struct external { /* of one tensor; the same file may be named often */
    const char *location;
    uint64_t end; /* of its bytes in that file; 0: not said */
};

struct function {
    const char *domain;
    const char *name;
    struct graph *body; /* nodes only */
    struct function *next;
};

/* The public model, and behind it what only we look at. */
struct opened {
    struct onnx_model model; /* first */
    struct arena arena;
    struct wire wire;
    const struct onnx_options *options;
    struct graph *graph;
    struct function *functions;
    struct value **table; /* values by graph and name */
    size_t table_size;    /* a power of two */
    size_t value_count;
    struct external *externals;
    size_t external_count;
    uint64_t quantized;
    struct onnx_bound *bounds;
    size_t bound_count;
};

/* ---- types ---- */

enum { /* TensorProto.DataType, those that we treat in a special way */
       TYPE_FLOAT32 = 1,
       TYPE_UINT8 = 2,
       TYPE_INT8 = 3,
       TYPE_INT32 = 6,
       TYPE_INT64 = 7,
       TYPE_STRING = 8,
       TYPE_BOOL = 9,
       TYPE_FLOAT64 = 11,
       TYPE_UINT4 = 21,
       TYPE_UINT2 = 25,
};

enum { /* fields of AttributeProto */
       ATTRIBUTE_FLOAT = 2,
       ATTRIBUTE_INT = 3,
       ATTRIBUTE_TEXT = 4,
       ATTRIBUTE_FLOATS = 7,
       ATTRIBUTE_INTS = 8,
       ATTRIBUTE_TEXTS = 9,
};

unsigned onnx_type_bits(int32_t type); /* 0: unknown, or text */
bool onnx_type_is_small(int32_t type); /* 8 bits or fewer, and a number */

/* ---- steps, in order ---- */

/* Reads the file into graphs and counts weights. */
bool onnx_read_model(struct opened *opened);
bool onnx_read_tensor(struct opened *opened, struct wire_span span, struct tensor **out);
bool onnx_read_sparse(struct opened *opened, struct wire_span span, struct tensor **out);
bool onnx_take_text(struct opened *opened, struct wire_span span, const char **out);
bool onnx_take_port(struct opened *opened, struct wire_span span, struct onnx_port *out);

bool onnx_no_memory(struct opened *opened); /* false, with the reason */

/* Counts a tensor as parameters. */
bool onnx_count_weight(struct opened *opened, const struct tensor *tensor, bool in_constant);

/* Connects names, within a graph and from the graphs around it. */
bool onnx_resolve(struct opened *opened);
struct value *onnx_find_value(const struct opened *opened, const struct graph *graph,
                              const char *name);

/* Which node has which weights; the quantized share; inputs that are indices. */
bool onnx_assign_weights(struct opened *opened);
bool onnx_find_bounds(struct opened *opened);

/* Sizes of the files that external data is in. */
bool onnx_look_at_external(struct opened *opened);

/* Shapes, then costs and weights of nodes. */
bool onnx_infer_shapes(struct opened *opened);
void onnx_estimate_costs(struct opened *opened);

/* The list of nodes and the histogram for the caller. */
bool onnx_list_nodes(struct opened *opened);

/* A sentence about something odd, for the caller. Runs out quietly, but is counted. */
bool onnx_note(struct opened *opened, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- other things than one ONNX file ---- */

uint64_t onnx_content_hash(struct wire *wire);
bool onnx_is_ort(struct wire *wire);
bool onnx_read_ort(struct opened *opened);
bool onnx_read_directory(struct opened *opened, int fd);

/* What a file seems to be that is no model; false with the reason if it cannot be one. */
bool onnx_sniff(struct wire *wire);

/* All of a model in memory: for tests and fuzzing. */
enum ifg_status onnx_open_memory(const void *data, size_t bytes, const struct onnx_options *options,
                                 struct onnx_model **out_model, struct ifg_error *err);

/* ---- attributes ---- */

const struct attribute *onnx_attribute(const struct node *node, const char *name);
int64_t onnx_attribute_int(const struct node *node, const char *name, int64_t otherwise);
const char *onnx_attribute_text(const struct node *node, const char *name, const char *otherwise);

#endif
