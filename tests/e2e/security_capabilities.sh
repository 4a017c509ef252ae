#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What capabilities on the program give away: nothing beyond the processes of whoever runs it. One user has a
# recorder with all capabilities that were ever recommended, and tries to see a secret of root and of another user.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: only root can give capabilities to a program"
for tool in setcap setpriv; do
    command -v $tool >/dev/null || skip_all "tools: this needs $tool"
done
thief=61002
owner=61001
chmod 755 "$T"
mkdir "$T/bin" "$T/thief"
chown "$thief:$thief" "$T/thief"
cp "$INFEROGRAM" "$T/bin/inferogram"
cp "$SECRET_TELLER" "$T/bin/teller"
ln "$T/bin/teller" "$T/bin/teller-$$" # others may run these tests at the same time
cp "$SECRET_TELLER" "$T/bin/set-uid"
cp "$SECRET_WORK" "$T/bin/secret_work.so"
cp "$REC_TICKER" "$T/bin/ticker"
chmod 4755 "$T/bin/set-uid"
setcap cap_bpf,cap_perfmon,cap_ipc_lock,cap_sys_ptrace,cap_checkpoint_restore,cap_syslog+ep "$T/bin/inferogram" 2>"$T/setcap.err" ||
    skip_all "$(cat "$T/setcap.err")"
as() { # USER COMMAND...
    as_user=$1
    shift
    setpriv --reuid="$as_user" --regid="$as_user" --clear-groups "$@"
}
as "$thief" "$T/bin/inferogram" --version >/dev/null 2>&1 || skip_all "another user may not run programs in $T"
cat >"$T/secret.probe" <<'END'
version 1
runtime secrets
library secret_work.so
probe secret_load load
    model text 1
END
chmod 644 "$T/secret.probe"
stolen=$T/thief/stolen.ifg
sees() { # TRACE: all texts of it
    cat "$T/stdout" "$T/stderr"
    [ ! -e "$1" ] || { "$INFEROGRAM" query "$1" "SELECT model FROM ml_event GROUP BY 1"; "$INFEROGRAM" info --json "$1"; strings -n 4 "$1"; } 2>/dev/null
}
# teller USER SECRET PROGRAM [PROGRAM ARGUMENTS...]: its id is in $teller
teller() {
    : >"$T/teller.out"
    spawn setpriv --reuid="$1" --regid="$1" --clear-groups "$3" "$T/bin/secret_work.so" "$2" ${4:+"$4" "$T/bin/secret_work.so" "$5"} >"$T/teller.out"
    teller=$spawned
    until_true 60 grep -q ready "$T/teller.out" || fail "the program with a secret starts"
}
# refused NAME SECRET WORDS COMMAND...: status 4 and the words, and the secret is nowhere
refused() {
    refused_name=$1 refused_secret=$2 refused_words=$3
    shift 3
    rm -f "$stolen"
    exits "$refused_name: refused" 4 as "$thief" "$T/bin/inferogram" "$@"
    contains "$refused_name: with words" "$(cat "$T/stderr")" "$refused_words"
    lacks "$refused_name: nothing is seen" "$(sees "$stolen")" "$refused_secret"
    ok "$refused_name: no trace" test ! -e "$stolen"
}

# ---- processes of others ----
for victim in 0 "$owner"; do
    teller "$victim" "silver-$victim" "$T/bin/teller-$$"
    whose="belongs to user $victim"
    refused "probes in $victim" "silver-$victim" "$whose" record --pid "$teller" --probe "$T/secret.probe" --duration 0.5 -o "$stolen"
    refused "by name of $victim" "silver-$victim" "$whose" record --name "teller-$$" --probe "$T/secret.probe" --duration 0.5 -o "$stolen"
    refused "samples of $victim" "silver-$victim" "$whose" record --pid "$teller" --sample --duration 0.5 -o "$stolen"
    refused "switches of $victim" "silver-$victim" "$whose" record --pid "$teller" --sched --duration 0.5 -o "$stolen"
    refused "memory of $victim" "silver-$victim" "$whose" record --pid "$teller" --memory --duration 0.5 -o "$stolen"
    refused "injection into $victim" "silver-$victim" "$whose" record --pid "$teller" --hook inject --duration 0.5 -o "$stolen"
    refused "a gauge of $victim" "silver-$victim" "$whose" live --pid "$teller" --duration 0.5 -o "$stolen"
    tap_end_process "$teller"
done

# ---- a program that carries the library ----
spawn setpriv --reuid="$owner" --regid="$owner" --clear-groups "$T/bin/ticker" -p >"$T/ticker.out" 2>&1
ticker=$spawned
until_true 60 grep -q ready "$T/ticker.out" || note "$(cat "$T/ticker.out")"
refused "zones of $owner" "tick" "belongs to user $owner" record --pid "$ticker" --duration 0.5 -o "$stolen"
exits "ls" 0 as "$thief" "$T/bin/inferogram" ls --json
lacks "ls does not show it" "$(cat "$T/stdout")" "\"pid\":$ticker,"
exits "ls for root" 0 "$INFEROGRAM" ls --json
contains "who sees it" "$(cat "$T/stdout")" "\"pid\":$ticker,"
tap_end_process "$ticker"

