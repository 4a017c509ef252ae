// SPDX-License-Identifier: Apache-2.0
/*
 * For hooks and bindings: locations made at run time, zones that are known only afterwards, and
 * what a source of events has to tell the recorder about itself.
 */
#include "client/client_internal.h"

#include <errno.h>
#include <string.h>

uint64_t ifg_ticks(void)
{
    return client_now();
}

uint32_t ifg_location_create(const ifg_location_options *options)
{
    ifg_location_options known = { 0 };

    if (options && options->struct_size)
        memcpy(&known, options,
               options->struct_size < sizeof known ? options->struct_size : sizeof known);
    if (known.kind != IFG_LOCATION_OPERATOR)
        known.kind = IFG_LOCATION_ZONE;
    return client_define_location(known.kind, 0, known.color, known.line,
                                  client_model_id(known.model), known.name, known.function,
                                  known.file);
}

ifg_zone ifg_location_begin(uint32_t location)
{
    ifg_zone zone = { 0, location, 0 };

    if (UNLIKELY(location == 0))
        return zone;
    if (LIKELY(client_is_recorded()))
        zone = client_zone_begin(location);
    return UNLIKELY(client_is_tapped()) ? client_tap_begin(zone) : zone;
}

ifg_zone ifg_location_begin_at(uint32_t location, uint64_t start)
{
    ifg_zone zone = { start, location, location ? CLIENT_DETACHED : 0 };

    return zone;
}

void ifg_zone_end_at(ifg_zone zone, uint64_t end)
{
    if (zone.depth == CLIENT_DETACHED) {
        if (UNLIKELY(client_is_tapped()))
            client_tap_span(zone.location, zone.start, end);
        if (LIKELY(client_is_recorded()))
            client_zone_write(zone.start, end, zone.location);
    } else if (zone.depth) {
        client_zone_end_at(zone, end);
    }
}

void ifg_location_async(uint32_t location, uint64_t id, uint64_t start, uint64_t end)
{
    if (!location)
        return;
    if (UNLIKELY(client_is_tapped()))
        client_tap_span(location, start, end);
    if (UNLIKELY(!client_is_recorded()))
        return;
    client_emit(IFG_WIRE_ASYNC_BEGIN, start, location, &id, sizeof id);
    client_emit(IFG_WIRE_ASYNC_END, end, location, &id, sizeof id);
}

void ifg_instrument_report(const char *name, enum ifg_instrument_state state, const char *reason)
{
    int saved_errno = errno;

    if (name)
        client_define_instrument((uint32_t)state, name, reason ? reason : "");
    errno = saved_errno;
}

const char *ifg_session_directory(void)
{
    if (!client_control || !__atomic_load_n(&client_control->recording, __ATOMIC_ACQUIRE))
        return "";
    return client_control->session;
}

void ifg_file_hand_over(ifg_model *model, const char *kind, const char *path)
{
    int saved_errno = errno;

    if (kind && path)
        client_define_file(client_model_id(model), kind, path);
    errno = saved_errno;
}
