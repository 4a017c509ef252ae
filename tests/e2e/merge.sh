#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces of several processes and machines in one: everything of each is there, at the time it says, and nothing of one is
# mistaken for another's; files that cannot be merged, and outputs that cannot be written.
# shellcheck disable=SC2154 # set by hooks_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/server/serve_lib.sh"
cd "$T" || exit 99

merge() { "$INFEROGRAM" merge "$@" >"$T/out" 2>"$T/err"; }
sum() { python3 "$SOURCE_DIR/tests/e2e/merge_compare.py" "$INFEROGRAM" "$@"; }
merged() { # FILE KEY: of each part
    json "$1" "[p['$2'] for p in d['merged']]"
}
# Does what record does, on a machine of its own: another name, other process numbers, and, OFFSET seconds ahead, another
# CLOCK_MONOTONIC. Samples are of the kernel's clock, so there are none.
machine() { # NAME OFFSET COMMAND...
    machine_name=$1
    machine_offset=$2
    shift 2
    # shellcheck disable=SC2016 # the other shell's
    unshare -m -u -p -f --mount-proc -T --monotonic "$machine_offset" sh -c 'hostname "$1" && shift && exec "$@"' machine \
        "$machine_name" "$@"
}
ticks() { # FILE ZONES [MACHINE OFFSET]
    ticks_file=$1
    ticks_count=$2
    shift 2
    "$@" "$INFEROGRAM" record -q --no-sample -f -o "$ticks_file" -- "$REC_TICKER" -n -c "$ticks_count"
}

# ---- two programs of one machine ----

ticks one.ifg 100
ticks two.ifg 200
ok "two traces" merge one.ifg two.ifg -o both.ifg
contains "what became of them" "$(cat out)" "both.ifg: 2 traces of 1 machine"
contains "their clock is one" "$(cat out)" "same clock"
is "nothing to warn of" "$(cat err)" ""
matches "all of both is there" "$(sum both.ifg one.ifg two.ifg)" "^same, [0-9]+ rows"
is "how it was found" "$(merged both.ifg method) $(merged both.ifg error_ns) $(merged both.ifg shift_ns)" "['first', 'same-clock'] [0, 0] [0, 0]"
is "numbers stay" "$(merged both.ifg numbers_from)" "[0, 0]"
contains "info shows it" "$("$INFEROGRAM" info both.ifg)" "Merged from"
ok "in JSON" merge one.ifg two.ifg -f -o both.ifg --json
is "the same there" "$(python3 -c 'import json; d=json.load(open("out")); print(d["machines"], [p["method"] for p in d["merged"]])')" \
    "1 ['first', 'same-clock']"
ok "one alone" merge one.ifg -o alone.ifg
matches "is what it was" "$(sum alone.ifg one.ifg)" "^same, [0-9]+ rows"
ticks three.ifg 50
ok "a merged one and another" merge both.ifg three.ifg -o all.ifg
matches "all of the three is there" "$(sum all.ifg one.ifg two.ifg three.ifg)" "^same, [0-9]+ rows"
is "three are told of" "$(merged all.ifg file)" "['one.ifg', 'two.ifg', 'three.ifg']"

# ---- by hand ----

ok "an offset by hand" merge one.ifg two.ifg -f -o both.ifg --offset two.ifg=-1.5ms
is "is used and told" "$(merged both.ifg method) $(merged both.ifg offset_ns) $(merged both.ifg shift_ns)" \
    "['first', 'given'] [0, -1500000] [0, -1500000]"
matches "and moves everything" "$(sum both.ifg one.ifg two.ifg)" "^same, [0-9]+ rows"
exits "an offset of no file" 2 "$INFEROGRAM" merge one.ifg two.ifg -o no.ifg --offset three.ifg=1s
exits "an offset that is none" 2 "$INFEROGRAM" merge one.ifg two.ifg -o no.ifg --offset two.ifg=soon
exits "an offset without a file" 2 "$INFEROGRAM" merge one.ifg two.ifg -o no.ifg --offset 1s

# ---- what cannot be merged ----

exits "no file" 2 "$INFEROGRAM" merge -o no.ifg
exits "no output" 2 "$INFEROGRAM" merge one.ifg two.ifg
exits "to standard output" 2 "$INFEROGRAM" merge one.ifg two.ifg -o -
exits "a file that is not there" 2 "$INFEROGRAM" merge one.ifg missing.ifg -o no.ifg
cp one.ifg copy.ifg
exits "the same trace twice" 2 "$INFEROGRAM" merge one.ifg copy.ifg -o no.ifg
contains "is said" "$(cat "$T/stderr")" "copy.ifg is the same trace as one.ifg"
echo '{"traceEvents": []}' >foreign.ifg
exits "a foreign file" 2 "$INFEROGRAM" merge one.ifg foreign.ifg -o no.ifg
# Another major version cannot be read; of another minor one, what is known.
python3 - one.ifg <<'EOP'
import struct, sys, zlib
data = bytearray(open(sys.argv[1], 'rb').read())
for name, field, value in (('major.ifg', 8, 2), ('minor.ifg', 10, 99)):
    head = bytearray(data[:60])
    head[field:field + 2] = struct.pack('<H', value)
    open(name, 'wb').write(head + struct.pack('<I', zlib.crc32(head)) + data[64:])
