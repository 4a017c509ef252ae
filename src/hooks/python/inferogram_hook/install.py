# SPDX-License-Identifier: Apache-2.0
"""Puts the wrappers into onnxruntime's classes, where they are; what a wheel lacks is left out."""
import functools
import os
import sys

from . import calls, client, identity, operators, sessions

COLLECTION = 'onnxruntime.capi.onnxruntime_inference_collection'
BINDINGS = 'onnxruntime.capi._pybind_state'


def install(library, package, hooks_directory):
    collection = sys.modules.get(COLLECTION)
    version = getattr(package, '__version__', '')
    name = client.instrument_name('onnxruntime', version)
    inference_session = getattr(collection, 'InferenceSession', None)
    if not hasattr(inference_session, '_create_inference_session'):
        library.report(name, client.UNAVAILABLE, 'this onnxruntime has no InferenceSession that '
                       'this Inferogram knows')
        return
    known = sessions.Sessions(library, version, package, identity.Reader(hooks_directory))
    known.operators = operators.create(library, known, package, hooks_directory)
    sites = calls.Sites(library, os.path.dirname(package.__file__))
    recorder = calls.Recorder(library, known, sites)
    wrap_creation(recorder, inference_session)
    wrap_initialize(recorder, sys.modules.get(BINDINGS))
    wrap_runs(recorder, inference_session)
    wrap_preparations(recorder, collection)
    wrap_environment(recorder, package)
    library.report(name, client.ON, 'import hook')
    if 'IFG_MEMORY' in os.environ:
        library.report('arena of ' + name, client.UNAVAILABLE, 'the Python interface of ONNX '
                       'Runtime cannot tell of its allocators')


def owner_of(cls, name):
    """The class that defines a method: Session holds what InferenceSession inherits."""
    for candidate in cls.__mro__:
        if name in candidate.__dict__:
            return candidate
    return None


def replace(cls, name, make):
    """Wraps a plain, static or class method in its own class; nothing where there is none."""
    owner = owner_of(cls, name) if cls is not None else None
    if owner is None or owner is object:
        return
    raw = owner.__dict__[name]
    if isinstance(raw, (staticmethod, classmethod)):
        setattr(owner, name, type(raw)(make(raw.__func__)))
    else:
        setattr(owner, name, make(raw))


def wrap_creation(recorder, inference_session):
    known, library = recorder.sessions, recorder.library

    def begin(session, args, kwargs):
        try:
            creation = known.prepare_load(
                session, calls.argument(args, kwargs, 0, 'providers'),
                calls.argument(args, kwargs, 1, 'provider_options'))
            site = library.location_begin(recorder.sites.outside(sys._getframe(1).f_back))
            known.begin_load(creation)
            return site, creation
        except Exception as error:
            recorder.trouble(error)
            return None

    def end(session, begun, error):
        try:
            known.end_load(session, begun[1], error)
            known.write_load(session, begun[1])
            if begun[0].depth:
                library.zone_end(begun[0])
        except Exception as trouble:
            recorder.trouble(trouble)

    def make(original):
        @functools.wraps(original)
        def wrapper(self, *args, **kwargs):
            begun = begin(self, args, kwargs) \
                if recorder.wanted[0] and not library.is_confined() else None
            if begun is None:
                return original(self, *args, **kwargs)
            error = None
            try:
                return original(self, *args, **kwargs)
            except BaseException as raised:
                error = raised
                raise
            finally:
                end(self, begun, error)
                error = None
        return wrapper

    replace(inference_session, '_create_inference_session', make)


def wrap_initialize(recorder, bindings):
    """The part of a creation after the model was read, and the providers that go into it."""
    known, ticks = recorder.sessions, recorder.library.ticks

    def providers_for(creation, args):
        try:
            if known.operators is not None and len(args) >= 2:
                return known.operators.providers_for(creation, args[0], args[1]) + args[2:]
        except Exception as error:
            recorder.trouble(error)
        return args

    def make(original):
        @functools.wraps(original)
        def initialize_session(self, *args, **kwargs):
            creation = getattr(known.here, 'creation', None)
            if creation is None:
                return original(self, *args, **kwargs)
            args = providers_for(creation, args)
            creation.initialize_start = ticks()
            try:
                return original(self, *args, **kwargs)
            finally:
                creation.initialize_end = ticks()
        return initialize_session

    replace(getattr(bindings, 'InferenceSession', None), 'initialize_session', make)


