// SPDX-License-Identifier: Apache-2.0
/*
 * Names that are in a trace as text: keys of attributes, of models' properties, and of facts. Who
 * writes one and who reads it are in different rooms, often in different processes; what is spelled
 * here once cannot be spelled in two ways.
 *
 * Only texts, and nothing is included: what lives in the watched process may use this header, too.
 * The texts are part of the trace format: they are added to, never changed.
 */
#ifndef IFG_TRACE_KEYS_H
#define IFG_TRACE_KEYS_H

/* Attributes of any zone. */
#define TRACE_KEY_NAME     "name" /* of this one alone */
#define TRACE_KEY_TEXT     "text"
#define TRACE_KEY_VALUE    "value"
#define TRACE_KEY_PAYLOAD  "payload"  /* the number that came with an annotation */
#define TRACE_KEY_CATEGORY "category" /* of an annotation, by name or number */
#define TRACE_KEY_CAT      "cat"      /* Chrome's category, of imported events */
#define TRACE_KEY_REQUEST  "request"  /* that a stage belongs to */

/* Of what models do. */
#define TRACE_KEY_SESSION        "session"        /* its number in the program */
#define TRACE_KEY_STATUS         "status"         /* "error" and why, where it failed */
#define TRACE_KEY_WHY            "why"            /* why something is as it is, or unknown */
#define TRACE_KEY_SPECIALIZATION "specialization" /* cold, cached, precompiled, unknown */
#define TRACE_KEY_SHAPES         "shapes"         /* of the inputs */
#define TRACE_KEY_BATCH          "batch"
#define TRACE_KEY_OPS            "ops" /* operators of this inference were recorded */
#define TRACE_KEY_PROVIDER       "provider"
#define TRACE_KEY_LIBRARY        "library"
#define TRACE_KEY_DEVICE         "device" /* where it ran */

/* Of operators; the words are those of ONNX Runtime's profiles. */
#define TRACE_KEY_OP_NAME                 "op_name" /* the operator's type */
#define TRACE_KEY_NODE_INDEX              "node_index"
#define TRACE_KEY_OUTPUT_SIZE             "output_size"
#define TRACE_KEY_ACTIVATION_SIZE         "activation_size"
#define TRACE_KEY_PARAMETER_SIZE          "parameter_size"
#define TRACE_KEY_INPUT_TYPE_SHAPE        "input_type_shape"
#define TRACE_KEY_OUTPUT_TYPE_SHAPE       "output_type_shape"
#define TRACE_KEY_THREAD_SCHEDULING_STATS "thread_scheduling_stats"

/* Of work of devices, and of calls of their drivers: what launched it, and what it is. */
#define TRACE_KEY_CORRELATION  "correlation"  /* the same number in the call and in its work */
#define TRACE_KEY_BYTES        "bytes"        /* copied, set, allocated */
#define TRACE_KEY_SHAPE        "shape"        /* of a kernel: grid, block, registers, ... */
#define TRACE_KEY_QUEUED_NS    "queued_ns"    /* from when it was queued to when it began */
#define TRACE_KEY_SUBMITTED_NS "submitted_ns" /* the same from when the device had it */
#define TRACE_KEY_GRAPH        "graph"        /* number of the graph that it is part of */
#define TRACE_KEY_GRAPH_NODE   "graph_node"
#define TRACE_KEY_STREAM       "stream" /* that memory was taken or given back in the order of */

/* The function of a location of a device or its driver: what kind of work it is, or what the call
 * asks for. A copy has its direction behind it: "memcpy HtoD". */
#define TRACE_WORK_KERNEL "kernel"
#define TRACE_WORK_MEMCPY "memcpy"
#define TRACE_WORK_MEMSET "memset"
#define TRACE_WORK_SYNC   "sync"
#define TRACE_WORK_GRAPH  "graph"
#define TRACE_WORK_MEMORY "memory" /* allocated, given back, a pool trimmed */

#define TRACE_FLOW_LAUNCH "launch" /* the flow from a call to its work */

/* Properties of models. The devices replace those of the definition: they are known late. */
#define TRACE_PROPERTY_REQUESTED_DEVICES "requested_devices"
#define TRACE_PROPERTY_ACTUAL_DEVICES    "actual_devices"
#define TRACE_PROPERTY_PLACEMENT_SOURCE  "placement.source" /* how they are known */
#define TRACE_PROPERTY_NAME_SOURCE       "name.source"
#define TRACE_PROPERTY_INFERRED          "inferred" /* from what name and path were concluded */
#define TRACE_PROPERTY_ATTACH            "attach"   /* how it is watched from outside */
#define TRACE_PROPERTY_CONTENT           "content"
#define TRACE_PROPERTY_FILE_BYTES        "file_bytes"
#define TRACE_PROPERTY_SOURCE            "source" /* file, memory */
#define TRACE_PROPERTY_GRAPH_NAME        "graph_name"
#define TRACE_PROPERTY_OPTIONS           "options"
#define TRACE_PROPERTY_POLICY            "policy"
#define TRACE_PROPERTY_ARENA             "arena"
#define TRACE_PROPERTY_OPS_EVERY         "ops.every"
#define TRACE_PROPERTY_OPS_HOW           "ops.how"
#define TRACE_PROPERTY_NODES             "nodes."            /* and a provider: how many it has */
#define TRACE_PROPERTY_REQUESTED_FAILED  "requested_failed." /* and a provider: why it failed */

