# SPDX-License-Identifier: Apache-2.0
"""Writes a package `onnxruntime` that does nothing: fake_onnxruntime.py FOLDER. For a test of the hook
under Pythons that have no wheel."""
import os
import sys

INIT = '''
__version__ = '1.20.0'
from onnxruntime.capi._pybind_state import SessionOptions, get_available_providers
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
'''
BINDINGS = '''
class SessionOptions(object):
    graph_optimization_level = 'GraphOptimizationLevel.ORT_ENABLE_ALL'
class InferenceSession(object):
    def initialize_session(self, providers, provider_options, disabled):
        pass
def get_available_providers():
    return ['CPUExecutionProvider']
'''
COLLECTION = '''
from onnxruntime.capi import _pybind_state as C
class Session(object):
    def get_providers(self):
        return ['CPUExecutionProvider']
    def run(self, output_names, input_feed, run_options=None):
        return sorted(input_feed)
class InferenceSession(Session):
    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        self._model_path, self._model_bytes = path_or_bytes, None
        self._sess_options = sess_options
        self._create_inference_session(providers, provider_options)
    def _create_inference_session(self, providers, provider_options, disabled_optimizers=None):
        C.InferenceSession().initialize_session(providers, provider_options, disabled_optimizers)
'''

root = os.path.join(sys.argv[1], 'onnxruntime')
os.makedirs(os.path.join(root, 'capi'))
for name, text in (('__init__', INIT), ('capi/__init__', ''), ('capi/_pybind_state', BINDINGS),
                   ('capi/onnxruntime_inference_collection', COLLECTION)):
    with open(os.path.join(root, name + '.py'), 'w') as file:
        file.write(text)
