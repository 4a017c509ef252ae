# SPDX-License-Identifier: Apache-2.0
"""device.py ADDRESS REPORT: what the page is given about work of devices is what report --json says."""

import json
import sys

from client import Server

server = Server(sys.argv[1])
with open(sys.argv[2], encoding='utf-8') as file:
    mine = json.load(file)


def ask(path):
    return server.json(f't/0/{path}')


meta = ask('meta')
report = ask('report')
assert report['models'][0]['device'] == mine['models'][0]['device'], 'report'
kernels = ask('stats?by=kernel&mode=instrumentation')
assert [(r['name'], r['count'], r['total_ns'], r['share']) for r in kernels['rows']] == \
       [(r['name'], r['count'], r['total_ns'], r['share']) for r in mine['models'][0]['device']['kernels']['rows']], kernels
assert meta['has']['device']
tracks = {t['id']: t for t in meta['tracks']}
streams = [t for t in meta['tracks'] if t['label'].startswith('stream ')]
assert [t['label'] for t in streams] == ['stream 7', 'stream 13'], streams
assert {tracks[t['parent']]['label'] for t in streams} == {'GPU 0 · Test GPU'}
owners = {one['name']: one['owner'] for one in meta['locations'] if 'owner' in one}
assert owners['gemm'] == 'fc' and owners['memcpy HtoD'] == 'det', owners
ops = ask('ops?model=0')
assert {n['name']: n['device_per_run_ns'] for n in ops['nodes']}['fc'] == 60000 and not ops['host_time'], ops
flame = ask('flame?mode=device')
nodes = flame['nodes']
assert flame['samples'] == sum(n['s'] for n in nodes) == sum(r['total_ns'] for r in kernels['rows']), flame
gemm = next(n for n in nodes if n['n'] == 'gemm')
assert nodes[gemm['p']]['n'] == 'fc' and nodes[nodes[gemm['p']]['p']]['n'] == 'det', nodes
longest = next(r for r in mine['models'][0]['device']['kernels']['rows'] if r['name'] == 'gemm')['longest']
args = {a['key']: a['value'] for a in ask(f'slice?id={longest}')['args']}
assert args['operator'] == 'fc' and args['launched_by'].startswith('cuLaunchKernel') and 'queue_delay' in args, args
inferences = ','.join(str(i) for i, one in enumerate(meta['locations']) if one['category'] == 'inference')
first = ask(f'next?locations={inferences}&from=0&dir=1')
args = {a['key']: a['value'] for a in ask(f'slice?id={first["id"]}')['args']}
assert args['kernels'] == '3 in 166 µs', (first, args)
arrows = ask('flows?t0=0&t1=15000000')
assert arrows, arrows
