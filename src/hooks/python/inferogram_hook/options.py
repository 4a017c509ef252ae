# SPDX-License-Identifier: Apache-2.0
"""What the program asked for: session options as text, providers in order, selection policy."""
import weakref

CPU = 'CPUExecutionProvider'
RECORD_ASSIGNMENT = 'session.record_ep_graph_assignment_info'
NO_CPU_FALLBACK = 'session.disable_cpu_ep_fallback'
# Entries cannot be listed; these change speed or placement.
ENTRIES = (NO_CPU_FALLBACK, 'session.load_model_format', 'session.disable_prepacking',
           'session.intra_op.allow_spinning', 'session.inter_op.allow_spinning',
           'session.intra_op_thread_affinities', 'session.use_env_allocators',
           'session.set_denormal_as_zero', 'session.dynamic_block_base', 'ep.context_enable',
           'ep.context_file_path', 'mlas.enable_gemm_fastmath_arm64_bfloat16')


class Asked:
    """Calls on SessionOptions that leave nothing to read: providers of devices, policies."""

    def __init__(self):
        self.providers = weakref.WeakKeyDictionary()
        self.policies = weakref.WeakKeyDictionary()

    def note_provider(self, options, name):
        names = self.providers.setdefault(options, [])
        if name not in names:
            names.append(name)

    def providers_of(self, options):
        return list(self.providers.get(options, ())) if options is not None else []

    def policy_of(self, options):
        return self.policies.get(options, '') if options is not None else ''


def entry(options, key):
    """A configuration entry; '' where it is not set."""
    try:
        return options.get_session_config_entry(key)
    except Exception:  # the wheel raises RuntimeError for what was never set
        return ''


def provider_list(providers, provider_options):
    """Names, and the options of each, in every form that InferenceSession accepts."""
    names, settings = [], []
    for index, provider in enumerate(providers or ()):
        if isinstance(provider, (tuple, list)):
            name, given = provider[0], provider[1] if len(provider) > 1 else {}
        else:
            name = provider
            given = provider_options[index] if provider_options else {}
        names.append(str(name))
        settings.append(dict(given) if given else {})
    return names, settings


def with_cpu_last(names):
    """ONNX Runtime adds the CPU by itself."""
    return [name for name in names if name != CPU] + [CPU]


def as_text(options, names, settings):
    words = []
    for word, attribute in (('intra_op_threads', 'intra_op_num_threads'),
                            ('inter_op_threads', 'inter_op_num_threads'),
                            ('graph_optimization', 'graph_optimization_level'),
                            ('execution_mode', 'execution_mode'),
                            ('mem_pattern', 'enable_mem_pattern'),
                            ('cpu_mem_arena', 'enable_cpu_mem_arena'),
                            ('profiling', 'enable_profiling'),
                            ('optimized_model', 'optimized_model_filepath')):
        value = str(getattr(options, attribute, ''))
        value = value.rpartition('.')[2] if value.startswith(('Graph', 'Execution')) else value
        for prefix in ('ORT_ENABLE_', 'ORT_'):
            value = value[len(prefix):].lower() if value.startswith(prefix) else value
        if value and value != 'False':
            words.append('%s=%s' % (word, value))
    words += ['%s=%s' % (key, entry(options, key)) for key in ENTRIES if entry(options, key)]
    for name, given in zip(names, settings):
        words += ['%s.%s=%s' % (name, key, given[key]) for key in sorted(given, key=str)]
    return ' '.join(words)
