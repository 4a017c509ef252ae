# SPDX-License-Identifier: Apache-2.0
"""The protobuf wire format, read without any library."""


class Cut(Exception):
    """The bytes end inside a field."""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise Cut
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError('varint of more than ten bytes')


def fields(data):
    """Yields (field, value): integers, or bytes for what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            if at + size > len(data):
                raise Cut
            value = int.from_bytes(data[at:at + size], 'little')
            at += size
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise Cut
            value = data[at:at + size]
            at += size
        else:
            raise ValueError(f'wire type {kind}')
        yield tag >> 3, value


def message(data):
    """field -> list of values"""
    found = {}
    for field, value in fields(data):
        found.setdefault(field, []).append(value)
    return found


def varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
