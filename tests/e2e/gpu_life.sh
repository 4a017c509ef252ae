#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The hook for CUPTI in programs that fork, are killed, run already, or have another injection library.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/gpu_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

gpu "fork after cuInit" 20 4 fork
is "fork after cuInit: all work of the parent" \
    "$(rows "SELECT count(*), count(launch_slice) FROM gpu_slice")" "210,210"
is "fork after cuInit: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets"

# shellcheck disable=SC2086 # options
"$INFEROGRAM" record -q $record_options -f -o "$trace" -- "$PROGRAMS/gpu_app" 2000 4 kill >killed.out 2>killed.err
is "killed: its status and output are its own" "$? $(cat killed.out killed.err)" "137 2000"
ok "killed: the trace opens" "$INFEROGRAM" info "$trace"
ok "killed: work is there but for the last moments" test "$(rows "SELECT count(*) FROM gpu_slice")" -ge 10000

# Another injection library, before ours.
export STUB_INJECTION="$T/injected"
export CUDA_INJECTION64_PATH="$PROGRAMS/stub_injection.so"
gpu "another injection library" 20 4
is "another injection library: was called both times" "$(cat injected)" "called
called"
is "another injection library: all work" "$(rows "SELECT count(*) FROM gpu_slice")" 200
unset CUDA_INJECTION64_PATH

# Armed, and nobody records.
status=0
CUDA_INJECTION64_PATH=$cupti_hook "$PROGRAMS/gpu_app" 20 4 >armed.out 2>armed.err || status=$?
is "armed: same output and exit status" "$status $(cat armed.out armed.err)" "0 20"

# Armed, and recorded later.
spawn env CUDA_INJECTION64_PATH="$cupti_hook" "$PROGRAMS/gpu_app" 0 4 await >await.out 2>await.err
app=$spawned
until_true 60 grep -q memfd:inferogram "/proc/$app/maps"
until_true 60 grep -q inferogram-cupti "/proc/$app/maps"
ok "attached" "$INFEROGRAM" record --no-sample --no-resources --pid "$app" --duration 1 -q -f -o "$trace"
ended "$app"
is "attached: the program's status is its own" "$status $(cat await.err)" "0 "
is "attached: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets"
lacks "attached: clocks are not off" "$("$INFEROGRAM" report --json "$trace")" before_call
ok "attached: work" test "$(rows "SELECT count(*) FROM gpu_slice")" -gt 10
is "attached: all that was launched and over is there" "$(rows "SELECT count(*) FROM gpu_call
    WHERE kind <> 'sync' AND slices = 0 AND start_ns + 50000000 < (SELECT max(start_ns) FROM gpu_call)")" 0
is "attached: whose launch was seen, but for the first moments" "$(rows "SELECT count(*) FROM gpu_slice
    WHERE launch_slice IS NULL AND start_ns > (SELECT min(start_ns) + 50000000 FROM gpu_call)")" 0

# Not armed: the hook is loaded into it.
spawn "$PROGRAMS/gpu_app" 0 4 await >await.out 2>await.err
app=$spawned
until_true 60 grep -q memfd:inferogram "/proc/$app/maps"
until_true 60 grep -q libcuda.so.1 "/proc/$app/maps"
ok "injected" "$INFEROGRAM" record --no-sample --no-resources --hook inject --pid "$app" --duration 1 -q -f -o "$trace"
ended "$app"
is "injected: the program's status is its own" "$status $(cat await.err)" "0 "
is "injected: the instrument" "$(instrument)" "on: CUPTI 13.0: kernels, copies, sets"
lacks "injected: clocks are not off" "$("$INFEROGRAM" report --json "$trace")" before_call
ok "injected: work" test "$(rows "SELECT count(*) FROM gpu_slice")" -gt 10
is "injected: whose launch was seen, but for the first moments" "$(rows "SELECT count(*) FROM gpu_slice
    WHERE launch_slice IS NULL AND start_ns > (SELECT min(start_ns) + 50000000 FROM gpu_call)")" 0

done_testing
