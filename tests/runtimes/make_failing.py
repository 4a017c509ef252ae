# SPDX-License-Identifier: Apache-2.0
"""Models that load and then fail in every run: make_failing.py FOLDER.

gather.onnx    an index out of bounds: the kernel returns an error
reshape.onnx   a shape that does not fit: the kernel throws
inside.onnx    the same inside of the branches of an If
Each has a node before the one that fails, and x is Nx4.
"""
import os
import struct
import sys

from make_models import FLOAT, GRAPH_ATTRIBUTE, INT64, X, field, graph, model, node, value


def integers(name, numbers):
    return field(1, len(numbers)) + field(2, INT64) + field(8, name) + field(9, struct.pack(f'<{len(numbers)}q', *numbers))


def after_abs(op, name, numbers):
    nodes = [node('Abs', 'fine', ['x'], 't'), node(op, name, ['t', 'n'], 'y')]
    return model(graph(f'{name}_graph', nodes, [X], [value('y', FLOAT, ['A'])], [integers('n', numbers)]))


def inside():
    def attribute(name):
        body = graph(name, [node('Reshape', f'reshape {name}', ['t', 'n'], f'{name}_y')], [],
                     [value(f'{name}_y', FLOAT, ['A'])])
        return field(5, field(1, name) + field(6, body) + field(20, GRAPH_ATTRIBUTE))

    size = node('Size', 'size', ['x'], 's')
    test = node('Greater', 'test', ['s', 'zero'], 'flag')
    zero = field(2, INT64) + field(8, 'zero') + field(9, struct.pack('<q', 0))
    nodes = [node('Abs', 'fine', ['x'], 't'), size, test,
             node('If', 'choose', ['flag'], 'y', attribute('then_branch') + attribute('else_branch'))]
    return model(graph('inside_graph', nodes, [X], [value('y', FLOAT, ['A'])], [integers('n', [3]), zero]))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, content in {'gather': after_abs('Gather', 'gather', [9]), 'reshape': after_abs('Reshape', 'reshape', [3]),
                          'inside': inside()}.items():
        with open(os.path.join(folder, name + '.onnx'), 'wb') as file:
            file.write(content)


if __name__ == '__main__':
    main()
