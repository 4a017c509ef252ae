#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command that doctor names must do what it promises: something is taken away, doctor misses it, its command is
# run as it stands, and then it works. Settings of the kernel are changed for moments and put back.
. "$TAP_SH"
cd "$T" || exit 99

[ "$(id -u)" -eq 0 ] || skip_all "this needs root"
command -v setpriv >/dev/null || skip_all "this needs setpriv"
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$INFEROGRAM" || skip_all "nobody may not run $INFEROGRAM"
chmod 755 "$T"
# What a filter of capabilities takes away, a sanitizer misses too.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"

kernel=/proc/sys/kernel
for name in perf_event_paranoid kptr_restrict perf_event_mlock_kb perf_event_max_sample_rate; do
    cat "$kernel/$name" >"$T/was.$name"
done
restore() {
    for name in perf_event_paranoid kptr_restrict perf_event_mlock_kb perf_event_max_sample_rate; do
        [ "$(cat "$kernel/$name")" = "$(cat "$T/was.$name")" ] || cat "$T/was.$name" >"$kernel/$name"
    done
}
leave() {
    left_with=$?
    restore
    (exit "$left_with")
    tap_cleanup
}
trap leave EXIT

# The commands begin with sudo; here we are root already.
sudo() { "$@"; }
command -v sysctl >/dev/null || sysctl() {
    for setting; do echo "${setting#*=}" >"/proc/sys/$(echo "${setting%%=*}" | tr . /)"; done
}
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# field FIELD: of the only check in doctor.json
field() { sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/' "$T/doctor.json"; }

# examine NAME CHECK STATE COMMAND...: what COMMAND, which runs doctor as somebody, says of a check
examine() {
    examine_name=$1
    examine_check=$2
    examine_state=$3
    shift 3
    "$@" "$INFEROGRAM" doctor --json "$examine_check" >"$T/doctor.json"
    is "$examine_name: $examine_state" "$(field state)" "$examine_state"
    [ "$(field state)" = "$examine_state" ] || note "$(field detail)"
}

# cure NAME CHECK REASON COMMAND...: misses it with that reason, and has it after its own command
cure() {
    cure_name=$1
    cure_check=$2
    cure_reason=$3
    shift 3
    examine "$cure_name" "$cure_check" no "$@"
    contains "$cure_name: the reason" "$(field detail)" "$cure_reason"
    cure_fix=$(field fix)
    note "$cure_fix"
    eval "$cure_fix" >"$T/fixed" 2>&1 || fail "$cure_name: the command" "$(cat "$T/fixed")"
    examine "$cure_name, after its command" "$cure_check" works "$@"
}

if ! echo 2 2>/dev/null >$kernel/perf_event_paranoid; then
    skip "settings" "they cannot be changed here"
else
    cure "paranoid 2, kernel frames" kernel_frames "perf_event_paranoid is 2" as_nobody
    is "it is 1 now" "$(cat $kernel/perf_event_paranoid)" 1
    examine "paranoid 1, samples" sampling works as_nobody
    echo -1 >$kernel/perf_event_paranoid
    examine "paranoid -1, kernel frames" kernel_frames works as_nobody
    echo 2 >$kernel/perf_event_paranoid
    examine "paranoid 2, samples" sampling works as_nobody
    examine "paranoid 2, switches" context_switches works as_nobody

    echo 1 >$kernel/kptr_restrict
    cure "names of the kernel, hidden twice" kernel_names "kptr_restrict is 1" as_nobody
    echo 2 >$kernel/perf_event_paranoid
    cure "names of the kernel, hidden once" kernel_names "perf_event_paranoid is 2" as_nobody
    echo 2 >$kernel/kptr_restrict
    cure "names of the kernel, hidden from root" kernel_names "kptr_restrict is 2" env
    restore
    echo 2 >$kernel/perf_event_paranoid

    echo 64 >$kernel/perf_event_mlock_kb
    examine "no memory for rings: samples" sampling no as_nobody prlimit --memlock=65536:65536
    cure "no memory for rings" ring_memory "64 KiB" as_nobody prlimit --memlock=65536:65536
    restore

    # Above what recordings ask for, below what doctor tries: other recordings of this moment go on.
    if echo 1500 2>/dev/null >$kernel/perf_event_max_sample_rate; then
        cure "a low rate" sample_rate "perf_event_max_sample_rate is 1500" env
    else
        skip "a low rate" "the kernel does not take one (perf_cpu_time_max_percent)"
    fi
    restore
fi

# A shell whose limit is low gives its own number to the command.
# shellcheck disable=SC2016
prlimit --nofile=256:256 sh -c 'sudo() { "$@"; }
    "$INFEROGRAM" doctor --json descriptors >before
    eval "$(sed "s/.*\"fix\":\"\([^\"]*\)\".*/\1/" before)"
    "$INFEROGRAM" doctor --json descriptors >after' 2>refused
