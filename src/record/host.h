// SPDX-License-Identifier: Apache-2.0
/* What machine a recording was made on, as facts in the trace. */
#ifndef IFG_RECORD_HOST_H
#define IFG_RECORD_HOST_H

#include "trace/writer.h"

void host_write_facts(struct trace_writer *writer);

#endif
