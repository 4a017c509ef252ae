#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram stats: every number against a recomputation, the outputs, the filters, wrong input.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"

trace=$T/pipeline.ifg
"$INFEROGRAM" record -q -o "$trace" -- "$BUILD_DIR/examples/image_pipeline" 1500 3 >"$T/out" ||
    fail "record the image pipeline" "$(cat "$T/out")"

exits "every number agrees with query rows" 0 \
    python3 "$SOURCE_DIR/tests/stats/recompute.py" "$INFEROGRAM" "$trace"
note "$(cat "$T/stdout")"

exits "the table" 0 "$INFEROGRAM" stats "$trace"
matches "has a row per zone" "$(cat "$T/stdout")" '^blur +3 000 '
exits "csv" 0 "$INFEROGRAM" stats "$trace" --csv
is "csv header" "$(head -n 1 "$T/stdout" | tr -d '\r')" \
    "name,count,total_ns,self_ns,mean_ns,sd_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,share"
cp "$T/stdout" "$T/result"
ok "csv parses" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert {r["name"]: r["count"] for r in rows}["blur"] == "3000", rows' "$T/result"
exits "sorted by name, two rows" 0 "$INFEROGRAM" stats "$trace" --sort name --limit 2 --csv
is "are the first names" "$(tail -n +2 "$T/stdout" | cut -d, -f1 | tr '\n' ' ')" "blur draw "
exits "one thread" 0 "$INFEROGRAM" stats "$trace" --thread source --json
cp "$T/stdout" "$T/result"
ok "only its zones" python3 -c 'import json, sys
names = {r["name"] for r in json.load(open(sys.argv[1]))["rows"]}
assert "draw" in names and "blur" not in names, names' "$T/result"
exits "one model" 0 "$INFEROGRAM" stats "$trace" --model stripes --by category --json
cp "$T/stdout" "$T/result"
ok "its categories" python3 -c 'import json, sys
rows = {r["name"]: r["count"] for r in json.load(open(sys.argv[1]))["rows"]}
assert rows == {"setup": 1500, "inference": 1500, "load": 1, "specialization": 1}, rows' "$T/result"
exits "nothing matches" 0 "$INFEROGRAM" stats "$trace" --name nothing_like_this
contains "says so" "$(cat "$T/stderr")" "nothing matches"

exits "a broken pattern" 2 "$INFEROGRAM" stats "$trace" --name '*'
contains "tells where" "$(cat "$T/stderr")" "at character 1"
exits "an unknown group" 2 "$INFEROGRAM" stats "$trace" --by colour
exits "no file" 2 "$INFEROGRAM" stats
exits "a file that is not there" 2 "$INFEROGRAM" stats "$T/none.ifg"
contains "is named" "$(cat "$T/stderr")" "none.ifg"
exits "json and csv" 2 "$INFEROGRAM" stats "$trace" --json --csv
exits "a range that ends before it begins" 2 "$INFEROGRAM" stats "$trace" --from 2 --to 1

head -c 20000 "$trace" >"$T/cut.ifg"
exits "a cut trace" 0 "$INFEROGRAM" stats "$T/cut.ifg"
contains "says that it is not whole" "$(cat "$T/stderr")" "not finished"
printf '<html>' >"$T/page.ifg"
exits "a web page" 2 "$INFEROGRAM" stats "$T/page.ifg"
done_testing