contains "few files: missed" "$(cat before)" '"state":"no"'
contains "few files: the reason" "$(cat before)" "256 may be open"
most=$(prlimit --nofile --noheadings --output HARD)
if prlimit --nofile="$most:$((most + 1))" true 2>/dev/null; then
    contains "few files: after its command" "$(cat after)" '"state":"works"'
else
    skip "few files: after its command" "root may not raise limits here (CAP_SYS_RESOURCE)"
fi

# Capabilities of a copy of the program, and a mount that only this part sees. What a mount of tracefs is made with
# holds for all of them, so it is put back.
cp "$INFEROGRAM" "$T/inferogram"
if ! command -v setcap >/dev/null || ! setcap cap_perfmon+ep "$T/inferogram" 2>/dev/null ||
    ! as_nobody "$T/inferogram" doctor --strict kernel_frames >/dev/null; then
    skip "capabilities" "a file in $T cannot have any"
elif ! unshare -m true 2>/dev/null; then
    skip "capabilities" "no mount namespace here"
else
    setcap -r "$T/inferogram"
    INFEROGRAM="$T/inferogram"
    export INFEROGRAM T
    mkdir -m 777 "$T/open"
    cat >"$T/rights.sh" <<'EOS'
was=gid=0,mode=700
if [ -d /sys/kernel/tracing/events ]; then was=$(stat -c gid=%g,mode=%a /sys/kernel/tracing); fi
umount /sys/kernel/tracing 2>/dev/null
cd "$T/open" || exit
look() { setpriv --reuid=65534 --regid=65534 --clear-groups "$INFEROGRAM" doctor --json "$@"; }
sudo() { "$@"; }
id() { echo 65534; } # the user's, who is not us
look wakers >"$T/unmounted"
eval "$(sed 's/.*"fix":"\([^"]*\)".*/\1/' "$T/unmounted")"
look attach other_processes wakers deleted_libraries kernel_frames kernel_names resources >"$T/granted"
mount -o remount,gid=0,mode=700 /sys/kernel/tracing
setcap -r "$INFEROGRAM"
look wakers >"$T/closed"
eval "$(sed 's/.*"fix":"\([^"]*\)".*/\1/' "$T/closed")"
look wakers >"$T/opened"
mount -o "remount,$was" /sys/kernel/tracing
EOS
    unshare -m sh "$T/rights.sh" >"$T/rights" 2>&1
    [ ! -s "$T/rights" ] || note "$(cat "$T/rights")"
    contains "no tracefs: missed" "$(cat "$T/unmounted")" "tracefs is not mounted at /sys/kernel/tracing"
    contains "no tracefs: the command" "$(cat "$T/unmounted")" "sudo mount -t tracefs "
    is "all rights by one command" "$(python3 -c 'import json, sys
print([c["id"] + ": " + c["detail"] for c in json.load(open(sys.argv[1]))["checks"] if c["state"] != "works"])' "$T/granted")" "[]"
    contains "closed tracefs: missed" "$(cat "$T/closed")" "can be read by root only"
    contains "closed tracefs: after its command" "$(cat "$T/opened")" '"strict_ok":true'
fi
done_testing
