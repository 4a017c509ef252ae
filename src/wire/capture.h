// SPDX-License-Identifier: Apache-2.0
/*
 * How the inputs of an inference get from a program to its recorder (record --capture-inputs).
 *
 * The recorder makes one small file with a head, which every process of the program maps: which
 * inferences are wanted, how many bytes are left, what was not kept and why. The inputs themselves
 * are a file each beside it, in the recorder's directory: written under one name and renamed when
 * whole, so that nobody waits for anybody and a program that is killed leaves nothing half.
 *
 *   part-PID-N              is being written
 *   inputs-PID-N            whole: the recorder takes it as soon as it sees it
 *   slowest-PID-MODEL-T     whole: the slowest of its model so far; taken at the end, because a
 *                           slower one replaces it
 *
 * Both sides must agree on every byte here: a change of layout is a change of IFG_CAPTURE_VERSION.
 */
#ifndef IFG_WIRE_CAPTURE_H
#define IFG_WIRE_CAPTURE_H

#include <assert.h>
#include <stdint.h>

#define IFG_ENV_CAPTURE "IFG_CAPTURE" /* the path of the head's file */

#define IFG_CAPTURE_MAGIC      0x3174706e69474fffull /* ff "OGinpt1" */
#define IFG_CAPTURE_FILE_MAGIC 0x3166706e69474fffull /* ff "OGinpf1" */
#define IFG_CAPTURE_VERSION    1u

#define IFG_CAPTURE_TENSORS    1024u /* of one inference */
#define IFG_CAPTURE_RANK       16u
#define IFG_CAPTURE_NAME_BYTES 1024u /* of a tensor */

#define IFG_CAPTURE_PART    "part-"
#define IFG_CAPTURE_INPUTS  "inputs-"
#define IFG_CAPTURE_SLOWEST "slowest-"

enum ifg_capture_mode {
    IFG_CAPTURE_OFF = 0,
    IFG_CAPTURE_FIRST = 1, /* the first `first` inferences of each model */
    IFG_CAPTURE_SLOW = 2,  /* the slowest of each model */
    IFG_CAPTURE_FAILED = 3,
};

/* Why inputs that were wanted are not kept. */
enum ifg_capture_why {
    IFG_CAPTURE_NO_ROOM,     /* of the bytes that are allowed in all */
    IFG_CAPTURE_TYPE,        /* strings, sequences, maps, types of less than a byte */
    IFG_CAPTURE_DEVICE,      /* not in the memory of the CPU, or perhaps a copy that is not */
    IFG_CAPTURE_OVERWRITTEN, /* an output lies in the same memory */
    IFG_CAPTURE_ASYNC,       /* of RunAsync */
    IFG_CAPTURE_UNWRITTEN,   /* no file, no memory for it, or files may not be so large */
    IFG_CAPTURE_CONFINED,    /* the program must not be made to do system calls */
    IFG_CAPTURE_TOO_MANY,    /* tensors or dimensions */
    IFG_CAPTURE_WHYS,
};

struct ifg_capture_head {
    uint64_t magic;
    uint32_t version;
    uint32_t open; /* 0: nobody takes anything any more */
    uint32_t mode; /* enum ifg_capture_mode */
    uint32_t first;
    uint64_t limit;     /* bytes in all */
    uint64_t used;      /* of them */
    uint32_t processes; /* that have hooks which look here */
    uint32_t writing;   /* files that are begun and not whole */
    uint64_t refused[IFG_CAPTURE_WHYS];
};

/* A file of inputs: this, an entry for each tensor, their names one after the other, their bytes
 * one after the other. */
struct ifg_capture_file {
    uint64_t magic;
    uint32_t version;
    uint32_t tensors;
    uint32_t pid; /* as the process knows it */
    uint32_t tid;
    uint32_t location; /* of the inference, in the process's definitions */
    uint32_t failed;
    uint64_t start; /* ticks */
    uint64_t ticks; /* that it took */
    uint64_t bytes; /* of the whole file */
};

struct ifg_capture_entry {
    uint32_t type; /* ONNX's number */
    uint32_t rank;
    uint32_t name_bytes;
    uint32_t reserved;
    uint64_t bytes;
    int64_t dims[IFG_CAPTURE_RANK];
};

static_assert(sizeof(struct ifg_capture_file) == 56, "the file's layout is fixed");
static_assert(sizeof(struct ifg_capture_entry) == 152, "the file's layout is fixed");

/* Bytes of an element of one of ONNX's types; 0: none that can be kept. */
static inline uint32_t ifg_capture_type_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {
        [1] = 4,  /* float32 */
        [2] = 1,  /* uint8 */
        [3] = 1,  /* int8 */
        [4] = 2,  /* uint16 */
        [5] = 2,  /* int16 */
        [6] = 4,  /* int32 */
        [7] = 8,  /* int64 */
        [9] = 1,  /* bool */
        [10] = 2, /* float16 */
        [11] = 8, /* float64 */
        [12] = 4, /* uint32 */
        [13] = 8, /* uint64 */
        [16] = 2, /* bfloat16 */
    };

    return type < sizeof bytes ? bytes[type] : 0;
}

/* Bytes of a tensor of this shape. 0 with *out_bad: there is no such thing. */
static inline uint64_t ifg_capture_bytes(uint32_t type, const int64_t *dims, uint32_t rank,
                                         int *out_bad)
{
    uint64_t bytes = ifg_capture_type_bytes(type);
    int is_empty = 0;

    *out_bad = !bytes || rank > IFG_CAPTURE_RANK;
    for (uint32_t i = 0; !*out_bad && i < rank; i++) {
        if (dims[i] < 0)
            *out_bad = 1;
        else if (dims[i] == 0)
            is_empty = 1;
        else if (__builtin_mul_overflow(bytes, (uint64_t)dims[i], &bytes))
            *out_bad = 1;
    }
    return *out_bad || is_empty ? 0 : bytes;
}

#endif
