# SPDX-License-Identifier: Apache-2.0
"""IREE's modules and contexts in this process: what was loaded, from where, onto which device.

Neither of IREE's objects can be referenced weakly, and a strong reference would keep a program's
memory alive. So modules are known by their address, and believed only if the name agrees: whatever
makes a module passes here, and a new one at an old address replaces what was known. Contexts have
numbers that are never used twice.
"""
import itertools
import os
import struct
import sys
import threading

from . import keys
from .client import INFERENCE, LOAD, PREPARE_EP, PRECOMPILED, SETUP, as_bytes, status_text

MAIN = b'main'
INITIALIZER = b'__init'  # the function that a new context runs
DEFAULT_NAME = 'module'  # what iree-compile calls a module that its source does not name
KNOWN_MAX = 16384
PREPARES_MAX = 64
NAME_MAX = 512
ZIP_HEADER = struct.Struct('<4s22xHH')


def file_reader(file):
    return lambda offset, size: os.pread(file, size, offset)


def module_name(read):
    """The name inside a .vmfb, or ''. read(offset, size) gives bytes; fewer at the end.

    A FlatBuffer with its size in front, behind the header of a ZIP file if there is one. The name
    is the first field of its root table."""
    def number(kind, at):
        return struct.unpack('<' + kind, read(at, struct.calcsize(kind)))[0]

    try:
        base = 4
        head = read(0, ZIP_HEADER.size)
        if head[:4] == b'PK\x03\x04':
            _, name_bytes, extra_bytes = ZIP_HEADER.unpack(head)
            base += ZIP_HEADER.size + name_bytes + extra_bytes
        if read(base + 4, 4) != b'IREE':
            return ''
        table = base + number('I', base)
        fields = table - number('i', table)
        if number('H', fields) < 6 or number('H', fields + 4) == 0:
            return ''
        name = table + number('H', fields + 4)
        name += number('I', name)
        return read(name + 4, min(number('I', name), NAME_MAX)).decode('utf-8', 'replace')
    except (OSError, OverflowError, ValueError, struct.error):
        return ''


class Module:
    """One VmModule, as far as it is known."""

    def __init__(self, path, content, name):
        self.path, self.content, self.name = path, content, name
        self.model = None

    def title(self):
        """The module's own name; that of its file where it was given none."""
        base = os.path.basename(self.path)
        base = base[:-5] if base.endswith('.vmfb') else base
        return base if base and self.name in ('', DEFAULT_NAME) else self.name or DEFAULT_NAME


class Device:
    """The module through which a context uses its devices."""
    name = 'hal'

    def __init__(self, device, requested):
        self.device, self.requested = device, requested


class Context:
    def __init__(self, number):
        self.number = number
        self.modules = {}  # by name