def wrap_runs(recorder, cls):
    any_run = functools.partial(calls.wrap_any_run, recorder)
    replace(cls, 'run', functools.partial(calls.wrap_run, recorder))
    replace(cls, 'run_with_ort_values', functools.partial(
        any_run, find_feed=calls.feed_of(1, 'input_dict_ort_values'), options_position=2))
    replace(cls, 'run_with_iobinding', functools.partial(
        any_run, find_feed=calls.bound_feed_of(recorder), options_position=1,
        find_call=calls.bound_call_of(recorder)))
    replace(cls, 'run_with_ortvaluevector', functools.partial(
        any_run, find_feed=lambda args, kwargs: None, options_position=None))
    replace(cls, 'run_async', lambda f: calls.wrap_run_async(recorder, f))
    if hasattr(recorder.sessions.operators, 'open_profiles'):
        replace(cls, 'end_profiling', lambda f: wrap_end_profiling(recorder, f))


def wrap_end_profiling(recorder, original):
    """A program that ends a profile which it did not begin gets the answer that it would get."""
    @functools.wraps(original)
    def end_profiling(self, *args, **kwargs):
        state = recorder.sessions.states.get(id(self))
        if state is not None and state.profile is not None:
            state.profile.finish()
        return original(self, *args, **kwargs)
    return end_profiling


def wrap_preparations(recorder, collection):
    binding = getattr(collection, 'IOBinding', None)
    for name, position, argument in (('bind_cpu_input', 1, 'arr_on_cpu'),
                                     ('bind_ortvalue_input', 1, 'ortvalue'),
                                     ('bind_input', 4, 'shape')):
        note = calls.note_bound(recorder, position, argument)
        replace(binding, name, functools.partial(calls.wrap_setup, recorder, note=note))
    replace(binding, 'clear_binding_inputs', functools.partial(
        calls.wrap_setup, recorder, note=calls.forget_bound(recorder)))
    for name in ('bind_output', 'bind_ortvalue_output', 'synchronize_inputs'):
        replace(binding, name, functools.partial(calls.wrap_setup, recorder))
    for name in ('ortvalue_from_numpy', 'ortvalue_from_numpy_with_onnx_type',
                 'ortvalue_from_shape_and_type', 'update_inplace'):
        replace(getattr(collection, 'OrtValue', None), name,
                functools.partial(calls.wrap_setup, recorder))


def wrap_environment(recorder, package):
    bindings = sys.modules.get(BINDINGS)
    register = getattr(package, 'register_execution_provider_library', None)
    if register is not None:
        package.register_execution_provider_library = wrap_register(recorder, register)
    hide = getattr(recorder.sessions.operators, 'hide', None)
    for name in ('get_ep_devices', 'get_available_providers'):
        original = getattr(bindings, name, None)
        if hide is not None and original is not None:
            hiding = wrap_hiding(original, hide)
            for module in (package, bindings):
                setattr(module, name, hiding)
    options = getattr(package, 'SessionOptions', None)
    asked = recorder.sessions.asked
    note_calls(recorder, options, 'add_provider', asked.note_provider)
    note_calls(recorder, options, 'add_provider_for_devices', lambda self, devices:
               [asked.note_provider(self, device.ep_name) for device in devices])
    note_calls(recorder, options, 'set_provider_selection_policy', lambda self, policy:
               asked.policies.__setitem__(self, str(policy).rpartition('.')[2]))
    note_calls(recorder, options, 'set_provider_selection_policy_delegate', lambda self, _:
               asked.policies.__setitem__(self, 'a function of the program'))


def wrap_register(recorder, original):
    known, ticks = recorder.sessions, recorder.library.ticks

    @functools.wraps(original)
    def register_execution_provider_library(*args, **kwargs):
        if not recorder.wanted[0] or args[:1] == (operators.REGISTERED_AS,):
            return original(*args, **kwargs)
        start, error = ticks(), None
        try:
            return original(*args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            known.note_prepare(start, ticks(), args[0] if args else '',
                               args[1] if len(args) > 1 else '', error)
            error = None
    return register_execution_provider_library


def wrap_hiding(original, hide):
    @functools.wraps(original)
    def hiding(*args, **kwargs):
        return hide(original(*args, **kwargs))
    return hiding


def note_calls(recorder, cls, name, note):
    """Notes what a method of SessionOptions was told; it says nothing when asked later."""
    def make(original):
        @functools.wraps(original)
        def wrapper(self, *args, **kwargs):
            result = original(self, *args, **kwargs)
            try:
                note(self, *args[:1])
            except Exception as error:
                recorder.trouble(error)
            return result
        return wrapper
    replace(cls, name, make)
