#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# inferogram query on real traces: output formats, limits, wrong and hostile statements, wrong files.
. "$TAP_SH"

cd "$T" || exit 1
query() { "$INFEROGRAM" query "$@"; }
value() { query t.ifg "$1" --csv | sed -n '2s/\r$//p'; }
python() { python3 -c "$@"; }

"$INFEROGRAM" record -q -o t.ifg -- "$BUILD_DIR/examples/image_pipeline" 100 2 >/dev/null 2>&1
ok "there is a trace" test -s t.ifg

# ---- what it says --------------------------------------------------------------------------------------
is "every image" "$(value 'SELECT count(*) FROM slice WHERE name = "image"')" 100
is "a blur is inside a stage" \
    "$(value 'SELECT DISTINCT p.name FROM slice s JOIN slice p ON p.id = s.parent_id WHERE s.name = "blur"')" pre
is "ML events are slices" \
    "$(value 'SELECT count(*) FROM ml_event e JOIN slice s USING (id) WHERE s.kind = "ml" AND e.dur_ns = s.dur_ns')" 202
is "the load was cold" "$(value 'SELECT specialization, device FROM ml_event WHERE category = "load"')" cold,CPU
is "detail is JSON" \
    "$(value 'SELECT count(*) FROM ml_event WHERE category = "inference" AND json_extract(detail, "$.class") BETWEEN 0 AND 3')" 100
is "every request has three stages" \
    "$(value 'SELECT count(*), min(n), max(n) FROM (SELECT count(*) AS n FROM attribute WHERE key = "request" GROUP BY value)')" \
    100,3,3
is "allocations are balanced" "$(value 'SELECT sum(is_free), count(*) FROM allocation')" 100,200
is "time begins at 0" "$(value 'SELECT min(t) FROM (SELECT start_ns AS t FROM slice UNION ALL SELECT time_ns FROM counter)')" 0
is "statistics agree with slices" "$(value 'SELECT count(*) FROM zone_stats() z WHERE z.kind != "ml" AND
    (z.count, z.total_ns, z.self_ns) != (SELECT count(*), sum(dur_ns), sum(self_ns) FROM slice s WHERE s.name = z.name AND s.kind = z.kind)')" 0
"$INFEROGRAM" stats t.ifg --csv >stats.csv
query t.ifg 'SELECT name, count, total_ns, self_ns, printf("%.0f", p99_ns) AS p99 FROM zone_stats()' --csv >zone_stats.csv
ok "zone_stats() and inferogram stats say the same" python '
import csv
stats = {r["name"]: r for r in csv.DictReader(open("stats.csv", newline=""))}
ours = list(csv.DictReader(open("zone_stats.csv")))
assert len(ours) == len(stats) > 5
for row in ours:
    other = stats[row["name"]]
    assert all(row[k] == other[k] for k in ("count", "total_ns", "self_ns")), (row, other)
    assert abs(float(row["p99"]) - float(other["p99_ns"])) <= 1, (row, other)
'

# ---- formats -------------------------------------------------------------------------------------------
odd='SELECT 1 AS a, NULL AS b, 2.5 AS "c,d", "x,""y""" || char(10) || "z" AS e, x"00ff" AS f, "" AS g'
odd=$(printf '%s' "$odd" | sed "s/x\"00ff\"/x'00ff'/")
query t.ifg "$odd" --json >odd.json
ok "JSON" python 'import json
d = json.load(open("odd.json"))
assert list(d) == ["schema", "columns", "rows", "truncated"], d
assert d["schema"] == 1 and d["columns"] == ["a", "b", "c,d", "e", "f", "g"], d
assert d["rows"] == [[1, None, 2.5, "x,\"y\"\nz", "00ff", ""]] and d["truncated"] is False, d'
query t.ifg "$odd" --csv >odd.csv
ok "CSV" python 'import csv
rows = list(csv.reader(open("odd.csv", newline="")))
assert rows == [["a", "b", "c,d", "e", "f", "g"], ["1", "", "2.5", "x,\"y\"\nz", "00ff", ""]], rows
assert open("odd.csv", "rb").read().endswith(b",\"\"\r\n")'
is "a table" "$(query t.ifg 'SELECT 5 AS n, "ab" AS text UNION ALL SELECT 1000, NULL')" "   n  text
   5  ab
1000  NULL"
is "a table without rows" "$(query t.ifg 'SELECT id, name FROM slice WHERE 0')" "id  name"
is "long texts are cut" "$(query t.ifg --max-width 4 'SELECT "abcdef" AS a')" "a
abc…"
is "or not" "$(query t.ifg --max-width 0 'SELECT replace(hex(zeroblob(100)), "00", "x") AS a' | tail -n 1 | wc -c)" 101
is "control characters do not reach the terminal" "$(query t.ifg 'SELECT char(27, 10) || "x" AS a' | tail -n 1)" "??x"
is "SQL from standard input" "$(echo 'SELECT 6 * 7 AS a' | query t.ifg - | tail -n 1)" 42
ok "a pipe that closes is no trouble" sh -c '"$0" query t.ifg "SELECT * FROM slice a, slice b" --csv | head -n 3' "$INFEROGRAM"
is "many rows are written as they come" \
    "$(query t.ifg 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT i FROM n' --csv | wc -l)" 300001
