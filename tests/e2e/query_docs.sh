#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/sql.md: its queries run on a real trace and give sane rows; its tables are those that there are.
. "$TAP_SH"

cd "$T" || exit 1
command -v python3 >/dev/null 2>&1 || skip_all "tools: python3 is not installed"
"$INFEROGRAM" record -q -o t.ifg -- "$BUILD_DIR/examples/image_pipeline" 200 2 >/dev/null 2>&1
"$REPORT_TRACES" profile samples.ifg
"$INFEROGRAM" record -q -o killed.ifg -- "$REC_TICKER" -c 10 -k 9 >/dev/null 2>&1

cat >check.py <<'PYTHON'
import json, re, subprocess, sys

tool, document, which = sys.argv[1:]
text = open(document, encoding='utf-8').read()
queries = re.findall(r'```sql\n(.*?)```', text, re.S)


def ask(trace, sql):
    done = subprocess.run([tool, 'query', trace, '-', '--json'], input=sql, text=True, capture_output=True)
    assert done.returncode == 0, (sql, done.stderr)
    answer = json.loads(done.stdout)
    assert not answer['truncated']
    return [dict(zip(answer['columns'], row)) for row in answer['rows']]


def slowest(rows):
    assert len(rows) == 10 and rows[0]['dur_ns'] >= rows[9]['dur_ns'] > 0
    assert all(r['model'] == 'stripes' and r['device'] == 'CPU' for r in rows)


def categories(rows):
    counts = {r['category']: r['count'] for r in rows}
    assert counts == {'load': 1, 'specialization': 1, 'setup': 200, 'inference': 200}, counts
    assert all(abs(r['total_ms'] * 1e3 / r['count'] - r['mean_us']) < 1e-6 * r['mean_us'] for r in rows)


def first(rows):
    assert len(rows) == 1 and rows[0]['count'] == 200 and rows[0]['first_ns'] > 0 < rows[0]['steady_ns']


def tails(rows):
    assert {'blur', 'draw', 'image'} <= {r['name'] for r in rows}
    assert all(r['p50_ns'] <= r['p99_ns'] <= r['max_ns'] for r in rows)


def gaps(rows):
    assert len(rows) == 10 and all(r['gap_ns'] is None or r['gap_ns'] > 0 for r in rows)
    assert rows[0]['gap_ns'] >= rows[1]['gap_ns']


def stages(rows):
    assert len(rows) == 10
    for r in rows:
        assert r['pre_ns'] > 0 and r['inference_ns'] > 0 and r['post_ns'] >= 0 and r['elsewhere_ns'] >= 0
        assert sum(r[k] for k in ('pre_ns', 'inference_ns', 'post_ns', 'elsewhere_ns')) == r['dur_ns']


def counters(rows):
    rows = [r for r in rows if r['name'] == 'queue']  # others are of the machine
    assert rows and all(0 <= r['low'] <= r['mean'] <= r['high'] <= 16 for r in rows)


def memory(rows):
    assert [(r['pool'], r['left_bytes']) for r in rows] == [('images', 0)] and rows[0]['most_bytes'] >= 36864, rows


def unfinished(rows):
    assert not rows
    rows = ask('killed.ifg', queries[8])
    assert [r['name'] for r in rows] == ['outer'] and rows[0]['seen_for_ns'] > 0, rows


def longest(rows):
    assert len(rows) == 10 and all(0 <= r['self_ns'] <= r['dur_ns'] for r in rows)
    assert any(r['file'] and r['line'] for r in rows)


def functions(rows):
    rows = ask('samples.ifg', queries[10])
    assert [(r['function'], r['self'], r['percent']) for r in rows] == [
        ('run(int)', 20, 40), ('spin', 20, 40), ('do_page', 10, 20)], rows


def stack(rows):
    rows = ask('samples.ifg', queries[11])
    assert [r['function'] for r in rows] == ['spin', 'pool::Worker::(virtual 2)'], rows


def waits(rows):
    rows = ask('samples.ifg', queries[12])
    assert len(rows) == 10 and all((r['dur_ns'], r['waited_ns']) == (10000000, 2000000) for r in rows), rows


checks = [slowest, categories, first, tails, gaps, stages, counters, memory, unfinished, longest,
          functions, stack, waits]


def tables():
    told = json.loads(subprocess.run([tool, 'query', '--tables', '--json'], capture_output=True).stdout)
    there = {t['name']: [c['name'] for c in t['columns']] for t in told['tables']}
    written = {}
    for part in re.split(r'^### ', text.split('\n## Tables\n')[1], flags=re.M)[1:]:
        written[part.split('\n')[0]] = re.findall(r'^\| `(\w+)`', part, flags=re.M)
    assert written == there, [(n, written.get(n), there.get(n)) for n in {*written, *there}
                              if written.get(n) != there.get(n)]
    for name, columns in there.items():
        ask('t.ifg', f'SELECT {", ".join(columns)} FROM {name} LIMIT 3')


if which == 'tables':
    tables()
elif which == 'count':
    assert len(queries) == len(checks) == 13, len(queries)
else:
    checks[int(which)](ask('t.ifg', queries[int(which)]))
PYTHON
check() { python3 check.py "$INFEROGRAM" "$SOURCE_DIR/docs/sql.md" "$1"; }

ok "there are thirteen queries" check count
ok "tables and columns are those of --tables" check tables
number=0
for name in "slowest inferences" "time by model and category" "first and steady" "tails" "gaps" "stages" "counters" \
    "memory" "unfinished" "self time" "functions" "a stack" "waits"; do
    ok "query: $name" check "$number"
    number=$((number + 1))
done

done_testing
