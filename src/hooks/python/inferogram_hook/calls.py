# SPDX-License-Identifier: Apache-2.0
"""The wrappers around runs: inference events, the setup before them, the line that called.

While nobody records, a wrapper is one look at a word and the original method. An error of ours
never reaches the program; an error of the program's call is noted and passed on as it is.
"""
import functools
import os
import sys
import threading
import time
import weakref

from . import capture, keys
from .client import INFERENCE, LEVEL_ERROR, STRLEN, as_bytes, instrument_name, status_text
from .sessions import MAIN

SHAPES_MAX = 4096
SITES_MAX = 4096
PENDING_MAX = 256
MERGE_NS = 100000  # calls that follow each other this closely are one setup


class Sites:
    """The locations in the program's source that call us. They are known by their instruction, which
    is faster to ask for than the line."""

    def __init__(self, library, package_folder):
        self.library = library
        self.package_folder = package_folder + os.sep
        self.known = {}

    def of(self, frame):
        if frame is None:
            return 0  # called by a thread that has no Python code
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        known = self.known.get(key)
        return known[0] if known is not None else self.define(key, code, frame)

    def define(self, key, code, frame):
        if len(self.known) >= SITES_MAX:
            return 0
        function = getattr(code, 'co_qualname', code.co_name)
        file = code.co_filename
        if not file.startswith('<'):
            file = os.path.abspath(file)
        location = self.library.location('%s.%s' % (frame.f_globals.get('__name__', '?'), function),
                                   function, file, frame.f_lineno)
        self.known[key] = (location, code)  # the code is kept: its id must not be used again
        return location

    def outside(self, frame):
        """The first caller that is not a part of onnxruntime."""
        while frame is not None and frame.f_code.co_filename.startswith(self.package_folder):
            frame = frame.f_back
        return self.of(frame)


class Shapes:
    """Shapes of inputs as text, remembered: most programs use few."""

    def __init__(self):
        self.known = {}

    def of(self, feed):
        """(text, first dimension of the first input or None)"""
        try:
            known = self.known.get(tuple([(name, value.shape) for name, value in feed.items()]))
            if known is not None:
                return known  # arrays, of shapes that were seen before
        except (AttributeError, TypeError):
            pass
        if not hasattr(feed, 'items'):
            return b'', None
        key = tuple([(name, shape_of(value)) for name, value in feed.items()])
        known = self.known.get(key)
        if known is None:
            known = self.describe(key)
            if len(self.known) < SHAPES_MAX:
                self.known[key] = known
        return known

    @staticmethod
    def describe(key):
        text = ' '.join('%s:%s' % (name, 'x'.join(map(str, shape)) if shape else
                                   'scalar' if shape == () else '?') for name, shape in key)
        first = key[0][1] if key else None
        return as_bytes(text), first[0] if first and isinstance(first[0], int) else None


def shape_of(value):
    shape = getattr(value, 'shape', None)
    if type(shape) is tuple:
        return shape
    if isinstance(shape, tuple):  # torch.Size
        return tuple(shape)
    if callable(shape):  # OrtValue
        return tuple(shape())
    if isinstance(value, (list, tuple)):
        dimensions = []
        while isinstance(value, (list, tuple)):
            dimensions.append(len(value))
            value = value[0] if value else None
        return tuple(dimensions)
    return () if isinstance(value, (bool, int, float, str, bytes)) else None


class Setups(threading.local):
    """What this thread has prepared for its next run: (start, end) in ticks."""

    def __init__(self):
        self.pending = []
        self.last_ns = 0

    def add(self, start, end):
        now = time.perf_counter_ns()
        if self.pending and now - self.last_ns < MERGE_NS:
            self.pending[-1] = (self.pending[-1][0], end)
        elif len(self.pending) < PENDING_MAX:
            self.pending.append((start, end))
        self.last_ns = now

    def write(self, library, state):
        pending, self.pending = self.pending, []
        for start, end in pending:
            library.write_zone(state.setup_location, start, end, [(keys.SESSION, state.number)])


class Run:
    """An open inference with the zone of the line that asked for it."""
    __slots__ = ('site', 'event', 'observed', 'profile', 'state')


