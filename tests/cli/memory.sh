#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small files that ask for much memory: what they declare is believed only as far as they back it, and --max-memory is a limit.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

# peak COMMAND...: its largest resident memory in MB is in $T/peak; its output in $T/out, $T/err
cat >"$T/peak.py" <<'END'
import resource, subprocess, sys
done = subprocess.run(sys.argv[4:], stdout=open(sys.argv[2], 'w'), stderr=open(sys.argv[3], 'w'), timeout=300)
open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024))
sys.exit(done.returncode)
END
peak() {
    python3 "$T/peak.py" "$T/peak" "$T/out" "$T/err" "$@"
}

# ---- what is declared and not there costs nothing

for kind in zones events counts samples switches clocks threads processes definitions maps; do
    "$FORGED_TRACES" "$kind" "$T/$kind.ifg" || fail "$kind is forged"
    ok "$kind: a small file ($(stat -c %s "$T/$kind.ifg") bytes)" test "$(stat -c %s "$T/$kind.ifg")" -lt 400000
    for command in info stats report; do
        status=0
        peak "$INFEROGRAM" "$command" "$T/$kind.ifg" || status=$?
        ok "$kind: $command reads or refuses it" test "$status" -eq 0 -o "$status" -eq 2
        if [ "$SANITIZE" = none ]; then
            ok "$kind: $command takes less than 256 MB ($(cat "$T/peak"))" test "$(cat "$T/peak")" -lt 256
        fi
    done
done

# ---- what is there costs no more than is allowed

"$FORGED_TRACES" plain-zones "$T/plain.ifg"
zones=$("$INFEROGRAM" info --json "$T/plain.ifg" | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"]["zones"])')
ok "a file of 60 kB has $zones zones" test "$zones" -gt 4000000

refuses() {
    name=$1
    shift
    status=0
    peak "$INFEROGRAM" "$@" || status=$?
    is "$name: the status is 2" "$status" 2
    contains "$name: the file is named" "$(cat "$T/err")" "plain.ifg"
    contains "$name: so is the limit" "$(cat "$T/err")" "more than 60.0 MB"
    contains "$name: and what was wanted" "$(cat "$T/err")" "MB more wanted"
    contains "$name: and the option" "$(cat "$T/err")" "--max-memory"
    is "$name: in one sentence" "$(wc -l <"$T/err")" 1
    if [ "$SANITIZE" = none ]; then
        ok "$name: it took less than 100 MB ($(cat "$T/peak"))" test "$(cat "$T/peak")" -lt 100
    fi
}
refuses info info --max-memory 60M "$T/plain.ifg"
refuses stats stats --max-memory=60M "$T/plain.ifg"
refuses report report "$T/plain.ifg" --max-memory 60M
refuses "report --html" report "$T/plain.ifg" --html "$T/plain.html" --max-memory 60M
refuses query query --max-memory 60M "$T/plain.ifg" "select count(*) from slice"
refuses export export --max-memory 60M "$T/plain.ifg" --format chrome -o "$T/plain.json"
refuses diff diff --max-memory 60M "$T/plain.ifg" "$T/plain.ifg"
refuses annotate annotate --max-memory 60M "$T/plain.ifg" f
ok "enough is enough" "$INFEROGRAM" info --max-memory 2G "$T/plain.ifg"
exits "the default is enough, too" 0 "$INFEROGRAM" info "$T/plain.ifg"
for size in '' x -1 0 5Q; do
    exits "'$size' is no size" 2 "$INFEROGRAM" info --max-memory "$size" "$T/plain.ifg"
done
exits "a size must be there" 2 "$INFEROGRAM" info "$T/plain.ifg" --max-memory
exits "other commands have no such option" 2 "$INFEROGRAM" ls --max-memory 1G

# An analysis that needs more than the loaded trace did.
"$REPORT_TRACES" profile "$T/profile.ifg"
serve --max-memory 60M "$T/plain.ifg" "$T/profile.ifg"
cat >"$T/ask.py" <<'END'
import sys
sys.path.insert(0, sys.argv[2])
from client import Server
server = Server(sys.argv[1])
why = server.json('t/0/meta', 422)['error']
assert 'plain.ifg' in why and '--max-memory' in why, why
assert server.json('t/1/meta')['has']['samples']
END
ok "serve refuses one and serves the other" python3 "$T/ask.py" "$url" "$SOURCE_DIR/tests/server"
stop_serving

python3 -c '
import json
print(json.dumps([{"name": "n%d" % i, "ph": "X", "ts": i, "dur": 1, "pid": 1, "tid": 1} for i in range(400000)]))' >"$T/large.json"
exits "import" 2 "$INFEROGRAM" import --max-memory 5M "$T/large.json" -o "$T/large.ifg"
contains "import: the file and the option are named" "$(cat "$T/stderr")" "large.json: not enough memory for the events (32 bytes each; --max-events limits them): it takes more than 5.0 MB"
ok "import within the limit" "$INFEROGRAM" import --max-memory 500M "$T/large.json" -o "$T/large.ifg"
done_testing
