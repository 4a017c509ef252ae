#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram serve: what it prints, whom it refuses, how it ends.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

mkdir "$T/traces"
"$REPORT_TRACES" profile "$T/traces/b.ifg"
"$REPORT_TRACES" plain "$T/traces/a.ifg"
echo "this is no trace" >"$T/traces/c.ifg"
echo "nor is this" >"$T/traces/notes.txt"

# ---- the command line

exits "no trace" 2 "$INFEROGRAM" serve
contains "is said" "$(cat "$T/stderr")" "which trace?"
exits "a file that is not there" 2 "$INFEROGRAM" serve "$T/nothing.ifg"
contains "is named" "$(cat "$T/stderr")" "nothing.ifg"
mkdir "$T/empty"
mkfifo "$T/pipe.ifg"
exits "a pipe" 2 "$INFEROGRAM" serve "$T/pipe.ifg"
exits "an empty directory" 2 "$INFEROGRAM" serve "$T/empty"
contains "is said, too" "$(cat "$T/stderr")" "there is no trace"
for port in 0 65536 x -1 8080x ''; do
    exits "port '$port'" 2 "$INFEROGRAM" serve --port "$port" "$T/traces"
done
exits "an address that is none" 2 "$INFEROGRAM" serve --listen nowhere "$T/traces"
exits "an address of another machine" 1 "$INFEROGRAM" serve --listen 192.0.2.1 "$T/traces"

# ---- one trace

