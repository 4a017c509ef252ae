# SPDX-License-Identifier: Apache-2.0
"""What a model is: its content's hash, its format, and the marks that earlier specialization left.

The C hooks look at model files cheaply enough to be asked before a load: at all of a small file, at
samples of a large one, and past its weights. So a model has the same identity in every language.
"""
import ctypes
import os

LIBRARY = 'libinferogram-ort.so'


def find_library(hooks_directory):
    above = os.path.dirname(hooks_directory)
    for folder in (os.environ.get('IFG_HOOKS_DIR'), above):
        path = os.path.join(folder, LIBRARY) if folder else ''
        if path and os.path.exists(path):
            return path
    return ''


class Identity(ctypes.Structure):
    """struct model_identity of hooks/ort/identity.h."""
    _fields_ = [('hash', ctypes.c_uint64), ('bytes', ctypes.c_uint64),
                ('graph_name', ctypes.c_char * 128), ('nodes', ctypes.c_uint),
                ('is_ort_format', ctypes.c_bool), ('has_ep_context', ctypes.c_bool),
                ('saved_by_ort', ctypes.c_bool)]


class Content:
    """Facts about a model's bytes; empty ones where they could not be read."""

    def __init__(self, found):
        self.hash = '%016x' % found.hash
        self.size = found.bytes
        self.graph_name = found.graph_name.decode('utf-8', 'replace')
        self.node_count = found.nodes
        self.is_ort_format = found.is_ort_format
        self.has_ep_context = found.has_ep_context
        self.is_saved_by_ort = found.saved_by_ort


class Reader:
    """Asks the C hooks; without them every model is unknown."""

    def __init__(self, hooks_directory):
        try:
            # CDLL: a file may lie on a slow disk, and other threads go on meanwhile.
            library = ctypes.CDLL(find_library(hooks_directory) or LIBRARY)
            self.identify_file, self.identify = \
                library.ifg_ort_identify_file, library.ifg_ort_identify
            self.identify_file.restype = self.identify.restype = None
            self.identify_file.argtypes = [ctypes.c_char_p, ctypes.POINTER(Identity)]
            self.identify.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Identity)]
        except (OSError, AttributeError):
            self.identify_file = self.identify = lambda *arguments: None

    def of_bytes(self, data):
        found = Identity()
        if isinstance(data, bytes):
            self.identify(data, len(data), ctypes.byref(found))
        return Content(found)

    def of_memory(self, address, size):
        found = Identity()
        self.identify(address, size, ctypes.byref(found))
        return Content(found)

    def of_file(self, path):
        found = Identity()
        self.identify_file(os.fsencode(path), ctypes.byref(found))
        return Content(found)
