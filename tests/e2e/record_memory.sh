#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --memory: resident memory every 10 ms, of programs that are known to take so much at a time, of a model in
# node, of a process that runs already, and of children that are over soon.
# shellcheck disable=SC2034,SC2154 # used by the library, set by it
. "$TAP_SH"
. "$(dirname "$0")/record_lib.sh"
. "$(dirname "$0")/hooks_lib.sh"

touch_memory=$PROGRAMS/touch_memory

# known EXPRESSION: of `report --json`: m is its memory, p the first process, d all of it.
known() {
    "$INFEROGRAM" report --json "$trace" >"$T/report.json" 2>"$T/report.err"
    python3 - "$T/report.json" "$1" <<'END' 2>&1
import json, sys
d = json.load(open(sys.argv[1])); m = d.get('memory'); p = m['processes'][0] if m and m['processes'] else None
print(eval(sys.argv[2]))
END
}
reason() { json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == '$1'][0]"; }

# ---- so much, for so long ----

ok "200 MB for 50 ms" "$INFEROGRAM" record -q -f --no-sample --memory -o "$trace" -- "$touch_memory" 60 200 50
note "before, peak, after: $(known "(p['before_bytes'], p['peak_bytes'], p['after_bytes'])"); $(reason memory)"
is "peak - before is at least 190 MB" "$(known "p['delta_bytes'] >= 190e6 and p['delta_bytes'] == p['peak_bytes'] - p['before_bytes']")" True
is "and after it is gone" "$(known "p['after_bytes'] - p['before_bytes'] < 20e6")" True
is "it was anonymous memory" "$(known "p['anon_peak_bytes'] >= 190e6")" True
is "looked at many times a second" "$(known "m['fine'] and 5 <= m['resolution_ms'] and (m['resolution_ms'] <= 100 or m['gaps'] > 0)")" True
is "gaps are counted" "$(known "m['gaps'] >= 0 and m['longest_gap_ms'] > 0")" True
is "the cost is known" "$(known "0 < m['cpu_s'] < 0.2 * d['duration_s']")" True
contains "the instrument says it all" "$(reason memory)" " % of a core; "
report=$("$INFEROGRAM" report "$trace")
contains "the report has a line for it" "$report" "Memory        before "
lacks "and does not ask for what was given" "$report" "record --memory"

ok "200 MB for no time at all" "$INFEROGRAM" record -q -f --no-sample --memory -o "$trace" -- "$touch_memory" 30 200 0
is "the kernel's peak is told" "$(known "p['delta_bytes'] >= 190e6")" True
is "counters have these names" "$(rows "SELECT count(DISTINCT name) FROM counter WHERE name IN ('resident bytes', 'resident anon bytes')")" 2
is "and no others" "$(rows "SELECT count(*) FROM counter WHERE name LIKE 'resident%' AND name NOT IN
    ('resident bytes', 'resident anon bytes', 'resident peak bytes')")" 0

same_status=0
"$INFEROGRAM" record -q -f --no-sample --memory -o "$trace" -- sh -c 'exit 7' || same_status=$?
is "the exit status is the program's" "$same_status" 7

# ---- without ----

ok "without --memory" "$INFEROGRAM" record -q -f --no-sample -o "$trace" -- "$touch_memory" 200 20 50
matches "the report says how often it was polled" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' ' ')" \
    '\(polled every [0-9.]+ m?s; record --memory polls every 10 ms\)'
is "and so does JSON" "$(known "m['fine'], m['gaps']")" "(False, None)"
contains "no allocations" "$("$INFEROGRAM" stats "$trace" --by allocation 2>&1)" "has no allocations: record a command with --memory"
table=$("$INFEROGRAM" stats "$trace" --by memory)
contains "the process is a phase, too" "$table" "process touch_memory ("
matches "stats says how often it was polled" "$table" '^memory was polled every [0-9.]+ m?s; record --memory polls every 10 ms$'
ok "--memory alone" "$INFEROGRAM" record -q -f --no-sample --no-resources --memory -o "$trace" -- "$touch_memory" 30 50 10
is "has nothing else" "$(rows "SELECT count(*) FROM counter WHERE name NOT LIKE 'resident%'")" 0
is "but memory" "$(known "p['delta_bytes'] >= 47e6")" True
ok "--gpu off" "$INFEROGRAM" record -q -f --no-sample --gpu off -o "$trace" -- "$touch_memory" 1 1 1
contains "says so" "$(reason resources)" "GPU and NPU: left out (--gpu off)"
is "as a fact, too" "$(rows "SELECT group_concat(value) FROM fact WHERE key IN ('resources.gpu', 'resources.npu')" | tr -d '"')" \
    "left out (--gpu off),left out (--gpu off)"

# ---- processes that run already, and children ----

mkfifo "$T/go"
exec 9<>"$T/go" # both ways: opening it does not wait for anybody
"$touch_memory" - 200 200 <"$T/go" &
touched=$!
tap_pids="$tap_pids $touched"
until_true 60 grep -q touch_memory "/proc/$touched/maps"
recorder -f --no-sample --memory -o "$trace" --pid "$touched"
echo >&9
ended "$recorder"
is "a process that runs already" "$(known "p['delta_bytes'] >= 190e6 and p['pid'] == $touched")" True
# A sanitizer needs some of its own for each byte. They are looked at every 10 ms, on a busy machine less often: then again, longer.
for ms in 10 100 1000; do
    "$INFEROGRAM" record -q -f --no-sample --memory -o "$trace" -- sh -c "'$touch_memory' $ms 100 $ms; '$touch_memory' $ms 150 $ms; :"
    seen=$(known "[a < b for a, b in zip((1.9, 2.9), sorted((x['delta_bytes'] or 0) / 50e6 for x in m['processes'] if x['name'] == 'touch_memory'))]")
    [ "$seen" != "[True, True]" ] || break