class Recorder:
    """What the wrappers of runs share."""

    def __init__(self, library, sessions, sites):
        self.library = library
        self.wanted = library.wanted
        self.sessions = sessions
        self.sites = sites
        self.shapes = Shapes()
        self.setups = Setups()
        self.open_profiles = getattr(sessions.operators, 'open_profiles', ())
        self.bound = weakref.WeakKeyDictionary()  # IOBinding: {input: shape}
        self.capture = capture.create(library)  # None: nobody wants inputs

    def trouble(self, error):
        try:
            self.library.report_trouble(
                instrument_name('onnxruntime', self.sessions.version), error)
        except Exception:
            pass

    def begin(self, session, feed, frame, is_observed):
        """None where this run cannot be recorded."""
        library, run = self.library, Run()
        run.profile = None
        try:
            state = self.sessions.states.get(id(session))
            if state is None or state.reference() is not session:
                state = self.sessions.adopt(session)
            run.state = state
            if self.setups.pending:
                self.setups.write(library, state)
            text, batch = self.shapes.of(feed)
            site = self.sites.of(frame)
            if state.profile is not None:
                run.profile = entered(state.profile)
            run.observed = is_observed and self.sessions.operators.begin_run(state)
            run.site = library.location_begin(site)
            run.event = event = library.location_begin(state.inference_location)
            library.zone_detail_int(event, keys.SESSION, state.number)
            if text:
                library.zone_detail_string(event, keys.SHAPES, text)
            if batch is not None:
                library.zone_detail_int(event, keys.BATCH, batch)
            return run
        except Exception as error:
            if run.profile is not None:
                run.profile.leave(is_last=True)
            self.trouble(error)
            return None

    def end(self, run, error, session, call):
        """call: what it was fed with, if anybody wants that."""
        library, profile = self.library, run.profile
        try:
            if error is not None:
                library.zone_detail_string(run.event, keys.STATUS, status_text(error))
            if run.observed:
                self.sessions.operators.end_run(run)
            elif profile is not None and error is None:
                library.zone_detail_int(run.event, keys.OPS, 1)
            start = run.event.start
            end = library.ticks() if profile is not None or call is not None else 0
            if run.event.depth and call is not None:
                library.zone_end_at(run.event, end)
                self.capture.after(session, run.state, run.event, end, call, error is not None)
            elif run.event.depth:
                library.zone_end(run.event)
            if run.site.depth:
                library.zone_end(run.site)
            if profile is not None:
                # Whether a failed run is in the profile depends on where it failed: those before
                # it can still be told apart, those after it could not.
                leave(profile, start, end, error)
        except Exception as trouble:
            self.trouble(trouble)


def entered(profile):
    return profile if profile.enter() else None


def leave(profile, start, end, error):
    if error is None:
        profile.leave(start, end)
    else:
        profile.leave(is_last=True)


def argument(args, kwargs, position, name):
    return args[position] if len(args) > position else kwargs.get(name)


def recorded(recorder, original, session, args, kwargs, feed, options_position, frame, call=None):
    """The original call inside its events. options_position: of run_options; None: leave alone."""
    operators = recorder.sessions.operators
    observes = operators is not None and options_position is not None and \
        argument(args, kwargs, options_position, 'run_options') is None
    run = recorder.begin(session, feed, frame, observes)
    if run is None:
        return original(session, *args, **kwargs)
    if run.observed:
        args, kwargs = operators.with_options(args, kwargs, options_position)
    error = None
    try:
        return original(session, *args, **kwargs)
    except BaseException as raised:
        error = raised
        raise
    finally:
        recorder.end(run, error, session, call)
        error = None  # no cycle with the traceback


def unrecorded(recorder, original, session, args, kwargs):
    """Nobody wants events any more. A profile that is still open ends at the first chance."""
    state = recorder.sessions.states.get(id(session))
    profile = state.profile if state is not None else None
    if profile is None or not profile.enter():
        return original(session, *args, **kwargs)
    try:
        return original(session, *args, **kwargs)
    finally:
        profile.leave(is_last=True)


def wrap_run(recorder, original):
    """The signature is the original's since its first release: this is the call that counts."""
    wanted, profiles, captures = recorder.wanted, recorder.open_profiles, recorder.capture
    arguments = getattr(getattr(original, '__code__', None), 'co_varnames', ())[:4]
    if arguments != ('self', 'output_names', 'input_feed', 'run_options'):
        return wrap_any_run(recorder, original, feed_of(1, 'input_feed'), 2)

    @functools.wraps(original)
    def run(self, output_names, input_feed, run_options=None):
        if not wanted[0]:
            if not profiles:
                return original(self, output_names, input_feed, run_options)
            return unrecorded(recorder, original, self, (output_names, input_feed, run_options), {})
        return recorded(recorder, original, self, (output_names, input_feed, run_options), {},
                        input_feed, 2, sys._getframe().f_back,
                        captures and capture.Feed(input_feed))
    return run


def wrap_any_run(recorder, original, find_feed, options_position, find_call=None):
    wanted, captures = recorder.wanted, recorder.capture
    find_call = find_call or (lambda args, kwargs: capture.Feed(find_feed(args, kwargs)))

    @functools.wraps(original)
    def wrapper(self, *args, **kwargs):
        if not wanted[0]:
            return unrecorded(recorder, original, self, args, kwargs)
        return recorded(recorder, original, self, args, kwargs, find_feed(args, kwargs),
                        options_position, sys._getframe().f_back,
                        captures and find_call(args, kwargs))
    return wrapper


