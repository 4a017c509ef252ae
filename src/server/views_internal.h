// SPDX-License-Identifier: Apache-2.0
/* What the documents for tables and trees share: which part of a trace they are about. */
#ifndef IFG_SERVER_VIEWS_INTERNAL_H
#define IFG_SERVER_VIEWS_INTERNAL_H

#include "analyze/hot.h"
#include "server/handler.h"

#define VIEWS_TEXT_MAX 400u /* bytes of a name to look for */

struct views_filter {
    uint64_t from_ns, to_ns; /* since the trace's begin, as the analysis has them */
    uint32_t model;          /* index, or UINT32_MAX */
    const char *op;          /* NULL: any; likewise these */
    const char *thread;
    const char *text; /* part of a name, in any case */
    char tid[16];
};

/* t0, t1, model, op, thread (id of a track, number or name), q. False: the answer says what is
 * wrong. The filter may not be moved. */
bool views_filter(const struct server_request *request, struct views_filter *out,
                  struct server_answer *answer);

/* The same for samples; q restricts rows, if that is wanted. */
struct hot_filter views_hot_filter(const struct views_filter *filter, bool rows);

/* Whether a name has the text in it; `text` as in the filter, never NULL. */
bool views_name_matches(const char *name, void *text);

/* One of the words, by its number; absent: 0. False: the answer says what it may be. */
bool views_choice(const struct server_request *request, const char *name, const char *const *words,
                  size_t count, unsigned *out_choice, struct server_answer *answer);

/* "key": null */
void views_put_null(struct ifg_json *json, const char *key);

#endif
