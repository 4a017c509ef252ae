# SPDX-License-Identifier: Apache-2.0
"""Who is refused, and how: guard.py URL CASE"""

import concurrent.futures
import http.client
import json
import os
import socket
import subprocess
import sys
import time

from client import Server, decode


def token(server):
    assert server.ask('/api/traces')[0] == 200
    for wrong in ['', 'Bearer', 'Bearer ', 'Bearer ' + '0' * 32, 'Bearer ' + server.token + '0',
                  'Bearer ' + server.token[:-1], 'Basic ' + server.token, server.token]:
        status, _, body = server.ask('/api/traces', headers={'Authorization': wrong}, token=False)
        assert status == 401 and 'token' in json.loads(body)['error'], (wrong, status, body)
    assert server.ask('/api/traces', token=False)[0] == 401
    assert server.ask('/api/nothing', token=False)[0] == 401
    assert server.ask('/api/traces?token=' + server.token, token=False)[0] == 401


def host(server):
    for good in ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']:
        assert server.ask('/api/traces', headers={'Host': f'{good}:{server.port}'})[0] == 200, good
    for bad in ['evil.example', f'evil.example:{server.port}', '127.0.0.1', f'127.0.0.1:{server.port + 1}',
                f'127.0.0.1:{server.port}.evil.example', '', f'localhost.evil.example:{server.port}',
                f'10.0.0.1:{server.port}']:
        for path in ['/', '/api/traces']:
            assert server.ask(path, headers={'Host': bad})[0] == 421, bad


