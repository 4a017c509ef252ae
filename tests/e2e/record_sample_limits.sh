#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sampling where things are short: threads that hardly live, more threads than files may be open, a program that ends
# while we come, a recorder that is killed, and a user who may not see the kernel.
# shellcheck disable=SC2154,SC3045 # set by the files read here; ulimit -S, -H and -n are in every shell we meet
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
crowd=$PROGRAMS/sample_crowd
cd "$T" || exit 1
if ! "$INFEROGRAM" record -q --sample -f -o can.ifg -- true || ! "$INFEROGRAM" info can.ifg | grep -q 'samples on'; then
    skip_all "samples: $("$INFEROGRAM" info can.ifg | grep -o 'samples not available.*')"
fi
ulimit -S -n 1024 2>/dev/null || skip_all "the limit of open files cannot be set here"

samples_reason() { json "$1" "[i['reason'] for i in d['instruments'] if i['name'] == 'samples'][0]"; }
rows() { "$INFEROGRAM" query "$1" "$2" --csv | tail -n +2 | tr -d '\r'; }
files_of() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }
crowd_of() { # NUMBER: starts that many threads; the id is in $target
    : >ready
    spawn "$crowd" "$1" 0 >ready
    target=$spawned
    until_true 60 grep -q ready ready
}
crowd_ends() { # NAME
    kill -TERM "$target"
    ended "$target"
    is "$1: the program ends as ever" "$status $(tr '\n' ' ' <ready)" "7 ready done "
}

# ---- threads that hardly live ----

cpus=$(getconf _NPROCESSORS_CONF)
# A recorder that has no CPU for some moments loses samples, and counts them: then again.
for _ in 1 2 3 4 5; do
    recorder --sample=997 -f -o short.ifg -- "$SAMPLE_TARGET" "$SAMPLE_WORK" threads
    most=0
    while tap_alive "$recorder"; do
        now=$(files_of "$recorder")
        [ "$now" -le "$most" ] || most=$now
    done
    ended "$recorder"
    [ "$(json short.ifg "d['sampling']['lost']")" != 0 ] || break
done
is "1,000 short threads: the program's own status" "$status" 7
note "the recorder had at most $most files open; $(rows short.ifg 'SELECT count(*), count(DISTINCT thread) FROM sample') samples, threads"
ok "1,000 short threads: files do not grow with threads" test "$most" -le "$((64 + 4 * cpus))"
is "1,000 short threads: nothing is lost" "$(json short.ifg "d['sampling']['lost']")" 0
ok "1,000 short threads: samples" test "$(rows short.ifg 'SELECT count(*) FROM sample')" -ge 1

# ---- more threads than files may be open ----

exits "128 threads, 256 files, launched" 7 sh -c "ulimit -S -n 256; exec '$INFEROGRAM' record -q --sample=499 -f -o launched.ifg -- '$crowd' 128 600"
lacks "nothing is missing" "$(samples_reason launched.ifg)" "threads"
ok "several threads are sampled" test "$(rows launched.ifg 'SELECT count(DISTINCT thread) FROM sample')" -ge 5
exits "the program's own limit" 0 sh -c "ulimit -S -n 256; exec '$INFEROGRAM' record -q -f --sample -o limit.ifg -- sh -c 'ulimit -S -n'"
is "is what it was" "$(cat stdout)" 256

crowd_of 128
exits "128 threads, 256 files, attached" 0 sh -c "ulimit -S -n 256; exec '$INFEROGRAM' record -q --sample=997 --duration 1.2 -f -o attached.ifg --pid $target"
exits "the same where it cannot be raised" 0 sh -c "ulimit -n 256; exec '$INFEROGRAM' record -q --sample=997 --duration 1 -f -o tight.ifg --pid $target"
crowd_ends "128 threads"
lacks "the limit is raised: nothing is missing" "$(samples_reason attached.ifg)" "threads"
ok "several threads are sampled" test "$(rows attached.ifg 'SELECT count(DISTINCT thread) FROM sample')" -ge 5
matches "what does not fit is said" "$(samples_reason tight.ifg)" "[0-9]+ threads: too many files would be open \(raise 'ulimit -n'"
ok "what fits is sampled" test "$(rows tight.ifg 'SELECT count(DISTINCT thread) FROM sample')" -ge 3
ok "and the rest of the recording has its files" test "$(rows tight.ifg "SELECT count(*) FROM counter WHERE name = 'rss bytes'")" -ge 1

# ---- the program ends while we come ----

