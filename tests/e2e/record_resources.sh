#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a recording tells of the machine and of processes, compared with what a program says of itself. The machine
# may be busy with other things: the truth is the CPU time of the program.
# shellcheck disable=SC2154
. "$TAP_SH"
. "$(dirname "$0")/record_lib.sh"

use_cpu=$PROGRAMS/use_cpu
trace=$T/trace.ifg

# rows SQL: one row a line, commas between.
rows() { "$INFEROGRAM" query "$trace" "$1" --csv 2>&1 | tail -n +2 | tr -d '\r'; }
# truth EXPRESSION: of what the program said (cpu, wall), the report (d) and the number of CPUs (n).
truth() {
    "$INFEROGRAM" report --json "$trace" >"$T/report.json"
    python3 - "$T/report.json" "$T/said" "$1" <<'END'
import json, os, sys
d = json.load(open(sys.argv[1])); cpu, wall = map(float, open(sys.argv[2]).read().split()); n = os.cpu_count()
m = d.get('machine')
print(eval(sys.argv[3]))
END
}

# ---- a busy loop on one CPU ----

ok "a busy loop is recorded" sh -c "'$INFEROGRAM' record -q -o '$trace' -- '$use_cpu' 1.5 64 >'$T/said'"
note "the program: $(cat "$T/said") (CPU, wall); recorded: $(truth '(m["program_cores"], m["cpu_pct"], d["duration_s"])')"
is "its CPU time, within 5 %" "$(truth 'abs(m["program_cores"] * d["duration_s"] - cpu) <= 0.05 * cpu')" True
# A recording is longer than its program by what a recorder without a CPU waits at the end.
is "its share of a CPU, within 5 points" "$(truth '100 * cpu / d["duration_s"] - 5 <= 100 * m["program_cores"] <= 100 * cpu / wall + 5')" True
is "the machine is at least as busy" "$(truth 'm["cpu_pct"] >= 100 * cpu / max(wall, d["duration_s"]) / n - 5')" True
is "and never more than all of it" "$(truth '0 <= m["cpu_max_pct"] <= 100.01')" True
case ${SANITIZE:-none} in none) most=80e6 ;; *) most=1e12 ;; esac
is "its memory" "$(truth "64e6 <= m['rss_max_bytes'] <= $most")" True
contains "the report has a line for it" "$("$INFEROGRAM" report "$trace")" "Machine       CPU "
contains "the instrument tells what is missing" "$(json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == 'resources']")" "1 Hz"
is "the process is there, though it carries nothing of ours" "$(json "$trace" "[(p['program'].split('/')[-1], p['end'], p['threads']) for p in d['processes']]")" \
    "[('use_cpu', 'exited with 0', [])]"
is "counters of the machine and of the process" "$(rows "SELECT count(DISTINCT process) FROM counter")" 2
is "for each CPU" "$(rows "SELECT count(DISTINCT name) FROM counter WHERE name GLOB 'cpu [0-9]* %'")" "$(getconf _NPROCESSORS_ONLN)"
is "no value without a time, none before the begin" "$(rows "SELECT count(*) FROM counter WHERE time_ns < 0 OR value IS NULL")" 0
is "counts do not go back" "$(rows "SELECT count(*) FROM (SELECT value - lag(value) OVER (PARTITION BY name ORDER BY time_ns) AS more
    FROM counter WHERE name LIKE 'page faults%') WHERE more < 0")" 0
ok "as tracks of a timeline" "$INFEROGRAM" export "$trace" --format chrome -o "$T/chrome.json"
is "with names" "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1])); d = d["traceEvents"] if isinstance(d, dict) else d
print(sorted({e["name"] for e in d if e["ph"] == "C"} & {"cpu total %", "cpu %", "rss bytes"}))' "$T/chrome.json")" \
    "['cpu %', 'cpu total %', 'rss bytes']"
ok "Perfetto" "$INFEROGRAM" export "$trace" --format perfetto -o "$T/trace.perfetto"
is "stats shows none of them" "$("$INFEROGRAM" stats "$trace" 2>/dev/null | grep -c 'cpu total')" 0

# ---- the same on one CPU alone, against the kernel's own count of the same time ----