serve -q "$T/traces/b.ifg"
matches "the first line is the address" "$url" '^http://127\.0\.0\.1:[0-9]+/#token=[0-9a-f]{32}$'
port=${url#http://127.0.0.1:}
port=${port%%/*}
listening=$(awk -v port="$(printf '%04X' "$port")" '$4 == "0A" && $2 ~ ":" port "$" { print $2 }' /proc/net/tcp /proc/net/tcp6)
is "it listens on the loopback only" "$listening" "0100007F:$(printf '%04X' "$port")"
for case in token host methods headers paths parameters malformed oversized parallel idle idle_crowd \
    slow_headers slow_bodies slow_readers all_crowds unknown_are_closed; do
    ok "guard: $case" python3 "$SOURCE_DIR/tests/server/guard.py" "$url" "$case"
done
first=$url
stop_serving
is "Ctrl-C ends it" "$status" 0
is "nothing else was printed" "$(wc -l <"$T/serve.out")" 1
ok "nobody listens there any more" sh -c "! python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $port), 1)' 2>/dev/null"

# ---- a chosen port, a directory

serve --port "$port" "$T/traces"
is "the port that was asked for" "${url%%#*}" "http://127.0.0.1:$port/"
ok "the token is a new one" test "${url##*=}" != "${first##*=}"
exits "the port is taken" 1 "$INFEROGRAM" serve --port "$port" "$T/traces"
contains "which is said" "$(cat "$T/stderr")" "port $port"
cat >"$T/list.py" <<'END'
import sys, time
sys.path.insert(0, sys.argv[2])
from client import Server
server = Server(sys.argv[1])
for _ in range(3000):
    traces = server.json('traces')['traces']
    if traces[2]['state'] == 'bad' and traces[1]['program']:
        break
    time.sleep(0.02)
assert [t['name'] for t in traces] == ['a.ifg', 'b.ifg', 'c.ifg'], traces
assert [t['state'] for t in traces] == ['idle', 'idle', 'bad'], traces
assert 'c.ifg' in traces[2]['why'] and traces[2]['why'] == server.json('t/2/meta', 422)['error'], traces[2]
assert server.json('t/1/meta')['has']['samples'] and server.json('traces')['traces'][1]['state'] == 'ready'
assert not server.json('t/0/meta')['has']['samples']
END
ok "a directory is a list; what is no trace says why" python3 "$T/list.py" "$url" "$SOURCE_DIR/tests/server"
kill -TERM "$spawned"
status=0
wait "$spawned" || status=$?
is "SIGTERM ends it" "$status" 0

# ---- while a client is connected, and while a trace is loaded

serve -q "$T/traces/b.ifg" "$T/traces/a.ifg"
port=${url#http://127.0.0.1:}
port=${port%%/*}
spawn python3 -c "import socket, time
s = socket.create_connection(('127.0.0.1', $port))
s.sendall(b'GET /api/')
open('$T/connected', 'w').close()
time.sleep(60)"
client=$spawned
until [ -e "$T/connected" ]; do sleep 0.02; done
spawned=$(echo "$tap_pids" | awk '{ print $(NF - 1) }')
stop_serving
is "a client that is silent does not keep it" "$status" 0
kill "$client"

# ---- others

serve --listen ::1 "$T/traces/a.ifg"
if ! grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
    skip "an address of its own" "no IPv6 here"
else
    matches "an address of its own" "$url" '^http://\[::1\]:[0-9]+/#token='
    stop_serving
fi
serve --listen 0.0.0.0 "$T/traces/a.ifg"
contains "what others can reach is told" "$(cat "$T/serve.err")" "others can reach this server"
stop_serving

# ---- the browser

# What it was given, what everybody can read of every process then, and what is in the file. It reads the file as a browser
# would: the address that it leads to.
mkdir -m 700 "$T/home" "$T/bin"
cat >"$T/bin/xdg-open" <<END
#!/bin/sh
echo "\$*" >"$T/opened.new"
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' >"$T/commands"
file=\${1#file://}
stat -c '%a %u' "\$file" "\${file%/*}" >"$T/modes"
cp "\$file" "$T/page"
mv "$T/opened.new" "$T/opened"
END
chmod +x "$T/bin/xdg-open"

# opened_by OPTIONS...: serves with a browser; waits until it was opened
opened_by() {
    rm -f "$T/opened"
    path=$PATH
    PATH=$T/bin:$PATH
    HOME=$1
    shift
    serve -q --open "$@" "$T/traces/a.ifg"
    PATH=$path
    HOME=$home
    tries=0
    until [ -s "$T/opened" ] || [ "$tries" -gt 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
until_empty() {
    tries=0
    while [ -n "$(ls "$1")" ] && [ "$tries" -lt 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
home=$HOME
opened_by "$T/home"
matches "--open gives a file in the home directory to the browser" "$(cat "$T/opened")" "^file://$T/home/inferogram-open-[A-Za-z0-9]*/open.html\$"
lacks "the token is in the arguments of no process" "$(cat "$T/commands")" "${url##*=}"
contains "while the server is among them" "$(cat "$T/commands")" "--open"
contains "the file leads to the address" "$(cat "$T/page")" "url=$url\""
is "only this user can read it" "$(cat "$T/modes")" "600 $(id -u)
700 $(id -u)"
is "it stays until the page is open" "$(find "$T/home" -type f | wc -l)" 1
exits "the page asks for something" 0 python3 -c "
import sys
sys.path.insert(0, '$SOURCE_DIR/tests/server')
from client import Server
assert Server('$url').ask('/api/traces')[0] == 200"
until_empty "$T/home"
is "and then it is removed" "$(ls -A "$T/home")" ""
stop_serving
is "and it ends" "$status" 0
opened_by "$T/home"
stop_serving
is "the end removes it, too" "$status:$(ls -A "$T/home")" "0:"
opened_by "$T/home"
kill -9 "$spawned"
wait "$spawned"
is "but not kill -9" "$(find "$T/home" -type f | wc -l)" 1
opened_by "$T/home"
is "the next one removes what nobody holds" "$(find "$T/home" -type f | wc -l)" 1
stop_serving
# With a real browser: it comes with the token, which the file alone has told it.
if ! "${CHROMIUM:=chromium}" --version >/dev/null 2>&1 || [ ! -s "$SOURCE_DIR/ui/dist/app.js" ]; then
    skip "Chromium opens the page by the file" "tools: no Chromium here, or the page is not built"
else
    cp -p "$T/bin/xdg-open" "$T/plain"
    cat >"$T/bin/xdg-open" <<END
#!/bin/sh
echo "\$*" >"$T/opened"
exec "$CHROMIUM" --headless --no-sandbox --disable-gpu --user-data-dir="$T/chromium" --remote-debugging-port=0 "\$1"
END
    opened_by "$T/home"
    until_empty "$T/home"
    is "Chromium opens the page by the file" "$(ls "$T/home")" ""
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' >"$T/commands"
    contains "it is still there" "$(cat "$T/commands")" "$T/chromium"
    lacks "and none of its processes has the token in its arguments" "$(cat "$T/commands")" "${url##*=}"
    stop_serving
    tries=0
    # grep fails when a process ends meanwhile, whatever it has found.
    while ids=$(grep -la "$T/chromium" /proc/[0-9]*/cmdline 2>/dev/null || :) && [ -n "$ids" ] && [ "$tries" -lt 1200 ]; do
        for id in $ids; do
            kill "$(echo "$id" | sed 's/[^0-9]//g')" 2>/dev/null
        done
        sleep 0.05
        tries=$((tries + 1))
    done
    is "nothing of it is left" "$ids" ""
    mv "$T/plain" "$T/bin/xdg-open"
    rm -rf "$T/home/.cache" "$T/home/.config"
fi
# A home directory in which others can put things is none.
mkdir -m 777 "$T/shared"
chmod 777 "$T/shared"
XDG_RUNTIME_DIR=$T/home
export XDG_RUNTIME_DIR
opened_by "$T/shared"
contains "a folder of others is not used" "$(cat "$T/opened")" "file://$T/home/"
stop_serving
unset XDG_RUNTIME_DIR
done_testing
