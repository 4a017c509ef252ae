# SPDX-License-Identifier: Apache-2.0
"""The inputs of chosen inferences (`record --capture-inputs`): from arrays to client/capture.h.

Inputs are read when the run is over, as the hooks of C programs do it: only then is it known
whether it was the slowest, or failed. libinferogram decides and writes; nothing is kept here.
"""
import ctypes
import os
import sys

from .client import MODEL, TEXT, U32, U64, as_bytes

NO_ROOM, TYPE, DEVICE, OVERWRITTEN, ASYNC = 0, 1, 2, 3, 4  # enum ifg_capture_why
CPU = 'CPUExecutionProvider'

# ONNX's numbers of types, by numpy's names of them and by ONNX Runtime's.
ARRAYS = {'f4': 1, 'u1': 2, 'i1': 3, 'u2': 4, 'i2': 5, 'i4': 6, 'i8': 7, 'b1': 9, 'f2': 10,
          'f8': 11, 'u4': 12, 'u8': 13}
VALUES = {'tensor(float)': 1, 'tensor(uint8)': 2, 'tensor(int8)': 3, 'tensor(uint16)': 4,
          'tensor(int16)': 5, 'tensor(int32)': 6, 'tensor(int64)': 7, 'tensor(bool)': 9,
          'tensor(float16)': 10, 'tensor(double)': 11, 'tensor(uint32)': 12, 'tensor(uint64)': 13,
          'tensor(bfloat16)': 16}
SIZES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}


class Tensor(ctypes.Structure):
    """struct ifg_capture_tensor"""
    _fields_ = [('name', TEXT), ('data', ctypes.c_void_p), ('dims', ctypes.POINTER(ctypes.c_int64)),
                ('rank', U32), ('type', U32)]


class Refused(Exception):
    """These inputs cannot be kept; its argument says why."""


def create(library):
    """None: nobody wants inputs."""
    if 'IFG_CAPTURE' not in os.environ:
        return None
    try:
        capture = Capture(library)
    except AttributeError:
        return None  # a libinferogram of another version is in the process
    return capture if capture.opens() else None


class Capture:
    def __init__(self, library):
        self.library = library
        # Without the interpreter's lock: writing megabytes takes a while, and others may go on.
        dll = ctypes.CDLL(library.dll._name, handle=library.dll._handle)
        self.opens, self.put = dll.ifg_capture_open, dll.ifg_capture_put
        self.put.restype = None
        self.put.argtypes = [MODEL, U32, U64, U64, ctypes.c_int, ctypes.POINTER(Tensor),
                             ctypes.c_size_t]
        self.wants, self.refuse = library.dll.ifg_capture_wants, library.dll.ifg_capture_refuse
        self.wants.argtypes = [MODEL, U64, ctypes.c_int]
        self.refuse.restype, self.refuse.argtypes = None, [ctypes.c_int]

    def after(self, session, state, event, end, call, failed):
        """An inference is over. call: its Feed."""
        library = self.library
        if not library.recording[0] or not self.wants(state.model, end - event.start, failed):
            return
        try:
            parts = call.tensors(session)
        except Refused as refused:
            self.refuse(refused.args[0])
            return
        start = library.ticks()
        tensors = (Tensor * max(1, len(parts)))()
        for tensor, (name, number, shape, address, _) in zip(tensors, parts):
            tensor.name, tensor.data, tensor.type = as_bytes(name), address, number
            tensor.dims = (ctypes.c_int64 * max(1, len(shape)))(*shape)
            tensor.rank = len(shape)
        self.put(state.model, event.location, event.start, end - event.start, failed, tensors,
                 len(parts))
        library.write_zone(library.location('inferogram: inputs kept', 'capture'), start,
                           library.ticks())

    def asynchronous(self, model, ticks, failed):
        if self.library.recording[0] and self.wants(model, ticks, failed):
            self.refuse(ASYNC)


class Feed:
    """A dictionary of inputs, as run and run_with_ort_values take it."""

    def __init__(self, feed):
        self.feed = feed

    def tensors(self, _):
        if not hasattr(self.feed, 'items'):
            raise Refused(TYPE)
        return [(name,) + describe(value) for name, value in self.feed.items()]


class BoundFeed:
    """What is bound to an IOBinding: {name: value} as it was bound."""

    def __init__(self, binding, values):
        self.binding, self.values = binding, values

    def tensors(self, session):
        if session.get_providers() != [CPU]:
            raise Refused(DEVICE)  # another provider has copied it when it was bound
        parts = [(name,) + describe(value) for name, value in self.values.items()]
        try:
            outputs = [describe(output) for output in self.binding.get_outputs()]
        except Exception:
            raise Refused(OVERWRITTEN)
        for output in map(extent, outputs):
            for own in (extent(part[1:]) for part in parts):
                if own[0] < output[1] and output[0] < own[1]:
                    raise Refused(OVERWRITTEN)
        return parts


def bound_value(value):
    """What a binding refers to. An array that is not contiguous was copied when it was bound."""
    flags = getattr(value, 'flags', None)
    return value if flags is None or flags.c_contiguous else None


class Pointer:
    """Memory that a program bound by its address."""

    def __init__(self, device, element_type, shape, address):
        self.device, self.element_type, self.shape, self.address = \
            device, element_type, shape, address

    def describe(self):
        number = self.element_type
        if not isinstance(number, int):
            number = array_type(sys.modules['numpy'].dtype(number))
        if self.device.lower() != 'cpu':
            raise Refused(DEVICE)
        if number not in SIZES:
            raise Refused(TYPE)
        return number, tuple(self.shape), self.address, None


def extent(part):
    """(first address, the one behind the last)"""
    bytes_ = SIZES[part[0]]
    for size in part[1]:
        bytes_ *= size
    return part[2], part[2] + bytes_


def array_type(dtype):
    text = dtype.str
    if dtype.name == 'bfloat16':
        return 16
    return ARRAYS.get(text[1:]) if text[0] in '|=<' else None  # this machine's order of bytes


def describe(value):
    """(type, shape, address, what must live until it was read)"""
    numpy = sys.modules.get('numpy')
    if isinstance(value, Pointer):
        return value.describe()
    if numpy is not None and isinstance(value, numpy.ndarray):
        number = array_type(value.dtype)
        if number is None:
            raise Refused(TYPE)
        kept = value if value.flags.c_contiguous else numpy.ascontiguousarray(value)
        return number, kept.shape, kept.__array_interface__['data'][0], kept
    if callable(getattr(value, 'data_ptr', None)) and callable(getattr(value, 'data_type', None)):
        if not value.is_tensor() or value.data_type() not in VALUES:
            raise Refused(TYPE)
        if value.device_name().lower() != 'cpu':
            raise Refused(DEVICE)
        return VALUES[value.data_type()], tuple(value.shape()), value.data_ptr(), value
    raise Refused(TYPE)