cat >"$T/alone.py" <<'END'
import os, subprocess, sys, time
def count():
    with open('/proc/stat') as file:
        values = [int(value) for value in file.readline().split()[1:9]]
    return sum(values), values[3] + values[4]
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
all_before, idle_before = count()
begin = time.monotonic()
cpu, wall = map(float, subprocess.run([sys.argv[1], '2'], stdout=subprocess.PIPE).stdout.split()[:2])
all_after, idle_after = count()
print(100 - 100 * (idle_after - idle_before) / (all_after - all_before), time.monotonic() - begin, cpu, wall)
END
ok "one of the CPUs is busy" sh -c "'$INFEROGRAM' record -q -f -o '$trace' -- python3 '$T/alone.py' '$use_cpu' >'$T/said'"
# What others do on this machine is in the kernel's count too: only on a quiet one is it one CPU's whole time.
cat >"$T/judge.py" <<'END'
import json, os, sys
system, counted, cpu, wall = map(float, open(sys.argv[1]).read().split())
process = 100 * cpu / wall
report = json.load(open(sys.argv[2]))
machine = report['machine']
got, looked = (float(word) for word in sys.argv[3].split(','))
looked /= 1e9
share = 100 / os.cpu_count()
print('# machine %.1f %%, the kernel counts %.1f %%; program %.1f %%, it counts %.1f %%' %
      (machine['cpu_pct'], system, got, process), file=sys.stderr)
if system < share + 3 and process > 97:
    print(abs(machine['cpu_pct'] - share) <= 5 and abs(got - 100) <= 5)
else:
    # Others come and go, and the windows are not the same: the kernel's is inside of the recording, and the looks at the
    # program are inside of its life. What is outside can be anything between nothing and all.
    whole = max(report['duration_s'], counted)
    least = system * counted / whole
    print(least - 5 <= machine['cpu_pct'] <= least + 100 * (whole - counted) / whole + 5 and
          100 * (cpu - max(0, wall - looked)) / looked - 5 <= got <= min(100, 100 * cpu / looked) + 5)
END
"$INFEROGRAM" report --json "$trace" >"$T/report.json"
got=$(rows "SELECT sum(value * dur) / sum(dur), sum(dur) FROM (SELECT value, process, time_ns - lag(time_ns) OVER (PARTITION BY process ORDER BY time_ns) AS dur
    FROM counter WHERE name = 'cpu %' AND process > 0) WHERE dur > 0 GROUP BY process ORDER BY 1 DESC LIMIT 1")
is "the machine's share and the program's, within 5 points where nobody else is at work" "$(python3 "$T/judge.py" "$T/said" "$T/report.json" "$got" 2>"$T/judged")" True
note "$(sed 's/^# //' "$T/judged")"

# ---- rates, and none ----

ok "50 a second" "$INFEROGRAM" record -q -f -o "$trace" --resources=50 -- "$use_cpu" 0.4
# Never more often; and as often wherever the recorder had a CPU in time.
is "about as often as asked for" "$(rows "SELECT count(*) * 1e9 / sum(gap) <= 75 AND min(gap) <= 40000000 FROM
    (SELECT time_ns - lag(time_ns) OVER (ORDER BY time_ns) AS gap FROM counter WHERE name = 'rss bytes') WHERE gap IS NOT NULL")" 1
is "shares of CPUs are not finer than the kernel's count" \
    "$(rows "SELECT count(*) <= 2 + (max(time_ns) - min(time_ns)) / 250e6 FROM counter WHERE name = 'cpu total %'")" 1
ok "--no-resources" "$INFEROGRAM" record -q -f -o "$trace" --no-resources -- "$use_cpu" 0.1
is "says so" "$(json "$trace" "[(i['state'], i['reason']) for i in d['instruments'] if i['name'] == 'resources']")" \
    "[('off', '--no-resources was given')]"
is "and has none" "$(json "$trace" "(d['events']['counters'], d['processes'])")" "(0, [])"
lacks "nor a line in the report" "$("$INFEROGRAM" report "$trace")" "Machine"
for bad in 0 101 x 1x -1 ''; do
    exits "a wrong rate: '$bad'" 2 "$INFEROGRAM" record "--resources=$bad" -- true