def methods(server):
    for method in ['PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'BREW']:
        assert server.ask('/api/traces', method=method)[0] == 405, method
    assert server.ask('/', method='POST')[0] == 405
    assert server.ask('/api/traces', method='POST', token=False)[0] == 401
    assert server.ask('/api/traces', method='POST')[0] == 403
    assert server.ask('/api/traces', method='POST', headers={'Origin': 'http://evil.example'})[0] == 403
    assert server.ask('/api/traces', method='POST', headers={'Origin': server.base})[0] == 405


def headers(server):
    wrong_host = {'Host': 'evil.example'}
    for path, options in [('/', {}), ('/app.js', {}), ('/favicon.svg', {}), ('/api/traces', {}), ('/api/nothing', {}), ('/nothing', {}),
                          ('/api/traces', {'token': False}), ('/', {'method': 'POST'}), ('/', {'headers': wrong_host}),
                          ('/api/traces?q=' + 'x' * 9000, {}), ('/api/t/0/meta', {}), ('/api/t/0/lod', {})]:
        _, fields, _ = server.ask(path, **options)
        policy = fields['Content-Security-Policy']
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy, fields
        assert "script-src 'self';" in policy and "form-action 'none'" in policy, fields
        assert fields['Cross-Origin-Resource-Policy'] == fields['Cross-Origin-Opener-Policy'] == 'same-origin', fields
        assert 'Set-Cookie' not in fields, fields
        assert fields['X-Content-Type-Options'] == 'nosniff' and fields['Referrer-Policy'] == 'no-referrer', fields
        assert fields['Cache-Control'] == 'no-store', fields
        assert not any(name.lower().startswith('access-control') for name in fields), fields


def paths(server):
    for path in ['/../../etc/passwd', '/api/../../etc/passwd', '/..%2f..%2fetc%2fpasswd', '/%2e%2e/etc/passwd', '/app.js/',
                 '/api', '/api/', '/api/t/', '/api/t/0', '/api/t/0/', '/api/t/0/nothing', '/api/t/99/meta', '/api/t/x/meta',
                 '/api/t/0/../traces', '/api//traces', '//api/traces', '/proc/self/environ', '/api/meta', '/api/t/0/traces']:
        status, _, body = server.ask(path)
        assert status == 404 and 'error' in json.loads(body), (path, status, body)


def parameters(server):
    server.api('t/0/meta')
    track = server.json('t/0/meta')['tracks'][-1]['id']
    bad = ['t0=nan&t1=1&px=10', 't0=0&t1=inf&px=10', 't0=5&t1=5&px=10', 't0=6&t1=5&px=10', 't0=0&t1=1&px=0', 't0=0&t1=1&px=1e9',
           't0=0&t1=1&px=-1', 't0=0&t1=1&px=nan', 't0=0&t1=1', 't0=0x10&t1=1e9&px=10', 't0=&t1=1&px=10', 't0=0&t0=1&t1=2&px=9',
           't0=0&t1=1&px=10&', 't0=%zz&t1=1&px=10', 't0=0&t1=1&px=10&x', 't0=1e999&t1=2&px=10', 't0=0&t1=1&px=%00']
    for query in bad:
        for name in ['lod', 'states', 'sampled_calls', 'counter']:
            error = json.loads(server.api(f't/0/{name}?track={track}&{query}', 400))['error']
            assert len(error) > 10, error
    assert server.json('t/0/lod?track=nothing&px=10', 404)['error']
    assert server.json('t/0/lod?px=10', 400)['error']
    for query in ['slice', 'slice?id=', 'slice?id=-1', 'slice?id=99999999999', 'slice?id=x', 'find', 'find?q=', 'next?locations=1',
                  'next?locations=x&from=0', 'next?locations=99999999&from=0', 'next?locations=0&from=0&dir=2', 'marks?locations=0&px=0',
                  'find?q=a&limit=100000', 'runs', 'runs?model=-1', 'runs?model=4000000000', 'busy', 'busy?px=1e6']:
        assert server.json('t/0/' + query, 400)['error'], query
    # Beyond the trace, or next to nothing: still an answer.
    for query in ['t0=-1e300&t1=1e300&px=1', 't0=1e18&t1=1e19&px=16384', 't0=0&t1=0.001&px=16384', 't0=-5&t1=-1&px=3']:
        decode(server.api(f't/0/lod?track={track}&{query}'))


def raw(server, data, size=65536):
    """Sends bytes as they are; what comes back until the server closes or 30 s pass."""
    with socket.create_connection((server.host, server.port), timeout=30) as connection:
        received = b''
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while len(received) < size:
                part = connection.recv(65536)
                if not part:
                    break
                received += part
        except OSError:
            pass
    return received


def status_of(answer):
    return int(answer.split(b' ', 2)[1]) if answer.startswith(b'HTTP/') else 0


def malformed(server):
    name = f'Host: 127.0.0.1:{server.port}\r\n'.encode()
    auth = f'Authorization: Bearer {server.token}\r\n'.encode()
    for data in [b'', b'\r\n\r\n', b'GET\r\n\r\n', b'\x00\x01\x02\xff' * 64, b'GET / HTTP/9.9\r\n\r\n', b'GET ' + b'/' * 7000,
                 b'GET / HTTP/1.1\r\n' + name + b'Content-Length: -5\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
                 b'GET / HTTP/1.1\r\n' + name + b'Transfer-Encoding: chunked\r\n\r\nzz\r\n', b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc',
                 b'POST /api/traces HTTP/1.1\r\n' + name + auth + b'Content-Length: 99999999999999999999\r\n\r\n',
                 b'GET /api/traces HTTP/1.1\r\n' + name + b': \r\n\r\n', b'GET /%00 HTTP/1.1\r\n' + name + b'\r\n']:
        assert status_of(raw(server, data)) != 200 or data.startswith(b'GET / '), data
    assert status_of(raw(server, b'GET /api/traces HTTP/1.1\r\n\r\n')) in (400, 421)
    assert status_of(raw(server, b'GET /api/traces HTTP/1.0\r\n' + auth + b'\r\n')) == 421
    two = raw(server, b'GET /api/traces HTTP/1.1\r\n' + name + b'Host: evil.example\r\n' + auth + b'\r\n')
    assert status_of(two) in (200, 400, 421), two[:100]  # the first is looked at, which is ours
    assert server.ask('/api/traces')[0] == 200


def oversized(server):
    name = f'Host: 127.0.0.1:{server.port}\r\n'.encode()
    assert server.ask('/api/traces?q=' + 'x' * 9000)[0] == 414
    assert status_of(raw(server, b'GET /' + b'x' * 100000 + b' HTTP/1.1\r\n' + name + b'\r\n')) in (0, 400, 414, 431)
    assert status_of(raw(server, b'GET / HTTP/1.1\r\n' + name + b'X: ' + b'y' * 100000 + b'\r\n\r\n')) in (0, 400, 413, 431)
    assert status_of(raw(server, b'GET / HTTP/1.1\r\n' + name + b'A: b\r\n' * 20000 + b'\r\n')) in (0, 400, 413, 431)
    assert server.ask('/api/traces')[0] == 200


def parallel(server):
    """Fifty clients at once, each with a dozen questions; answers are those of one alone."""
    tracks = [t['id'] for t in server.json('t/0/meta')['tracks'] if t['kind'] in ('thread', 'ml', 'model', 'function', 'ops')]
    questions = [f't/0/lod?track={track}&px={px}' for track in tracks for px in (100, 1600)][:8]
    questions += ['t/0/slice?id=0', 't/0/find?q=a', 't/0/range', 'traces', 't/0/busy?px=200']
    alone = {question: server.api(question) for question in questions}

    def client(number):
        for i in range(len(questions)):
            question = questions[(i + number) % len(questions)]
            assert server.api(question) == alone[question], question
        return number
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(client, range(50))) == sum(range(50))


