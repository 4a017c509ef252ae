# SPDX-License-Identifier: Apache-2.0
"""Puts the wrappers into iree.runtime: devices, modules, contexts and calls of exported functions.

Every call is one inference: `VmContext.invoke`, or the `FunctionInvoker` around it where there is
one, whose conversion of the arguments is the set-up. nanobind, which IREE's classes are made with,
reports at exit what still refers to them, and our wrappers do: so they are taken out at exit.
"""
import atexit
import functools
import os
import re
import sys
import threading

from . import calls, client, identity, iree_modules, keys
from .client import status_text

PACKAGE = 'iree.runtime'
NEEDED = (('VmContext', 'invoke'), ('VmContext', 'context_id'), ('VmFunction', 'name'),
          ('VmFunction', 'module_name'), ('VmModule', 'name'))
LOADS = ('mmap', 'from_flatbuffer', 'from_buffer', 'copy_buffer', 'wrap_buffer')
DEVICE_MAKERS = ('create_device_by_uri', 'create_device', 'create_default_device')
OPERATORS_REASON = "IREE's Python interface gives its dispatches to nobody: profile with " \
    '--device_profiling_output of its tools, and import that'


def version_of(folder):
    """Of the package that is installed around this folder; '' where it does not say."""
    try:
        for name in os.listdir(os.path.dirname(os.path.dirname(folder))):
            found = re.match(r'iree_(?:base_)?%s-([^-]*)\.dist-info$' % os.path.basename(folder),
                             name)
            if found:
                return found.group(1)
    except OSError:
        pass
    return ''


def install(library, package, hooks_directory):
    folder = os.path.dirname(package.__file__)
    version = version_of(folder)
    name = client.instrument_name(PACKAGE, version)
    binding = getattr(package, '_binding', None)
    missing = [cls + '.' + method for cls, method in NEEDED
               if not hasattr(getattr(binding, cls, None), method)]
    if missing:
        library.report(name, client.UNAVAILABLE, 'this iree.runtime has no %s that this Inferogram '
                       'knows' % missing[0])
        return
    modules = iree_modules.Modules(library, ('IREE ' + version).strip(),
                                   identity.Reader(hooks_directory))
    recorder = Recorder(library, modules, calls.Sites(library, folder), name)
    wrappers = Wrappers()
    try:
        wrap_devices(recorder, wrappers, package, binding)
        wrap_modules(recorder, wrappers, binding)
        wrap_calls(recorder, wrappers, package, binding)
    except Exception:
        wrappers.remove()
        raise
    atexit.register(wrappers.remove)
    library.report(name, client.ON, 'import hook')
    if os.environ.get('IFG_OPS'):
        library.report('operators of IREE', client.UNAVAILABLE, OPERATORS_REASON)


class Wrappers:
    """What was put in, and what was there before."""

    def __init__(self):
        self.replaced = []

    def put(self, owner, name, make):
        """Nothing where there is none. nanobind's functions are static where they are no methods."""
        original = vars(owner).get(name) if owner is not None else None
        if original is None:
            return
        wrapper = functools.wraps(original, assigned=('__name__', '__qualname__', '__doc__'),
                                  updated=())(make(original))
        if isinstance(owner, type) and type(original).__name__ == 'nb_func':
            wrapper = staticmethod(wrapper)
        setattr(owner, name, wrapper)
        self.replaced.append((owner, name, original, vars(owner)[name]))

    def remove(self):
        while self.replaced:
            owner, name, original, ours = self.replaced.pop()
            if vars(owner).get(name) is ours:
                setattr(owner, name, original)


class Call:
    """A FunctionInvoker that is converting arguments; the invocation inside it takes it over."""
    __slots__ = ('start', 'shapes', 'site')