/* Facts about the recording. */
#define TRACE_FACT_TOOL_VERSION       "tool.version"
#define TRACE_FACT_RECORD_MODE        "record.mode" /* launch, attach, next, import */
#define TRACE_FACT_RECORD_PROGRAM     "record.program"
#define TRACE_FACT_RECORD_COMMAND     "record.command"
#define TRACE_FACT_RECORD_ARGUMENTS   "record.arguments"
#define TRACE_FACT_RECORD_END         "record.end"
#define TRACE_FACT_RECORD_SECONDS     "record.seconds"
#define TRACE_FACT_RECORD_CPU_SECONDS "record.cpu_seconds"
#define TRACE_FACT_DEVICE_CALLS       "device.calls"
#define TRACE_FACT_DEVICE_CALL_S      "device.call_seconds"
#define TRACE_FACT_DEVICE_READ_S      "device.read_cpu_seconds"
/* Of a trace that was captured from another machine: that one's CLOCK_REALTIME less that of the
 * machine with the file, and how wrong this may be. */
#define TRACE_FACT_CAPTURE_OFFSET_NS "capture.clock_offset_ns"
#define TRACE_FACT_CAPTURE_ERROR_NS  "capture.clock_error_ns"
#define TRACE_FACT_CAPTURE_BOOT_ID   "capture.boot_id" /* host.boot_id of the one with the file */
/* Of a file that a flight recorder wrote: what it keeps, why it wrote, when (UTC, and by
 * CLOCK_MONOTONIC), and how many seconds of the recording were too old by then. */
#define TRACE_FACT_FLIGHT_KEEPS        "flight.keeps"
#define TRACE_FACT_FLIGHT_TRIGGER      "flight.trigger"
#define TRACE_FACT_FLIGHT_TRIGGER_TIME "flight.trigger_time"
#define TRACE_FACT_FLIGHT_TRIGGER_NS   "flight.trigger_ns"
#define TRACE_FACT_FLIGHT_NOT_KEPT_S   "flight.not_kept_s"
#define TRACE_THREAD_FLIGHT            "flight recorder" /* the thread with its marks */
#define TRACE_FACT_IMPORT_FORMAT       "import.format"
#define TRACE_FACT_IMPORT_EVENTS       "import.events"

/* About the machine. */
#define TRACE_FACT_HOST_NAME         "host.name"
#define TRACE_FACT_HOST_MACHINE      "host.machine"
#define TRACE_FACT_HOST_KERNEL       "host.kernel"
#define TRACE_FACT_HOST_CPU          "host.cpu"
#define TRACE_FACT_HOST_CPUS         "host.cpus"
#define TRACE_FACT_HOST_MEMORY_BYTES "host.memory_bytes"
#define TRACE_FACT_HOST_LOAD         "host.load"
#define TRACE_FACT_HOST_CLOCKSOURCE  "host.clocksource"
#define TRACE_FACT_HOST_VIRTUAL      "host.virtual"
#define TRACE_FACT_HOST_BOOT_ID      "host.boot_id" /* traces with the same one have one clock */

/* About a trace that was merged: how many traces are in it, and of each, numbered from 1, these and
 * all of its own facts: "merge.2.host.name". */
#define TRACE_FACT_MERGE           "merge."
#define TRACE_FACT_MERGE_COUNT     "merge.count"
#define TRACE_MERGED_FILE          "file"
#define TRACE_MERGED_METHOD        "method" /* first, same-clock, measured, given, ... */
#define TRACE_MERGED_OFFSET_NS     "offset_ns"
#define TRACE_MERGED_ERROR_NS      "error_ns" /* not there: not known */
#define TRACE_MERGED_SHIFT_NS      "shift_ns" /* added to its CLOCK_MONOTONIC */
#define TRACE_MERGED_FIRST_PROCESS "first_process"
#define TRACE_MERGED_NUMBERS_FROM  "numbers_from" /* added to its process and thread numbers */
#define TRACE_MERGED_INSTRUMENT    "instrument."  /* and a name: its state, and why */

