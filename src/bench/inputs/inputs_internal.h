// SPDX-License-Identifier: Apache-2.0
/* What the files behind inputs.h share: inputs, what is known of their shapes, and .npy data. */
#ifndef IFG_BENCH_INPUTS_INTERNAL_H
#define IFG_BENCH_INPUTS_INTERNAL_H

#include "bench/inputs/inputs.h"

#define INPUTS_BYTES_MAX (16ull << 30) /* of all sets together */
#define INPUTS_SETS_MAX  4096u
#define INPUTS_TEXT      128 /* names in messages are cut at this */

/* An input and what options say about it. */
struct wanted_input {
    const struct port *port;
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX]; /* -1: nothing is said */
    bool any_shape; /* the model tells none: a scalar, or an input without a declared shape */
    const struct inputs_value *value; /* NULL: none */
    int64_t below;                    /* integers stay below; 0: no bound is known */
};

struct wanted_inputs {
    struct wanted_input *items;
    size_t count;
    uint64_t bytes_left; /* of the ceiling */
};

/* Checks the shape of a tensor against what is wanted, and its size against the ceiling; then
 * gives it a name, type and shape. */
enum ifg_status inputs_accept_shape(struct wanted_inputs *wanted, const struct wanted_input *input,
                                    const char *from, const int64_t *dims, uint32_t rank,
                                    struct tensor *out_tensor,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* Memory for a tensor that has type and shape, with `value` or random numbers in it. */
enum ifg_status inputs_fill(const struct wanted_input *input, uint64_t seed, struct tensor *tensor,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Random or by value, one set. */
enum ifg_status inputs_fill_one(struct wanted_inputs *wanted, const struct wanted_input *input,
                                uint64_t seed, struct tensor *out_tensor,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* Appends to a list, with `between` unless it is the first; what does not fit ends in "...". */
void inputs_add_text(char *out, size_t size, const char *between, const char *text);

/* The names, cut to what fits: "x (float32 1x3), y (int64 batch)" with types, "x, y" without. */
void inputs_list_names(const struct wanted_inputs *wanted, bool types, char *out, size_t size);

/* All sets of a file or directory. unused: names in the data that the model does not have, or
 * "". */
enum ifg_status inputs_load(struct wanted_inputs *wanted, const char *path, uint64_t seed,
                            struct input_sets *sets, char *unused, size_t unused_size,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* ---- .npy ---- */

/* Bytes that come one after the other; how many there are is known before. */
struct npy_source {
    const char *name; /* for messages */
    uint64_t bytes;
    bool (*read)(void *context, void *out, size_t size); /* all of them, or false */
    void *context;
};

struct npy_header {
    char kind;           /* b i u f U S V */
    uint32_t item_bytes; /* U: 4 per character */
    bool swapped;        /* the other byte order */
    bool fortran_order;
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX];
    uint64_t elements;
    uint64_t data_bytes; /* elements * item_bytes */
    char type_name[24];  /* as numpy says it: "float32", "<U12" */
};

/* Reads up to where the data begins, and checks that as many bytes follow as the shape needs. */
enum ifg_status npy_read_header(struct npy_source *source, struct npy_header *out_header,
                                struct ifg_error *err) IFG_MUST_CHECK;
/* The element type of a model that these items are; IFG_BENCH_STRING for texts, 0: none. V2 is
 * what numpy makes of bfloat16: only a model that takes it knows. */
int32_t npy_type(const struct npy_header *header, int32_t wanted_type);
/* The data, in C order and this machine's byte order, into tensor->data; type and shape are set. */
enum ifg_status npy_read_data(struct npy_source *source, const struct npy_header *header,
                              struct tensor *tensor, struct ifg_error *err) IFG_MUST_CHECK;

/* ---- .npz ---- */

struct npz;
enum ifg_status npz_open(const char *path, struct npz **out_archive,
                         struct ifg_error *err) IFG_MUST_CHECK;
void npz_close(struct npz *archive);
size_t npz_count(const struct npz *archive);
/* Without ".npy". */
const char *npz_name(const struct npz *archive, size_t index);
/* Opens one member as a source; one at a time. Its name is "data.npz: x.npy". */
enum ifg_status npz_begin(struct npz *archive, size_t index, struct npy_source *out_source,
                          struct ifg_error *err) IFG_MUST_CHECK;
/* IFG_CORRUPT if the bytes do not have the checksum that the archive tells. */
enum ifg_status npz_end(struct npz *archive, struct ifg_error *err) IFG_MUST_CHECK;

#endif
