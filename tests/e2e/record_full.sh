#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# No room: a full disk, a file size limit, a full or read-only /dev/shm. The program never suffers.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1

# The number of events in the last message of a recording, without its thin spaces.
events_told() {
    sed -n 's/.*recorded [0-9.]* s: \(.*\) events, .*/\1/p' stderr | tr -cd 0-9
}

# checked NAME FILE: the message names the file and how much is there, and that can be read.
checked() {
    told=$(events_told)
    matches "$1: the file and what was written are named" "$(cat stderr)" \
        "^inferogram: $2: cannot write more after [1-9][0-9]* bytes"
    contains "$1: the command's output is complete" "$(cat stdout)" "done 3000000"
    ok "$1: what is there can be read" "$INFEROGRAM" info "$2"
    ok "$1: with zones" test "$(count "$2" tick)" -gt 1000
    # "recorded 0.1 s: 427 520 events": as many as there are.
    is "$1: the events that are told are in it" "$told" "$(json "$2" "d['events']['zones']")"
}

exits "a file size limit: 125" 125 sh -c 'ulimit -S -f 100; exec "$@"' sh \
    "$INFEROGRAM" record -o limit.ifg -- sh -c 'ulimit -S -f unlimited; IFG_DEBUG=1 exec "$@"' sh \
    "$REC_TICKER" -b -p -c 3000000
checked "a file size limit" limit.ifg
if [ "${SANITIZE:-none}" = thread ]; then
    skip "no room even for the beginning" "ThreadSanitizer itself writes a file when it starts"
else
    exits "no room even for the beginning" 125 sh -c 'ulimit -f 0; exec "$@"' sh \
        "$INFEROGRAM" record -o none.ifg -- touch started
    ok "the command was not started" test ! -e started
    ok "no file is left" test ! -e none.ifg
fi
exits "a program under a file size limit is not harmed by the library" 4 sh -c 'ulimit -f 16; exec "$@"' \
    sh "$REC_TICKER" -c 100 -x 4
ticker -b -s 300
exits "a file size limit while attached: 1" 1 sh -c 'ulimit -f 16; exec "$@"' sh \
    "$INFEROGRAM" record -o attached.ifg --pid "$ticker"
contains "is told" "$(cat stderr)" "attached.ifg: cannot write more after"
ok "the program lives" tap_alive "$ticker"
exits "and can be recorded again" 0 "$INFEROGRAM" record -o again.ifg --duration 50ms --pid "$ticker"
kill "$ticker"

if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
    skip "a full disk" "namespaces: needs root and mount namespaces (unshare -m)"
    skip "a full /dev/shm" "namespaces: needs root and mount namespaces (unshare -m)"
    done_testing
fi

mkdir disk
exits "a full disk: 125" 125 unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs disk || exit 99
"$1" record -o disk/t.ifg -- "$2" -b -p -c 3000000; status=$?
cp disk/t.ifg full.ifg; exit $status' sh "$INFEROGRAM" "$REC_TICKER"
sed -i 's|disk/t.ifg|full.ifg|' stderr
checked "a full disk" full.ifg
exits "a disk that was full before: 125" 125 unshare -m sh -c 'mount -t tmpfs -o size=8k tmpfs disk || exit 99
head -c 8192 /dev/zero >disk/full; "$1" record -o disk/t.ifg -- true' sh "$INFEROGRAM"
is "is told" "$(cat stderr)" "inferogram: cannot write to disk/t.ifg: No space left on device"

# A program that cannot have its memory in /dev/shm has it elsewhere.
in_shm() { # NAME MOUNT-OPTIONS zones|dropped
    exits "$1: recording works" 4 unshare -m sh -c "mount -t tmpfs -o $2 tmpfs /dev/shm || exit 99"'
"$1" record -f -o shm.ifg -- "$2" -p -c 1000 -x 4' sh "$INFEROGRAM" "$REC_TICKER"
    contains "$1: the output is complete" "$(cat stdout)" "done"
    if [ "$3" = zones ]; then
        ok "$1: there are zones" test "$(count shm.ifg tick)" -gt 100
    else
        is "$1: what was lost is told" "$(json shm.ifg "d['dropped'] > 0")" True
    fi
}
in_shm "/dev/shm is read-only" ro zones
in_shm "/dev/shm is full" size=4k zones
in_shm "/dev/shm has room for the control page only" size=64k dropped
in_shm "/dev/shm has room for a small part of a ring" size=600k zones
in_shm "/dev/shm has no free inode" nr_inodes=2 zones
exits "no place at all: 125" 125 unshare -m sh -c 'exec 9<"$1" # it may lie in /tmp itself
mount -t tmpfs -o ro tmpfs /dev/shm && mount -t tmpfs -o ro tmpfs /tmp || exit 99
cd / && exec /proc/self/fd/9 record -o /run/none.ifg -- true' sh "$INFEROGRAM"
contains "is told" "$(cat stderr)" "cannot create a directory in /dev/shm or /tmp"

# /proc that hides the processes of others.
if command -v setpriv >/dev/null; then
    chmod 777 "$T"
    exits "a restricted /proc" 3 unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc || exit 99
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1" record -f -o hidden.ifg -- "$2" -c 500 -x 3
' sh "$INFEROGRAM" "$REC_TICKER"
    is "does not hide the own" "$(count hidden.ifg tick)" 500
    exits "a process that cannot be seen" 1 unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc || exit 99
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1" record --pid 1' sh "$INFEROGRAM"
fi

done_testing
