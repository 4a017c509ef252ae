#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --delay, --max-size, --json and several --pid: when a recording begins, when it stops, where it went, of whom; and
# export --json.
# shellcheck disable=SC2154 # T and spawned come from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1

value() { python3 -c 'import json, sys
d = json.loads(open(sys.argv[1]).read().strip().splitlines()[-1])
print(eval(sys.argv[2]))' "$1" "$2"; }
info() { "$INFEROGRAM" info "$1" --json >info.json && value info.json "$2"; }

# ---- --json ----
exits "a command" 3 "$INFEROGRAM" record --json --no-sample -o run.ifg -- sh -c "echo before; '$REC_TICKER' -c 3000; exit 3"
cp stdout result.json
is "where it went" "$(value result.json '(d["schema"], d["path"], d["program"], d["end"], d["exit_status"], d["dropped"])')" \
    "(1, 'run.ifg', 'sh', 'program ended', 3, 0)"
is "how large it is" "$(value result.json 'd["bytes"]')" "$(stat -c %s run.ifg)"
is "as many events as are in it" "$(value result.json 'd["events"] >= 3000')" True
is "what was on" "$(value result.json '[i["state"] for i in d["instruments"] if i["name"] == "zones"]')" "['on']"
is "the command's own output comes before it" "$(head -n 1 result.json)" before
exits "export" 0 "$INFEROGRAM" export run.ifg --format chrome --json
is "where it went, how much" "$(value stdout '(d["schema"], d["trace"], d["format"], d["files"][0]["path"], d["files"][0]["slices"] >= 3000)')" \
    "(1, 'run.ifg', 'chrome', 'run.json', True)"
exits "to stdout" 2 "$INFEROGRAM" export run.ifg --format chrome --json -o -
exits "live" 0 "$INFEROGRAM" live --json --no-sample -- "$REC_TICKER" -s 2.5
is "lines of JSON" "$(python3 -c 'import json
rows = [json.loads(line) for line in open("stdout") if line.startswith("{")]
print([r["type"] for r in rows][:1], rows[-1]["type"], rows[-1]["path"], rows[-1]["events"] > 0)')" "['progress'] recording  True"

# ---- --max-size ----
exits "a size" 0 "$INFEROGRAM" record --json --no-sample --max-size 200k -o small.ifg -- "$REC_TICKER" -b -p -c 3000000
cp stdout small.json
contains "is said" "$(cat stderr)" "recording stopped because the file had reached the size of --max-size"
is "also as JSON" "$(value small.json 'd["end"]')" max-size
ok "the file has it" test "$(stat -c %s small.ifg)" -ge 200000
is "the file is whole" "$(info small.ifg '(d["file"]["finished"], d["file"]["damaged_blocks"])')" "(True, 0)"
exits "no size" 2 "$INFEROGRAM" record --max-size large -- true

# ---- --delay ----
exits "a command, later" 0 "$INFEROGRAM" record --json --no-sample --delay 2 -o late.ifg -- "$REC_TICKER" -s 4
cp stdout late.json
is "it is told how long was recorded" "$(value late.json 'd["recorded_s"] > 0')" True
ok "what came later is" test "$(value late.json 'd["events"]')" -gt 0
"$INFEROGRAM" query late.ifg --csv "SELECT count(*), min(end_ns) FROM slice" >first.csv
ok "no zone that ended before is in it" test "$(sed -n 2p first.csv | tr -d '\r' | cut -d , -f 2)" -gt 300000000
exits "a command that is done before" 0 "$INFEROGRAM" record --delay 60 -o early.ifg -- "$REC_TICKER" -c 10
contains "is said" "$(cat stderr)" "recording ended early: the program ended before the --delay was over"
spawn "$REC_TICKER" -s 60 >/dev/null
carries "$spawned"
exits "a process, later" 0 "$INFEROGRAM" record -q --json --no-sample --delay 500ms --duration 500ms --pid "$spawned" -o attached.ifg
is "for as long as was asked" "$(value stdout 'd["end"]')" duration

# ---- several processes ----
spawn "$REC_TICKER" -s 60 >/dev/null
one=$spawned
spawn "$REC_TICKER" -s 60 >/dev/null
two=$spawned
spawn "$REC_TICKER" -s 60 -m mark >/dev/null
three=$spawned
for pid in $one $two $three; do carries "$pid"; done
: >several.err
spawn "$INFEROGRAM" record --json --no-sample --duration 3 --pid "$three,$one" --pid "$two" -o several.ifg >stdout 2>several.err
recorder=$spawned
until_true 60 grep -q recording several.err
ticked=$(od -An -tu8 mark)
has_ticked() { [ "$ticked" != "$(od -An -tu8 mark)" ]; }
for _ in 1 2; do # one zone may have begun before
    until_true 60 has_ticked
    ticked=$(od -An -tu8 mark)
done
kill "$three"
ended "$recorder"
is "three processes" "$status" 0
is "are in one trace, though the first has ended" "$("$INFEROGRAM" query several.ifg --csv "SELECT group_concat(process) FROM
    (SELECT DISTINCT process FROM slice WHERE name = 'tick' ORDER BY process)" | tail -n 1 | tr -d '\r"')" \
    "$(printf '%s\n' "$one" "$two" "$three" | sort -n | paste -sd ,)"
is "which went on" "$(value stdout 'd["end"]')" duration
kill "$one"
exits "one that is not there" 1 "$INFEROGRAM" record --pid "$two,999999999" -o none.ifg
contains "is named" "$(cat stderr)" 999999999
exits "no number" 2 "$INFEROGRAM" record --pid "$two,x"
exits "an empty one" 2 "$INFEROGRAM" record --pid "$two,"
exits "--delay and --next" 2 "$INFEROGRAM" record --delay 1 --next
exits "--delay and --lossless" 2 "$INFEROGRAM" record --delay 1 --lossless -- true

done_testing
