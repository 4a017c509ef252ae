# SPDX-License-Identifier: Apache-2.0
"""Operators of some runs (`record --ops`).

ONNX Runtime 1.25 and later: an execution provider that takes no node, the observer, is put into the
session and told of every operator while it runs; profiling is turned on for every Nth run only.
Earlier: ONNX Runtime's own profile of a session's first runs, handed over to the recorder. Never
where the program profiles by itself, brings its own run options or forbids the CPU.
"""
import atexit
import ctypes
import os
import re
import struct
import sys
import threading

from . import placement
from .client import ON, UNAVAILABLE, as_bytes
from .options import CPU, NO_CPU_FALLBACK, entry

LIBRARY = 'libinferogram-ort.so'
# Two names on purpose: how the library is registered, and how its provider is called.
REGISTERED_AS = 'InferogramObserver'
# A profile cannot be written there, which is the point: events reach the observer all the same.
NO_DIRECTORY = b'/nonexistent/inferogram/run'
SESSION_RUNS_MAX = 64
NODE_EVENTS_MAX = 20000
MARKS = (3, 0x1f06a77)  # severity and verbosity that a fresh RunOptions does not have


def version_tuple(version):
    numbers = re.match(r'(\d+)\.(\d+)', version)
    return (int(numbers.group(1)), int(numbers.group(2))) if numbers else (0, 0)


def create(library, sessions, package, hooks_directory):
    """What IFG_OPS asks for, as far as this wheel allows it; None if it asks for nothing."""
    every = os.environ.get('IFG_OPS', '')
    if not every.isdigit() or int(every) < 1:
        return None
    if version_tuple(sessions.version) >= (1, 25):
        return Observer(library, sessions, package, hooks_directory, int(every))
    return SessionProfiles(library, sessions, package)


def reason_against(creation):
    """Why a session must be left alone, or ''."""
    if getattr(creation.options, 'enable_profiling', False):
        return 'the program profiles this session itself'
    if entry(creation.options, NO_CPU_FALLBACK) == '1':
        return NO_CPU_FALLBACK + ' is set'
    if creation.policy:
        return 'the program lets a policy choose the provider'
    return ''