done
is "children that are over within a tenth of a second" "$seen" "[True, True]"

# ---- who held the heap ----

if sanitized; then
    skip "who held the heap" "a sanitized program has a malloc of its own"
else
    "$INFEROGRAM" record -q -f --no-sample --memory -o "$trace" -- "$HEAP_TARGET" shares >/dev/null
    "$INFEROGRAM" stats "$trace" --by allocation --json >"$T/heap.json"
    # held FUNCTION KEY: bytes in MB and their error in MB
    heap() {
        python3 - "$T/heap.json" "$1" <<'END' 2>&1
import json, sys
d = json.load(open(sys.argv[1])); rows = {r['name'].split('(')[0]: r for r in d['rows']}
def near(sum, truth): return abs(sum['bytes'] - truth) <= 5 * sum['error_bytes'] + 0.01 * truth
print(eval(sys.argv[2]))
END
    }
    note "$("$INFEROGRAM" stats "$trace" --by allocation --limit 4)"
    is "large allocations are exact" "$(heap "near(rows['take_large']['peak'], 150e6), rows['take_large']['peak']['error_bytes'] < 1e6")" "(True, True)"
    is "others are estimates with their error" "$(heap "near(rows['take_middle']['peak'], 200e6), near(rows['take_small']['peak'], 100e6)")" "(True, True)"
    is "which is not large" "$(heap "all(rows['take_' + k]['peak']['error_bytes'] < 0.2 * rows['take_' + k]['peak']['bytes'] for k in ('middle', 'small'))")" True
    is "what was given back is not kept" "$(heap "rows['take_middle']['not_freed']['bytes'], near(rows['take_large']['not_freed'], 150e6)")" "(0, True)"
    is "the whole" "$(heap "near(d['peak'], 450e6), d['lost']")" "(True, 0)"
    is "stacks go to main" "$(heap "rows['take_small']['stack'][-1] != '' and any(f.startswith('main') for f in rows['take_small']['stack'])")" True
    contains "the report names who held it" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' ' ')" "held by take_middle 4"
    is "as CSV, by name" "$("$INFEROGRAM" stats "$trace" --by allocation --csv --name '^take_' --sort name | tr -d '\r' | sed 's/[(,].*//' | tr '\n' ' ')" \
        "name take_large take_middle take_small "
fi

# ---- a real model ----

if sanitized; then
    skip "a model in node" "a sanitized library cannot be preloaded into other programs"
elif ! command -v node >/dev/null; then
    skip "a model in node" "tools: no node on this machine"
elif ! have ocr || ! have ort-node-1.30.0; then
    skip "a model in node" "runtimes: $(tail -n 1 "$T/fetch")"
else
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    record_options="--memory --no-sample --ops=2"
    same "a model in node" node "$SOURCE_DIR/tests/runtimes/detect.js" "$(cached ocr)/ch_PP-OCRv4_det_infer.onnx" 12
    note "$("$INFEROGRAM" stats "$trace" --by memory | head -n 12)"
    is "loading it takes memory" "$(known "[x['count'] for x in m['phases'] if x['category'] == 'load' and x['delta_bytes'] > 4e6]")" "[1]"
    is "the first inference and the others" \
        "$(known "sorted((x['part'], x['count']) for x in m['phases'] if x['category'] == 'inference')")" "[('first', 1), ('rest', 11)]"
    is "the first one takes most" "$(known "max((x['delta_bytes'] or 0, x['part']) for x in m['phases'] if x['category'] == 'inference')[1]")" first
    is "before <= after the load <= peak" "$(known "p['before_bytes'] <= p['after_load_bytes'] <= p['peak_bytes']")" True
    is "what ran when the peak came" "$(known "sorted(p['peak_in'])")" "['category', 'model', 'number', 'op', 'zone']"
    is "never less at the peak than around it" "$(known "all(x['peak_bytes'] is None or x['peak_bytes'] >= max(x['before_bytes'], x['after_bytes']) for x in m['phases'])")" True
    contains "the report" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' ' ')" " · after load "
    is "its arena was taken in inferences" "$(known "sum(r['peak']['bytes'] for r in m['heap']['models'] if r['category'] == 'inference') > 5e6")" True
    is "all tables have the same sum" "$(known "len({round(sum(r['all']['bytes'] for r in m['heap'][k]) / 1e5) for k in ('models', 'threads')}) == 1")" True

    table=$("$INFEROGRAM" stats "$trace" --by memory)
    contains "stats --by memory" "$table" "ch_PP-OCRv4_det_infer inference (first)"
    contains "explains its columns" "$table" "delta = peak - before"
    is "as CSV" "$("$INFEROGRAM" stats "$trace" --by memory --csv --model ch_PP-OCRv4_det_infer --name 'load$' | tr -d '\r' | sed 's/,.*//' | tr '\n' ' ')" \
        "name ch_PP-OCRv4_det_infer load "
    is "as JSON, by name" "$("$INFEROGRAM" stats "$trace" --by memory --json --sort name --limit 2 |
        python3 -c 'import json,sys; d = json.load(sys.stdin); n = [r["name"] for r in d["rows"]]; print(n == sorted(n), len(n), d["fine"])')" "True 2 True"
fi
for wrong in "--sort p50" "--thread 5" "--from 1"; do
    # shellcheck disable=SC2086 # two words
    exits "stats --by memory $wrong" 2 "$INFEROGRAM" stats "$trace" --by memory $wrong
done
exits "stats --by allocation --model" 2 "$INFEROGRAM" stats "$trace" --by allocation --model x

done_testing
