# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models, written by hand: make_models.py FOLDER.

relu.onnx      one node "relu"; x is Nx4, N is free
chain.onnx     twenty element-wise nodes "n00" to "n19" that no optimizer fuses
mixed.onnx     twelve nodes "m00" to "m11": Sin, Relu, Cos, and again
relus.onnx     three nodes "r00" to "r02", all of them Relu
fusable.onnx   Identity nodes and constants that graph optimization removes
if.onnx        flag (bool) decides between two subgraphs; x is Nx4
quote.onnx     the node's name has a double quote and a backslash
newline.onnx   the same, and the end of a line
twins.onnx     the bytes of relu.onnx with another graph name
unknown.onnx   a node of an operator that does not exist
broken.onnx    not protobuf
text.onnx      x and y are N texts
weight.onnx    y = x + w; w is a constant that an input may replace
shapeless.onnx x is declared without a shape
list.onnx      the output "many" is a sequence, y a tensor
later.onnx     needs operators of a set that does not exist
kernels.onnx   an operator on a type that no provider computes
outside.onnx   its constant is in a file that is not there
Graphs are called FILE_graph.
"""
import os
import struct
import sys

FLOAT, INT32, INT64, STRING, BOOL, UINT32 = 1, 6, 7, 8, 9, 12
GRAPH_ATTRIBUTE = 5


def varint(value):
    out = b''
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, value):
    """A protobuf field: an integer, or bytes, text or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, name, inputs, output, attributes=b''):
    return field(1, b''.join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op) + attributes)


def value(name, kind, dims):
    shape = b''.join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def weights(name, numbers):
    return field(1, len(numbers)) + field(2, FLOAT) + field(8, name) + field(9, struct.pack(f'<{len(numbers)}f', *numbers))


def graph(name, nodes, inputs, outputs, initializers=()):
    return (b''.join(nodes) + field(2, name) + b''.join(field(5, i) for i in initializers) +
            b''.join(field(11, i) for i in inputs) + b''.join(field(12, o) for o in outputs))


def model(body, opset=13):
    return field(1, 8) + field(2, 'inferogram tests') + field(7, body) + field(8, field(1, '') + field(2, opset))


X, Y = value('x', FLOAT, ['N', 4]), value('y', FLOAT, ['N', 4])


def relu(name='relu_graph', node_name='relu', op='Relu'):
    return model(graph(name, [node(op, node_name, ['x'], 'y')], [X], [Y]))


def series(name, prefix, count, ops):
    """Nodes one after the other; the operators in turn."""
    nodes = [node(ops[i % len(ops)], f'{prefix}{i:02}', ['x' if i == 0 else f't{i - 1}'],
                  'y' if i == count - 1 else f't{i}') for i in range(count)]
    return model(graph(name, nodes, [X], [Y]))


def fusable():
    nodes = [node('Add', 'sum of constants', ['a', 'b'], 'c'), node('Identity', 'same', ['x'], 'x1'),
             node('Add', 'bias', ['x1', 'c'], 'z'), node('Relu', 'rectify', ['z'], 'y')]
    return model(graph('fusable_graph', nodes, [X], [Y], [weights('a', [1, 2, 3, 4]), weights('b', [-9, 1, 1, -9])]))


def branches():
    def branch(name, op):
        return graph(name, [node(op, f'{name} {op}', ['x'], f'{name}_y')], [], [value(f'{name}_y', FLOAT, ['N', 4])])

    def attribute(name, body):
        return field(5, field(1, name) + field(6, body) + field(20, GRAPH_ATTRIBUTE))

    choice = attribute('then_branch', branch('yes', 'Relu')) + attribute('else_branch', branch('no', 'Neg'))
    return model(graph('if_graph', [node('If', 'choose', ['flag'], 'y', choice)], [X, value('flag', BOOL, [])], [Y]))


def texts():
    return model(graph('text_graph', [node('Identity', 'same', ['x'], 'y')], [value('x', STRING, ['N'])],
                       [value('y', STRING, ['N'])]))


def weight():
    return model(graph('weight_graph', [node('Add', 'sum', ['x', 'w'], 'y')], [X, value('w', FLOAT, [4])], [Y],
                       [weights('w', [1, 2, 3, 4])]))


def shapeless():
    def anything(name):
        return field(1, name) + field(2, field(1, field(1, FLOAT)))

    return model(graph('shapeless_graph', [node('Relu', 'relu', ['x'], 'y')], [anything('x')], [anything('y')]))


def sequence():
    many = field(1, 'many') + field(2, field(4, field(1, field(1, field(1, FLOAT)))))
    return model(graph('list_graph', [node('SequenceConstruct', 'put', ['x', 'x'], 'many'),
                                      node('Relu', 'relu', ['x'], 'y')], [X], [many, Y]))


def kernels():
    return model(graph('kernels_graph', [node('CumSum', 'add up', ['x', 'axis'], 'y')],
                       [value('x', UINT32, ['N']), value('axis', INT32, [])], [value('y', UINT32, ['N'])]))


def outside():
    where = field(13, field(1, 'location') + field(2, 'nowhere.bin'))
    tensor = field(1, 4) + field(2, FLOAT) + field(8, 'w') + where + field(14, 1)
    return model(graph('outside_graph', [node('Add', 'sum', ['x', 'w'], 'y')], [X], [Y], [tensor]))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    models = {'relu': relu(), 'chain': series('chain_graph', 'n', 20, ['Abs', 'Neg', 'Sigmoid', 'Sin', 'Tanh']),
              'mixed': series('mixed_graph', 'm', 12, ['Sin', 'Relu', 'Cos']),
              'relus': series('relus_graph', 'r', 3, ['Relu']), 'fusable': fusable(), 'if': branches(),
              'quote': relu('quote_graph', 'say "hi" \\ there'),
              'newline': relu('newline_graph', 'say "hi" \\ there\nand here'), 'twins': relu('twins_graph'),
              'unknown': relu('unknown_graph', 'strange', 'NoSuchOperator'), 'broken': b'this is not a model\xff' * 4,
              'text': texts(), 'weight': weight(), 'shapeless': shapeless(), 'list': sequence(),
              'later': model(graph('later_graph', [node('Relu', 'relu', ['x'], 'y')], [X], [Y]), 9999),
              'kernels': kernels(), 'outside': outside()}
    for name, content in models.items():
        with open(os.path.join(folder, name + '.onnx'), 'wb') as file:
            file.write(content)


if __name__ == '__main__':
    main()
