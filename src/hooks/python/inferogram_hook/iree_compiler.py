# SPDX-License-Identifier: Apache-2.0
"""compile_file and compile_str of iree.compiler: they run iree-compile, which is a specialization.

Which model it is for is known afterwards, from the module that came out. Until then a zone says
that something is being compiled.
"""
import functools
import os

from . import client, identity, iree_modules, iree_runtime, keys
from .client import SPECIALIZATION, status_text

PACKAGE = 'iree.compiler'


def install(library, core, hooks_directory):
    folder = os.path.dirname(os.path.dirname(core.__file__))
    version = iree_runtime.version_of(folder)
    name = client.instrument_name(PACKAGE, version)
    functions = [one for one in ('compile_file', 'compile_str') if hasattr(core, one)]
    if not functions:
        library.report(name, client.UNAVAILABLE, 'this iree.compiler has no compile_file that this '
                       'Inferogram knows')
        return
    modules = iree_modules.Modules(library, ('IREE ' + version).strip(),
                                   identity.Reader(hooks_directory))
    for one in functions:
        setattr(core, one, wrap(library, modules, name, getattr(core, one)))
    library.report(name, client.ON, 'import hook')


def wrap(library, modules, instrument, original):
    location = library.location('iree.compiler.' + original.__name__, original.__name__)

    def write(source, options, result, start, end, error):
        output = options.get('output_file')
        if isinstance(result, bytes):
            module = modules.of_buffer(result)
        elif output and error is None:
            module = modules.of_file(output)
        else:
            name = str(source) if original.__name__ == 'compile_file' else ''
            module = iree_modules.Module('', None, os.path.splitext(os.path.basename(name))[0])
        details = [(keys.STATUS, status_text(error))] if error is not None else []
        library.write_zone(library.event_location(
            modules.model_of(module), iree_modules.MAIN, SPECIALIZATION), start, end, details)

    @functools.wraps(original)
    def compile_module(*args, **kwargs):
        if not library.wanted[0]:
            return original(*args, **kwargs)
        zone = library.location_begin(location)
        start, result, error = library.ticks(), None, None
        try:
            result = original(*args, **kwargs)
            return result
        except BaseException as raised:
            error = iree_runtime.unframed(raised)
            raise
        finally:
            try:
                write(args[0] if args else '', kwargs, result, start, library.ticks(), error)
                if zone.depth:
                    library.zone_end(zone)
            except Exception as trouble:
                library.report_trouble(instrument, trouble)
            result = error = None
    return compile_module
