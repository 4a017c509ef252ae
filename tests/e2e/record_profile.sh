#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# Operators of an old ONNX Runtime: its session profile, handed over by a hook, becomes operators inside the
# inferences that were recorded; what hooks say of themselves is in the trace; hostile files do no harm.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
query() { "$INFEROGRAM" query --csv "$@" | tr -d '\r' | tail -n +2; }
# record FILE [bad]: notes the directory of the recording in session.
record() {
    "$INFEROGRAM" record -o "$1" -- sh -c 'echo "${IFG_SESSION##*:}" >session; exec "$@"' sh "$REC_HOOK" "${2:-good}"
}

exits "a program with a hook that hands a profile over" 0 record ops.ifg
contains "what was watched is told" "$(cat stderr)" "watched ONNX Runtime 1.17.0 (launch hooks); operators: first 64"
contains "the report is next" "$(cat stderr)" "next: inferogram report ops.ifg"
contains "info says what was watched" "$("$INFEROGRAM" info ops.ifg)" "ONNX Runtime 1.17.0 on (launch hooks)"
is "on is not taken back by another process" \
    "$(json ops.ifg "[i['state'] for i in d['instruments'] if i['name'].startswith('ONNX')]")" "['on']"
is "60 inferences" "$(query ops.ifg "SELECT count(*) FROM slice WHERE category = 'inference'")" 60
is "40 operators in each" "$(query ops.ifg "SELECT count(*) FROM slice WHERE kind = 'op'")" 2400
is "all inside an inference" "$(query ops.ifg "SELECT count(*) FROM slice o JOIN slice p ON p.id = o.parent_id
    WHERE o.kind = 'op' AND p.category = 'inference' AND o.depth = p.depth + 1
    AND o.start_ns >= p.start_ns AND o.end_ns <= p.end_ns")" 2400
is "40 each" "$(query ops.ifg "SELECT DISTINCT n FROM
    (SELECT count(*) AS n FROM slice WHERE kind = 'op' GROUP BY parent_id)")" 40
is "on the thread of their inference, also when it had ended" "$(query ops.ifg "SELECT count(*) FROM slice
    WHERE kind = 'op' GROUP BY thread ORDER BY 1" | paste -sd ' ')" "400 2000"
is "with name and type" "$(query ops.ifg "SELECT name || ' ' || function || ' ' || model FROM slice WHERE kind = 'op'
    ORDER BY id LIMIT 1")" "/net/conv_0 Conv net"
is "with ONNX Runtime's own keys" "$(json ops.ifg "d['events']['details']")" $((2400 * 4))
is "no event was dropped" "$(json ops.ifg "d['dropped']")" 0
is "and nothing lost" "$(json ops.ifg "d['losses']")" "[]"
ok "no file is left" test ! -e "$(cat session)"

echo precious >precious
exits "files that nobody should read" 0 record bad.ifg bad
is "are not removed" "$(cat precious)" precious
ok "nor what a link leads to" test -s /etc/passwd
is "no operator came of them" "$(json bad.ifg "d['events']['ops']")" 0
is "they are counted" "$(json bad.ifg "[l['count'] for l in d['losses'] if 'profiles' in l['what']]")" "[4]"
is "paths elsewhere are nonsense" "$(json bad.ifg "[l['count'] for l in d['losses'] if 'no sense' in l['what']]")" "[2]"
ok "and no file is left" test ! -e "$(cat session)"

# The profile is read also while the program goes on.
for seconds in 2 20; do # longer, where the program has not done its work by then
    exits "a recording that ends before the program" 0 "$INFEROGRAM" record --duration $seconds -f -o early.ifg -- \
        sh -c '"$1"; sleep "$2"' sh "$REC_HOOK" $((seconds + 1))
    [ "$(json early.ifg "d['events']['ops']")" != 2400 ] || break
done
is "has the operators too" "$(json early.ifg "d['events']['ops']")" 2400

done_testing
