#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Flows of a real program: recorded, counted, asked for, served, exported, imported again, and of a recording that was cut.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

IMAGES=200
cd "$T" || exit 99
ask() { "$INFEROGRAM" query "$1" "$2" --csv 2>err | tail -n +2 | tr -d '\r'; }
count() { "$INFEROGRAM" info "$1" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["events"]["flows"])'; }

plain=$("$BUILD_DIR/examples/image_pipeline" $IMAGES 3)
"$INFEROGRAM" record -q --no-sample --sched -o t.ifg -- "$BUILD_DIR/examples/image_pipeline" $IMAGES 3 >out
is "the program says the same as alone" "$(cat out)" "$plain"
is "a flow for each image" "$(count t.ifg)" $IMAGES
contains "info says so" "$("$INFEROGRAM" info t.ifg)" "$IMAGES flows"
is "each leads from where it is drawn to where it is looked at, on another thread" "$(ask t.ifg "SELECT count(*) FROM flow f
    JOIN slice a ON a.id = f.from_slice JOIN slice b ON b.id = f.to_slice
    WHERE f.name = 'image' AND f.kind = 'end' AND a.name = 'draw' AND b.name = 'image' AND a.thread = f.from_thread AND b.thread = f.to_thread
    AND f.from_thread <> f.to_thread AND f.from_ns BETWEEN a.start_ns AND a.start_ns + a.dur_ns
    AND f.to_ns BETWEEN b.start_ns AND b.start_ns + b.dur_ns AND f.to_ns >= f.from_ns")" $IMAGES
is "ids are those that the program gave" "$(ask t.ifg "SELECT min(span), max(span), count(DISTINCT span) FROM flow")" "1,$IMAGES,$IMAGES"
is "by time" "$(ask t.ifg "SELECT count(*) FROM flow a JOIN flow b ON b.id = a.id + 1 WHERE b.from_ns < a.from_ns")" 0

# What the server says is what SQL says.
cat >served.py <<'PYTHON'
import json, subprocess, sys
sys.path.insert(0, sys.argv[4])
from client import Server

server, trace, tool = Server(sys.argv[1]), sys.argv[2], sys.argv[3]


def ask(sql):
    done = subprocess.run([tool, 'query', trace, '-', '--json'], input=sql, text=True, capture_output=True, check=True)
    return json.loads(done.stdout)['rows']


assert server.json('t/0/meta')['has']['flows'] is True
tracks = {track['id'] for track in server.json('t/0/meta')['tracks'] if track['kind'] == 'thread'}
rows = ask('SELECT from_ns, from_slice, to_ns, to_slice, span, chain FROM flow')
length = server.json('t/0/meta')['length_ns']
for row in rows[::17]:
    for end in (1, 3):
        told = server.json(f't/0/flows?slice={row[end]}')
        arrows = [a for a in told['arrows'] if a['kind'] == 'flow']
        assert [[a['from']['ns'], a['from']['slice'], a['to']['ns'], a['to']['slice'], a['id'], a['flow']] for a in arrows] == [row], (arrows, row)
        assert {a[e]['thread'] for a in arrows for e in ('from', 'to')} <= tracks
        assert 'flow' in told['kinds'] and told['left_out'] == 0, told
spans = ask('SELECT count(*) FROM async_span WHERE begin_thread <> end_thread')[0][0]
for part in range(10):
    t0, t1 = length * part // 10, length * (part + 1) // 10
    told = server.json(f't/0/flows?t0={t0}&t1={t1}')
    inside = [row for row in rows if row[0] < t1 and row[2] >= t0]
    arrows = [a for a in told['arrows'] if a['kind'] == 'flow']
    assert told['left_out'] == 0 and sorted(a['flow'] for a in arrows) == sorted(row[5] for row in inside), part
whole = server.json('t/0/flows')
assert len(whole['arrows']) + whole['left_out'] == len(rows) + spans, (len(whole['arrows']), whole['left_out'], len(rows), spans)
if 'wake' in whole['kinds']:
    woken = ask("SELECT count(*) FROM thread_state WHERE waker IS NOT NULL")[0][0]
    seen = 0
    for row in rows: # whoever always finds an image waiting is not woken for it
        seen += sum(a['kind'] == 'wake' for a in server.json(f't/0/flows?slice={row[3]}')['arrows'])
        if seen >= 20:
            break
    print(f'{len(rows)} arrows, {woken} wakeups, {seen} of them before images')
    assert seen > 0 or woken == 0
else:
    print(f'{len(rows)} arrows, no wakeups were recorded here')
PYTHON
serve -q t.ifg
ok "the server says the same" python3 served.py "$url" t.ifg "$INFEROGRAM" "$SOURCE_DIR/tests/server"
note "$(cat stdout)"
stop_serving
is "and lives to the end" "$status" 0

# There and back; arrows that the export makes of stages do not come back as flows.
ok "export" "$INFEROGRAM" export t.ifg --format chrome -o t.json
ok "import" "$INFEROGRAM" import t.json -o back.ifg
is "as many flows" "$(count back.ifg)" $IMAGES
is "between the same zones" "$(ask back.ifg "SELECT count(*) FROM flow f JOIN slice a ON a.id = f.from_slice JOIN slice b ON b.id = f.to_slice
    WHERE a.name = 'draw' AND b.name = 'image'")" $IMAGES
ok "export again" "$INFEROGRAM" export back.ifg --format chrome -o again.json
is "the same arrows" "$(grep -c '"ph":"[stf]"' again.json)" "$(grep -c '"ph":"[stf]"' t.json)"
ok "Perfetto's protobuf" "$INFEROGRAM" export t.ifg --format perfetto -o t.pftrace --from 0
cat >flow_ids.py <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import wire
goes, ends = set(), set()
for field, packet in wire.fields(open('t.pftrace', 'rb').read()):
    for number, value in wire.fields(packet):
        if number == 11:
            for key, flow in wire.fields(value):
                if key in (47, 48):
                    (goes if key == 47 else ends).add(flow)
flows = {f for f in goes if f >= 1 << 32}
assert len(flows) == int(sys.argv[2]) and flows == {f for f in ends if f >= 1 << 32}, (len(goes), len(ends))
PYTHON
ok "has each flow at both ends" python3 flow_ids.py "$SOURCE_DIR/tests/export" $IMAGES

# A recorder that was killed: the file has no index and no end.
head -c $(($(wc -c <t.ifg) * 6 / 10)) t.ifg >cut.ifg
ok "a trace that was cut" "$INFEROGRAM" info cut.ifg
ok "its flows" "$INFEROGRAM" query cut.ifg "SELECT count(*) FROM flow"

# Nobody records: the program does not know of flows.
is "no recorder" "$(IFG_OFF=1 "$BUILD_DIR/examples/image_pipeline" $IMAGES 3)" "$plain"

done_testing
