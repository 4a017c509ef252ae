# SPDX-License-Identifier: Apache-2.0
"""Operators of some runs (`record --ops`).

ONNX Runtime 1.25 and later: an execution provider that takes no node, the observer, is put into the
session and told of every operator while it runs; profiling is turned on for every Nth run only.
Earlier: session_profile.py. Never where the program profiles by itself, forbids the CPU or lets a
policy choose; runs for which it brings its own options are left alone.
"""
import ctypes
import os
import re
import struct
import threading

from . import keys
from .client import ON, UNAVAILABLE
from .identity import LIBRARY, find_library
from .options import CPU, NO_CPU_FALLBACK, entry

REGISTERED_AS = 'InferogramObserver'
# A profile cannot be written there, which is the point: events reach the observer all the same.
NO_DIRECTORY = b'/nonexistent/inferogram/run'
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
    from .session_profile import SessionProfiles
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
        self.has_worked = False

    def refuse(self, reason):
        """One session without operators is not worth a word if others have them."""
        if not self.has_worked:
            self.library.report('operators', UNAVAILABLE, reason)
        return False

    def work(self, model, every, reason):
        self.has_worked = True
        self.library.report('operators', ON, reason)
        self.library.tell(model, keys.PROPERTY_OPS_EVERY, every)
        self.library.tell(model, keys.PROPERTY_OPS_HOW, self.how)

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

    def end_run(self, run):
        """An observed inference ends; its event is still open."""


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
        dll = ctypes.PyDLL(self.path)
        enable = dll.ifg_ort_profile_run
        enable.restype, enable.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
        self.observe = dll.ifg_ort_observe
        self.observe.restype, self.observe.argtypes = None, [ctypes.c_void_p]
        run_options = self.package.RunOptions()
        address = address_behind(run_options)
        if not address:
            return self.refuse('run options of this onnxruntime cannot be changed')
        before = {device.ep_name for device in self.package.get_ep_devices()}
        self.package.register_execution_provider_library(REGISTERED_AS, self.path)
        added = [device.ep_name for device in self.package.get_ep_devices()
                 if device.ep_name not in before]
        # Python offers no way to profile a run: the library asks the C interface that ONNX Runtime
        # has just handed to it.
        self.provider, self.run_options = ''.join(added[:1]), run_options
        if not added or enable(address, NO_DIRECTORY) != 0:
            return self.refuse('the observer does not work with this onnxruntime')
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
        self.work(state.model, self.every, 'every %s inference, observer' % ordinal(self.every))

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

    def end_run(self, run):
        self.observe(None)
        self.library.zone_detail_int(run.event, keys.OPS, 1)

    def hide(self, devices):
        return [device for device in devices
                if not self.provider or getattr(device, 'ep_name', device) != self.provider]


def is_default_cpu(package, creation):
    """No provider was asked for in any way, and this build has none but the CPU to choose."""
    has_providers = getattr(creation.options, 'has_providers', None)
    if has_providers is None or has_providers():
        return False
    return set(package.get_all_providers()) & set(package.get_available_providers()) <= \
        {CPU, 'AzureExecutionProvider'}


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
