// SPDX-License-Identifier: Apache-2.0
/* The definition log of a watched process, passed on to the trace as it grows. */
#include "record/target_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/device.h"

#define STUCK_NS 500000000ull

/* Copies `count` strings that lie behind a fixed head into NUL-terminated buffers. */
struct strings {
    char text[6][IFG_WIRE_STRING_MAX + 1];
};

static bool take_strings(const char *at, size_t left, const uint16_t *bytes, unsigned count,
                         struct strings *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (bytes[i] > IFG_WIRE_STRING_MAX || bytes[i] > left)
            return false;
        memcpy(out->text[i], at, bytes[i]);
        out->text[i][bytes[i]] = '\0';
        at += bytes[i];
        left -= bytes[i];
    }
    return true;
}

/* For the count on the screen; without memory there is none. */
static void note_inferences_at(struct target *target, uint32_t id)
{
    uint32_t first = target->inference_first;
    uint32_t end = first + target->inference_span;

    if (id >= INFERENCE_LOCATIONS)
        return;
    if (!target->inference_bits)
        target->inference_bits = ifg_alloc(INFERENCE_LOCATIONS / 8, 1);
    if (!target->inference_bits)
        return;
    target->inference_bits[id >> 3] |= (uint8_t)(1u << (id & 7));
    if (!target->inference_span || id < first)
        first = id;
    if (!target->inference_span || id >= end)
        end = id + 1;
    target->inference_first = first;
    target->inference_span = end - first;
}

/* A kernel is called by its name for people; a long one goes on in the file. */
static bool pass_work_location(struct target *target, struct trace_location *location)
{
    char *name = device_kernel_name(location->name, location->file);

    location->name = name ? name : location->name;
    location->file = "";
    trace_writer_location(target->context->sink->writer, location);
    ifg_free(name);
    return true;
}

static bool pass_location(struct target *target, const char *payload, size_t size)
{
    struct ifg_wire_location head;
    struct trace_location location;
    struct strings strings;

    if (size < sizeof head)
        return false;
    memcpy(&head, payload, sizeof head);
    if (!take_strings(payload + sizeof head, size - sizeof head, head.string_bytes, 3, &strings))
        return false;
    location = (struct trace_location){
        .process = target->process,
        .id = head.id,
        .kind = head.kind,
        .category = head.category,
        .color = head.color,
        .line = head.line,
        .model = head.model,
        .name = strings.text[0],
        .function = strings.text[1],
        .file = strings.text[2],
    };
    if (head.kind == TRACE_LOCATION_DEVICE)
        return pass_work_location(target, &location);
    trace_writer_location(target->context->sink->writer, &location);
    if (head.category == TRACE_CATEGORY_INFERENCE)
        note_inferences_at(target, head.id);
    return true;
}

static bool pass_model(struct target *target, const char *payload, size_t size)
{
    struct ifg_wire_model head;
    struct trace_model model;
    struct strings strings;

    if (size < sizeof head)
        return false;
    memcpy(&head, payload, sizeof head);
    if (!take_strings(payload + sizeof head, size - sizeof head, head.string_bytes, 6, &strings))
        return false;
    model = (struct trace_model){
        .process = target->process,
        .id = head.id,
        .name = strings.text[0],
        .path = strings.text[1],
        .content_id = strings.text[2],
        .runtime = strings.text[3],
        .requested_devices = strings.text[4],
        .actual_devices = strings.text[5],
    };
    trace_writer_model(target->context->sink->writer, &model);
    target->models++;
    return true;
}

/* A hook's word about itself; the latest counts, as long as none is better. */
static bool take_instrument(struct target *target, uint32_t state, const struct strings *strings)
{
    struct target_context *context = target->context;

    if (!context->instruments)
        return true;
    if (!context->is_injected && strcmp(strings->text[1], "injected") == 0)
        return true; /* that was an earlier recording */
    if (!instruments_report(context->instruments, context->sink->writer, strings->text[0], state,
                            strings->text[1]))
        return false;
    if (instrument_is_runtime(strings->text[0])) {
        target->told_runtime = true;
        unhooked_told(context->runtimes, target->pid);
    }
    return true;
}

