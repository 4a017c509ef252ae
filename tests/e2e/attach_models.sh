#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which model is which, seen from outside: what was not read is not claimed, and no model gets the name of another.
# shellcheck disable=SC2154 # set by tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
need_probes
need ort-node-1.30.0
cd "$T" || exit 99
app=$PROGRAMS/ort_app
relu=$models/relu.onnx
recorded() { "$INFEROGRAM" record -q -f --hook uprobe -o "$trace" -- "$@" >app.out 2>app.err; }
per_model() { rows "SELECT count(*) FROM ml_event WHERE category = 'inference' GROUP BY model ORDER BY 1" | tr '\n' ' '; }

# The same graph name, other contents: what exporters make of every model.
python3 - "$relu" other.onnx <<'EOP'
import sys
data = open(sys.argv[1], 'rb').read()
open(sys.argv[2], 'wb').write(data + b'\x32\x05other')  # ModelProto.doc_string
EOP
ok "two models with one graph name" recorded "$app" --ort "$(ort 1.30.0)" --array --runs 20 --pause-us 500 --model "$relu" --model other.onnx
is "they are two models" "$(rows "SELECT count(*) FROM model")" 2
is "with their own inferences" "$(per_model)" "20 20 "
is "with names of their own" "$(rows "SELECT count(DISTINCT name) FROM model")" 2
is "nothing is said to be loaded twice" "$("$INFEROGRAM" report "$trace" --json | grep -c repeated-load)" 0
is "and none has a path" "$(rows "SELECT count(*) FROM model WHERE path != ''")" 0

# A program that is gone before anybody looks: the path that it was given is known all the same.
mkdir -p short
cp "$relu" short/short.onnx
known=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    recorded "$app" --ort "$(ort 1.30.0)" --runs 2 --model short/short.onnx
    [ "$(rows "SELECT name, path FROM model")" != "short,$T/short/short.onnx" ] || known=$((known + 1))
done
is "short programs: their model has its path" $known 10
known=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    recorded env A=b nice "$app" --ort "$(ort 1.30.0)" --runs 2 --model short/short.onnx
    [ "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" != 2 ] || known=$((known + 1))
done
is "short programs behind others: their inferences are there" $known 10

# Sessions that come and go at one address: in so many rounds there are some of both models at the same.
ok "one session after the other" recorded "$app" --ort "$(ort 1.30.0)" --array --runs 3 --pause-us 500 --loads 20 --model "$relu" --model other.onnx
is "every inference is there" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 120
read_models=$(rows "SELECT count(*) FROM model WHERE content_id != ''")
note "$read_models models were read"
is "no model has inferences of two contents" "$(rows "SELECT count(*) FROM (SELECT model FROM ml_event WHERE category = 'load'
    GROUP BY model HAVING count(*) > 20)")" 0
is "the same only where the bytes were read" "$(rows "SELECT count(*) FROM (SELECT e.model FROM ml_event e JOIN model m ON m.name = e.model
    WHERE e.category = 'load' AND ifnull(m.content_id, '') = '' GROUP BY e.model HAVING count(*) > 1)")" 0
is "nor is it said of others" "$("$INFEROGRAM" report "$trace" | grep -c 'session@.*: the same model is loaded')" 0

# A file that is merely open.
cat >bystander.py <<'EOP'
import os, sys
os.execv(sys.argv[2], sys.argv[2:] if not os.set_inheritable(os.open(sys.argv[1], os.O_RDONLY), True) else [])
EOP
cp "$models/chain.onnx" bystander.onnx
steady array.log python3 bystander.py bystander.onnx "$PROGRAMS/ort_steady" array.log 500 -a "$(ort 1.30.0)" "$relu"
ok "another model file is open" attach_until 5 --pid "$steady"
matches "its name is not taken" "$(rows "SELECT name FROM model")" '^session@[0-9a-f]+$'
settle "$steady"

# What is inferred is shown as that.
rm -f file.log
steady file.log "$PROGRAMS/ort_steady" file.log 500 "$(ort 1.30.0)" "$relu"
ok "a session from before" attach_until 5 --pid "$steady"
settle "$steady"
contains "the report tells where the name is from" "$("$INFEROGRAM" report "$trace")" "(name inferred from: session object)"
contains "so does its JSON" "$("$INFEROGRAM" report --json "$trace" | tr -d ' ')" '"inferred":"sessionobject"'