EOP
exits "a file of another major version" 2 "$INFEROGRAM" merge two.ifg major.ifg -o no.ifg
ok "a file of a later minor version" merge two.ifg minor.ifg -o newer.ifg
contains "is told of" "$(cat err)" "minor.ifg: written by a newer version"
exits "there is one of that name" 2 "$INFEROGRAM" merge one.ifg two.ifg -o both.ifg
contains "and what to do" "$(cat "$T/stderr")" "both.ifg exists; give another name with -o or replace it with -f"
mkdir folder
exits "the page of nothing" 2 "$INFEROGRAM" serve --merge
exits "the page of what is not there" 2 "$INFEROGRAM" serve --merge one.ifg missing.ifg
exits "a directory of that name" 2 "$INFEROGRAM" merge one.ifg two.ifg -f -o folder
exits "a directory that is not there" 2 "$INFEROGRAM" merge one.ifg two.ifg -o nowhere/no.ifg
is "nothing was left" "$(find . -name 'no.ifg*' -o -name '*.partial')" ""

# ---- files that are not whole ----

size=$(stat -c %s two.ifg)
head -c $((size * 2 / 3)) two.ifg >cut.ifg
ok "one that was not finished" merge one.ifg cut.ifg -f -o both.ifg
contains "is told of" "$(cat err)" "cut.ifg: the recording was not finished"
matches "what is there is there" "$(sum both.ifg one.ifg cut.ifg)" "^same, [0-9]+ rows"
is "the result is whole" "$(json both.ifg "d['file']['finished']")" True

# ---- outputs that cannot be written ----

cp one.ifg kept.ifg
(ulimit -f 8 && merge one.ifg two.ifg -f -o kept.ifg)
is "a file that becomes too large" "$?" 1
contains "says so" "$(cat err)" "cannot write kept.ifg"
ok "and leaves what was there" cmp one.ifg kept.ifg
is "and nothing else" "$(find . -name '*.partial')" ""
chmod 600 two.ifg
merge one.ifg two.ifg -f -o both.ifg
is "whoever may not read a part may not read the whole" "$(stat -c %a both.ifg)" 600

# Interrupted, wherever it is: either all of it was written before, or nothing is there.
"$SYNTHETIC_TRACE" large-a.ifg 3000000 >"$T/out"
"$SYNTHETIC_TRACE" large-b.ifg 3000000 >"$T/out"
partial() { ls interrupted.ifg.*.partial; }
spawn "$INFEROGRAM" merge -q large-a.ifg large-b.ifg -o interrupted.ifg 2>"$T/err"
begun() { partial || test -e interrupted.ifg; }
until_true 60 begun
kill -INT "$spawned" 2>/dev/null
ended "$spawned"
note "interrupted: status $status, $(head -n 1 "$T/err")"
is "nothing half done is left" "$(partial 2>/dev/null)" ""
is "all of it or nothing" "$status $(test -e interrupted.ifg && echo there)" "$([ "$status" -eq 0 ] && echo "0 there" || echo "1 ")"

# ---- no time of day ----

echo '[{"ph":"X","name":"work","ts":5,"dur":2,"pid":4000000000,"tid":1}]' | "$INFEROGRAM" import - -o imported.ifg >"$T/out"
ok "a trace without a time of day" merge one.ifg imported.ifg -f -o both.ifg
is "begins with the first" "$(merged both.ifg method)" "['first', 'start']"
contains "which is said" "$(cat err)" "both begin together"
is "nothing is lost" "$(json both.ifg "sum(p['count'] for p in d['locations'] if p['name'] == 'work')")" 1

# ---- another machine ----

if [ "$(id -u)" -eq 0 ] && machine here 0 true 2>"$T/unshare"; then
    ticks a.ifg 100 machine board-a 0
    ticks b.ifg 200 machine board-b 86400
    ok "traces of two machines" merge a.ifg b.ifg -o boards.ifg
    contains "the estimate is said" "$(cat err)" "b.ifg: its place on the timeline is an estimate: the clock of board-b"
    matches "all of both is there" "$(sum boards.ifg a.ifg b.ifg)" "^same, [0-9]+ rows"
    is "how it was found" "$(merged boards.ifg method) $(merged boards.ifg error_ns)" "['first', 'wall-clock'] [0, None]"
    is "their clocks are a day apart, and the events are not" \
        "$(json boards.ifg "abs(d['merged'][1]['shift_ns'] + 86400 * 10**9) < 10**6 and d['duration_s'] < 3600")" True
    is "both have the same process number" "$(json a.ifg "d['pids']")" "$(json b.ifg "d['pids']")"
    is "which is not taken for one" "$(json boards.ifg "len(set(d['pids'])), [p['host'] for p in d['processes']], len(set(p['host_pid'] for p in d['processes']))")" \
        "(2, ['board-a', 'board-b'], 1)"
    trace=boards.ifg
    is "processes tell their machine" "$(rows "SELECT DISTINCT name || ' ' || host FROM process WHERE pid != 0 ORDER BY 1" | tr '\n' ';')" \
        "rec_ticker (board-a) board-a;rec_ticker (board-b) board-b;"
    contains "info does" "$("$INFEROGRAM" info boards.ifg)" "of board-b"

    # On the page, without keeping it.
    mkdir temporary
    TMPDIR=$T/temporary serve -q --merge a.ifg b.ifg
    is "rows of both machines" "$(python3 - "$url" <<'EOP'
import json, sys, time, urllib.request, urllib.error
origin, token = sys.argv[1].split('/#token=')
while True:
    try:
        request = urllib.request.Request(f'{origin}/api/t/0/meta', headers={'Authorization': f'Bearer {token}'})
        meta = json.load(urllib.request.urlopen(request))
        break
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        time.sleep(0.05)
print([track['label'] for track in meta['tracks'] if track['kind'] == 'process'])
EOP
)" "['rec_ticker (board-a)', 'rec_ticker (board-b)']"
    stop_serving
    is "Ctrl-C ends it" "$status" 0
    is "and leaves nothing" "$(ls temporary)" ""
else
    skip "another machine" "root: $(head -n 1 "$T/unshare" 2>/dev/null) namespaces need root"
fi

done_testing