def ordinal(number):
    ending = 'th' if number % 100 in (11, 12, 13) else \
        {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')
    return '%d%s' % (number, ending)


class Operators:
    how = ''

    def __init__(self, library, sessions, package):
        self.library = library
        self.sessions = sessions
        self.package = package

    def refuse(self, reason):
        self.library.report('operators', UNAVAILABLE, reason)
        return False

    def prepare(self, session, creation):
        """Before a session is created."""

    def providers_for(self, creation, providers, provider_options):
        """The providers that the session gets."""
        return providers, provider_options

    def restore(self, session, creation):
        """After it was created, or not."""

    def adopt(self, session, creation, state):
        """It was created, and this is its state."""

    def begin_run(self, state):
        """True if the operators of this run are to be observed."""
        return False

    def end_run(self, run, error):
        """An inference ends; its event is still open."""


class Observer(Operators):
    how = 'observer'

    def __init__(self, library, sessions, package, hooks_directory, every):
        super().__init__(library, sessions, package)
        self.every = every
        self.path = find_library(hooks_directory)
        self.lock = threading.Lock()
        self.is_ready = None
        self.provider = ''
        self.run_options = None

    def prepare(self, session, creation):
        reason = reason_against(creation)
        creation.wants_observer = not reason and self.ready()
        if reason:
            self.refuse(reason)

    def ready(self):
        with self.lock:
            if self.is_ready is None:
                try:
                    self.is_ready = self.start()
                except Exception as error:
                    self.is_ready = self.refuse('%s: %s' % (type(error).__name__, error))
        return self.is_ready

    def start(self):
        """Registers the observer and makes the run options that turn profiling on."""
        if not self.path:
            return self.refuse('%s was not found' % LIBRARY)
        before = {device.ep_name for device in self.package.get_ep_devices()}
        self.package.register_execution_provider_library(REGISTERED_AS, self.path)
        added = [device.ep_name for device in self.package.get_ep_devices()
                 if device.ep_name not in before]
        if not added:
            return self.refuse('the observer found no device')
        self.provider = added[0]
        dll = ctypes.PyDLL(self.path)
        self.observe = dll.ifg_ort_observe
        self.observe.restype, self.observe.argtypes = None, [ctypes.c_void_p]
        self.run_options = profiled_run_options(self.package, dll)
        if self.run_options is None:
            return self.refuse('run options of this onnxruntime cannot be changed')
        self.library.report('operators', ON, 'every %s inference, observer' % ordinal(self.every))
        return True

    def providers_for(self, creation, providers, provider_options):
        """The observer comes last but before the CPU; it never claims a node."""
        if not creation.wants_observer:
            return providers, provider_options
        if not providers:
            if not is_default_cpu(self.package, creation):
                creation.wants_observer = \
                    self.refuse('the providers are set in the SessionOptions')
                return providers, provider_options
            providers, provider_options = [CPU], [{}]
        at = providers.index(CPU) if CPU in providers else len(providers)
        options = list(provider_options) or [{} for _ in providers]
        return (providers[:at] + [self.provider] + providers[at:],
                options[:at] + [{}] + options[at:])

    def restore(self, session, creation):
        """The program must not meet a provider that it did not ask for."""
        providers = getattr(session, '_providers', None) or []
        creation.is_observed = creation.wants_observer and self.provider in providers
        if creation.is_observed:
            session._providers = [name for name in providers if name != self.provider]
            session._provider_options.pop(self.provider, None)

    def adopt(self, session, creation, state):
        if not creation.is_observed:
            return
        state.observed = True
        self.library.tell(state.model, 'ops.every', self.every)
        self.library.tell(state.model, 'ops.how', self.how)

    def begin_run(self, state):
        """The second run and every Nth after it: the first one is worth seeing undisturbed."""
        if not state.observed or next(state.runs) % self.every != 1 % self.every:
            return False
        self.observe(state.model)
        return True

    def with_options(self, args, kwargs, position):
        if len(args) > position:
            return args[:position] + (self.run_options,) + args[position + 1:], kwargs
        return args, dict(kwargs, run_options=self.run_options)

    def end_run(self, run, error):
        if run.observed:
            self.observe(None)
            self.library.zone_detail_int(run.event, b'ops', 1)

    def hide(self, devices):
        return [device for device in devices
                if not self.provider or getattr(device, 'ep_name', device) != self.provider]


def find_library(hooks_directory):
    above = os.path.dirname(hooks_directory)
    for folder in (os.environ.get('IFG_HOOKS_DIR'), above):
        path = os.path.join(folder, LIBRARY) if folder else ''
        if path and os.path.exists(path):
            return path
    return ''


def is_default_cpu(package, creation):
    """No provider was asked for in any way, and this build has none but the CPU to choose."""
    has_providers = getattr(creation.options, 'has_providers', None)
    if has_providers is None or has_providers():
        return False
    return set(package.get_all_providers()) & set(package.get_available_providers()) <= \
        {CPU, 'AzureExecutionProvider'}


def profiled_run_options(package, dll):
    """RunOptions with profiling on. Python offers no such attribute: the observer's library asks
    ONNX Runtime's C interface, given the address of the object behind the Python one."""
    run_options = package.RunOptions()
    address = address_behind(run_options)
    if not address:
        return None
    enable = dll.ifg_ort_profile_run
    enable.restype, enable.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
    return run_options if enable(address, NO_DIRECTORY) == 0 else None


def address_behind(run_options):
    """pybind11 keeps it right after the object's head. Believed only if two numbers that were set
    through Python stand there; read through the kernel, which refuses where memory is not ours."""
    kind = type(run_options)
    if kind.__basicsize__ < object.__basicsize__ + 2 * struct.calcsize('P'):
        return 0
    previous = run_options.log_severity_level, run_options.log_verbosity_level
    run_options.log_severity_level, run_options.log_verbosity_level = MARKS
    try:
        with open('/proc/self/mem', 'rb', 0) as memory:
            memory.seek(id(run_options) + object.__basicsize__)
            address = struct.unpack('P', memory.read(struct.calcsize('P')))[0]
            memory.seek(address)
            return address if memory.read(8) == struct.pack('ii', *MARKS) else 0
    except (OSError, OverflowError, ValueError, struct.error):
        return 0
    finally:
        run_options.log_severity_level, run_options.log_verbosity_level = previous


class SessionProfiles(Operators):
    how = 'session profile'

    def __init__(self, library, sessions, package):
        super().__init__(library, sessions, package)
        self.number = 0
        self.open_profiles = set()
        self.lock = threading.Lock()
        self.watched_pid = 0
        atexit.register(self.finish_all)

    def watch_exit(self):
        """A forked worker of multiprocessing ends without atexit."""
        util = sys.modules.get('multiprocessing.util')
        if util is not None and self.watched_pid != os.getpid():
            self.watched_pid = os.getpid()
            util.Finalize(None, self.finish_all, exitpriority=0)

    def prepare(self, session, creation):
        state = self.sessions.states.get(id(session))
        if state is not None and state.profile is not None:
            state.profile.finish()  # the session is made anew
        creation.prefix = ''
        directory = self.library.session_directory()
        reason = reason_against(creation)
        if reason or not directory:
            self.refuse(reason or 'the recorder takes no files')
            return
        if creation.options is None:
            session._sess_options = creation.options = self.package.SessionOptions()
        with self.lock:
            self.number += 1
            creation.prefix = '%s/file-%d-%d' % (os.fsdecode(directory), os.getpid(), self.number)
        creation.old_prefix = creation.options.profile_file_prefix
        creation.options.enable_profiling = True
        creation.options.profile_file_prefix = creation.prefix

    def restore(self, session, creation):
        """The session has its own copy of the options by now; the program's are as before."""
        if not creation.prefix:
            return
        for options in (creation.options, session._sess_options):
            if options is not None:
                options.enable_profiling = False
                options.profile_file_prefix = creation.old_prefix

    def adopt(self, session, creation, state):
        if creation.prefix:
            limit = min(SESSION_RUNS_MAX, NODE_EVENTS_MAX // max(1, creation.content.node_count))
            state.profile = Profile(self, session._sess, state, creation, max(1, limit))
            self.open_profiles.add(state.profile)
            self.watch_exit()
            self.library.report('operators', ON, 'first %d inferences of each session, '
                                'session profile' % SESSION_RUNS_MAX)
            self.library.tell(state.model, 'ops.how', self.how)
            self.library.tell(state.model, 'ops.every', 1)

    def end_run(self, run, error):
        profile = run.state.profile
        if profile is None:
            return  # another thread has just ended it
        if error is not None:
            # Whether a failed run is in the profile depends on where it failed. Those before it
            # can still be told apart.
            profile.finish()
            return
        self.library.zone_detail_int(run.event, b'ops', 1)
        profile.add(run.event.start, self.library.ticks())

    def finish_all(self):
        for profile in list(self.open_profiles):
            profile.finish()


class Profile:
    """ONNX Runtime's profile of one session, and the runs that are in it."""

    def __init__(self, owner, c_session, state, creation, limit):
        self.owner, self.c_session, self.limit = owner, c_session, limit
        self.model, self.number, self.prefix = state.model, state.number, creation.prefix
        self.requested = creation.names
        self.state = state
        self.pid = os.getpid()
        self.runs = []
        self.lock = threading.Lock()

    def add(self, start, end):
        self.runs.append((start, threading.get_native_id(), end))
        if len(self.runs) >= self.limit:
            self.finish()

    def finish(self):
        with self.lock:
            c_session, self.c_session = self.c_session, None
        if c_session is None or self.pid != os.getpid():
            return
        self.state.profile = None
        self.owner.open_profiles.discard(self)
        try:
            self.hand_over(c_session.end_profiling())
        except Exception as error:
            self.owner.refuse('%s: %s' % (type(error).__name__, error))

    def hand_over(self, json_path):
        if not json_path:
            return
        library, path = self.owner.library, self.prefix + '.runs'
        self.tell_placement(json_path)
        with open(path, 'w', encoding='ascii', errors='surrogateescape') as file:
            file.write('inferogram ort-profile 1\nprofile %s\nsession %d\n' % (
                os.path.abspath(json_path), self.number))
            for start, thread, end in sorted(self.runs):
                file.write('run %d %d %d\n' % (thread, start, end))
        library.file_hand_over(self.model, b'ort-profile', as_bytes(path))

    def tell_placement(self, json_path):
        """With several providers only the profile of an old ONNX Runtime shows who got what."""
        if len(self.requested) < 2:
            return
        nodes = {}
        with open(json_path, 'rb') as file:
            for line in file:
                provider = re.search(rb'"provider"\s*:\s*"(\w+)"', line)
                index = re.search(rb'"node_index"\s*:\s*"(\d+)"', line)
                if provider and index:
                    nodes[index.group(1)] = provider.group(1).decode()
        counts = {}
        for name in nodes.values():
            counts[name] = counts.get(name, 0) + 1
        if counts:
            placement.tell_counts(self.owner.library, self.model, counts, self.requested, 'profile')
