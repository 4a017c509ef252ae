# SPDX-License-Identifier: Apache-2.0
"""Every question about every trace of a server, whatever is in them: hostile.py URL"""

import json
import sys

from client import Server, decode


def ask(server, trace, question):
    status, _, body = server.ask(f'/api/t/{trace}/{question}')
    assert status in (200, 400, 404, 422), (trace, question, status, body[:200])
    if status != 200 or body.startswith(b'{'):
        json.loads(body)
    else:
        decode(body)
    return status


def main(server):
    loaded = 0
    for trace in server.json('traces')['traces']:
        number = trace['id']
        while ask_meta(server, number) == 503:
            pass
        status, _, body = server.ask(f'/api/t/{number}/meta')
        if status == 422:
            continue
        assert status == 200, (trace['name'], status)
        loaded += 1
        meta = json.loads(body)
        middle = meta['length_ns'] / 2
        for track in meta['tracks'][:40]:
            for name in ['lod', 'sampled_calls', 'states', 'counter']:
                for view in ['px=1', 'px=1600', f't0={middle}&t1={middle + 1000}&px=300', f't0={-middle}&t1={middle}&px=7']:
                    ask(server, number, f'{name}?track={track["id"]}&{view}')
        for question in ['slice?id=0', 'slice?id=1', f'slice?id={max(meta["zones"] - 1, 0)}', f'slice?id={meta["zones"]}', 'find?q=e',
                         'next?locations=0&from=0', 'next?locations=0&from=1e18&dir=-1', 'marks?locations=0&px=100', 'range', 'busy?px=50',
                         f'range?t0={middle}&t1={middle + 1}', 'runs?model=0', 'functions', 'flows', 'flows?slice=0',
                         f'flows?slice={max(meta["zones"] - 1, 0)}', f'flows?slice={meta["zones"]}', f'flows?t0={middle}&t1={middle + 1}']:
            ask(server, number, question)
    assert loaded > 3, loaded
    print(loaded, 'traces')


def ask_meta(server, number):
    return server.ask(f'/api/t/{number}/meta')[0]


if __name__ == '__main__':
    main(Server(sys.argv[1]))