# ---- the next program of somebody else ----
rm -f "$stolen"
spawn setpriv --reuid="$thief" --regid="$thief" --clear-groups "$T/bin/inferogram" record --next --timeout 2 -o "$stolen" >"$T/next.out" 2>"$T/next.err"
waiter=$spawned
until_true 60 grep -q "wait" "$T/next.err" || note "$(cat "$T/next.err")"
teller "$owner" "silver-next" "$T/bin/teller"
ended "$waiter"
is "the next one of another user is not taken" "$status" 1
ok "and no trace is made of it" test ! -e "$stolen"
tap_end_process "$teller"

# ---- one's own ----
teller "$thief" "copper" "$T/bin/teller"
exits "one's own process" 0 as "$thief" "$T/bin/inferogram" record --pid "$teller" --sample --probe "$T/secret.probe" --duration 3 -o "$stolen"
contains "is seen" "$("$INFEROGRAM" query "$stolen" "SELECT model FROM ml_event GROUP BY 1" 2>&1)" "copper of $thief"
ok "with samples" test "$("$INFEROGRAM" info --json "$stolen" | python3 -c 'import json,sys; print(json.load(sys.stdin)["events"]["samples"])')" -gt 0
tap_end_process "$teller"
rm -f "$stolen"

# ---- that becomes a program with more rights ----
teller "$thief" "copper" "$T/bin/teller" "$T/bin/set-uid" "gold"
spawn setpriv --reuid="$thief" --regid="$thief" --clear-groups "$T/bin/inferogram" record --pid "$teller" --sample --probe "$T/secret.probe" --duration 60 -o "$stolen" >"$T/stdout" 2>"$T/stderr"
recorder=$spawned
until_true 60 grep -q recording "$T/stderr" || note "$(cat "$T/stderr")"
has_seen() { "$INFEROGRAM" query "$stolen" "SELECT model FROM ml_event GROUP BY 1" 2>&1 | grep -q "$1 of $thief"; }
until_true 60 has_seen copper
kill -USR1 "$teller"
until_true 60 grep -q "ready 0" "$T/teller.out" || fail "the set-uid program runs"
ended "$recorder"
is "the recording ends" "$status" 0
contains "and tells why" "$(cat "$T/stderr")" "recording ended early: process $teller belongs to user 0"
contains "what came before is there" "$("$INFEROGRAM" query "$stolen" "SELECT model FROM ml_event GROUP BY 1" 2>&1)" "copper of $thief"
lacks "nothing of what came after" "$(sees "$stolen")" "of 0"
ok "the program goes on" tap_alive "$teller"
tap_end_process "$teller"

# ---- one's own that becomes another of one's own ----
teller "$thief" "copper" "$T/bin/teller" "$T/bin/teller" "tin"
rm -f "$stolen"
spawn setpriv --reuid="$thief" --regid="$thief" --clear-groups "$T/bin/inferogram" record --pid "$teller" --no-sample --probe "$T/secret.probe" -o "$stolen" >"$T/stdout" 2>"$T/stderr"
recorder=$spawned
until_true 60 grep -q recording "$T/stderr" || note "$(cat "$T/stderr")"
kill -USR1 "$teller"
until_true 60 has_seen tin
kill -INT "$recorder"
ended "$recorder"
is "an exec of one's own program" "$status" 0
contains "is followed" "$("$INFEROGRAM" query "$stolen" "SELECT model FROM ml_event GROUP BY 1" 2>&1)" "tin of $thief"
tap_end_process "$teller"

# ---- started by the recorder ----
rm -f "$stolen"
exits "a set-uid program that is launched" 124 as "$thief" "$T/bin/inferogram" record --sample --probe "$T/secret.probe" --duration 1 -o "$stolen" -- timeout 2 "$T/bin/set-uid" "$T/bin/secret_work.so" silver-launched
lacks "is not looked into" "$("$INFEROGRAM" query "$stolen" "SELECT model FROM ml_event GROUP BY 1" 2>&1)" "of 0"

# ---- the recorder as a set-uid program ----
cp "$INFEROGRAM" "$T/bin/inferogram.tmp" && mv "$T/bin/inferogram.tmp" "$T/bin/inferogram"
chmod 4755 "$T/bin/inferogram"
teller 0 "silver-root" "$T/bin/teller"
refused "a set-uid recorder" "silver-root" "belongs to user 0" record --pid "$teller" --probe "$T/secret.probe" --duration 0.5 -o "$stolen"
exits "it writes no file of root's" 125 as "$thief" "$T/bin/inferogram" record -f -o "$T/bin/not-allowed.ifg" -- true
ok "really" test ! -e "$T/bin/not-allowed.ifg"
exits "nor reads one" 2 as "$thief" "$T/bin/inferogram" info /etc/shadow
contains "and tells why" "$(cat "$T/stderr")" "ermission"
tap_end_process "$teller"
done_testing
