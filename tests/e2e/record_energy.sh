#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Joules per inference of a recording, against a device that takes exactly as much as the program says, however busy
# this machine is; and a driver that is slow, or does not answer at all.
# shellcheck disable=SC2154
. "$TAP_SH"
. "$(dirname "$0")/record_lib.sh"

work=$PROGRAMS/energy_work
trace=$T/trace.ifg
rows() { "$INFEROGRAM" query "$trace" "$1" --csv 2>&1 | tail -n +2 | tr -d '\r'; }
# metered OPTIONS... -- WORK_ARGUMENTS: a recording with that device
metered() {
    rm -f "$T/work"
    env LD_LIBRARY_PATH="$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAKE_NVML="${mode:-meter}" FAKE_NVML_WORK="$T/work" \
        "$INFEROGRAM" record -q -f -o "$trace" "$@"
}
# about MODEL EXPRESSION: of its energy (e, by device), and of the devices (d)
about() {
    "$INFEROGRAM" report --json "$trace" >"$T/report.json"
    python3 - "$T/report.json" "$1" "$2" <<'END'
import json, sys
r = json.load(open(sys.argv[1])); m = r['machine']
e = {x['device']: x for model in r['models'] if model['name'] == sys.argv[2] for x in model['energy']}
d = {x['device']: x for x in m['energy']}
print(eval(sys.argv[3]))
END
}

# ---- idle power measured before the program starts

ok "a program that uses 2 J for each inference" metered --idle 1 -- "$work" "$T/work" 0 250 2
note "$(about on_gpu "e['gpu 0'], d['gpu 0']")"
is "joules per inference, within 5 %" "$(about on_gpu "abs(e['gpu 0']['joules_per_inference'] / 2 - 1) < 0.05")" True
is "inside its bounds" "$(about on_gpu "e['gpu 0']['low_j'] <= 2 <= e['gpu 0']['high_j']")" True
is "idle power, and how it is known" "$(about on_gpu "d['gpu 0']['idle'], round(d['gpu 0']['idle_w']), d['gpu 0']['idle_s'] >= 1")" "('measured', 50, True)"
is "the device that did nothing is not charged" "$(about on_gpu "sorted(e)")" "['gpu 0']"
is "nor is the process that does not use one" "$(about elsewhere "e")" "{}"
matches "the report says so" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' '  ')" \
    'Joules per inference GPU 0 (1|2)\.?[0-9]* J \([0-9.]+ J to [0-9.]+ J\) above idle; idle 50\.[0-9] W, measured for 1\.[0-9] s before the program started'
is "for the one model only" "$("$INFEROGRAM" report "$trace" | grep -c 'Joules per inference')" 1
is "throttling by its reason" "$(about on_gpu "m['gpus'][0]['throttled']")" "[{'reason': 'power cap', 'share': 1}]"
is "who else is on the device" "$(rows "SELECT max(value) FROM counter WHERE name = 'gpu 0 other processes'")" 0
is "how often devices were read" "$(rows "SELECT CAST(value AS REAL) > 5 FROM fact WHERE key = 'devices.looks'")" 1

# ---- idle power seen before the program uses the device, and none

ok "without a measurement" metered -- "$work" "$T/work" 1500 250 2
is "the time before will do" "$(about on_gpu "d['gpu 0']['idle'], abs(e['gpu 0']['joules_per_inference'] / 2 - 1) < 0.05")" "('before_use', True)"
ok "a program that begins at once" metered -- "$work" "$T/work" 0 60 2
case $(about on_gpu "d['gpu 0']['idle']") in
unknown)
    is "has no joules" "$(about on_gpu "e['gpu 0']['joules_per_inference']")" None
    contains "but a reason" "$(about on_gpu "e['gpu 0']['reason']")" "record with --idle 2"
    contains "that the report tells" "$("$INFEROGRAM" report "$trace" | tr -s '\n ' '  ')" "GPU 0 n/a: idle power is not known"
    ;;
*) skip "no idle power" "this machine was so slow that there was some" ;;
esac
exits "--idle without a command" 2 "$INFEROGRAM" record --idle 1 --pid $$
contains "why" "$(cat "$T/stderr")" "--idle goes with CMD"
exits "--idle without resources" 2 "$INFEROGRAM" record --idle 1 --no-resources -- true
exits "too long" 2 "$INFEROGRAM" record --idle 2m -- true

# ---- a device that is divided

mode=mig
ok "MIG" metered -- "$work" "$T/work" 0 50 2
contains "is noticed" "$(rows "SELECT value FROM fact WHERE key = 'resources.gpu'")" "Fake GPU A (MIG, 2 instances)"
contains "and said" "$(json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == 'resources']")" "MIG is on"
is "no utilisation is made up" "$(rows "SELECT count(*) FROM counter WHERE name = 'gpu 0 busy %'")" 0
mode=meter

# ---- drivers that take their time

# Every answer takes 200 ms; the loop and the looks at /proc do not wait for it.
export FAKE_NVML_SLOW=200
ok "a slow driver" metered --resources=20 -- "$work" "$T/work" 0 300 2
unset FAKE_NVML_SLOW
is "nothing is lost" "$(json "$trace" "(d['events']['dropped'] if 'dropped' in d['events'] else 0, [l for l in d['losses'] if l['count']])")" "(0, [])"
is "/proc is read as often as asked for" "$(rows "SELECT sum(name = 'threads') > 2 * sum(name = 'gpu 0 energy J') FROM counter")" 1
is "the driver's time is told" "$(rows "SELECT CAST(value AS REAL) >= 200 FROM fact WHERE key = 'devices.longest_ms'")" 1
export FAKE_NVML_STUCK=1
ok "a driver that does not answer any more" metered -- "$work" "$T/work" 0 60 2
unset FAKE_NVML_STUCK
contains "is said" "$(json "$trace" "[i['reason'] for i in d['instruments'] if i['name'] == 'resources']")" "a device did not answer"
is "the rest is there" "$(rows "SELECT count(*) > 0 FROM counter WHERE name = 'rss bytes'")" 1

done_testing
