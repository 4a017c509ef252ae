// SPDX-License-Identifier: Apache-2.0
/*
 * Providers that a program asked for in vain, before it tried again without them.
 *
 * The error goes to the program, which catches it and creates its session with other options: the
 * options of the first try are gone then, and the session knows nothing of what was meant. So what
 * was refused is kept until the thread has its next session, and told of that one's model.
 */
#ifndef IFG_HOOKS_ORT_REFUSED_H
#define IFG_HOOKS_ORT_REFUSED_H

#include "hooks/ort/wrap.h"

/* A provider could not be added to session options. */
void refused_provider(const char *provider, const char *reason);

/* No session of a model (the hash of its content) came of these options. */
void refused_session(const struct ort_options *asked, uint64_t model_hash, const char *reason);

/* A session was created: tells its model of what this thread was refused before, and forgets it. */
void refused_tell(const struct ort_options *asked, uint64_t model_hash, ifg_model *model);

#endif
