// SPDX-License-Identifier: Apache-2.0
/* Filling in the attributes of the two kinds of events that a sampler has. */
#include "collect/perf/event_attr.h"

#include <string.h>
#include <time.h>

#include "collect/perf/records.h"

static void fill_common(struct perf_event_attr *attr, uint32_t stack_bytes, bool on_exec)
{
    memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    attr->sample_type = RECORDS_SAMPLE_TYPE;
    attr->sample_regs_user = RECORDS_MASK;
    attr->sample_stack_user = stack_bytes;
    attr->exclude_callchain_user = 1;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->inherit = 1;
    attr->disabled = 1;
    attr->enable_on_exec = on_exec;
    attr->exclude_hv = 1;
    attr->exclude_guest = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = EVENT_RING_BYTES / 2;
}

void event_attr_side(struct perf_event_attr *attr, uint32_t stack_bytes, bool on_exec)
{
    fill_common(attr, stack_bytes, on_exec);
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->exclude_kernel = 1;
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->build_id = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
    attr->context_switch = 1;
}

void event_attr_sampling(struct perf_event_attr *attr, uint32_t stack_bytes, bool on_exec,
                         uint32_t hz, bool kernel)
{
    fill_common(attr, stack_bytes, on_exec);
    attr->type = PERF_TYPE_HARDWARE;
    attr->config = PERF_COUNT_HW_CPU_CYCLES;
    attr->freq = 1;
    attr->sample_freq = hz;
    attr->exclude_kernel = !kernel;
}

void event_attr_use_clock(struct perf_event_attr *attr)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CPU_CLOCK;
}
