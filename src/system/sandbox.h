// SPDX-License-Identifier: Apache-2.0
/*
 * What code of a watched program may ask of the kernel when we run it: compute, read and write
 * files, use threads. It cannot start processes, leave its session, reach the network, signal or
 * look into anything but itself, or get at the larger surfaces of the kernel (BPF, perf, io_uring,
 * keys, mounts, namespaces). What is not on the list does not exist (ENOSYS), so that libraries
 * take their fallbacks; what is there but not like this is EPERM.
 */
#ifndef IFG_SYSTEM_SANDBOX_H
#define IFG_SYSTEM_SANDBOX_H

#include <stdbool.h>

/*
 * For a child that runs foreign code next, by a call or by execve; after credentials_become. There
 * is no way back. Calls nothing but system calls. False: end the process. A kernel without seccomp
 * is no failure: the rights of the process are what protects others.
 */
bool sandbox_enter(void);

#endif
