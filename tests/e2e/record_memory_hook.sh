#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --memory: allocations of programs whose allocations are known, by function, thread and process, with their
# ends; programs that must not notice; and what is said where nothing can be followed. No samples: what is here does
# not depend on what the kernel allows.
# shellcheck disable=SC2034,SC2154 # shared with the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
cd "$T" || exit 1
record_options="--no-sample --memory"

follow() { # NAME COMMAND...: recorded; its status 7 and its output "done" are its own
    name=$1
    shift
    # shellcheck disable=SC2086 # options
    exits "$name: the program's own status" 7 "$INFEROGRAM" record -q $record_options -f -o "$trace" -- "$@"
    is "$name: the program's own output" "$(cat "$T/stdout")" "done"
}

within() { # NAME VALUE EXPECTED PERCENT
    ok "$1: $2, expected about $3" python3 -c '
import sys
value, expected, percent = map(float, sys.argv[1:])
sys.exit(not abs(value - expected) <= expected * percent / 100)' "${2:-0}" "$3" "$4"
}

megabytes() { # WHERE
    rows "SELECT CAST(coalesce(sum(weight), 0) / 1e6 AS INTEGER) FROM heap_allocation WHERE $1"
}

follow shares "$HEAP_TARGET" shares
contains "shares: the instrument" "$(instrument allocations)" "on: "
within "shares: all bytes" "$(megabytes 1)" 450 15
within "shares: large ones" "$(megabytes "function = 'take_large'")" 150 5
within "shares: middle ones" "$(megabytes "function = 'take_middle'")" 200 25
within "shares: small ones" "$(megabytes "function = 'take_small'")" 100 35
is "shares: every stack has the function that asked" \
    "$(rows "SELECT count(*) FROM heap_allocation WHERE function NOT LIKE 'take_%' AND bytes IN (1500000, 100000, 500)")" 0
is "shares: and the way there" "$(rows "SELECT group_concat(function, ' ') FROM (SELECT function FROM stack_frame
    WHERE stack = (SELECT stack FROM heap_allocation WHERE function = 'take_large' LIMIT 1) ORDER BY depth LIMIT 3)")" \
    "take_large shares main"
is "shares: what was given back, and only that" "$(rows "SELECT group_concat(function, ' ') FROM (SELECT DISTINCT function
    FROM heap_allocation WHERE freed_ns IS NOT NULL AND function LIKE 'take_%')")" take_middle
is "shares: all of it" "$(rows "SELECT count(*) FROM heap_allocation WHERE freed_ns IS NULL AND function = 'take_middle'")" 0
within "shares: at the peak" "$(rows "SELECT CAST(max(live) / 1e6 AS INTEGER) FROM (SELECT sum(change) OVER (ORDER BY at, change) AS live
    FROM (SELECT time_ns AS at, weight AS change FROM heap_allocation
          UNION ALL SELECT freed_ns, -weight FROM heap_allocation WHERE freed_ns IS NOT NULL))")" 450 15
within "shares: at the end" "$(megabytes "freed_ns IS NULL")" 250 15

follow threads "$HEAP_TARGET" threads
within "threads: all bytes" "$(megabytes "function = 'take_in_thread'")" 320 50
is "threads: each has its own" "$(rows "SELECT count(DISTINCT thread) FROM heap_allocation WHERE function = 'take_in_thread'")" 4
is "threads: all were given back" "$(megabytes "function = 'take_in_thread' AND freed_ns IS NULL")" 0

follow fork "$HEAP_TARGET" fork
within "fork: the child's" "$(megabytes "function = 'take_in_child'")" 60 60
within "fork: the program's that it calls" "$(megabytes "function = 'take_in_leaf'")" 30 80
ok "fork: the parent's" test "$(megabytes "function = 'take_in_parent'")" -gt 0
is "fork: two processes" "$(rows "SELECT count(DISTINCT process) FROM heap_allocation WHERE function LIKE 'take_in_%'")" 2

follow chain "$HEAP_TARGET" chain
is "chain: one of three is left" "$(megabytes "function = 'grow' AND freed_ns IS NULL AND bytes > 1e6")" 32
ok "chain: every step ends" test "$(rows "SELECT count(*) FROM heap_allocation WHERE function = 'grow' AND freed_ns IS NOT NULL")" -ge 14

follow rules "$HEAP_TARGET" rules

# A malloc of the user's own, preloaded: ours comes first, his gets everything. It traps on what is not its own.
if sanitized; then
    skip "preloaded" "the recorder itself does not start with another malloc"
