# SPDX-License-Identifier: Apache-2.0
"""What the tests of the server share: asking it, and reading its binary answers."""

import array
import http.client
import json
import struct
import time
import urllib.parse

KINDS = {0x4c474649: 'slices', 0x43474649: 'counters', 0x50474649: 'points'}


class Server:
    """The server at the address that `inferogram serve` printed."""

    def __init__(self, url):
        self.base, self.token = url.split('/#token=')
        parts = urllib.parse.urlparse(self.base)
        self.host, self.port = parts.hostname, parts.port

    def ask(self, path, method='GET', headers=None, token=True):
        """(status, headers, body) of one request; path is what stands behind the host."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        fields = {'Authorization': 'Bearer ' + self.token} if token else {}
        fields.update(headers or {})
        connection.request(method, path, headers=fields)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    def api(self, path, expect=200):
        """The answer at /api/PATH, waiting while a trace is loaded."""
        for _ in range(600):
            status, _, body = self.ask('/api/' + path)
            if status != 503:
                break
            assert json.loads(body)['error'] == 'loading' and 0 <= json.loads(body)['progress'] <= 1, body
            time.sleep(0.02)
        assert status == expect, (path, status, body[:300])
        return body

    def json(self, path, expect=200):
        return json.loads(self.api(path, expect))

    def columns(self, path):
        return decode(self.api(path))


def decode(body):
    """A binary answer as a dictionary of columns."""
    magic, version, count, rows, t0, t1 = struct.unpack_from('<IIIIdd', body)
    kind = KINDS[magic]
    assert version == 1, version
    names = {'slices': [('start', 'd'), ('duration', 'f'), ('location', 'I'), ('count', 'I'), ('id', 'I'), ('row', 'H'),
                        ('flags', 'B')],
             'counters': [('time', 'd'), ('min', 'f'), ('max', 'f'), ('last', 'f')],
             'points': [('start', 'd'), ('duration', 'f'), ('id', 'I')]}[kind]
    result = {'kind': kind, 'n': count, 'rows': rows, 't0': t0, 't1': t1}
    at = 32
    for name, code in names:
        column = array.array(code)
        column.frombytes(body[at:at + count * column.itemsize])
        assert len(column) == count, (name, len(column), count)
        result[name] = column
        at += (count * column.itemsize + 7) // 8 * 8
    assert at == len(body), (at, len(body))
    return result
