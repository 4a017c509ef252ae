#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exports of a CUDA program's work: a device is a process, its streams are threads, arrows lead from calls to work.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"

gpu "a program with kernels" 20 4
ok "chrome" "$INFEROGRAM" export "$trace" --format chrome -o chrome.json
cat >check.py <<'PYTHON'
import json
import sys

events = json.load(open(sys.argv[1]))['traceEvents']
names = {e['pid']: e['args']['name'] for e in events if e['name'] == 'process_name'}
ranks = {e['pid']: e['args']['sort_index'] for e in events if e['name'] == 'process_sort_index'}
device = [pid for pid, name in names.items() if name.startswith('GPU')]
assert [names[pid] for pid in device] == ['GPU 0, Stub GPU'], names
device = device[0]
assert ranks[device] == max(ranks.values()) and len(set(ranks.values())) == len(ranks), ranks
threads = {(e['pid'], e['tid']): e['args']['name'] for e in events if e['name'] == 'thread_name'}
streams = {name for (pid, _), name in threads.items() if pid == device}
assert streams and all(name.startswith('GPU 0 stream ') for name in streams), threads
assert not any(name.startswith('GPU') for (pid, _), name in threads.items() if pid != device), threads
work = [e for e in events if e.get('cat') == 'device']
calls = [e for e in events if e.get('cat') == 'driver']
assert work and {e['pid'] for e in work} == {device} and device not in {e['pid'] for e in calls}
begins = {e['id']: e for e in events if e.get('cat') == 'launch' and e['ph'] == 's'}
ends = {e['id']: e for e in events if e.get('cat') == 'launch' and e['ph'] == 'f'}
assert len(begins) == len(ends) and begins.keys() == ends.keys(), (len(begins), len(ends))
starts = {(e['pid'], e['tid'], e['ts']): e['args']['correlation'] for e in work + calls if 'correlation' in e['args']}
at = lambda e: starts[e['pid'], e['tid'], e['ts']]
assert all(begins[i]['pid'] != device and ends[i]['pid'] == device and at(begins[i]) == at(ends[i]) for i in begins)
print(len(begins))
PYTHON
ok "chrome: the device and its streams, and arrows from calls to work" python3 check.py chrome.json
is "chrome: an arrow for each call with work" "$(cat stdout)" "$(rows "SELECT count(*) FROM gpu_call WHERE slices > 0")"

cat >perfetto.py <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import wire

tracks, first, last, where = {}, {}, {}, {}
for _, body in wire.fields(open(sys.argv[1], 'rb').read()):
    packet = wire.message(body)
    if 60 in packet:
        track = wire.message(packet[60][0])
        tracks[track[1][0]] = track
    if 13 in packet and packet[13][0] & 1:
        defaults = wire.message(packet[59][0])
        where[packet[10][0]] = wire.message(defaults[11][0])[11][0] if 11 in defaults else 0
    if 11 in packet:
        event = wire.message(packet[11][0])
        track = event.get(11, [where.get(packet[10][0])])[0]
        for flow in event.get(47, []):
            first[flow] = track
        for flow in event.get(48, []):
            last[flow] = track
processes = {uuid: wire.message(t[3][0]) for uuid, t in tracks.items() if 3 in t}
device = [uuid for uuid, p in processes.items() if p[6][0].decode() == 'GPU 0, Stub GPU']
assert len(device) == 1, processes
pid = processes[device[0]][1][0]
streams = [uuid for uuid, t in tracks.items() if 4 in t and wire.message(t[4][0])[1][0] == pid]
assert streams and all(tracks[uuid][5][0] == device[0] for uuid in streams)
assert first.keys() == last.keys() and all(last[f] in streams and first[f] not in streams for f in first)
print(len(first))
PYTHON
ok "perfetto" "$INFEROGRAM" export "$trace" --format perfetto -o trace.pftrace
ok "perfetto: the same" python3 perfetto.py trace.pftrace "$SOURCE_DIR/tests/export"
is "perfetto: an arrow for each call with work" "$(cat stdout)" "$(rows "SELECT count(*) FROM gpu_call WHERE slices > 0")"

# There and back.
calls=$(rows "SELECT count(*) FROM gpu_call WHERE slices > 0")
works=$(rows "SELECT count(*) FROM gpu_slice")
ok "import" "$INFEROGRAM" import chrome.json -o back.ifg
trace=$T/back.ifg
is "import: work on the device's process" "$(rows "SELECT count(*) FROM slice s JOIN process p ON p.pid = s.process WHERE p.name = 'GPU 0, Stub GPU'")" "$works"
is "import: arrows" "$(rows "SELECT count(*) FROM flow WHERE name = 'launch' AND from_process <> to_process")" "$calls"
done_testing
