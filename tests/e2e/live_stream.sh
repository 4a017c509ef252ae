#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The live interface of the server: a recording that goes on, one that is killed, several readers, a slow one, many events.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
export TMPDIR

# serve FILE: the address is in $base, the token in $token, the process in $server.
serve() {
    : >url
    spawn "$INFEROGRAM" serve -q --live "$1" >url 2>serve.err
    server=$spawned
    until_true 60 grep -q token url
    base=$(sed 's/#.*//' url)
    token=$(sed 's/.*token=//' url)
}
# address_in FILE: the same of a page that is served beside a recording.
address_in() {
    until_true 60 grep -q token= "$1"
    base=$(grep -o 'http[^#]*' "$1")
    token=$(grep -o 'token=[0-9a-f]*' "$1" | cut -d= -f2)
}
get() { curl -s -H "Authorization: Bearer $token" "${base}api/$1"; }
status() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "${base}api/$1"; }
stream() { curl -sN --max-time 300 -D "${1:-/dev/null}" -H "Authorization: Bearer $token" "${base}api/live/stream"; }
of() { python3 "$SOURCE_DIR/tests/e2e/live_stream.py" "$@"; }

# A recording that goes on and ends.
spawn "$INFEROGRAM" record -q --no-sample -o run.ifg -- "$LIVE_EVENTS" 3000 2 enough >run.out
recorder=$spawned
until_true 60 test -s run.ifg
serve run.ifg
contains "the list says that it is live" "$(get traces)" '"live":true'
is "not yet a trace to be looked at" "$(status t/0/meta)" 503
contains "and says why" "$(get t/0/meta)" '"recording"'
is "no token, no stream" "$(curl -s -o /dev/null -w '%{http_code}' "${base}api/live/stream")" 401
is "no such live address" "$(status live/nothing)" 404
stream >one &
one=$!
stream >two &
two=$!
(stream slow.head | (sleep 0.8 && cat) >slow) & # reads nothing for a while
slow=$!
for beginning in one two slow.head; do
    until_true 60 test -s $beginning
done
: >enough
wait "$recorder" "$one" "$two" "$slow"
is "the program's own output" "$(cat run.out)" 6000
for reader in one two slow; do
    of story "$reader" >told
    is "$reader: every event is in a bar, and the load" "$(sed -n 1p told)" "6000 1"
    is "$reader: it ran, and it ended" "$(sed -n 2p told)" "live, ended, the program ended"
    is "$reader: rows and those without add up" "$(sed -n 3p told)" yes
    is "$reader: messages are in order" "$(sed -n 4p told)" yes
done
is "the state is the same" "$(get live/state | of bars - inference)" 6000
is "count, High and Low agree with the bars" "$(get live/state | of agrees -)" yes
contains "where the trace is" "$(get live/save)" "$T/run.ifg"
until_true 60 sh -c "curl -s -H 'Authorization: Bearer $token' ${base}api/t/0/meta | grep -q '\"zones\":'"
contains "now it can be looked at" "$(get t/0/meta)" '"zones":6001'
kill "$server"
wait "$server"
is "the server stops cleanly" "$?" 0

# What is open; inferences that end on another thread.
spawn "$INFEROGRAM" record -q --no-sample -o open.ifg -- "$LIVE_EVENTS" 200 0.1 open >open.out
recorder=$spawned
until_true 60 test -s open.ifg
serve open.ifg
is "the open load is shown and grows" "$(of open "$base" "$token" load)" "grows False"
kill "$server" "$recorder"
wait "$recorder"
spawn "$INFEROGRAM" record -q --no-sample -o async.ifg -- "$LIVE_EVENTS" 500 0.5 async >async.out
recorder=$spawned
until_true 60 test -s async.ifg
serve async.ifg
is "asynchronous: the open one is shown and grows" "$(of open "$base" "$token" inference)" "grows True"
all_ended() { test "$(get live/state | of bars - inference)" -ge 250; }
until_true 60 all_ended
is "asynchronous: every one that ended is in a bar" "$(get live/state | of bars - inference)" 250
is "asynchronous: and in the table" "$(get live/state | python3 -c 'import json, sys; print(sum(row[4] == 4 for row in json.load(sys.stdin)["rows"]))')" 250
kill "$server" "$recorder"
wait "$recorder"

# Latency of rows, and a recorder that is killed.
spawn "$INFEROGRAM" record -q --no-sample -o killed.ifg -- "$LIVE_EVENTS" 200 600 >killed.out
recorder=$spawned
until_true 60 test -s killed.ifg
serve killed.ifg
of latency "$base" "$token" >watched
note "rows arrive after (median, p95): $(sed -n 1p watched)"
is "rows" "$(sed -n 2p watched)" "they come while it runs"
stream >killed &
reader=$!
until_true 60 test -s killed
program=$(cat "/proc/$recorder/task/$recorder/children")
kill -KILL "$recorder"
wait "$reader"
is "a killed recorder: the stream ends" "$(of last killed state)" ended
contains "and says why" "$(of last killed why)" "killed"
kill "$server"
# shellcheck disable=SC2086 # ids
kill $program

# The same from live itself; the page wants the trace to be kept.
spawn "$INFEROGRAM" live --web --no-sample -- "$LIVE_EVENTS" 2000 0.5 >web.out 2>web.err
live=$spawned
address_in web.err
contains "a temporary trace" "$(get live/save)" '"temporary":true,"kept":false'
contains "is kept if a page wants it" "$(get "live/save?keep=1")" '"kept":true'
kept=$(get live/save | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')
stream >web
is "every event" "$(of bars web inference)" 1000
ok "the page stays when the program has ended" kill -0 "$live"
kill -INT "$live"
wait "$live"
is "until Ctrl-C" "$?" 0
ok "the trace was kept" "$INFEROGRAM" info "$kept"
is "nothing temporary is left" "$(find "$T" -maxdepth 1 -name 'inferogram-live-*')" ""

spawn "$INFEROGRAM" live --web -q --no-sample -- "$LIVE_EVENTS" 100 60 >ended.out 2>ended.err
live=$spawned
until_true 60 grep -q token= ended.err
kill -TERM "$live"
wait "$live"
is "a signal ends the program, and the page with it" "$?" 143
is "and nothing temporary is left" "$(find "$T" -maxdepth 1 -name 'inferogram-live-*')" ""

spawn "$INFEROGRAM" record --live -q --no-sample -o shown.ifg -- "$LIVE_EVENTS" 2000 0.5 shown >shown.out 2>shown.err
recorder=$spawned
address_in shown.err
contains "record --live has a page" "$(get live/state)" '"temporary":false'
: >shown
wait "$recorder"
is "and ends with the program" "$? $(cat shown.out)" "0 1000"

# What is no trace; and a server without --live.
echo 'nonsense that is long enough to be looked at, and some more of it, up to the size of a header' >other.ifg
serve other.ifg
is_refused() { test "$(status live/state)" = 422; }
until_true 60 is_refused
is "a file that is no trace" "$(status live/state)" 422
kill "$server"
exits "one file at a time" 2 "$INFEROGRAM" serve --live a b
spawn "$INFEROGRAM" serve -q run.ifg >url
server=$spawned
until_true 60 grep -q token url
base=$(sed 's/#.*//' url)
token=$(sed 's/.*token=//' url)
is "without --live" "$(status live/state) $(status live/stream) $(status live/save)" "404 404 404"
kill "$server"
done_testing
