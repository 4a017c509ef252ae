#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram-privileged: an ordinary user's recorder watches his own processes through it, and nobody gets more out
# of it than that: not by asking for others, not by requests that no recorder sends.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: only root can give capabilities to a program"
[ -n "$PRIVILEGED" ] || skip_all "this build has no BPF"
for tool in setcap setpriv; do
    command -v $tool >/dev/null || skip_all "tools: this needs $tool"
done
user=61002
other=61001
group=61003
chmod 755 "$T"
mkdir "$T/bin" "$T/user"
chown "$user:$user" "$T/user"
cp "$INFEROGRAM" "$T/bin/inferogram"
cp "$PRIVILEGED" "$T/bin/inferogram-privileged"
cp "$SECRET_TELLER" "$T/bin/teller"
cp "$SECRET_TELLER" "$T/bin/set-uid"
cp "$SECRET_WORK" "$T/bin/secret_work.so"
cp "$PRIVILEGED_ATTACK" "$T/bin/attack"
chmod 4755 "$T/bin/set-uid"
helper=$T/bin/inferogram-privileged
# As docs/permissions.md says.
chown "root:$group" "$helper"
chmod 0750 "$helper"
setcap cap_bpf,cap_perfmon+ep "$helper" 2>"$T/setcap.err" || skip_all "$(cat "$T/setcap.err")"
as() { # USER COMMAND...: a member of the group
    as_user=$1
    shift
    setpriv --reuid="$as_user" --regid="$as_user" --groups="$group" "$@"
}
as "$user" "$T/bin/inferogram" --version >/dev/null 2>&1 || skip_all "another user may not run programs in $T"
cat >"$T/secret.probe" <<'END'
version 1
runtime secrets
library secret_work.so
probe secret_load load
    model text 1
END
chmod 644 "$T/secret.probe"
trace=$T/user/trace.ifg
models() { "$INFEROGRAM" query "$trace" "SELECT model FROM ml_event GROUP BY 1" 2>&1; }
# teller USER SECRET [PROGRAM SECRET]: its id is in $teller
teller() {
    : >"$T/teller.out"
    spawn setpriv --reuid="$1" --regid="$1" --clear-groups "$T/bin/teller" "$T/bin/secret_work.so" "$2" ${3:+"$3" "$T/bin/secret_work.so" "$4"} >"$T/teller.out"
    teller=$spawned
    until_true 60 grep -q ready "$T/teller.out" || fail "the program with a secret starts"
}
record() { as "$user" "$T/bin/inferogram" record --probe "$T/secret.probe" -o "$trace" -f "$@"; }

# ---- one's own ----
teller "$user" copper
exits "one's own process" 0 record --pid "$teller" --sample --duration 3
contains "is seen" "$(models)" "copper of $user"
ok "with samples" test "$(json "$trace" 'd["events"]["samples"]')" -gt 0
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
    contains "without the kernel's frames" "$("$INFEROGRAM" info "$trace" | tr -s '\n ' ' ')" "kernel"
    setcap cap_bpf,cap_perfmon,cap_syslog+ep "$helper"
    exits "with CAP_SYSLOG" 0 record --pid "$teller" --sample=999 --duration 1
    is "also those" "$(json "$trace" '[i["state"] for i in d["instruments"] if i["name"] == "kernel frames"]')" "[]"
    setcap cap_bpf,cap_perfmon+ep "$helper"
fi
exits "not in the group" 4 setpriv --reuid="$user" --regid="$user" --clear-groups "$T/bin/inferogram" record --probe "$T/secret.probe" -o "$trace" -f --pid "$teller" --duration 0.2
contains "is told" "$(cat "$T/stderr")" "CAP_BPF"
own=$teller

# ---- somebody else's ----
teller "$other" silver
rm -f "$trace"
exits "another user's process" 4 record --pid "$teller" --sample --duration 1
ok "no trace" test ! -e "$trace"
victim=$teller

# ---- requests that no recorder sends ----
offset=$(python3 - "$T/bin/secret_work.so" <<'END'
import subprocess, sys
for line in subprocess.check_output(["readelf", "-sW", "--dyn-syms", sys.argv[1]], text=True).splitlines():
    if line.endswith(" secret_load"):
        print(int(line.split()[1], 16))
        break
END
)
as "$user" "$T/bin/attack" "$helper" "$victim" "$own" "$T/bin/secret_work.so" "$offset" >"$T/attack" 2>&1
says() { # NAME ANSWER
    is "$1" "$(sed -n "s/^$1: *\(.*[^ ]\) *$/\1/p" "$T/attack")" "$2"
}
for name in short long magic operation unused "descriptor too many" "two descriptors" "event of all processes" \
    "event of the helper" "event on no CPU" "mappings of the kernel" "an unknown flag" "a huge stack" "a huge rate" \
    "a crooked ring" "a huge ring" "too many places" "a forged cookie" "an unknown step" "link into all processes"; do
    says "$name" "ended 1"
done
says "event of another user" EPERM
says "mappings of another user" EPERM
says "event of one's own" "done with descriptors"
says "event of the kernel" EACCES
says "event of nobody" ESRCH
says "link before load" EINVAL
says "permit before load" EINVAL
says load "done with descriptors"
says "load again" EBUSY
says link "done with descriptors"
for name in "a pipe" "a folder" "a path" "inside an instruction" "behind the end"; do
    says "$name" EACCES
done
says "link into another user's" EPERM
says "permit another user's" EPERM
says "permit init" EPERM
says "permit nobody" ESRCH
says permit "done"
says hello "done"
lacks "nothing crashed" "$(cat "$T/attack")" "killed"
exits "started by hand" 2 as "$user" "$helper"
tap_end_process "$victim"
tap_end_process "$own"

# ---- a program with more rights ----
teller "$user" copper "$T/bin/set-uid" gold
: >"$T/stderr"
spawn setpriv --reuid="$user" --regid="$user" --groups="$group" "$T/bin/inferogram" record --probe "$T/secret.probe" -o "$trace" -f --pid "$teller" --sample --duration 60 >"$T/stdout" 2>"$T/stderr"
recorder=$spawned
until_true 60 grep -q recording "$T/stderr" || note "$(cat "$T/stderr")"
has_seen() { models | grep -q "$1 of $user"; }
until_true 60 has_seen copper
kill -USR1 "$teller"
until_true 60 grep -q "ready 0" "$T/teller.out" || fail "the set-uid program runs"
ended "$recorder"
is "the recording ends well" "$status" 0
contains "what came before is there" "$(models)" "copper of $user"
lacks "nothing of what came after" "$(models; strings -n 4 "$trace")" "of 0"
ok "the program goes on" tap_alive "$teller"
tap_end_process "$teller"

# ---- without rights of its own ----
setcap -r "$helper"
teller "$user" copper
exits "a helper without capabilities" 4 record --pid "$teller" --duration 0.2
done_testing
