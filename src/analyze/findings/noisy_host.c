// SPDX-License-Identifier: Apache-2.0
/* noisy-host: other programs were busy when the recording began. */
#include "analyze/findings/findings_internal.h"

#include <math.h>
#include <string.h>

/* The load average of the minute before the recording: half of the CPUs busy disturbs, all of them
 * busy makes figures useless for comparison. One busy thread on a large machine does not matter. */
#define BUSY_SHARE      0.5
#define VERY_BUSY_SHARE 1.0
#define LEAST_LOAD      1.0

void rule_noisy_host(const struct ml_input *input, struct findings *out)
{
    const char *is_virtual = trace_find_fact(input->tables, "host.virtual");
    double share = input->cpus ? input->load_average / input->cpus : (double)NAN;
    struct finding *finding;

    if (!(share >= BUSY_SHARE) || !(input->load_average >= LEAST_LOAD))
        return;
    finding = finding_add(out, share >= VERY_BUSY_SHARE ? FINDING_MEDIUM : FINDING_LOW, MODEL_NONE);
    finding_title(finding, "load average %.1f on %u CPUs before the recording began",
                  input->load_average, input->cpus);
    finding_sentence(finding,
                     "Other programs were busy: load average %.1f on %u CPUs at the begin.",
                     input->load_average, input->cpus);
    finding_evidence(finding,
                     "load average of the last minute at the begin: %.2f%s; not recorded: which "
                     "programs, steal time, clock frequency",
                     input->load_average,
                     is_virtual && strcmp(is_virtual, "yes") == 0
                         ? ", in a virtual machine (its neighbours are not seen)"
                         : "");
    finding_fix(finding, "record again while nothing else runs; until then take differences below "
                         "10 %% for noise");
    finding_number(finding, "load_average", input->load_average);
    finding_number(finding, "cpus", input->cpus);
}
