#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recorders, and other users, leave lying around: a recorder that was killed a moment ago, files with a
# lease on them.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1

# ---- a recorder that was killed a moment ago ----
ticker -s 3000 -b -t 4
refused=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    recorder -f -o killed.ifg --pid "$ticker"
    kill -9 "$recorder"
    "$INFEROGRAM" record -q -f -o next.ifg --pid "$ticker" --duration 20ms 2>next.err || refused="$refused $i:$(cat next.err)"
    wait "$recorder" 2>/dev/null
done
is "the next recorder is not refused, 15 times" "$refused" ""
recorder -f -o busy.ifg --pid "$ticker"
exits "one that lives keeps it" 1 "$INFEROGRAM" record -q -f -o next.ifg --pid "$ticker"
contains "and is named" "$(cat stderr)" "by process $recorder"
kill "$recorder"
kill "$ticker"
ended "$ticker"

# ---- a lease ----
cat >lease.py <<'PY'
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)  # asked to give it up: no
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666)
os.ftruncate(fd, int(sys.argv[2]))
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('ready', flush=True)
time.sleep(100)
PY
# Whoever holds it is asked to give it up, and has 45 s to do so; by anybody's open, root's as well.
spawn python3 lease.py inferogram-1 66949120 >lease.out 2>lease.err
if until_true 60 grep -q ready lease.out; then
    exits "a file with a lease does not stall ls" 0 timeout 20 "$INFEROGRAM" ls
else
    fail "a lease" "$(cat lease.err)"
fi

done_testing