# ---- a runtime that was linked into the program: its symbols are there ----------------------------------
# shellcheck disable=SC2086 # the compiler may be two words
$CC -O1 -D_GNU_SOURCE -I"$SOURCE_DIR"/src -DORT_INSIDE -fvisibility=hidden -o inside "$SOURCE_DIR"/tests/programs/ort_app.c \
    "$SOURCE_DIR"/tests/programs/ort_linked.c "$SOURCE_DIR"/tests/programs/ort_unknown.c -lpthread || exit 99
ok "linked in, with --hook uprobe" recorded ./inside --ort inside --model nothing.onnx --runs 100 --pause-us 500
is "linked in: its inferences" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 100
spawn ./inside --ort inside --model nothing.onnx --runs 1000000 --pause-us 500 >inside.out
ok "linked in: ls knows it" until_true 60 sh -c "'$INFEROGRAM' ls | grep -q '^ *$spawned .* record --pid .*ONNX Runtime 1.30.0'"
inside=$spawned
ok "linked in: attached" attach_until 6 --pid "$inside"
ok "linked in: attached, its inferences" test "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" -gt 5
kill "$inside"
cp inside stripped
strip stripped
spawn ./stripped --ort inside --model nothing.onnx --runs 1000000 --pause-us 500 >inside.out
until_true 60 grep -q stripped "/proc/$spawned/maps" # it is no shell any more
exits "without symbols it cannot be" 1 attach --duration 100ms --pid "$spawned"
kill "$spawned"

# ---- which of several processes is meant by a name ------------------------------------------------------
# A supervisor that does nothing and workers of the same name: they are what the user means.
cat >worker-pool <<'EOP'
#!/bin/sh
shift
"$@" & first=$!
"$@" & second=$!
trap 'kill $first $second; wait' TERM
echo up
wait
EOP
chmod +x worker-pool
cp "$PROGRAMS/ort_steady" "pool-$$"
spawn python3 -c 'import os, sys; os.execv("/bin/sh", [sys.argv[1]] + sys.argv[2:])' "pool-$$" worker-pool x "./pool-$$" pool.log 500 \
    "$(ort 1.30.0)" "$relu" >pool.out 2>&1
supervisor=$spawned
if until_true 60 sh -c "[ \$(pgrep -P $supervisor | wc -l) -eq 2 ] && for p in \$(pgrep -P $supervisor); do grep -q libonnx /proc/\$p/maps || exit 1; done"; then
    # attach_both OPTIONS...: until both workers have run something.
    both_ran() {
        [ "$(rows "SELECT count(DISTINCT process) FROM slice WHERE category = 'inference'")" = 2 ] || not_alive "$recorder"
    }
    attach_both() {
        rm -f "$trace"
        recorder -o "$trace" "$@"
        until_true 60 both_ran
        kill -INT "$recorder"
        ended "$recorder"
        cp "$T/recorder.err" "$T/stderr"
        return "$status"
    }
    ok "a supervisor with its workers" attach_both --name "pool-$$"
    is "the workers are recorded" "$(rows "SELECT count(DISTINCT process) FROM slice WHERE category = 'inference'")" 2
    lacks "and not listed as left out" "$(cat "$T/stderr")" "also matches"
    ok "the supervisor by its pid" attach_both --pid "$supervisor"
    is "its workers are recorded" "$(rows "SELECT count(DISTINCT process) FROM slice WHERE category = 'inference'")" 2
else
    fail "a supervisor with its workers starts" "$(cat pool.out)"
fi
for worker in $(pgrep -P "$supervisor"); do kill "$worker"; done
kill "$supervisor" 2>/dev/null

# The oldest of that name has nothing to record.
cp /bin/sleep "same-$$"
spawn "./same-$$" 60
mkdir -p real
cp "$PROGRAMS/ort_steady" "real/same-$$"
rm -f same.log
steady same.log "real/same-$$" same.log 500 "$(ort 1.30.0)" "$relu"
ok "two of one name" attach --duration 500ms --name "same-$$"
is "the one that can be recorded is" "$(json "$trace" "d['pids']")" "[$steady]"
settle "$steady"
done_testing
