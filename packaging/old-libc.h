// SPDX-License-Identifier: Apache-2.0
/* Included before everything else where the C library is older than what the sources are written
 * for (tools/package-root): names that its headers lack, with the values of the kernel and of the
 * ELF specification. */
#include <asm/unistd.h>

#ifndef SYS_close_range
#define SYS_close_range __NR_close_range
#endif
#ifndef SYS_openat2
#define SYS_openat2 __NR_openat2
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 __NR_faccessat2
#endif
#ifndef DT_RELR
#define DT_RELRSZ  35
#define DT_RELR    36
#define DT_RELRENT 37
#endif