class Recorder:
    def __init__(self, library, modules, sites, instrument):
        self.library, self.modules, self.sites = library, modules, sites
        self.wanted = library.wanted
        self.instrument = instrument
        self.shapes = calls.Shapes()
        self.known_shapes = {}  # shapes of all arguments: as text
        self.locations = iree_modules.Locations(library)
        self.here = threading.local()  # .call, .requested

    def trouble(self, error):
        try:
            self.library.report_trouble(self.instrument, error)
        except Exception:
            pass

    def safely(self, function, *args):
        """What it returns, or None if it failed, which is ours and not the program's."""
        try:
            return function(*args)
        except Exception as error:
            self.trouble(error)
            return None

    # ---- calls of exported functions ----

    def begin_call(self, arguments, frame):
        call = Call()
        try:
            call.shapes = self.known_shapes[tuple([value.shape for value in arguments])]
        except (AttributeError, KeyError, TypeError):
            call.shapes = self.describe(arguments)
        call.site = self.library.location_begin(self.sites.outside(frame))
        call.start = self.library.ticks()
        return call

    def describe(self, arguments):
        text = self.shapes.of({'arg%d' % at: value for at, value in enumerate(arguments)})[0] \
            if arguments else b''
        try:
            if len(self.known_shapes) < calls.SHAPES_MAX:
                self.known_shapes[tuple([value.shape for value in arguments])] = text
        except (AttributeError, TypeError):
            pass  # not all are arrays
        return text

    def begin_invoke(self, context, function, frame):
        """(zone of the inference, zone of the line that asked for it or None)"""
        library = self.library
        call, self.here.call = getattr(self.here, 'call', None), None
        number, module = self.modules.of_call(context, function.module_name)
        setup, inference = self.locations.of(self.modules.model_of(module), function.name)
        site = None
        if call is None:
            site = library.location_begin(self.sites.outside(frame))
        else:
            library.write_zone(setup, call.start, library.ticks())
        zone = library.location_begin(inference)
        if number:
            library.zone_detail_int(zone, keys.SESSION, number)
        if call is not None and call.shapes:
            library.zone_detail_string(zone, keys.SHAPES, call.shapes)
        return zone, site

    def end_invoke(self, begun, error):
        zone, site = begun
        if error is not None:
            self.library.zone_detail_string(zone, keys.STATUS, status_text(error))
        if zone.depth:
            self.library.zone_end(zone)
        if site is not None and site.depth:
            self.library.zone_end(site)

    def refuse_call(self, invoker, call, error):
        """The arguments could not be converted: a call that failed all the same."""
        function = invoker.vm_function
        number, module = self.modules.of_call(invoker._vm_context, function.module_name)
        _, inference = self.locations.of(self.modules.model_of(module), function.name)
        self.library.write_zone(
            inference, call.start, self.library.ticks(),
            [(keys.SESSION, number)] * (number > 0) + [(keys.STATUS, status_text(error))])

    def end_call(self, call):
        if call.site.depth:
            self.library.zone_end(call.site)

    # ---- modules ----

    def prepare_load(self, name, args, kwargs):
        if name == 'mmap':
            return self.modules.of_file(calls.argument(args, kwargs, 1, 'filepath'))
        return self.modules.of_buffer(calls.argument(args, kwargs, 1, 'buffer'))

    def module_to_set_up(self, made):
        """The last that is a program's: those that it needs come before it."""
        found = [self.modules.known_as(one) for one in made]
        found = [one for one in found if isinstance(one, iree_modules.Module)]
        return found[-1] if found else None


def unframed(raised):
    """An error of the program's call, without the wrapper in its traceback, which may be printed.
    Python before 3.11 keeps it there."""
    if raised.__traceback__ is not None:
        raised.__traceback__ = raised.__traceback__.tb_next
    return raised


def wrap_calls(recorder, wrappers, package, binding):
    wanted, here = recorder.wanted, recorder.here

    def make_invoke(original):
        def invoke(self, *args, **kwargs):
            begun = recorder.safely(recorder.begin_invoke, self, args[0], sys._getframe(1)) \
                if wanted[0] and args else None
            if begun is None:
                return original(self, *args, **kwargs)
            error = None
            try:
                return original(self, *args, **kwargs)
            except BaseException as raised:
                error = unframed(raised)
                raise
            finally:
                recorder.safely(recorder.end_invoke, begun, error)
                error = None  # no cycle with the traceback
        return invoke

    def make_call(original):
        def call(self, /, *args, **kwargs):
            begun = recorder.safely(recorder.begin_call, args, sys._getframe(1)) \
                if wanted[0] else None
            if begun is None:
                return original(self, *args, **kwargs)
            outer, here.call = getattr(here, 'call', None), begun
            try:
                return original(self, *args, **kwargs)
            except BaseException as raised:
                unframed(raised)
                if here.call is begun:
                    recorder.safely(recorder.refuse_call, self, begun, raised)
                raise
            finally:
                here.call = outer
                recorder.safely(recorder.end_call, begun)
        return call

    wrappers.put(binding.VmContext, 'invoke', make_invoke)
    wrappers.put(getattr(package, 'FunctionInvoker', None), '__call__', make_call)


