// SPDX-License-Identifier: Apache-2.0
/* Questions about a region that one does not want to record. */
#ifndef IFG_RECORD_REGION_H
#define IFG_RECORD_REGION_H

#include <stdint.h>

/* The pid of the recorder that has the region behind fd now; 0 if nobody has. */
uint32_t region_recorder(int fd);

#endif
