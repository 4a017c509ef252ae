# SPDX-License-Identifier: Apache-2.0
"""What a model is: its content's hash, its format, and the marks that earlier specialization left.

Called after a load, so that reading the file here does not make the program's own reading faster.
"""
import os
import zlib

WHOLE_MAX = 16 << 20
SAMPLE = 4 << 20
CACHE_MAX = 256
# ONNX Runtime writes this import into every graph that it saves, at the end of the file.
SAVED_BY_ORT = b'com.microsoft.nchwc'
TAIL = 4096
NODES_MAX = 100000

_files = {}


class Content:
    """Facts about a model's bytes; empty ones where they could not be read."""

    def __init__(self, chunks=(), size=0):
        crc, adler = 0, 1
        self.size = size
        self.is_ort_format = self.has_ep_context = self.is_saved_by_ort = False
        for index, chunk in enumerate(chunks):
            crc, adler = zlib.crc32(chunk, crc), zlib.adler32(chunk, adler)
            if index == 0:
                self.is_ort_format = chunk[4:8] == b'ORTM'
                self.graph_name, self.node_count = graph_outline(chunk)
            self.has_ep_context |= chunk.find(b'EPContext') >= 0
            self.is_saved_by_ort = chunk.find(SAVED_BY_ORT, max(0, len(chunk) - TAIL)) >= 0
        if not chunks:
            self.graph_name, self.node_count = '', 0
        self.hash = '%08x%08x' % (crc, adler ^ (size & 0xffffffff))


def samples(size):
    """What is looked at: all of it, or the beginning, the middle and the end: (offset, bytes)."""
    if size <= WHOLE_MAX:
        return [(0, size)]
    return [(0, SAMPLE), (size // 2, SAMPLE), (size - SAMPLE, SAMPLE)]


def of_bytes(data):
    view = memoryview(data)
    return Content([bytes(view[at:at + count]) if len(view) > WHOLE_MAX else data
                    for at, count in samples(len(view))], len(view))


def of_file(path):
    """Read once for each version of the file: programs load the same model again and again."""
    try:
        stat = os.stat(path)
        key = (os.path.abspath(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if key not in _files:
            if len(_files) >= CACHE_MAX:
                _files.clear()
            _files[key] = read_file(path, stat.st_size)
        return _files[key]
    except OSError:
        return Content()


def read_file(path, size):
    chunks = []
    with open(path, 'rb') as file:
        for at, count in samples(size):
            file.seek(at)
            chunks.append(file.read(count))
    return Content(chunks, size)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128 or shift > 63:
            return value, at
        shift += 7


def fields(data, at, end):
    """Top-level protobuf fields of a message: (number, wire type, start, end)."""
    for _ in range(NODES_MAX):
        if at >= end:
            return
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 2:
            length, at = varint(data, at)
            yield number, at, at + length
            at += length
        elif kind == 0:
            at = varint(data, at)[1]
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            return


def graph_outline(data):
    """Name and number of nodes of an ONNX graph; ('', 0) if the bytes are something else."""
    name, count = '', 0
    try:
        for number, start, end in fields(data, 0, len(data)):
            if number == 7:
                for number, start, end in fields(data, start, min(end, len(data))):
                    if number == 1:
                        count += 1
                    elif number == 2:
                        name = data[start:end].decode('utf-8', 'replace')
                break
    except IndexError:
        pass
    return name, count
