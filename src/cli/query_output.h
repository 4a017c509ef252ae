// SPDX-License-Identifier: Apache-2.0
/* Rows of a query, written as they come: an aligned table, JSON or CSV. */
#ifndef IFG_CLI_QUERY_OUTPUT_H
#define IFG_CLI_QUERY_OUTPUT_H

#include "base/json.h"
#include "query/query.h"

enum query_format { QUERY_TABLE, QUERY_JSON, QUERY_CSV };

struct query_output {
    enum query_format format;
    size_t max_width; /* of a column of the table, in characters; 0: as wide as it is */
    size_t columns;
    struct ifg_bytes out; /* not written yet */
    struct ifg_json json;
    struct ifg_bytes cells; /* first rows of a table, from which the widths come */
    size_t cell_count;
    size_t *widths;
    bool *numeric;
    bool started; /* the first rows are written */
};

/* CLI_YES, or the exit status when memory is short or stdout cannot be written; it has been said.
 */
int query_output_begin(struct query_output *output, const struct query *query);
int query_output_row(struct query_output *output, const struct query *query);

/* error: NULL if all rows are there. */
int query_output_end(struct query_output *output, bool truncated, const char *error);
void query_output_fini(struct query_output *output);

#endif
