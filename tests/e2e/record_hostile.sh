#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that write garbage over their shared memory while they are recorded: the recorder does not crash,
# hang or grow, and what it wrote can be read.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
MEMORY_MAX_KB=${MEMORY_MAX_KB:-400000} # resident, of which the mapped region is 65,000

for way in indices slots records states definitions rings names open control everything truncate unmap; do
    : >recorder.err
    spawn "$INFEROGRAM" record -f -o hostile.ifg -- "$REC_HOSTILE" "$way" 0.7 >/dev/null 2>recorder.err
    recorder=$spawned
    peak=0
    tries=0
    while tap_alive "$recorder" && [ "$tries" -lt 300 ]; do
        now=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$recorder/status" 2>/dev/null)
        [ "${now:-0}" -le "$peak" ] || peak=$now
        sleep 0.1
        tries=$((tries + 1))
    done
    ended "$recorder"
    is "$way: the recorder passes the program's status on" "$status" 0
    [ "$status" -eq 0 ] || note "$(tail -n 5 recorder.err)"
    note "$way: at most $peak kB, trace of $(wc -c <hostile.ifg) bytes"
    case $BUILD_DIR in
    *asan* | *tsan*) ;;
    *) ok "$way: it stays small" test "$peak" -lt "$MEMORY_MAX_KB" ;;
    esac
    exits "$way: the trace can be read" 0 timeout 60 "$INFEROGRAM" info hostile.ifg
    exits "$way: and as JSON" 0 timeout 60 "$INFEROGRAM" info --json hostile.ifg
    mv stdout json
    ok "$way: it is JSON" python3 -m json.tool json /dev/null
done

# The ring of --memory is a file that every program of the tree can write to, and cut short.
i=0
while [ "$i" -lt 4 ]; do
    i=$((i + 1))
    # shellcheck disable=SC2016 # the shell that is recorded expands it
    spawn "$INFEROGRAM" record -f -o heap.ifg --memory -- sh -c '
        for bytes in 0 4096 100000 0 50000000 0; do
            python3 -c "b = [bytearray(3000000) for i in range(20)]"
            env -u LD_PRELOAD truncate -s $bytes "$IFG_MEMORY"
        done
        exit 3' >/dev/null 2>heap.err
    ended "$spawned"
    # The programs that look at what they cut may be killed by that; the recorder is not. A shell starts programs in its own
    # memory (vfork): one that is killed while it moves a block leaves the shell with a pointer to the old one, and free() aborts.
    matches "heap cut short ($i): the recorder goes on" "$status" '^(3|134|135)$'
    contains "heap cut short ($i): to its end" "$(cat heap.err)" "recorded"
    exits "heap cut short ($i): the trace can be read" 0 timeout 60 "$INFEROGRAM" info heap.ifg
done

exits "a region in a memfd cannot be cut" 0 "$REC_HOSTILE" seal

done_testing