def wrap_modules(recorder, wrappers, binding):
    modules, wanted, library = recorder.modules, recorder.wanted, recorder.library

    def maker_of_loads(name):
        def make(original):
            def load(*args, **kwargs):
                module = None if library.is_confined() else \
                    recorder.safely(recorder.prepare_load, name, args, kwargs)
                zone = recorder.safely(modules.begin_load, module) \
                    if wanted[0] and module is not None else None
                error = None
                try:
                    made = original(*args, **kwargs)
                    if module is not None:
                        recorder.safely(modules.remember, made, module)
                    return made
                except BaseException as raised:
                    error = unframed(raised)
                    raise
                finally:
                    if zone is not None:
                        recorder.safely(modules.end_load, zone, error)
                    error = None
            return load
        return make

    def maker_of_contexts(position):
        def make(original):
            def take_in(self, *args, **kwargs):
                given = calls.argument(args, kwargs, position, 'modules')
                given = given if isinstance(given, (list, tuple)) else ()
                module = recorder.safely(recorder.module_to_set_up, given)
                zone = recorder.safely(modules.begin_setup, module) \
                    if wanted[0] and module is not None else None
                error = None
                try:
                    result = original(self, *args, **kwargs)
                    recorder.safely(modules.enter, self, given)
                    return result
                except BaseException as raised:
                    error = unframed(raised)
                    raise
                finally:
                    if zone is not None:
                        recorder.safely(recorder.end_invoke, (zone, None), error)
                    error = None
            return take_in
        return make

    for name in LOADS:
        wrappers.put(binding.VmModule, name, maker_of_loads(name))
    wrappers.put(binding.VmContext, '__init__', maker_of_contexts(1))
    wrappers.put(binding.VmContext, 'register_modules', maker_of_contexts(0))


def wrap_devices(recorder, wrappers, package, binding):
    modules, ticks, here = recorder.modules, recorder.library.ticks, recorder.here

    def make_device(original):
        def create(*args, **kwargs):
            if not recorder.wanted[0]:
                return original(*args, **kwargs)
            start, error, device = ticks(), None, None
            try:
                device = original(*args, **kwargs)
                return device
            except BaseException as raised:
                error = unframed(raised)
                raise
            finally:
                asked = args[1] if len(args) > 1 else kwargs.get('device_uri', '')
                recorder.safely(modules.note_prepare, start, ticks(),
                                asked if isinstance(asked, str) and asked else repr(device), error)
                device = error = None
        return create

    def remember_device(made, device, devices):
        names = [repr(each) for each in ([device] if device is not None else devices or ())]
        modules.remember(made, iree_modules.Device(
            ','.join(names), getattr(here, 'requested', None) or ''))

    def make_hal_module(original):
        def create_hal_module(*args, **kwargs):
            try:
                made = original(*args, **kwargs)
            except BaseException as raised:
                unframed(raised)
                raise
            recorder.safely(remember_device, made, calls.argument(args, kwargs, 1, 'device'),
                            calls.argument(args, kwargs, 2, 'devices'))
            return made
        return create_hal_module

    def make_config(original):
        def init(self, *args, **kwargs):
            here.requested = calls.argument(args, kwargs, 0, 'driver_name')
            try:
                return original(self, *args, **kwargs)
            except BaseException as raised:
                unframed(raised)
                raise
            finally:
                here.requested = None
        return init

    for name in DEVICE_MAKERS:
        wrappers.put(getattr(binding, 'HalDriver', None), name, make_device)
    for module in (binding, package):
        wrappers.put(module, 'create_hal_module', make_hal_module)
    wrappers.put(getattr(package, 'Config', None), '__init__', make_config)