def feed_of(position, name):
    return lambda args, kwargs: argument(args, kwargs, position, name)


def bound_feed_of(recorder):
    return lambda args, kwargs: bound_shapes(recorder, argument(args, kwargs, 0, 'iobinding'))


def bound_call_of(recorder):
    """What the binding of a run holds, for those who want inputs."""
    def call(args, kwargs):
        binding = argument(args, kwargs, 0, 'iobinding')
        return capture.BoundFeed(binding, {name: bound.value for name, bound in
                                           bound_shapes(recorder, binding).items()})
    return call


class Bound:
    """The shape of an input that was bound earlier; and itself, if somebody wants inputs."""

    def __init__(self, shape, value):
        self.shape, self.value = shape, value


def bound_shapes(recorder, binding):
    try:
        return recorder.bound.get(binding, {})
    except TypeError:
        return {}


def wrap_run_async(recorder, original):
    library = recorder.library

    def begin(session, is_recorded):
        """(model or None, number of the span, profile that the run is in or None, begin)"""
        state = recorder.sessions.state_of(session)
        profile = entered(state.profile) if state.profile is not None else None
        if not is_recorded:
            return None, 0, profile, 0
        recorder.setups.write(library, state)
        number = library.request_new()
        library.event_async_begin(state.model, MAIN, INFERENCE, number)
        return state.model, number, profile, library.ticks()

    def finish(begun, status):
        model, number, profile, start = begun
        try:
            if profile is not None:
                profile.leave(is_last=bool(status) or model is None)
            if model is not None:
                library.event_async_end(model, MAIN, INFERENCE, number)
            if model is not None and recorder.capture is not None:
                recorder.capture.asynchronous(model, library.ticks() - start, bool(status))
            if model is not None and status:
                library.message(LEVEL_ERROR, as_bytes('run_async: %s' % status), STRLEN)
        except Exception as error:
            recorder.trouble(error)

    def replace(begun, args, kwargs):
        """The same arguments with a callback that ends the span first."""
        callback = argument(args, kwargs, 2, 'callback')

        def ended(results, user_data, status):
            finish(begun, status)
            return callback(results, user_data, status)

        if len(args) > 2:
            return args[:2] + (ended,) + args[3:], kwargs
        return args, dict(kwargs, callback=ended)

    @functools.wraps(original)
    def wrapper(self, *args, **kwargs):
        is_recorded = recorder.wanted[0] != 0
        if not (is_recorded or recorder.open_profiles) or \
                not callable(argument(args, kwargs, 2, 'callback')):
            return original(self, *args, **kwargs)
        try:
            begun = begin(self, is_recorded)
            site = library.location_begin(recorder.sites.of(sys._getframe().f_back) if is_recorded else 0)
        except Exception as error:
            recorder.trouble(error)
            return original(self, *args, **kwargs)
        args, kwargs = replace(begun, args, kwargs)
        try:
            return original(self, *args, **kwargs)
        except BaseException as raised:
            finish(begun, raised)
            raise
        finally:
            if site.depth:
                library.zone_end(site)
    return wrapper


def wrap_setup(recorder, original, note=None):
    """bind_*, ortvalue_from_*: their time belongs to the next run of this thread."""
    ticks, setups = recorder.library.ticks, recorder.setups

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        if not recorder.wanted[0]:
            return original(*args, **kwargs)
        start = ticks()
        result = original(*args, **kwargs)
        try:
            setups.add(start, ticks())
            if note is not None:
                note(args, kwargs)
        except Exception as error:
            recorder.trouble(error)
        return result
    return wrapper


def note_bound(recorder, position, name):
    """Remembers the shape of a bound input, for the runs that use the binding."""
    def note(args, kwargs):
        binding, given = args[0], args[1:]
        value = argument(given, kwargs, position, name)
        shape = tuple(value) if name == 'shape' else shape_of(value)
        inputs = recorder.bound.setdefault(binding, {})
        if recorder.capture is not None and name == 'shape':
            value = capture.Pointer(argument(given, kwargs, 1, 'device_type'),
                                    argument(given, kwargs, 3, 'element_type'), shape,
                                    argument(given, kwargs, 5, 'buffer_ptr'))
        inputs[argument(given, kwargs, 0, 'name')] = Bound(
            shape, capture.bound_value(value) if recorder.capture is not None else None)
    return note


def forget_bound(recorder):
    def note(args, kwargs):
        recorder.bound.pop(args[0], None)
    return note
