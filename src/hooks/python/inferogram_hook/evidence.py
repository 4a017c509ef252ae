# SPDX-License-Identifier: Apache-2.0
"""How a load got its specialized model, by what can be known: formats, options, cache directories.

Nothing is guessed: a load without evidence is of state unknown.
"""
import os

from .client import CACHED, COLD, PRECOMPILED, UNKNOWN
from .options import CPU

CACHE_FILES_MAX = 4096


def cache_paths(provider_options):
    """Directories that providers were told to keep engines in: trt_engine_cache_path, cache_dir."""
    paths = []
    for options in provider_options:
        for key, value in options.items():
            key = str(key).lower()
            if 'cache' in key and ('path' in key or 'dir' in key) and value:
                paths.append(str(value))
    return paths


def context_paths(options, model_path):
    """Where ONNX Runtime writes the model as providers compiled it, if it was told to."""
    def entry(key):
        try:
            return options.get_session_config_entry(key)
        except Exception:  # it has none, or is a version that does not tell
            return ''
    named = entry('ep.context_file_path')
    if named:
        return [named]
    if entry('ep.context_enable') != '1' or not model_path:
        return []
    path = os.fsdecode(model_path)
    return [os.path.splitext(path)[0] + '_ctx.onnx', path + '_ctx.onnx']


def cache_files(paths):
    """Names with their times, so that a rewritten file counts as new."""
    found = set()
    for path in paths:
        try:
            if os.path.isfile(path):
                found.add((path, os.stat(path).st_mtime_ns))
                continue
            with os.scandir(path) as entries:
                for entry in entries:
                    if len(found) < CACHE_FILES_MAX and entry.is_file():
                        found.add((entry.path, entry.stat().st_mtime_ns))
        except OSError:
            continue
    return found


def level_name(options):
    level = str(getattr(options, 'graph_optimization_level', ''))
    return level.rpartition('.')[2].replace('ORT_ENABLE_', '').replace('ORT_', '').lower()


def judge(content, options, providers, caches, before, after, contexts=()):
    """(state, why) of a load that has succeeded; `providers` are those of the session."""
    level = level_name(options)
    new = sorted(path for path, _ in after - before)
    if new and new[0] in contexts:
        return COLD, 'a provider compiled the model and it was saved: ' + new[0]
    if new:
        return COLD, 'a provider wrote its engine cache: ' + new[0]
    if caches and any(path not in contexts for path, _ in after):
        return CACHED, 'a provider has its engine cache in ' + caches[0]
    if content.has_ep_context:
        return PRECOMPILED, 'the model holds parts that a provider compiled before (EPContext)'
    if content.is_ort_format:
        return PRECOMPILED, 'the model is in ORT format, which is optimized when it is written'
    if level == 'disable_all' and content.is_saved_by_ort:
        return PRECOMPILED, 'saved by ONNX Runtime after optimization, loaded with it off'
    if any(name != CPU for name in providers):
        return UNKNOWN, 'a provider may have compiled the model; it keeps no cache we know'
    if level == 'disable_all':
        return UNKNOWN, 'graph optimization is off, and nothing tells if it was done before'
    if not level or not content.size:
        return UNKNOWN, "the model's bytes could not be looked at"
    saved = getattr(options, 'optimized_model_filepath', '')
    return COLD, 'the graph was optimized while loading' + (', and saved' if saved else '')