cat >race.py <<'END'
import os, random, resource, subprocess, sys, time
inferogram, crowd = sys.argv[1:3]
random.seed(7)
bad, statuses, worst = [], {}, 0
for i in range(30):
    life = random.randint(3, 90)
    target = subprocess.Popen([crowd, '6', str(life)], stdout=subprocess.PIPE)
    time.sleep(random.random() * life / 1e3)
    recorder = subprocess.Popen([inferogram, 'record', '-q', '--sample=997', '-f', '-o', 'race/%d.ifg' % i, '--pid', str(target.pid)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    said = target.stdout.read()
    target.stdout.close()
    if target.wait() != 7 or said != b'ready\ndone\n':
        bad.append('%d: the program ended with %d, %r' % (i, target.returncode, said))
    error = recorder.stderr.read().decode()
    _, status, usage = os.wait4(recorder.pid, 0)
    status = os.waitstatus_to_exitcode(status)
    statuses[status] = statuses.get(status, 0) + 1
    worst = max(worst, usage.ru_utime + usage.ru_stime)
    path = 'race/%d.ifg' % i
    if status == 0:
        if subprocess.run([inferogram, 'info', path], stdout=subprocess.DEVNULL).returncode:
            bad.append('%d: no trace' % i)
    elif status not in (1, 3) or not error.startswith('inferogram: '):
        bad.append('%d: status %d, %r' % (i, status, error))
    elif os.path.exists(path):
        bad.append('%d: status %d, and a trace' % (i, status))
left = [name for name in os.listdir('race') if not name.endswith('.ifg')]
if left:
    bad.append('left: %s' % left)
print('\n'.join(bad) or 'good')
print('# statuses %s, at most %.2f s of CPU' % (statuses, worst), file=sys.stderr)
sys.exit(worst > 2 * int(os.environ.get("TAP_TIMEOUT_SCALE", "1")))
END
mkdir race
verdict=$(python3 race.py "$INFEROGRAM" "$crowd" 2>race.err)
is "no recorder spins" "$?" 0
note "$(sed 's/^# //' race.err)"
is "30 programs that end while we come" "$verdict" good

# ---- the recorder is killed ----

crowd_of 8
recorder --sample=997 -f -o killed.ifg --pid "$target"
sleep 0.3
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ok "a killed recorder, attached: the program goes on" tap_alive "$target"
exits "somebody else may record it" 0 "$INFEROGRAM" record -q --sample=997 --duration 2 -f -o again.ifg --pid "$target"
ok "with samples" test "$(rows again.ifg 'SELECT count(*) FROM sample')" -ge 1
crowd_ends "a killed recorder"
recorder --sample=997 -f -o killed2.ifg -- sh -c "'$crowd' 8 700 >launched.out; echo \$? >>launched.out"
until_true 60 grep -qs ready launched.out
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
until_true 60 grep -q 7 launched.out
is "a killed recorder, launched: the program ends as ever" "$(tr '\n' ' ' <launched.out)" "ready done 7 "
for trace in killed killed2; do
    status=0
    "$INFEROGRAM" info "$trace.ifg" >/dev/null 2>info.err || status=$?
    ok "its trace can be read, or it is said why not ($status)" test "$status" -eq 0 -o -s info.err
done

# ---- an ordinary user, and the default of most kernels ----

paranoid=/proc/sys/kernel/perf_event_paranoid
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "perf_event_paranoid 2" "root: only root can become somebody else"
elif before=$(cat "$paranoid") && ! echo 2 2>/dev/null >"$paranoid"; then
    skip "perf_event_paranoid 2" "it cannot be set here"
else
    trap 'echo "$before" >"$paranoid"; tap_cleanup' EXIT
    chmod 755 "$T"
    mkdir -m 777 other
    # It sleeps first: one that only computes is never switched on a machine with nothing else to do.
    HOME=$T/other setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
        "$INFEROGRAM" record -q --sample=499 -f -o other/own.ifg -- \
        sh -c 'sleep 0.1; exec "$@"' sh "$SAMPLE_TARGET" "$SAMPLE_WORK" plain >/dev/null 2>other/err
    is "paranoid 2, an ordinary user: the program's own status" "$?" 7
    spawn setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$crowd" 4 0 >ready
    target=$spawned
    until_true 60 grep -q ready ready
    HOME=$T/other setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
        "$INFEROGRAM" record -q --sample=997 --duration 2 -f -o other/attached.ifg --pid "$target" 2>>other/err
    is "attached" "$?" 0
    kill -TERM "$target"
    echo "$before" >"$paranoid"
    trap tap_cleanup EXIT
    note "$(cat other/err)"
    for trace in own attached; do
        ok "$trace: samples" test "$(rows "other/$trace.ifg" 'SELECT count(*) FROM sample')" -ge 10
        ok "$trace: stacks" test "$(json "other/$trace.ifg" "int(100 * d['sampling']['rooted_share'])")" -ge 95
        ok "$trace: context switches" test "$(rows "other/$trace.ifg" "SELECT value FROM fact WHERE key = 'samples.switches'")" -ge 1
        said=$(json "other/$trace.ifg" "[i['name'] + ' ' + i['state'] + ': ' + i['reason'] for i in d['instruments'] if 'kernel' in i['name'] + i['reason']]")
        note "$said"
        matches "$trace: kernel frames are missing, with the way out" "$said" "kernel.*(perf_event_paranoid=[-0-9]|setcap|sysctl)"
    done
fi
is "the setting is as it was" "$(cat "$paranoid")" "${before:-$(cat "$paranoid")}"
done_testing