def idle(server):
    """Connections that say nothing keep nobody out."""
    silent = [socket.create_connection((server.host, server.port)) for _ in range(60)]
    for connection in silent[::2]:
        connection.sendall(b'GET / HT')
    assert server.ask('/api/traces')[0] == 200
    for connection in silent:
        connection.close()


NOBODY = 65534


def keep_out(server, *crowds, page=False):
    """Who has the token works on while crowds without it (HOW, COUNT) do what they can; so does who loads the page, if they are another user."""
    script = os.path.join(os.path.dirname(__file__), 'crowd.py')
    as_other = [str(NOBODY)] if os.geteuid() == 0 else []
    processes = []
    try:
        for how, count in crowds:
            processes.append(subprocess.Popen([sys.executable, script, server.host, str(server.port), how, str(count)] + as_other,
                                              stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for process in processes:
            assert process.stdout.readline() == b'ready\n'
        kept = http.client.HTTPConnection(server.host, server.port, timeout=30)
        for _ in range(20):
            connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
            for client in (connection, kept):
                client.request('GET', '/api/traces', headers={'Authorization': 'Bearer ' + server.token})
                answer = client.getresponse()
                assert answer.status == 200 and answer.read(), answer.status
            connection.close()
            if page and as_other:
                assert server.ask('/app.js', token=False)[0] == 200
        kept.close()
    finally:
        for process in processes:
            process.stdin.close()
            process.wait(60)


def idle_crowd(server):
    keep_out(server, ('idle', 400), page=True)


def slow_headers(server):
    keep_out(server, ('headers', 200), page=True)


def slow_bodies(server):
    keep_out(server, ('body', 200), page=True)


def slow_readers(server):
    keep_out(server, ('readers', 200), page=True)


def all_crowds(server):
    keep_out(server, ('idle', 400), ('headers', 200), ('body', 200), ('readers', 200))


def until_closed(connection):
    received = b''
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def unknown_are_closed(server):
    """Who shows no token is not kept: after 5 seconds before it has asked, after 20 seconds behind it."""
    name = f'Host: 127.0.0.1:{server.port}\r\n'.encode()
    silent, slow, kept = (socket.create_connection((server.host, server.port), timeout=60) for _ in range(3))
    slow.sendall(b'GET / HTTP/1.1\r\n')
    kept.sendall(b'GET /favicon.svg HTTP/1.1\r\n' + name + b'\r\n')
    began = time.monotonic()
    for connection in (silent, slow):
        assert until_closed(connection) == b''
    assert time.monotonic() - began >= 4
    assert until_closed(kept).startswith(b'HTTP/1.1 200')
    assert time.monotonic() - began >= 15


if __name__ == '__main__':
    globals()[sys.argv[2]](Server(sys.argv[1]))