class Modules:
    def __init__(self, library, runtime, reader):
        self.library = library
        self.runtime = runtime
        self.reader = reader  # of content
        self.known = {}  # address of a VmModule: Module or Device
        self.contexts = {}  # context_id: Context
        self.strangers = {}  # name: Module, of contexts whose creation was not seen
        self.devices = {}  # (model, key): names
        self.numbers = itertools.count(1)
        self.here = threading.local()  # .prepares

    # ---- what is loaded ----

    def of_file(self, path):
        path = os.path.abspath(os.fsdecode(path))
        name = ''
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                name = module_name(file_reader(file))
            finally:
                os.close(file)
        except OSError:
            pass  # IREE is going to say so
        return Module(path, self.reader.of_file(path), name)

    def of_buffer(self, buffer):
        data = memoryview(buffer).cast('B')
        name = module_name(lambda offset, size: bytes(data[offset:offset + size]))
        # numpy has the address of a buffer that is read-only too; it comes with iree.runtime.
        content = self.reader.of_bytes(buffer) if isinstance(buffer, bytes) else \
            self.reader.of_memory(sys.modules['numpy'].frombuffer(data, 'uint8').ctypes.data,
                                  len(data))
        return Module('', content, name)

    def model_of(self, module):
        if module.model is None:
            library, content = self.library, module.content
            has_content = content is not None and content.size > 0
            module.model = model = library.model(
                module.title(), module.path, content.hash if has_content else '', self.runtime, '')
            if module.name:
                library.tell(model, keys.PROPERTY_GRAPH_NAME, module.name)
            if has_content:
                library.tell(model, keys.PROPERTY_CONTENT, content.hash)
                library.tell(model, keys.PROPERTY_FILE_BYTES, content.size)
                library.tell(model, keys.PROPERTY_SOURCE, 'file' if module.path else 'memory')
        return module.model

    def remember(self, made, what):
        """What a VmModule is; of too many, the oldest are forgotten."""
        what.name = made.name
        keep(self.known, id(made), what)

    def known_as(self, made):
        what = self.known.get(id(made))
        return what if what is not None and what.name == made.name else None

    # ---- events ----

    def begin_load(self, module):
        model = self.model_of(module)
        self.write_prepares(model)
        return self.library.location_begin(self.library.event_location(model, MAIN, LOAD))

    def end_load(self, zone, error):
        library = self.library
        if error is not None:
            library.zone_detail_string(zone, keys.STATUS, status_text(error))
        else:
            library.event_load_state(zone, PRECOMPILED)
            library.zone_detail_string(zone, keys.WHY, b'iree-compile made it ahead of time')
        if zone.depth:
            library.zone_end(zone)

    def begin_setup(self, module):
        """A context takes modules in: it loads their executables and runs their initializers."""
        model = self.model_of(module)
        self.write_prepares(model)
        return self.library.location_begin(
            self.library.event_location(model, INITIALIZER, SETUP))

    # ---- contexts ----

    def enter(self, context, made):
        """A context has taken these modules in."""
        number = context.context_id
        known = self.contexts.get(number)
        if known is None:
            known = Context(next(self.numbers))
            keep(self.contexts, number, known)
        found = [what for what in map(self.known_as, made) if what is not None]
        for device in [what for what in found if isinstance(what, Device)]:
            known.modules[device.name] = device
        device = known.modules.get(Device.name)
        for module in [what for what in found if isinstance(what, Module)]:
            known.modules[module.name] = module
            if isinstance(device, Device):
                self.tell_devices(module, device)

    def tell_devices(self, module, device):
        """A model may be in several contexts: all of their devices."""
        model, tell = self.model_of(module), self.library.tell
        for key, added in ((keys.PROPERTY_REQUESTED_DEVICES, device.requested),
                           (keys.PROPERTY_ACTUAL_DEVICES, device.device)):
            names = self.devices.setdefault((model, key), [])
            names += [name for name in added.split(',') if name and name not in names]
            if names:
                tell(model, key, ','.join(names))
        tell(model, keys.PROPERTY_PLACEMENT_SOURCE, 'the device of the context')

    def of_call(self, context, name):
        """(number of the context, its module)"""
        known = self.contexts.get(context.context_id)
        module = known.modules.get(name) if known is not None else None
        if not isinstance(module, Module):
            module = self.strangers.get(name)
            if module is None:
                module = Module('', None, name)
                keep(self.strangers, name, module)
        return known.number if known is not None else 0, module

    # ---- devices get ready before it is known for which model ----

    def note_prepare(self, start, end, device, error):
        prepares = self.here.__dict__.setdefault('prepares', [])
        details = [(keys.PROVIDER, as_bytes(device))]
        if error is not None:
            details.append((keys.STATUS, status_text(error)))
        if len(prepares) < PREPARES_MAX:
            prepares.append((start, end, details))

    def write_prepares(self, model):
        prepares, self.here.prepares = self.here.__dict__.get('prepares', []), []
        if prepares:
            location = self.library.event_location(model, MAIN, PREPARE_EP)
            for start, end, details in prepares:
                self.library.write_zone(location, start, end, details)


class Locations:
    """Where the events of exported functions go: (setup, inference)."""

    def __init__(self, library):
        self.library = library
        self.known = {}

    def of(self, model, function):
        key = (model, function)
        found = self.known.get(key)
        if found is None:
            name = as_bytes(function)
            found = (self.library.event_location(model, name, SETUP),
                     self.library.event_location(model, name, INFERENCE))
            keep(self.known, key, found)
        return found


def keep(known, key, value):
    known.pop(key, None)
    while len(known) >= KNOWN_MAX:
        try:
            del known[next(iter(known))]
        except (KeyError, RuntimeError):
            break  # another thread was faster
    known[key] = value
