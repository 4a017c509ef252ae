# SPDX-License-Identifier: Apache-2.0
"""libinferogram through ctypes: the calls of inferogram.h that the hook needs, and their types.

PyDLL, not CDLL: the calls take less than a microsecond and never block, so giving up the
interpreter's lock around each would cost more than the call and shuffle the program's threads.
"""
import ctypes
import os

SONAME = 'libinferogram.so.0'

PREPARE_EP, SPECIALIZATION, LOAD, SETUP, INFERENCE = 1, 2, 3, 4, 5
UNKNOWN, COLD, CACHED, PRECOMPILED = 0, 1, 2, 3
ON, UNAVAILABLE = 1, 2
LEVEL_ERROR = 4
STRLEN = ctypes.c_size_t(-1).value
LOCATIONS_MAX = 4096
TEXT_MAX = 1000


class Zone(ctypes.Structure):
    _fields_ = [('start', ctypes.c_uint64), ('location', ctypes.c_uint32),
                ('depth', ctypes.c_uint32)]


class ModelOptions(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in (
        'name', 'path', 'content_id', 'runtime', 'requested_devices', 'actual_devices')]


class LocationOptions(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_size_t), ('name', ctypes.c_char_p),
                ('function', ctypes.c_char_p), ('file', ctypes.c_char_p),
                ('model', ctypes.c_void_p), ('kind', ctypes.c_uint32), ('line', ctypes.c_uint32),
                ('color', ctypes.c_uint32)]


MODEL, TEXT, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
U32, U64, I64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
FUNCTIONS = {
    'ticks': (U64, []),
    'location_create': (U32, [ctypes.POINTER(LocationOptions)]),
    'event_location': (U32, [MODEL, TEXT, INT]),
    'location_begin': (Zone, [U32]),
    'location_begin_at': (Zone, [U32, U64]),
    'zone_end': (None, [Zone]),
    'zone_end_at': (None, [Zone, U64]),
    'zone_detail_string': (None, [Zone, TEXT, TEXT]),
    'zone_detail_int': (None, [Zone, TEXT, I64]),
    'event_load_state': (None, [Zone, INT]),
    'event_async_begin': (None, [MODEL, TEXT, INT, U64]),
    'event_async_end': (None, [MODEL, TEXT, INT, U64]),
    'request_new': (U64, []),
    'message': (None, [INT, TEXT, ctypes.c_size_t]),
    'model_create': (MODEL, [ctypes.POINTER(ModelOptions)]),
    'model_destroy': (None, [MODEL]),
    'model_property': (None, [MODEL, TEXT, TEXT]),
    'instrument_report': (None, [TEXT, INT, TEXT]),
    'session_directory': (TEXT, []),
    'file_hand_over': (None, [MODEL, TEXT, TEXT]),
}


def as_bytes(text):
    return str(text).encode('utf-8', 'replace')[:TEXT_MAX].replace(b'\0', b' ')


def status_text(error):
    return b'error: ' + as_bytes(error)


def candidates(hooks_directory):
    """Where the library may lie: beside the hooks, installed or in a build tree."""
    above = os.path.dirname(hooks_directory)
    given = os.environ.get('IFG_HOOKS_DIR')
    folders = [given] if given else []
    folders += [above, os.path.join(above, '..', '..'), os.path.join(above, '..')]
    for folder in folders:
        yield os.path.join(folder, SONAME)
    yield SONAME


def load(hooks_directory):
    """The one that is in the process already, else the one of this installation; or None."""
    for path, mode in [(SONAME, os.RTLD_NOLOAD | os.RTLD_NOW)] + [
            (path, os.RTLD_NOW) for path in candidates(hooks_directory)]:
        try:
            return Library(ctypes.PyDLL(path, mode=mode))
        except (OSError, AttributeError, ValueError):
            continue
    return None


class Library:
    """The functions of inferogram.h without their prefix, and what is built from them."""

    def __init__(self, dll):
        self.dll = dll
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(dll, 'ifg_' + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        # Not 0 once the program has confined itself (seccomp): no files, no directories then.
        self.is_confined = getattr(dll, 'ifg_is_confined', lambda: 0)
        # A view of the library's own pointer, which moves when the process forks: recording[0].
        self.recording = ctypes.POINTER(U32).in_dll(dll, 'ifg_recording_word')
        # The same for events of models, which profiling handles want as well: wanted[0].
        self.wanted = ctypes.POINTER(U32).in_dll(dll, 'ifg_event_word')
        self.locations = {}
        self.told = set()
        self.trouble_told = set()

    def location(self, name, function, file='', line=0):
        """A location of zones; made once for each description."""
        key = (name, function, file, line)
        if key not in self.locations:
            if len(self.locations) >= LOCATIONS_MAX:
                return 0
            options = LocationOptions(ctypes.sizeof(LocationOptions), as_bytes(name), as_bytes(function),
                                   as_bytes(file), None, 0, line, 0)
            self.locations[key] = self.location_create(ctypes.byref(options))
        return self.locations[key]

    def model(self, name, path, content_id, runtime, requested):
        texts = [as_bytes(text) for text in (name, path, content_id, runtime, requested)]
        options = ModelOptions(ctypes.sizeof(ModelOptions), *texts)
        return self.model_create(ctypes.byref(options))

    def write_zone(self, location, start, end, details=()):
        """A zone of the past, with details: a pair's value is text (bytes) or a number."""
        zone = self.location_begin_at(location, start)
        self.details(zone, details)
        if zone.depth:
            self.zone_end_at(zone, end)

    def details(self, zone, details):
        for key, value in details:
            if isinstance(value, bytes):
                self.zone_detail_string(zone, key, value)
            else:
                self.zone_detail_int(zone, key, value)

    def tell(self, model, key, value):
        """A model's property, once: the log that holds them is finite."""
        fact = (model, key, value)
        if fact not in self.told and len(self.told) < LOCATIONS_MAX:
            self.told.add(fact)
            self.model_property(model, as_bytes(key), as_bytes(value))

    def report(self, name, state, reason):
        fact = (name, state, reason)
        if fact not in self.told:
            self.told.add(fact)
            self.instrument_report(as_bytes(name), state, as_bytes(reason))

    def report_trouble(self, instrument, error):
        """The hook itself failed. Said once; the program's call goes on without us."""
        if instrument not in self.trouble_told:
            self.trouble_told.add(instrument)
            reason = 'the import hook failed: %s: %s' % (type(error).__name__, error)
            self.report(instrument, UNAVAILABLE, reason)


def instrument_name(package, version):
    return ('%s (Python) %s' % (package, version)).strip()