ok "--tables" query --tables
contains "it lists columns" "$(cat stdout)" "specialization"
ok "--tables with a file" query t.ifg --tables

# ---- limits --------------------------------------------------------------------------------------------
exits "more rows than allowed" 1 query t.ifg 'SELECT id FROM slice' --max-rows 5
is "those are printed" "$(wc -l <stdout)" 6
contains "and it is said" "$(cat stderr)" "more than 5 rows"
contains "with the way out" "$(cat stderr)" "--max-rows 0"
exits "as many rows as allowed" 0 query t.ifg 'SELECT id FROM slice LIMIT 5' --max-rows 5
exits "cut JSON" 1 query t.ifg 'SELECT id FROM slice' --max-rows 2 --json
cp stdout cut.json
ok "is whole" python 'import json
d = json.load(open("cut.json"))
assert len(d["rows"]) == 2 and d["truncated"] is True and "rows" in d["error"], d'
bomb='WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
exits "a recursion without end" 1 query t.ifg "$bomb" --timeout 300ms
contains "is told" "$(cat stderr)" "longer than 0.3 s"
contains "with the way out" "$(cat stderr)" "--timeout"
exits "a join without end" 1 query t.ifg 'SELECT count(*) FROM slice a, slice b, slice c, slice d' --timeout 300ms
exits "one call that takes for ever" 1 query t.ifg --timeout 100ms \
    "SELECT instr(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || '1')"
contains "is told too" "$(cat stderr)" "--timeout"
exits "a large blob" 2 query t.ifg 'SELECT zeroblob(100000000)'
contains "is too big" "$(cat stderr)" "too big"
exits "memory is limited" 1 query t.ifg 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
    SELECT count(DISTINCT randomblob(3000000)) + sum(length(a)) FROM (SELECT percentile(i, 5) AS a FROM n), n' --timeout 5

# ---- wrong and hostile ---------------------------------------------------------------------------------
refused() {
    exits "refused: $1" 2 query t.ifg "$1"
    contains "with a reason: $1" "$(cat stderr)" "$2"
    is "and without output: $1" "$(cat stdout)" ""
}
refused 'ATTACH "other.db" AS other' "ATTACH"
refused 'PRAGMA journal_mode = DELETE' "PRAGMA"
refused 'PRAGMA writable_schema = 1' "PRAGMA"
refused 'SELECT load_extension("./x.so")' "not allowed"
refused 'CREATE TABLE x(a)' "only read"
refused 'CREATE TEMP TABLE x AS SELECT * FROM slice' "only read"
refused 'INSERT INTO slice(name) VALUES (1)' "only read"
refused 'VACUUM INTO "copy.db"' "only read"
refused 'SELECT 1; DROP TABLE slice' "one statement"
refused 'SELECT writefile("x", "y")' "no such function"
refused 'SELECT readfile("/etc/passwd")' "no such function"
refused 'SELECT durr_ns FROM slice' "character 8"
contains "the way to the columns" "$(cat stderr)" "--tables"
refused 'SELECT * FROM zones' "no such table: zones"
refused 'SELECT FROM' "syntax error"
refused '' "no SQL"
is "no file was written" "$(find . -name '*.db' -o -name x)" ""

exits "no SQL" 2 query t.ifg
exits "no file" 2 query
exits "SQL without quotes" 2 query t.ifg SELECT 1
contains "is told" "$(cat stderr)" "quotes"
exits "two formats" 2 query t.ifg 'SELECT 1' --json --csv
exits "a wrong number" 2 query t.ifg 'SELECT 1' --max-rows some
exits "a wrong time" 2 query t.ifg 'SELECT 1' --timeout soon
exits "an unknown option" 2 query t.ifg 'SELECT 1' --xml
exits "a file that is not there" 2 query missing.ifg 'SELECT 1'
echo "no trace" >text
exits "a file that is no trace" 2 query text 'SELECT 1'
: >empty
exits "an empty file" 2 query empty 'SELECT 1'
head -c "$(($(wc -c <t.ifg) / 2))" t.ifg >half.ifg
exits "half a file" 0 query half.ifg 'SELECT count(*), (SELECT finished FROM trace_info) FROM slice' --csv
contains "is told" "$(cat stderr)" "not finished"
matches "and has a part" "$(cat stdout)" '^[0-9]+,0'
exits "a full disk" 1 sh -c '"$0" query t.ifg "SELECT * FROM slice" >/dev/full' "$INFEROGRAM"

done_testing
