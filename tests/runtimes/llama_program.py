# SPDX-License-Identifier: Apache-2.0
"""A program that decodes tokens with libllama: llama_program.py FOLDER, see driver.py.

Structures that are passed by value are taken from the library and given back as they are, so nothing is known of
what is in them; they may be larger here than there.
"""
import ctypes
import glob
import sys

from driver import INT, POINTER, declare, serve


class Opaque(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 1024)]


class Llama:
    def __init__(self, folder):
        ctypes.CDLL(f'{folder}/libggml-base.so', mode=ctypes.RTLD_GLOBAL)
        ggml = ctypes.CDLL(glob.glob(f'{folder}/libggml.*so')[0], mode=ctypes.RTLD_GLOBAL)
        llama = ctypes.CDLL(glob.glob(f'{folder}/libllama.*so')[0])
        self.log = ctypes.CFUNCTYPE(None, INT, ctypes.c_char_p, POINTER)(lambda level, text, user: None)
        declare(llama, 'llama_log_set', None, POINTER, POINTER)(ctypes.cast(self.log, POINTER), None)
        declare(ggml, 'ggml_backend_load_all_from_path', None, ctypes.c_char_p)(folder.encode())
        llama.llama_backend_init()
        self.model_defaults = declare(llama, 'llama_model_default_params', Opaque)()
        self.context_defaults = declare(llama, 'llama_context_default_params', Opaque)()
        self.load_file = declare(llama, 'llama_model_load_from_file', POINTER, ctypes.c_char_p, Opaque)
        self.make_context = declare(llama, 'llama_init_from_model', POINTER, POINTER, Opaque)
        self.batch = declare(llama, 'llama_batch_get_one', Opaque, POINTER, ctypes.c_int32)
        self.decode = declare(llama, 'llama_decode', INT, POINTER, Opaque)
        self.set_threads = declare(llama, 'llama_set_n_threads', None, POINTER, ctypes.c_int32, ctypes.c_int32)
        self.free = declare(llama, 'llama_free', None, POINTER)
        self.free_model = declare(llama, 'llama_model_free', None, POINTER)
        self.token = (ctypes.c_int32 * 1)(3)
        self.model = self.context = None

    def load(self, path):
        model = self.load_file(path, self.model_defaults)
        if not model:
            return False
        self.close()
        self.model, self.context = model, self.make_context(model, self.context_defaults)
        if self.context:
            self.set_threads(self.context, 1, 1)  # more of them only wait for each other
        return bool(self.context)

    def run(self):
        return self.decode(self.context, self.batch(ctypes.cast(self.token, POINTER), 1)) == 0

    def close(self):
        if self.model:
            self.free(self.context)
            self.free_model(self.model)


serve(Llama(sys.argv[1]))
