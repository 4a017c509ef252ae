// SPDX-License-Identifier: Apache-2.0
/* The sources that there are, for the table. */
#ifndef IFG_RECORD_SOURCES_SOURCES_H
#define IFG_RECORD_SOURCES_SOURCES_H

#include "record/source.h"

extern const struct source source_heap;
extern const struct source source_ort_attach;
extern const struct source source_perf;
extern const struct source source_probe_file;
extern const struct source source_proc;

#endif
