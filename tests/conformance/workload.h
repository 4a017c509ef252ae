// SPDX-License-Identifier: Apache-2.0
/* The library of the workload: what a description follows. */
#ifndef IFG_TESTS_CONFORMANCE_WORKLOAD_H
#define IFG_TESTS_CONFORMANCE_WORKLOAD_H

void *conformance_load(const char *path);
int conformance_run(void *model, int number);

#endif
