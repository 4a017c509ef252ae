#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command that doctor names must do what it promises: something is taken away, doctor misses it, its command is
# run as it stands, and then it works. Settings of the kernel are changed for moments and put back.
. "$TAP_SH"
cd "$T" || exit 99

[ "$(id -u)" -eq 0 ] || skip_all "root: this needs root"
command -v setpriv >/dev/null || skip_all "tools: this no setpriv"
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

# The commands that give the helper its rights, on copies: the group is nobody's own, and no account is changed.
mkdir "$T/bin"
cp "$INFEROGRAM" "$T/bin/inferogram"
if [ -z "$PRIVILEGED" ] || ! command -v setcap >/dev/null; then
    skip "the helper" "this build has no BPF, or setcap is missing"
elif ! cp "$PRIVILEGED" "$T/bin/inferogram-privileged" || ! setcap cap_bpf+ep "$T/bin/inferogram-privileged" 2>/dev/null; then
    skip "the helper" "a file in $T cannot have capabilities"
else
    setcap -r "$T/bin/inferogram-privileged"
    look() { as_nobody "$T/bin/inferogram" doctor --json "$@"; }
    look attach >"$T/before"
    contains "no rights: missed" "$(cat "$T/before")" '"state":"no"'
    cat >"$T/commands" <<'END'
sudo() { "$@"; }
groupadd() { :; }
usermod() { :; }
END
    sed 's/.*"fix":"\([^"]*\)".*/\1/; s/root:inferogram/root:65534/' "$T/before" >>"$T/commands"
    sh "$T/commands"
    is "who may execute it then" "$(stat -c %a:%u:%g "$T/bin/inferogram-privileged")" "750:0:65534"
    look attach >"$T/after"
    contains "after its commands" "$(cat "$T/after")" '"strict_ok":true'
    look other_processes >"$T/after"
    contains "but no processes of others" "$(cat "$T/after")" '"state":"no"'
fi
done_testing