static void name_device(struct target *target, uint32_t device, const char *name, const char *id)
{
    bool is_rocm = strncmp(id, IFG_ROCM_ID, strlen(IFG_ROCM_ID)) == 0;

    if (target_devices(target))
        device_streams_name(target->devices, device, is_rocm ? "HIP" : "CUDA", name,
                            is_rocm ? id + strlen(IFG_ROCM_ID) : id);
}

/* A property of a model, or what has the same form. */
static bool pass_property(struct target *target, uint32_t kind, const char *payload, size_t size)
{
    struct ifg_wire_property head;
    struct strings strings;

    if (size < sizeof head)
        return false;
    memcpy(&head, payload, sizeof head);
    if (!take_strings(payload + sizeof head, size - sizeof head, head.string_bytes, 2, &strings))
        return false;
    if (kind == IFG_WIRE_DEFINE_INSTRUMENT)
        return take_instrument(target, head.model, &strings);
    if (kind == IFG_WIRE_DEFINE_FILE)
        return target_note_file(target, head.model, strings.text[0], strings.text[1]);
    if (kind == IFG_WIRE_DEFINE_DEVICE) {
        name_device(target, head.model, strings.text[0], strings.text[1]);
        return true;
    }
    trace_writer_model_property(target->context->sink->writer, target->process, head.model,
                                strings.text[0], strings.text[1]);
    return true;
}

/* An entry that stays unpublished has lost its writer (a thread that was killed in the middle, or
 * jumped out of a signal handler); after a while the entries behind it are read. */
static bool may_skip(struct target *target, uint32_t bytes, uint64_t now_ns)
{
    if (target->stuck_at != target->definitions_at || !target->stuck_since_ns) {
        target->stuck_at = target->definitions_at;
        target->stuck_since_ns = now_ns;
    }
    if (!bytes || (now_ns - target->stuck_since_ns < STUCK_NS && !target->program_ended))
        return false;
    target->lost_records++;
    return true;
}

void target_read_definitions(struct target *target, uint64_t now_ns)
{
    const char *log = (const char *)target->control + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t end = __atomic_load_n(&target->control->definitions_reserved, __ATOMIC_ACQUIRE);

    if (end > IFG_WIRE_DEFINITIONS_BYTES)
        end = IFG_WIRE_DEFINITIONS_BYTES;
    while (target->definitions_at + sizeof(struct ifg_wire_definition) <= end) {
        const struct ifg_wire_definition *entry = (const void *)(log + target->definitions_at);
        uint32_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_ACQUIRE);
        uint32_t kind = __atomic_load_n(&entry->kind, __ATOMIC_ACQUIRE);
        const char *payload = (const char *)(entry + 1);
        bool understood = true;

        if (!kind && !may_skip(target, bytes, now_ns))
            break; /* still being written; it is not used before it is complete */
        if (bytes % 8 || bytes < sizeof *entry || bytes > end - target->definitions_at) {
            target->lost_records++;
            target->definitions_at = IFG_WIRE_DEFINITIONS_BYTES; /* no way to find the next one */
            break;
        }
        if (kind == IFG_WIRE_DEFINE_LOCATION)
            understood = pass_location(target, payload, bytes - sizeof *entry);
        else if (kind == IFG_WIRE_DEFINE_MODEL)
            understood = pass_model(target, payload, bytes - sizeof *entry);
        else if (kind >= IFG_WIRE_DEFINE_PROPERTY && kind <= IFG_WIRE_DEFINE_DEVICE)
            understood = pass_property(target, kind, payload, bytes - sizeof *entry);
        if (!understood)
            target->lost_records++;
        target->definitions_at += bytes;
    }
}
