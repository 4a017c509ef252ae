// SPDX-License-Identifier: Apache-2.0
/* Questions about a region: see region.h. */
#include "record/region.h"

#include <sys/file.h>
#include <unistd.h>

#include "wire/wire.h"

uint32_t region_recorder(int fd)
{
    struct ifg_wire_control control;

    /* The lock is the truth: a recorder that was killed leaves its pid behind, but not its lock. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return 0;
    }
    if (pread(fd, &control, sizeof control, 0) != (ssize_t)sizeof control)
        return 0;
    return control.recorder_pid;
}