else
    own_preload=${LD_PRELOAD:-}
    LD_PRELOAD=$HEAP_PRELOAD
    export LD_PRELOAD
    follow preloaded "$HEAP_TARGET" shares
    # shellcheck disable=SC2086 # options
    "$INFEROGRAM" record -q $record_options -f -o maps.ifg -- cat /proc/self/maps >maps
    LD_PRELOAD=$own_preload
    [ -n "$LD_PRELOAD" ] || unset LD_PRELOAD
    within "preloaded: large ones" "$(megabytes "function = 'take_large'")" 150 5
    ok "preloaded: the user's library is there" grep -q "${HEAP_PRELOAD##*/}" maps
    ok "preloaded: and ours" grep -q libinferogram-memory.so maps
fi

same "a malloc in the executable" "$HEAP_OWN"
is "a malloc in the executable: that is said" "$(instrument allocations)" \
    "unavailable: the program has a malloc of its own in its executable"
# Not -static-pie: nothing loads libraries for it.
printf 'int main(void) { return 0; }\n' >static.c
# shellcheck disable=SC2086 # a command and its options
if $CC -static -o static static.c 2>/dev/null; then
    same "a static program" ./static
    contains "a static program: that is said" "$(instrument allocations)" "unavailable: "
else
    skip "a static program" "tools: no static C library"
fi

# A sanitizer looks at every copy and for every forgotten block: it must not find more, or less, than without us.
cat >leak.c <<'C'
#include <stdlib.h>
static __attribute__((noinline)) void forget(void) { char *volatile block = malloc(3000000); block[0] = 1; block = NULL; }
int main(void) { for (int i = 0; i < 20; i++) forget(); return 0; }
C
# shellcheck disable=SC2086 # a command and its options
if ! sanitized && $CC -g -fsanitize=address -o leak leak.c 2>/dev/null; then
    ./leak 2>plain
    # shellcheck disable=SC2086 # options
    "$INFEROGRAM" record -q $record_options -f -o "$trace" -- ./leak 2>recorded
    is "a sanitized program: the same status" "$?" 1
    is "a sanitized program: finds the same" "$(grep SUMMARY recorded)" "$(grep SUMMARY plain)"
else
    skip "a sanitized program" "no AddressSanitizer"
fi

# The recorder dies in the middle: the program does not notice.
# shellcheck disable=SC2016,SC2086 # for the inner shell; options
"$INFEROGRAM" record -q $record_options -f -o killed.ifg -- sh -c 'echo $$ >target; exec "$0" endless >endless' "$HEAP_TARGET" &
recorder=$!
until_true 60 grep -q ready endless
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
target=$(cat target)
pauses() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$target/status"; }
before=$(pauses)
goes_on() { [ "$(pauses)" -gt "$((before + 50))" ]; } # 250 MB later
ok "killed recorder: the program goes on" until_true 60 goes_on
kill -TERM "$target"
ok "killed recorder: and ends" until_true 60 not_alive "$target"
is "killed recorder: as ever" "$(tail -n 1 endless)" "done"
ok "killed recorder: the trace can be read" "$INFEROGRAM" info killed.ifg

# A program that writes nonsense over everything that it shares with the recorder, and allocates.
# shellcheck disable=SC2086 # options
"$INFEROGRAM" record -q $record_options -f -o scribbled.ifg -- python3 -c '
import mmap, os, random, time
random.seed(5)
with open(os.environ["IFG_MEMORY"], "r+b") as file:
    shared = mmap.mmap(file.fileno(), 0)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    at = random.choice([random.randrange(16, 200), random.randrange(len(shared) - 8), 4096 + 32848 * random.randrange(128)])
    shared[at:at + 8] = random.choice([random.randbytes(8), bytes(8), b"\xff" * 8, random.randrange(200).to_bytes(8, "little")])
    bytearray(random.randrange(3000000))
print("done")' >scribbled
is "nonsense: the program's own status" "$?" 0
is "nonsense: the program's own output" "$(cat scribbled)" "done"
ok "nonsense: the trace can be read" "$INFEROGRAM" query scribbled.ifg "SELECT count(*) FROM heap_allocation"

"$HEAP_TARGET" endless >ready &
target=$!
until_true 60 grep -q ready ready
ok "attached: recorded" "$INFEROGRAM" record -q --no-sample --memory --duration 0.2 -f -o "$trace" --pid "$target"
kill -TERM "$target"
wait "$target"
is "attached: the program ends as ever" "$?" 7
is "attached: what is not there is said" "$(instrument allocations)" \
    "unavailable: allocations are followed in launched programs only; resident memory is recorded"

# Another user than root, who is not allowed anything.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$T"
    mkdir -m 777 other
    # shellcheck disable=SC2086 # options
    setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" record -q $record_options -f -o other/own.ifg -- "$HEAP_TARGET" chain >/dev/null
    is "an ordinary user: the program's own status" "$?" 7
    trace=other/own.ifg
    is "an ordinary user: his own allocations" "$(megabytes "function = 'grow' AND freed_ns IS NULL AND bytes > 1e6")" 32
    trace=$T/trace.ifg
fi

done_testing
