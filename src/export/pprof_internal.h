// SPDX-License-Identifier: Apache-2.0
/* pprof's profile in two parts: of zones in pprof.c, of samples in pprof_samples.c. */
#ifndef IFG_EXPORT_PPROF_INTERNAL_H
#define IFG_EXPORT_PPROF_INTERNAL_H

#include <zlib.h>

#include "base/proto.h"
#include "export/sampled.h"
#include "export/stacks.h"

enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_TYPE = 14,
};

struct pprof {
    struct export_job *job;
    struct stacks stacks;    /* of zones */
    struct sampled *sampled; /* or samples */
    struct ifg_bytes message;
    struct ifg_bytes inner;
    struct ifg_bytes label;
    struct ifg_bytes pending; /* waits for compression */
    z_stream zip;
    bool zip_open;
    bool failed;
};

void pprof_compress(struct pprof *p, bool last);
void pprof_message(struct pprof *p, enum profile_field field);
void pprof_sample_type(struct pprof *p, uint64_t type, uint64_t unit);
void pprof_label(struct pprof *p, uint64_t key, uint64_t text);
void pprof_string(struct pprof *p, const char *text);
void pprof_samples(struct pprof *p);

#endif
