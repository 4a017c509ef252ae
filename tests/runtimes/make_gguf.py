# SPDX-License-Identifier: Apache-2.0
"""A model for llama.cpp that is as small as it can be, with random weights: make_gguf.py FILE.

One block, 64 tokens without texts: it can be decoded, and has nothing to say.
"""
import math
import random
import struct
import sys

EMBEDDING, HEADS, FORWARD, TOKENS = 32, 2, 64, 64
UINT32, FLOAT32, STRING = 4, 6, 8
META = [
    ('general.architecture', STRING, 'llama'),
    ('llama.vocab_size', UINT32, TOKENS),
    ('llama.context_length', UINT32, 4096),
    ('llama.embedding_length', UINT32, EMBEDDING),
    ('llama.block_count', UINT32, 1),
    ('llama.feed_forward_length', UINT32, FORWARD),
    ('llama.attention.head_count', UINT32, HEADS),
    ('llama.attention.head_count_kv', UINT32, HEADS),
    ('llama.rope.dimension_count', UINT32, EMBEDDING // HEADS),
    ('llama.attention.layer_norm_rms_epsilon', FLOAT32, 1e-5),
    ('tokenizer.ggml.model', STRING, 'none'),
]
TENSORS = [
    ('token_embd', EMBEDDING, TOKENS), ('output_norm', EMBEDDING), ('output', EMBEDDING, TOKENS),
    ('blk.0.attn_norm', EMBEDDING), ('blk.0.attn_q', EMBEDDING, EMBEDDING), ('blk.0.attn_k', EMBEDDING, EMBEDDING),
    ('blk.0.attn_v', EMBEDDING, EMBEDDING), ('blk.0.attn_output', EMBEDDING, EMBEDDING), ('blk.0.ffn_norm', EMBEDDING),
    ('blk.0.ffn_gate', EMBEDDING, FORWARD), ('blk.0.ffn_down', FORWARD, EMBEDDING), ('blk.0.ffn_up', EMBEDDING, FORWARD),
]


def text(value):
    return struct.pack('<Q', len(value)) + value.encode()


def pair(key, kind, value):
    packed = text(value) if kind == STRING else struct.pack('<I' if kind == UINT32 else '<f', value)
    return text(key) + struct.pack('<I', kind) + packed


def padded(data):
    return data + bytes(-len(data) % 32)


def model():
    chance = random.Random(1)
    head = b'GGUF' + struct.pack('<IQQ', 3, len(TENSORS), len(META)) + b''.join(pair(*meta) for meta in META)
    weights = b''
    for name, *shape in TENSORS:
        head += text(name + '.weight') + struct.pack(f'<I{len(shape)}QIQ', len(shape), *shape, 0, len(weights))
        count = math.prod(shape)
        weights = padded(weights + struct.pack(f'<{count}f', *(chance.uniform(-.1, .1) for _ in range(count))))
    return padded(head) + weights


if __name__ == '__main__':
    with open(sys.argv[1], 'wb') as out:
        out.write(model())
