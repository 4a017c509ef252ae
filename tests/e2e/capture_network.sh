#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A capture from another network, through a port that somebody forwards: whose forward it is decides who may, and a
# token does not go through a network unencrypted.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: networks need root"
here=ifg-here-$$
there=ifg-there-$$
address=192.0.2.1
trap 'ip netns del "$here" 2>/dev/null; ip netns del "$there" 2>/dev/null; tap_cleanup' EXIT
# Two machines, as far as TCP is concerned, and a cable.
{
    ip netns add "$here" && ip netns add "$there" &&
        ip -n "$here" link add near type veth peer name far netns "$there" &&
        ip -n "$here" addr add "$address/30" dev near && ip -n "$here" link set near up && ip -n "$here" link set lo up &&
        ip -n "$there" addr add 192.0.2.2/30 dev far && ip -n "$there" link set far up
} 2>"$T/netns" || skip_all "network namespaces: $(head -n 1 "$T/netns")"
far() { nsenter --net="/run/netns/$there" "$@"; }

forward() { # UID: from the address to the agent; the port is in $forwarded
    forwarded=$((forwarded + 1))
    : >"$T/forward.out"
    spawn nsenter --net="/run/netns/$here" python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" \
        pass-on "$forwarded" "$port" "$address" "$1" >"$T/forward.out"
    until_true 60 grep -q ready "$T/forward.out" || fail "the port is forwarded"
}
forwarded=9000

ticker -s 3000
spawn nsenter --net="/run/netns/$here" "$INFEROGRAM" agent --token-file "$T/token" >"$T/agent.out" 2>"$T/agent.err"
until_true 60 test -s "$T/agent.out"
is "the first port is free in a network of its own" "$(cat "$T/agent.out")" "127.0.0.1:8086"
port=8086
forward 0
ok "a capture from another network" far "$INFEROGRAM" capture -q -a "$address" -p "$forwarded" --pid "$ticker" -s 1 -o "$T/far.ifg"
is "the trace is whole" "$(json "$T/far.ifg" "(d['file']['finished'], d['events']['zones'] > 0, d['dropped'])")" "(True, True, 0)"
ok "a list from there" far "$INFEROGRAM" ls -a "$address" -p "$forwarded"
exits "the agent itself is not reached from there" 1 far "$INFEROGRAM" ls -a "$address" -p "$port"

forward 65534
exits "the forward of another user needs the token" 4 far "$INFEROGRAM" ls -a "$address" -p "$forwarded"
exits "which is not sent through a network" 4 far "$INFEROGRAM" ls -a "$address" -p "$forwarded" --token-file "$T/token"
contains "and it is told how" "$(cat "$T/stderr")" "forward the port with 'ssh -L"

# The cable is cut while somebody listens: nobody tells, and the program goes on.
forward 0
spawn nsenter --net="/run/netns/$there" "$INFEROGRAM" capture -q -a "$address" -p "$forwarded" --pid "$ticker" -o "$T/cut.ifg"
until_true 60 test -s "$T/cut.ifg"
ip -n "$here" link set near down
ok "the program goes on" tap_alive "$ticker"
ok "what came can be read" "$INFEROGRAM" info "$T/cut.ifg"

done_testing
