# SPDX-License-Identifier: Apache-2.0
"""The sessions of this process: what is remembered of each, and the `load` event of its creation.

A load is open while it lasts: a model may take half a minute to load, or never get there. What is
only known afterwards (cold or cached, where its nodes run) is added at its end.
"""
import itertools
import os
import threading
import weakref
import zlib

from . import evidence, keys, options, placement
from .client import (COLD, INFERENCE, LOAD, PREPARE_EP, SETUP, SPECIALIZATION, UNKNOWN, as_bytes,
                     status_text)

MAIN = b'main'
PREPARES_MAX = 64


class State:
    """One session, as long as the program keeps it."""

    def __init__(self, library, number, model):
        self.number = number
        self.model = model
        self.inference_location = library.event_location(model, MAIN, INFERENCE)
        self.setup_location = library.event_location(model, MAIN, SETUP)
        self.runs = itertools.count()
        self.observed = False  # operators can be had from the observer
        self.profile = None  # operators come from a session profile
        self.reference = None


class Creation:
    """One call of _create_inference_session, from its beginning to what is written about it."""

    def __init__(self, session, names, settings):
        self.names, self.settings = names, settings
        self.path = getattr(session, '_model_path', None) or ''
        self.data = getattr(session, '_model_bytes', None)
        self.options = getattr(session, '_sess_options', None)
        self.caches = evidence.cache_paths(settings)
        self.contexts = evidence.context_paths(self.options, self.path)
        self.files_before = evidence.cache_files(self.caches + self.contexts)
        self.policy = ''
        self.content = self.model = self.zone = None
        self.number = 0
        self.initialize_start = self.initialize_end = self.start = self.end = 0
        self.error = None