done
ok "a program that is over at once" "$INFEROGRAM" record -q -f -o "$trace" -- true

# ---- processes that others tell of ----

"$INFEROGRAM" record -q -f -o "$trace" -- "$REC_TICKER" -s 1.3
is "a program with the library is one process" "$(json "$trace" "len(d['processes'])")" 1
late_library=$BUILD_DIR/hooks/libinferogram.so.0
if [ "${SANITIZE:-none}" = none ]; then
    "$INFEROGRAM" record -q -f -o "$T/late.ifg" --hook none --no-sample --resources=10 -- \
        python3 -c "import ctypes, time; time.sleep(2.5); ctypes.CDLL('$late_library'); time.sleep(0.3)"
    is "so is one that loads it when its resources were seen before" "$(json "$T/late.ifg" "len(d['processes'])")" 1
fi
is "its counters are its own" "$(rows "SELECT count(*) > 1, count(DISTINCT process) FROM counter WHERE name = 'rss bytes'")" 1,1
is "on the clock of its zones" "$(rows "SELECT min(c.time_ns) >= min(s.start_ns) - 1e9 AND max(c.time_ns) <= max(s.end_ns) + 2e9
    FROM counter c, (SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM slice) s WHERE c.name = 'rss bytes'")" 1
for seconds in 0.8 6; do # longer, where the recorder does not come to look
    "$INFEROGRAM" record -q -f -o "$trace" -- sh -c "'$use_cpu' $seconds & '$use_cpu' $seconds; wait" >/dev/null
    seen=$(rows "SELECT count(DISTINCT process) >= 3 FROM counter WHERE name = 'rss bytes'")
    [ "$seen" != 1 ] || break
done
is "children are seen" "$seen" 1

# ---- devices that are not at hand ----

ticker -s 60
LD_LIBRARY_PATH=$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML_PID=$ticker \
    "$INFEROGRAM" record -q -f -o "$trace" --duration 0.7 --pid "$ticker"
is "GPUs by NVML" "$(rows "SELECT name, max(value) FROM counter WHERE name GLOB 'gpu 1 *' AND name NOT LIKE '%energy J' AND process = 0 GROUP BY name ORDER BY name" | tr '\n' ' ')" \
    "gpu 1 busy %,37 gpu 1 clock MHz,1410 gpu 1 memory busy %,12 gpu 1 memory clock MHz,2619 gpu 1 memory used bytes,2000000000 gpu 1 other processes,0 gpu 1 power W,50 gpu 1 power capped,1 gpu 1 slowed by heat,0 gpu 1 temperature C,55 gpu 1 throttled: hardware slowdown,0 gpu 1 throttled: heat (hardware),0 gpu 1 throttled: heat (software),0 gpu 1 throttled: power brake,0 gpu 1 throttled: power cap,1 "
is "their energy only grows" "$(rows "SELECT count(*) > 1 AND min(value) >= 5000 AND max(value) > min(value) FROM counter WHERE name = 'gpu 1 energy J'")" 1
is "and what the process has of them" "$(rows "SELECT DISTINCT name, value FROM counter WHERE name = 'gpu 0 memory bytes' AND process > 0")" \
    "gpu 0 memory bytes,123456789"
is "what the first one can do at most" "$(rows "SELECT group_concat(value, ' ') FROM (SELECT value FROM fact
    WHERE key LIKE 'resources.gpu.0.%' ORDER BY key)" | tr -d '"')" \
    "1980 9.0 16896 GPU-00112233-4455-6677-8899-aabbccddeeff 6016 3201 Fake GPU A"
is "their names" "$(rows "SELECT value FROM fact WHERE key = 'resources.gpu'")" '"Fake GPU A, Fake GPU B"'
contains "in the report" "$("$INFEROGRAM" report "$trace" | tr -s "\n " " ")" "GPU 0 37 % (max 37 %)"
lacks "and nothing is missing there" "$(json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == 'resources']")" "GPU"
LD_LIBRARY_PATH=$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML=broken \
    "$INFEROGRAM" record -q -f -o "$trace" -- "$use_cpu" 0.1 >/dev/null
contains "a driver that does not start" "$(json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == 'resources']")" "GPU: NVML does not start"

done_testing
