// SPDX-License-Identifier: Apache-2.0
/*
 * For the tests of this room: a small trace with one of everything, and a forge for traces that the
 * writer would never write.
 */
#ifndef IFG_TRACE_FIXTURE_H
#define IFG_TRACE_FIXTURE_H

#include "base/bytes.h"
#include "trace/output.h"
#include "trace/reader.h"
#include "trace/trace_internal.h"
#include "trace/writer.h"

/* What fixture_write puts into its trace; the golden test compares with these. */
#define FIXTURE_CREATED  UINT64_C(1700000000123456789)
#define FIXTURE_BASE     UINT64_C(5000000000)
#define FIXTURE_ZONES    10u
#define FIXTURE_THREADS  3u
#define FIXTURE_DROPPED  7u
#define FIXTURE_CLOCK_HZ UINT64_C(2000000000)

struct fixture_zone {
    uint64_t start;
    uint64_t duration;
    uint32_t location;
};
extern const struct fixture_zone fixture_zones[FIXTURE_ZONES]; /* of thread 0 */

/* Writes a trace with every block type, definition kind, event kind, value type and zone shape. */
enum ifg_status fixture_write(const char *path, struct ifg_error *err);
enum ifg_status fixture_write_on(struct trace_output *output, struct ifg_error *err);

/* What minor 1 brought: a flow from one thread to another, and one across processes. */
enum ifg_status fixture_write_flows(const char *path, struct ifg_error *err);

/* What minor 2 brought: a stream with a clock of its own beside one of its process's. */
#define FIXTURE_DEVICE_BASE UINT64_C(77000)
enum ifg_status fixture_write_clocks(const char *path, struct ifg_error *err);

/* What minor 3 brought: two inferences of one model, the first with its inputs: 2x3 float32, 0x3
 * float32, a scalar int64. */
enum ifg_status fixture_write_inputs(const char *path, struct ifg_error *err);
void fixture_put_inputs(struct trace_writer *writer);

/* What minor 4 brought: a call of a driver, and its kernel on a stream of a device. */
enum ifg_status fixture_write_device(const char *path, struct ifg_error *err);

/* The first one as bytes; the caller frees them with ifg_free. NULL when something failed. */
uint8_t *fixture_bytes(size_t *out_size);

/* A name for a file that does not exist yet, in TMPDIR; static memory, differs from call to call.
 */
const char *fixture_path(void);

/* A whole file; the caller frees it with ifg_free. */
uint8_t *fixture_read(const char *path, size_t *out_size);

/* A trace file in memory, block by block, with good checksums around whatever is asked for. */
struct forge {
    struct ifg_bytes file;
    struct trace_index index;
    struct trace_packer packer;
    uint64_t sequence;
};

bool fixture_forge_init(struct forge *forge);
void fixture_forge_fini(struct forge *forge);

/* Appends a block; payload bytes, checksums and sequence are filled in. */
bool fixture_forge_block(struct forge *forge, struct trace_block_head head,
                         const struct trace_column *columns, size_t count);

/* Appends a block with this very payload. */
bool fixture_forge_payload(struct forge *forge, struct trace_block_head head, const void *payload,
                           size_t size);

/* Appends footer and trailer. */
bool fixture_forge_footer(struct forge *forge, const void *definitions, size_t size);

#endif
