#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# info: good files as text and JSON, everything else with a clear message and exit status 2.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
esc=$(printf '\033')
"$INFEROGRAM" record -q -o good.ifg -- "$REC_TICKER" -c 3000 -t 2 -n
exits "info of a good file" 0 "$INFEROGRAM" info good.ifg
cp stdout text
is "nothing on stderr" "$(cat stderr)" ""
matches "the program comes first" "$(head -n 1 text)" '^rec_ticker, [0-9.]+ s, recorded 20[0-9-]+T[0-9:]+Z on '
matches "the events" "$(cat text)" '^Events +6002 zones · 1 ML event · 1 message · [0-9]+ counter values · 4 details$'
matches "the drops" "$(cat text)" '^Dropped +0$'
matches "the processes" "$(cat text)" '^Processes +[0-9]+  .*rec_ticker -c 3000 .*\(2 threads, exited with 0\)$'
matches "the instruments" "$(cat text)" '^Instruments +zones on · models on( ·|$)'
matches "the clocks" "$(cat text)" '^Clocks +[A-Z_]+,.* read [0-9]+ times?, of [0-9]+ threads?$'
matches "the file" "$(cat text)" '^File +good.ifg, [0-9.]+ kB, format [0-9.]+'
matches "the zones" "$(cat text)" '^  tick +6000 '
lacks "names with control characters are harmless" "$(cat text)" "$esc"
is "also bytes that are no text" "$(LC_ALL=C tr -d '\12\40-\176' <text | od -An -tx1 | tr -d ' \n' |
    sed 's/c2b7//g; s/c2b5//g; s/efbfbd//g')" ""
is "no more than 100 columns but for long rows" "$(grep -v '^  ' text | LC_ALL=C.UTF-8 grep -cE '^.{140}')" 0
exits "--top 0 lists no locations" 0 "$INFEROGRAM" info --top 0 good.ifg
lacks "indeed" "$(cat stdout)" "Zones"
exits "--json" 0 "$INFEROGRAM" info --json good.ifg
cp stdout good.json
ok "is JSON" python3 -m json.tool good.json
is "with the promised keys" "$(json good.ifg "[k for k in ('schema', 'program', 'pids', 'start', \
'duration_s', 'events', 'dropped', 'instruments') if k not in d]")" "[]"
is "the schema comes first" "$(head -c 11 good.json)" '{"schema":1'
is "counts" "$(json good.ifg "[d['events'][k] for k in ('zones', 'ml', 'messages', 'details')]")" \
    "[6002, 1, 1, 4]"
is "names survive" "$(json good.ifg "repr(d['models'][0]['name'])")" "'mod\\x1b]0;x\\x07el\\r'"
ok "info writes to a closed pipe without harm" sh -c "'$INFEROGRAM' info good.ifg | true"
exits "a full disk under the result" 1 sh -c "'$INFEROGRAM' info good.ifg >/dev/full"
contains "is told" "$(cat stderr)" "cannot write the result"

# A stream with a clock of its own.
exits "info of a trace with two clocks" 0 "$INFEROGRAM" info "$SOURCE_DIR/tests/golden/v1.2.ifg"
matches "the clock of the process" "$(cat stdout)" '^Clocks +tsc, 2000\.000000 MHz \(\+0\.0 ppm\), read 3 times, of 1 thread$'
matches "and that of the device" "$(cat stdout)" '^ +gpu 0, 1428\.571429 MHz .*, read 3 times, of 1 thread$'
is "in JSON" "$(json "$SOURCE_DIR/tests/golden/v1.2.ifg" "[(c['name'], c['kind'], c['pairs'], c['contradictions'], c['threads']) for c in d['clocks'] if c['pairs']]")" \
    "[('tsc', 'tsc', 3, 0, 1), ('gpu 0', 'device', 3, 0, 1)]"

# ---- what is no trace ------------------------------------------------------------------------------
refused() {
    exits "$1 is refused with 2" 2 "$INFEROGRAM" info "$2"
    contains "$1: the file is named" "$(cat stderr)" "$2"
    is "$1: one line on stderr" "$(wc -l <stderr)" 1
    is "$1: nothing on stdout" "$(cat stdout)" ""
    exits "$1 is refused with --json" 2 "$INFEROGRAM" info --json "$2"
}
refused "a missing file" missing.ifg
mkdir directory.ifg
refused "a directory" directory.ifg
: >empty.ifg
refused "an empty file" empty.ifg
printf '<!DOCTYPE html><html><body>404 not found: %0200d</body></html>' 0 >page.ifg
refused "HTML" page.ifg
gzip -c good.ifg >good.ifg.gz
refused "gzip" good.ifg.gz
refused "JSON" good.json
{ printf 'PERFILE2'; head -c 500 /dev/zero; } >perf.data
refused "a file of perf" perf.data
refused "an ELF file" "$REC_TICKER"
head -c 10000 /dev/urandom >noise.ifg
refused "noise" noise.ifg
truncate -s 4G sparse.ifg
refused "four gigabytes of zeros" sparse.ifg
refused "a device" /dev/null
exits "a name with an escape sequence" 2 "$INFEROGRAM" info "${esc}[31mred"
lacks "does not reach the terminal" "$(cat stderr)" "$esc"
mkfifo pipe.ifg
exits "a named pipe does not hang" 2 timeout 20 "$INFEROGRAM" info pipe.ifg

if [ "$(id -u)" -ne 0 ]; then
    cp good.ifg secret.ifg && chmod 000 secret.ifg
    exits "a file without the right to read it" 2 "$INFEROGRAM" info secret.ifg
elif command -v setpriv >/dev/null; then
    cp good.ifg secret.ifg && chmod 600 secret.ifg && chmod 755 "$T"
    exits "a file without the right to read it" 2 setpriv --reuid=65534 --regid=65534 \
        --clear-groups "$INFEROGRAM" info secret.ifg
fi

# ---- damage ----------------------------------------------------------------------------------------
python3 - <<'END'
import zlib
data = bytearray(open('good.ifg', 'rb').read())
data[8:10] = (99).to_bytes(2, 'little')
open('newer.ifg', 'wb').write(data)
END
exits "another major version" 2 "$INFEROGRAM" info newer.ifg
cp good.ifg long.ifg
truncate -s 4G long.ifg
exits "a trace made four gigabytes long" 0 "$INFEROGRAM" info long.ifg
contains "is read, with a warning" "$(cat stdout)" "!"
python3 "$SOURCE_DIR/tests/cli/info_damage.py" "$INFEROGRAM" good.ifg "$T" >damage
is "no damage does harm" "$(grep '^bad' damage)" ""
matches "all of it was tried" "$(cat damage)" '^done [0-9]{3} '
note "$(tail -n 1 damage)"
size=$(wc -c <good.ifg)
head -c $((size * 2 / 3)) good.ifg >cut.ifg
exits "a cut file is read" 0 "$INFEROGRAM" info cut.ifg
contains "with a warning" "$(cat stdout)" "! the recording was not finished"
is "and is not finished" "$(json cut.ifg "d['file']['finished']")" False

done_testing