/* About samples. */
#define TRACE_FACT_SAMPLES_HZ                    "samples.hz"
#define TRACE_FACT_SAMPLES_CLOCK                 "samples.clock" /* cycles, cpu-clock */
#define TRACE_FACT_SAMPLES_COUNT                 "samples.count"
#define TRACE_FACT_SAMPLES_LOST                  "samples.lost"
#define TRACE_FACT_SAMPLES_THROTTLED             "samples.throttled"
#define TRACE_FACT_SAMPLES_ROOTED                "samples.rooted"
#define TRACE_FACT_SAMPLES_INFERRED              "samples.inferred"
#define TRACE_FACT_SAMPLES_CUT                   "samples.cut"
#define TRACE_FACT_SAMPLES_STACK_BYTES           "samples.stack_bytes"
#define TRACE_FACT_SAMPLES_UNWIND_NS             "samples.unwind_ns"
#define TRACE_FACT_SAMPLES_COST_US               "samples.cost_us"
#define TRACE_FACT_SAMPLES_ON_SHARE              "samples.on_share"
#define TRACE_FACT_SAMPLES_OVERHEAD_PCT          "samples.overhead_pct"
#define TRACE_FACT_SAMPLES_OVERHEAD_ERROR_PCT    "samples.overhead_error_pct"
#define TRACE_FACT_SAMPLES_OVERHEAD_ESTIMATE_PCT "samples.overhead_estimate_pct"
#define TRACE_FACT_SAMPLES_OVERHEAD_INFERENCES   "samples.overhead_inferences"
#define TRACE_FACT_SAMPLES_OVERHEAD_MOMENTS      "samples.overhead_moments"
#define TRACE_FACT_SAMPLES_SWITCHES              "samples.switches"
#define TRACE_FACT_SAMPLES_WAKES                 "samples.wakes"
#define TRACE_FACT_SAMPLES_WAKES_LOST            "samples.wakes_lost"
#define TRACE_FACT_SAMPLES_FRAMES                "samples.frames"
#define TRACE_FACT_SAMPLES_NAMED                 "samples.named"
#define TRACE_FACT_SAMPLES_GUESSED               "samples.guessed"
#define TRACE_FACT_SAMPLES_NAMES_PROBLEM         "samples.names_problem"
#define TRACE_FACT_SAMPLES_PYTHON                "samples.python"         /* with Python frames */
#define TRACE_FACT_SAMPLES_PYTHON_REFUSED        "samples.python_refused" /* not believed */
#define TRACE_FACT_SAMPLES_PYTHON_LOST           "samples.python_lost"
#define TRACE_FACT_SAMPLES_CONTINUED             "samples.continued" /* rooted by Python frames */

/* About allocations and resources. */
#define TRACE_FACT_ALLOCATIONS_COUNT          "allocations.count"
#define TRACE_FACT_ALLOCATIONS_ENDED          "allocations.ended"
#define TRACE_FACT_ALLOCATIONS_BYTES          "allocations.bytes"
#define TRACE_FACT_ALLOCATIONS_ROOTED         "allocations.rooted"
#define TRACE_FACT_ALLOCATIONS_INTERVAL_BYTES "allocations.interval_bytes"
#define TRACE_FACT_ALLOCATIONS_LOST           "allocations.lost"
#define TRACE_FACT_MEMORY_LOOKS               "memory.looks"
#define TRACE_FACT_MEMORY_GAPS                "memory.gaps"
#define TRACE_FACT_MEMORY_LONGEST_GAP_MS      "memory.longest_gap_ms"
#define TRACE_FACT_MEMORY_CPU_SECONDS         "memory.cpu_seconds"
#define TRACE_FACT_RESOURCES_CPU_SECONDS      "resources.cpu_seconds"
#define TRACE_FACT_DEVICES_LOOKS              "devices.looks"
#define TRACE_FACT_DEVICES_LONGEST_MS         "devices.longest_ms"
#define TRACE_FACT_DEVICES_CPU_SECONDS        "devices.cpu_seconds"
/* What a GPU can do at most, as NVML tells it: "resources.gpu.", its number, and one of these. */
#define TRACE_FACT_GPU               "resources.gpu."
#define TRACE_GPU_ID                 ".id" /* "GPU-...", the same as that of its streams */
#define TRACE_GPU_NAME               ".name"
#define TRACE_GPU_COMPUTE_CAPABILITY ".compute_capability" /* "9.0" */
#define TRACE_GPU_CORES              ".cores"
#define TRACE_GPU_CLOCK_MHZ          ".clock_mhz" /* the highest, as the next */
#define TRACE_GPU_MEMORY_CLOCK_MHZ   ".memory_clock_mhz"
#define TRACE_GPU_MEMORY_BUS_BITS    ".memory_bus_bits"
#define TRACE_GPU_MIG                ".mig" /* there: the device is divided */
#define TRACE_FACT_RESOURCES_GPU     "resources.gpu"
#define TRACE_FACT_RESOURCES_NPU     "resources.npu"

#endif
