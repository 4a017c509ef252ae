#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram live in the terminal: a real model in node, launched and attached; its numbers are those of the trace; what is
# temporary goes away.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
export TMPDIR
# fits FILE COLUMNS: whether what was drawn is as wide as that at most. The last picture or line is for the scrollback.
fits() {
    python3 -c 'import re, sys
text = open(sys.argv[1]).read()
if "\033[?1049h" in text:
    lines = re.split("\n|\033\\[H", text.split("\033[?1049h")[1].split("\033[?1049l")[0])
else:
    # What the program prints comes behind the line that is there.
    lines = [re.sub("[)][0-9]+\r?$", ")", line) for line in re.findall("[0-9]+:[0-9]+  [^\n\033]*", text)[:-1]]
lines = [re.sub("\033\\[[?0-9;]*[A-Za-z]", "", line) for line in lines]
wide = [line for line in lines if len(line) > int(sys.argv[2])]
print(wide[0] if wide else "yes" if lines else "nothing was drawn")' "$1" "$2"
}
ls_temporary() { find "$T" -maxdepth 1 -name 'inferogram-live-*'; }

# A known program, launched.
exits "live -- CMD: the program's own status" 0 "$INFEROGRAM" live --no-sample -f -o known.ifg -- "$LIVE_EVENTS" 2000 1.2
is "the program's own output" "$(cat stdout)" 2400
matches "the gauge has every inference" "$(cat stderr)" '^[0-9:]+  inference 2400 \(median .*load 1 \(median [0-9.]+ m?s\)'
is "and so has the trace" "$(json known.ifg "sum(p['count'] for p in d['locations'] if p['category'] == 'inference')")" 2400
lacks "no escape sequences without a terminal" "$(cat stderr)" "$(printf '\033')"
ok "a line again and again" test "$(grep -c '^[0-9:]*  ' stderr)" -ge 2

# Temporary.
exits "without -o" 0 "$INFEROGRAM" live --no-sample -- "$LIVE_EVENTS" 100 0.2
contains "it tells how to keep the trace" "$(cat stderr)" "keep it with -o FILE"
is "the temporary trace is gone" "$(ls_temporary)" ""
exits "a program that is not there" 127 "$INFEROGRAM" live -- ./no-such-program
is "nothing is left then" "$(ls_temporary)" ""
exits "a wrong option names live" 2 "$INFEROGRAM" live --nonsense
contains "and points to its help" "$(cat stderr)" "inferogram live --help"
exits "--log without CMD" 2 "$INFEROGRAM" live --log x --pid 1
exits "record has no --web" 2 "$INFEROGRAM" record --web -- true

exits "--log: the program's own output" 0 "$INFEROGRAM" live -q --no-sample --log out.txt -- "$LIVE_EVENTS" 100 0.2
is "is in the file" "$(cat out.txt)" 20
matches "and the gauge on stdout" "$(cat stdout)" 'inference 20 '

# Attached, ended by Ctrl-C.
spawn "$LIVE_EVENTS" 500 3000
target=$spawned
carries "$target"
spawn "$INFEROGRAM" live --no-sample --pid "$target" >attached.out 2>attached.err
live=$spawned
until_true 60 grep -q 'inference [1-9]' attached.out
ok "attached: it counts" grep -q 'inference [1-9]' attached.out
kill -INT "$live"
ended "$live"
is "Ctrl-C ends it" "$status" 0
is "attached: the temporary trace is gone" "$(ls_temporary)" ""
ok "attached: the program goes on" kill -0 "$target"

# On a terminal: the whole gauge, q ends it.
python3 "$SOURCE_DIR/tests/e2e/live_pty.py" "$INFEROGRAM" live --no-sample --pid "$target" >screen
is "q ends it" "$(tail -n 1 screen)" "status 0"
ok "on another screen, which is left again" grep -q "1049l" screen
for word in Inference Load Specialization High Low Count Start Duration Model Event known CPU Memory; do
    ok "the gauge has $word" grep -q "$word" screen
done
ok "bars are blocks" grep -q '[▁▂▃▄▅▆▇█]' screen
NO_COLOR=1 python3 "$SOURCE_DIR/tests/e2e/live_pty.py" "$INFEROGRAM" live --no-sample --pid "$target" >screen
lacks "NO_COLOR: none" "$(cat screen)" "$(printf '\033[34m')"

# As wide as the terminal, and no wider.
PTY_SIZE='12 40' python3 "$SOURCE_DIR/tests/e2e/live_pty.py" "$INFEROGRAM" live --no-sample --pid "$target" >screen
is "40 columns: every line fits" "$(fits screen 40)" yes
ok "40 columns: and has the median" grep -q 'Inference .* median' screen
kill "$target"
PTY_SIZE='12 60' python3 "$SOURCE_DIR/tests/e2e/live_pty.py" "$INFEROGRAM" live -q --no-sample -- "$LIVE_EVENTS" 500 2.5 >screen
is "with what the program prints: one line that fits" "$(fits screen 60)" yes

# A real model.
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
if sanitized; then
    skip "a real model in node" "a sanitized library cannot be preloaded into other programs"
elif ! command -v node >/dev/null; then
    skip "a real model in node" "tools: no node on this machine"
elif ! have silero || ! have ort-node-1.30.0; then
    skip "a real model in node" "runtimes: $(tail -n 1 "$T/fetch")"
else
    NODE_PATH=$(cached ort-node-1.30.0)/node_modules
    export NODE_PATH
    exits "node and silero" 0 "$INFEROGRAM" live -f -o "$trace" -- node "$SOURCE_DIR/tests/runtimes/vad.js" "$(cached silero)/silero_vad_v5.onnx" 1500
    contains "the program's own output" "$(cat stdout)" "1500 frames"
    is "the trace has every inference" "$(counts)" "inference 1500, load 1, specialization 1"
    matches "so has the gauge" "$(cat stderr)" 'inference 1500 \(median .*load 1 \(.*specialization 1 \('
    exits "RunAsync" 0 "$INFEROGRAM" live --no-sample -- "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$models/relu.onnx" --runs 30 --async --intra 2
    matches "RunAsync: the gauge has every one" "$(cat stderr)" 'inference 30 \(median '
fi
done_testing
