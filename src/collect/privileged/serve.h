// SPDX-License-Identifier: Apache-2.0
/* The helper's work: one request after the other, until the recorder has closed its end. */
#ifndef IFG_COLLECT_PRIVILEGED_SERVE_H
#define IFG_COLLECT_PRIVILEGED_SERVE_H

/* The exit status: 0 when the recorder is done, 1 after a request that no recorder sends. */
int serve(int socket);

#endif
