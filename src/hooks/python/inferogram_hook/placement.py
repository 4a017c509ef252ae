# SPDX-License-Identifier: Apache-2.0
"""Where a session's nodes really run: asked of the session, or concluded from its providers."""
from . import keys
from .options import CPU, RECORD_ASSIGNMENT, entry


def request_assignment(options):
    """Lets ONNX Runtime (1.24 and later) remember which provider got which node. An entry that is
    there is left alone: setting it again would print a warning."""
    if not entry(options, RECORD_ASSIGNMENT):
        options.add_session_config_entry(RECORD_ASSIGNMENT, '1')


def count_assigned(session):
    """Nodes for each provider, or None where this ONNX Runtime does not tell."""
    ask = getattr(session, 'get_provider_graph_assignment_info', None)
    if ask is None:
        return None
    try:
        counts = {}
        for subgraph in ask():
            name = subgraph.ep_name
            counts[name] = counts.get(name, 0) + len(subgraph.get_nodes())
        return counts
    except Exception:  # it was not asked to remember
        return None


def tell(library, model, session, requested, available, version):
    """Properties of the model: who asked for what, who got what."""
    actual = list(session.get_providers())
    counts = count_assigned(session)
    for name in requested:
        if name not in actual and name != CPU:
            reason = 'it did not start' if name in available else \
                'not in this build of onnxruntime, which has ' + ','.join(available)
            library.tell(model, keys.PROPERTY_REQUESTED_FAILED + name, reason)
    if counts:
        tell_counts(library, model, counts, requested, 'assignment info')
    elif actual == [CPU]:
        library.tell(model, keys.PROPERTY_ACTUAL_DEVICES, CPU)
        library.tell(model, keys.PROPERTY_PLACEMENT_SOURCE, 'only provider')
        tell_zeros(library, model, {CPU}, requested)
    else:
        library.tell(model, keys.PROPERTY_PLACEMENT_SOURCE,
                     'unknown: onnxruntime %s does not tell; operators (--ops) show it' % version)


def tell_counts(library, model, counts, requested, source):
    order = [name for name in requested if counts.get(name)]
    order += sorted(name for name in counts if name not in order)
    library.tell(model, keys.PROPERTY_ACTUAL_DEVICES, ','.join(order))
    library.tell(model, keys.PROPERTY_PLACEMENT_SOURCE, source)
    for name, count in counts.items():
        library.tell(model, keys.PROPERTY_NODES + name, count)
    tell_zeros(library, model, set(counts), requested)


def tell_zeros(library, model, present, requested):
    for name in requested:
        if name not in present:
            library.tell(model, keys.PROPERTY_NODES + name, 0)
