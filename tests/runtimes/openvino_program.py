# SPDX-License-Identifier: Apache-2.0
"""A program that runs models with OpenVINO's C library: openvino_program.py FOLDER, see driver.py.

The models have one input of Nx4 floats. A model called broken.onnx cannot be read; "load one-step:PATH" reads and
compiles in one call.
"""
import ctypes
import glob
import sys

from driver import INT, POINTER, declare, serve

F32 = 4


class Shape(ctypes.Structure):
    _fields_ = [('rank', ctypes.c_int64), ('dims', POINTER)]


class OpenVino:
    def __init__(self, folder):
        c = self.c = ctypes.CDLL(glob.glob(f'{folder}/libopenvino_c.so*')[0])
        out = ctypes.POINTER(POINTER)
        text = ctypes.c_char_p
        declare(c, 'ov_core_read_model', INT, POINTER, text, text, out)
        declare(c, 'ov_core_compile_model', INT, POINTER, POINTER, text, ctypes.c_size_t, out)
        declare(c, 'ov_core_compile_model_from_file', INT, POINTER, text, text, ctypes.c_size_t, out)
        declare(c, 'ov_compiled_model_create_infer_request', INT, POINTER, out)
        declare(c, 'ov_tensor_create', INT, INT, Shape, out)
        declare(c, 'ov_infer_request_set_input_tensor', INT, POINTER, POINTER)
        for name in ('ov_infer_request_infer', 'ov_infer_request_free', 'ov_compiled_model_free', 'ov_model_free',
                     'ov_tensor_free', 'ov_core_free'):
            declare(c, name, INT, POINTER)
        self.core, self.tensor = POINTER(), POINTER()
        self.model, self.compiled, self.request = POINTER(), POINTER(), POINTER()
        c.ov_core_create(ctypes.byref(self.core))
        dims = (ctypes.c_int64 * 2)(1, 4)
        c.ov_tensor_create(F32, Shape(2, ctypes.cast(dims, POINTER)), ctypes.byref(self.tensor))

    def compile(self, path):
        if path.startswith(b'one-step:'):
            return self.c.ov_core_compile_model_from_file(self.core, path[len(b'one-step:'):], b'CPU', 0,
                                                          ctypes.byref(self.compiled)) == 0
        return (self.c.ov_core_read_model(self.core, path, None, ctypes.byref(self.model)) == 0 and
                self.c.ov_core_compile_model(self.core, self.model, b'CPU', 0, ctypes.byref(self.compiled)) == 0)

    def load(self, path):
        return (self.compile(path) and
                self.c.ov_compiled_model_create_infer_request(self.compiled, ctypes.byref(self.request)) == 0 and
                self.c.ov_infer_request_set_input_tensor(self.request, self.tensor) == 0)

    def run(self):
        return self.c.ov_infer_request_infer(self.request) == 0

    def close(self):
        self.c.ov_infer_request_free(self.request)
        self.c.ov_compiled_model_free(self.compiled)
        self.c.ov_model_free(self.model)
        self.c.ov_tensor_free(self.tensor)
        self.c.ov_core_free(self.core)


serve(OpenVino(sys.argv[1]))
