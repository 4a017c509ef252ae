#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two machines that are 20 ms apart, with a cable that loses 1 % of the packets: a capture is complete, or counts what it is
# not, and both agree on the time to a millisecond.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all "root: networks need root"
here=ifg-here-$$
there=ifg-there-$$
address=192.0.2.1
XDG_CONFIG_HOME=$T/config
export XDG_CONFIG_HOME
trap 'ip netns del "$here" 2>/dev/null; ip netns del "$there" 2>/dev/null; tap_cleanup' EXIT
{ ip netns add "$here" && ip netns add "$there"; } 2>"$T/netns" || skip_all "network namespaces: $(head -n 1 "$T/netns")"

by_kernel() {
    ip -n "$here" link add near type veth peer name far netns "$there" &&
        ip netns exec "$here" tc qdisc add dev near root netem delay 20ms loss 1% &&
        ip netns exec "$there" tc qdisc add dev far root netem delay 20ms loss 1%
}
if by_kernel 2>"$T/netem"; then
    note "tc netem"
else
    note "no netem ($(head -n 1 "$T/netem")): a cable of our own"
    ip -n "$here" link del near 2>/dev/null
    : >"$T/cable"
    spawn python3 "$SOURCE_DIR/tests/e2e/slow_network.py" "$here" "$there" 20 1 >"$T/cable" 2>"$T/cable.err"
    cable=$spawned
    cable_decided() { grep -q ready "$T/cable" || ! tap_alive "$cable"; }
    until_true 60 cable_decided
    grep -q ready "$T/cable" || skip_all "netem and tun: neither $(head -n 1 "$T/netem") nor $(tail -n 1 "$T/cable.err")"
fi
{
    ip -n "$here" addr add "$address/30" dev near && ip -n "$here" link set near up && ip -n "$here" link set lo up &&
        ip -n "$there" addr add 192.0.2.2/30 dev far && ip -n "$there" link set far up
} 2>"$T/netns" || skip_all "network namespaces: $(head -n 1 "$T/netns")"
far() { nsenter --net="/run/netns/$there" "$@"; }

ticker -s 3000
: >"$T/agent.out"
spawn nsenter --net="/run/netns/$here" "$INFEROGRAM" agent --listen "$address" --token-file "$T/token" >"$T/agent.out" 2>"$T/agent.err"
until_true 60 test -s "$T/agent.out"
fingerprint=$(sed -n 's/^fingerprint //p' "$T/agent.out")
ok "a capture from afar" far "$INFEROGRAM" capture -a "$address" --fingerprint "$fingerprint" --token-file "$T/token" \
    --pid "$ticker" -s 2 -o "$T/far.ifg"
counted=$(sed -n 's/.* s: \([0-9]*\) events.*/\1/p' "$T/stderr")
is "the trace is finished" "$(json "$T/far.ifg" "d['file']['finished']")" True
is "it has what was recorded, and counts what was not" "$(json "$T/far.ifg" "d['events']['zones'] == ${counted:-0} > 100")" True
note "dropped: $(json "$T/far.ifg" "d['dropped']")"
# Both ends read one clock here, so what was measured is the error.
note "offset and bound, in ns: $(json "$T/far.ifg" "d['facts']['capture.clock_offset_ns'], d['facts']['capture.clock_error_ns']")"
is "the way there and back takes 40 ms at least" "$(json "$T/far.ifg" "int(d['facts']['capture.clock_error_ns']) >= 19e6")" True
# Each way takes 20 ms at least, so the offset can be wrong by no more than what the fastest answer took beyond that, which is
# little where the machine has time.
is "clocks are compared to a millisecond, or to what the machine made of it" "$(json "$T/far.ifg" \
    "abs(int(d['facts']['capture.clock_offset_ns'])) < 1e6 + max(0, int(d['facts']['capture.clock_error_ns']) - 20e6)")" True

done_testing