class Sessions:
    def __init__(self, library, version, package, reader):
        self.library = library
        self.version = version
        self.runtime = 'ONNX Runtime ' + version
        self.package = package
        self.reader = reader  # of models
        self.asked = options.Asked()
        self.states = {}
        self.numbers = itertools.count(1)
        self.here = threading.local()  # .creation, .failed, .prepares
        self.operators = None
        self.placed = set()  # models whose placement is known

    # ---- states ----

    def state_of(self, session):
        state = self.states.get(id(session))
        if state is not None and state.reference() is session:
            return state
        return self.adopt(session)

    def adopt(self, session):
        """A session that was created while nobody recorded."""
        names = list(session.get_providers())
        creation = Creation(session, names, [{} for _ in names])
        creation.content = self.read(creation)
        model = self.model_of(creation, names)
        self.tell_placement(model, session, names)
        return self.remember(session, model, next(self.numbers))

    def remember(self, session, model, number):
        state = State(self.library, number, model)
        key = id(session)

        def forget(_):
            if self.states.get(key) is state:
                del self.states[key]
            if state.profile is not None:
                state.profile.finish()
            self.library.model_destroy(model)

        state.reference = weakref.ref(session, forget)
        self.states[key] = state
        return state

    # ---- models ----

    def read(self, creation):
        if creation.data is not None:
            return self.reader.of_bytes(creation.data)
        return self.reader.of_file(creation.path)

    def model_of(self, creation, requested):
        content = creation.content
        if creation.data is not None:
            name, path = content.graph_name or 'model', ''
        else:
            path = os.path.abspath(creation.path)
            name = os.path.basename(path)
            for suffix in ('.onnx', '.ort'):
                name = name[:-len(suffix)] if name.endswith(suffix) else name
        text = options.as_text(creation.options or default_options(self.package), creation.names,
                               creation.settings)
        content_id = '%s-%08x' % (content.hash, zlib.crc32(text.encode('utf-8', 'replace')))
        model = self.library.model(name, path, content_id, self.runtime, ','.join(requested))
        tell = self.library.tell
        tell(model, keys.PROPERTY_CONTENT, content.hash)
        tell(model, keys.PROPERTY_OPTIONS, text)
        tell(model, keys.PROPERTY_FILE_BYTES, content.size)
        tell(model, keys.PROPERTY_SOURCE, 'file' if path else 'memory')
        if content.graph_name:
            tell(model, keys.PROPERTY_GRAPH_NAME, content.graph_name)
        if creation.policy:
            tell(model, keys.PROPERTY_POLICY, creation.policy)
        return model

    def tell_placement(self, model, session, requested):
        if model not in self.placed:
            self.placed.add(model)
            placement.tell(self.library, model, session, requested,
                           list(self.available_providers()), self.version)

    def available_providers(self):
        try:
            return self.package.get_available_providers()
        except Exception:
            return []

    # ---- load ----

    def prepare_load(self, session, providers, provider_options):
        """Before _create_inference_session: what is going to be loaded."""
        names, settings = options.provider_list(providers, provider_options)
        creation = Creation(session, names, settings)
        creation.policy = self.asked.policy_of(creation.options)
        if hasattr(session, 'get_provider_graph_assignment_info'):
            if creation.options is None:
                # The default is one object for the whole process: a fresh one is equal to it.
                session._sess_options = creation.options = self.package.SessionOptions()
            placement.request_assignment(creation.options)
        creation.content = self.read(creation)
        if self.operators is not None:
            self.operators.prepare(session, creation)
        creation.requested = self.requested(session, creation)
        creation.model = self.model_of(creation, creation.requested)
        creation.number = next(self.numbers)
        self.write_prepares(creation.model)
        return creation

    def begin_load(self, creation):
        self.here.creation = creation
        creation.zone = self.library.location_begin(
            self.library.event_location(creation.model, MAIN, LOAD))
        creation.start = creation.zone.start or self.library.ticks()
        self.library.zone_detail_int(creation.zone, keys.SESSION, creation.number)

    def end_load(self, session, creation, error):
        creation.end = self.library.ticks()
        creation.error = error
        self.here.creation = None
        if self.operators is not None:
            self.operators.restore(session, creation)
        return creation

    def write_load(self, session, creation):
        """The end of the event, with what is known by now."""
        model, requested = creation.model, creation.requested
        self.write_load_event(session, creation)
        if creation.error is not None:
            self.here.failed = (weakref.ref(session), requested, str(creation.error),
                                creation.content.hash)
            return
        self.tell_placement(model, session, requested)
        self.tell_refused(session, creation, model, requested)
        self.here.failed = None
        state = self.remember(session, model, creation.number)
        if self.operators is not None:
            self.operators.adopt(session, creation, state)

    def tell_refused(self, session, creation, model, requested):
        """What the try before this one asked for in vain: ONNX Runtime tries again by itself with
        the same session, programs catch the error and make another one of the same model."""
        earlier = getattr(self.here, 'failed', None)
        if earlier is None:
            return
        again = earlier[0]() is session
        if not again and earlier[3] != creation.content.hash:
            return
        for name in earlier[1]:
            if name not in session.get_providers() and (again or name not in requested):
                self.library.tell(model, keys.PROPERTY_REQUESTED_FAILED + name, earlier[2])

    def requested(self, session, creation):
        """What the program asked for, also when this is ONNX Runtime's second try without it."""
        earlier = getattr(self.here, 'failed', None)
        if earlier is not None and earlier[0]() is session:
            return earlier[1]
        return options.with_cpu_last(creation.names or self.asked.providers_of(creation.options))

    def write_load_event(self, session, creation):
        library, zone = self.library, creation.zone
        details = []
        state = UNKNOWN
        if creation.error is not None:
            details.append((keys.STATUS, status_text(creation.error)))
        else:
            state, why = evidence.judge(
                creation.content, creation.options or default_options(self.package),
                session.get_providers(), creation.caches, creation.files_before,
                evidence.cache_files(creation.caches + creation.contexts), creation.contexts)
            details.append((keys.WHY, as_bytes(why)))
        library.event_load_state(zone, state)
        library.details(zone, details)
        if creation.initialize_start:
            self.write_parts(creation, state)
        if zone.depth:
            library.zone_end_at(zone, creation.end)

    def write_parts(self, creation, state):
        library, middle = self.library, creation.initialize_start
        library.write_zone(library.location('read model', ''), creation.start, middle)
        if state == COLD:
            location, details = library.event_location(creation.model, MAIN, SPECIALIZATION), \
                [(keys.SESSION, creation.number)]
        else:
            location, details = library.location('initialize', ''), ()
        library.write_zone(location, middle, creation.initialize_end or creation.end, details)

    # ---- providers get ready before it is known for which model ----

    def note_prepare(self, start, end, provider, path, error):
        prepares = self.here.__dict__.setdefault('prepares', [])
        details = [(keys.PROVIDER, as_bytes(provider))]
        if path:
            details.append((keys.LIBRARY, as_bytes(path)))
        if error is not None:
            details.append((keys.STATUS, status_text(error)))
        if len(prepares) < PREPARES_MAX:
            prepares.append((start, end, details))

    def write_prepares(self, model):
        prepares, self.here.prepares = self.here.__dict__.get('prepares', []), []
        location = self.library.event_location(model, MAIN, PREPARE_EP)
        for start, end, details in prepares:
            self.library.write_zone(location, start, end, details)


def default_options(package):
    return package.SessionOptions()
