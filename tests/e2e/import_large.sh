#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two million events in an order that is no order: memory stays within 32 bytes for each plus a constant.
. "$TAP_SH"

cd "$T" || exit 99
events=2000000
python3 "$SOURCE_DIR/tests/import/roundtrip.py" large large.json "$events"
python3 - "$INFEROGRAM" <<'EOF' >measured
import resource, subprocess, sys, time
begin = time.time()
status = subprocess.call([sys.argv[1], 'import', 'large.json'], stdout=open('out', 'w'))
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, '%.1f' % (time.time() - begin))
EOF
read -r status kib seconds <measured
note "$events events, $(wc -c <large.json) bytes: $seconds s, $kib KiB"
is "exit status" "$status" 0
contains "all are zones" "$(cat out)" "2000000 zones"
contains "the missing bracket is noted" "$(cat out)" "closing bracket"
if [ "${SANITIZE:-none}" != none ]; then
    skip "memory is bounded" "sanitizers use memory of their own"
else
    ok "memory is bounded: 32 bytes per event and 48 MiB" test "$kib" -le $((events * 32 / 1024 + 48 * 1024))
fi
done_testing
