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
matches "has a row per zone" "$(cat "$T/stdout")" '^blur +3000 '
exits "csv" 0 "$INFEROGRAM" stats "$trace" --csv
is "csv header" "$(head -n 1 "$T/stdout" | tr -d '\r')" \
    "name,count,total_ns,self_ns,mean_ns,sd_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,p999_ns,max_ns,share,host_time,device_ns"
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

# ---- operators of a device: what the host took to hand them over

"$REPORT_TRACES" gpu "$T/gpu.ifg"
exits "operators of a GPU" 0 "$INFEROGRAM" stats "$T/gpu.ifg" --by op
matches "are marked" "$(cat "$T/stdout")" '^conv +\* +8 +6\.40 ms'
contains "as host time" "$(cat "$T/stdout")" "* host time; the device is not recorded"
is "as JSON" "$("$INFEROGRAM" stats "$T/gpu.ifg" --json | python3 -c 'import json, sys
print(sorted((r["name"], r["host_time"]) for r in json.load(sys.stdin)["rows"]))')" \
    "[('conv', True), ('det · main · inference', False), ('det · main · load', False), ('relu', True)]"
lacks "other figures have no mark" "$("$INFEROGRAM" stats "$trace")" "host time"

# ---- memory that is polled rarely: what changed between two polls is no phase's that is shorter

exits "memory by phase" 0 "$INFEROGRAM" stats "$T/gpu.ifg" --by memory
matches "growth that cannot be told apart is n/a" "$(cat "$T/stdout")" '^det inference \(rest\) .* n/a +n/a$'
contains "the poll interval is the reason" "$(cat "$T/stdout")" "n/a: polled every 250 ms"
matches "the process's own is known" "$(cat "$T/stdout")" '^process .* 84\.0 MB +84\.0 MB$'
exits "memory as JSON" 0 "$INFEROGRAM" stats "$T/gpu.ifg" --by memory --json
cp "$T/stdout" "$T/result"
ok "no phase grows by more than the process's peak; what is not known has a reason" python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
peak = max(r["peak_bytes"] for r in rows if r["process"])
assert peak == 104e6, peak
for row in rows:
    for key in "delta", "growth":
        assert (row[key + "_bytes"] is None) == (row[key + "_unknown"] == "polled every 250 ms"), row
        assert (row[key + "_bytes"] or 0) <= peak, row
    assert bool(row["process"]) == (row["growth_bytes"] is not None), row' "$T/result"
exits "memory as CSV" 0 "$INFEROGRAM" stats "$T/gpu.ifg" --by memory --csv
matches "has nothing where nothing is known" "$(tr -d '\r' <"$T/stdout")" '^det load,[0-9]+,1,0,1,20000000,,101000000,,1,$'
matches "counts what was after the last poll" "$(tr -d '\r' <"$T/stdout")" '^det inference \(rest\),[0-9]+,119,1,118,'

head -c 20000 "$trace" >"$T/cut.ifg"
exits "a cut trace" 0 "$INFEROGRAM" stats "$T/cut.ifg"
contains "says that it is not whole" "$(cat "$T/stderr")" "not finished"
printf '<html>' >"$T/page.ifg"
exits "a web page" 2 "$INFEROGRAM" stats "$T/page.ifg"
done_testing
