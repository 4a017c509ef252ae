#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An agent that other machines can reach: TLS and a token, always. Who is not the agent of the fingerprint gets nothing, and
# whoever does not speak TLS is told so.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
XDG_CONFIG_HOME=$T/config
export XDG_CONFIG_HOME
trace=$T/run.ifg
hostile() { python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" "$@"; }
fingerprint_of() { sed -n 's/^fingerprint //p' "$1"; }

# ---- on the loopback -------------------------------------------------------------------------------
ticker -s 3000
agent --tls --token-file "$T/token"
fingerprint=$(fingerprint_of "$T/agent.out")
matches "the fingerprint is printed" "$(cat "$T/agent.out")" '^fingerprint [0-9a-f]{64}$'
is "the key is for its owner" "$(find "$T/config" -type f -exec stat -c %a {} +)" 600
lacks "the token is not printed" "$(cat "$T/agent.out" "$T/agent.err")" "$(cat "$T/token")"
tls() { capture --fingerprint "$fingerprint" --token-file "$T/token" "$@"; }
listing() { "$INFEROGRAM" ls -a 127.0.0.1 -p "$port" "$@"; }
proper() { listing --fingerprint "$fingerprint" --token-file "$T/token"; }
ok "a capture" tls --pid "$ticker" -s 1
is "the trace is whole" "$(json "$trace" "(d['file']['finished'], d['events']['zones'] > 0, d['dropped'])")" "(True, True, 0)"
ok "a list" proper
exits "the agent's own user needs the token" 4 listing --fingerprint "$fingerprint"
exits "without TLS" 10 listing --token-file "$T/token"
contains "it is told what to do" "$(cat "$T/stderr")" "speaks TLS only: give --fingerprint"
exits "another fingerprint" 10 listing --fingerprint "$(printf %064d 0)" --token-file "$T/token"
contains "both are shown" "$(cat "$T/stderr")" "has the fingerprint $fingerprint, not 0000"
exits "a fingerprint that is none" 2 listing --fingerprint 1234
is "TLS 1.2 is refused" "$(hostile old-tls "$port" 127.0.0.1)" refused

capturing --fingerprint "$fingerprint" --token-file "$T/token" --pid "$ticker"
kill -INT "$capture"
ended "$capture"
is "Ctrl-C ends it well" "$status" 0
is "with a trace that is finished" "$(json "$trace" "d['file']['finished']")" True

hostile slow "$port" "$ticker" 1 "$T/token" >"$T/slow.ifg" 2>"$T/slow.err"
is "a slow reader gets a whole trace in the end" "$(json "$T/slow.ifg" "d['file']['finished']")" True

spawn python3 "$SOURCE_DIR/tests/e2e/capture_hostile.py" strangers "$port" 200 >"$T/strangers.out"
strangers=$spawned
until_true 60 grep -q held "$T/strangers.out"
ok "200 strangers do not keep others out" proper
is "nor have all of them a process" "$([ "$(recorders "$agent" | wc -w)" -le 96 ] && echo yes)" yes
ended "$strangers"
is "and are closed" "$(tr '\n' ' ' <"$T/strangers.out")" "held closed 200 "
until_true 60 no_recorders "$agent" # their doors end after that

# ---- somebody dies ---------------------------------------------------------------------------------
# Of the agent's two children the one that is nobody, or was the first, is the door.
capturing --fingerprint "$fingerprint" --token-file "$T/token" --pid "$ticker" --reconnect 0
two_children() { [ "$(recorders "$agent" | wc -w)" -eq 2 ]; }
until_true 60 two_children
kill -9 "$(recorders "$agent" | tr ' ' '\n' | sort -n | head -n 1)"
ended "$capture"
is "the process that encrypts is killed" "$status" 7
ok "what came can be read" "$INFEROGRAM" info "$trace"
ok "the program goes on" tap_alive "$ticker"
until_true 60 no_recorders "$agent"
capturing --fingerprint "$fingerprint" --token-file "$T/token" --pid "$ticker"
agent_ends

# ---- certificates ----------------------------------------------------------------------------------
agent --tls --token-file "$T/token"
is "the next start has the same certificate" "$(fingerprint_of "$T/agent.out")" "$fingerprint"
kill "$agent"
ended "$agent"
rm -r "$T/config"
agent --tls --token-file "$T/token"
exits "a new one is noticed" 10 proper
kill "$agent"
ended "$agent"
if command -v openssl >"$T/openssl"; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -subj /CN=test -days 1 \
        -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl"
    agent --tls-cert "$T/cert.pem" --tls-key "$T/key.pem" --token-file "$T/token"
    fingerprint=$(openssl x509 -in "$T/cert.pem" -noout -fingerprint -sha256 | sed 's/.*=//')
    ok "a certificate of one's own, by the fingerprint that openssl prints" proper
    kill "$agent"
    ended "$agent"
    chmod 644 "$T/key.pem"
    exits "a key that others can read" 4 "$INFEROGRAM" agent --tls-cert "$T/cert.pem" --tls-key "$T/key.pem" --token-file "$T/token"
    exits "a key without its certificate" 2 "$INFEROGRAM" agent --tls-key "$T/key.pem" --token-file "$T/token"
else
    skip "a certificate of one's own" "openssl: it is not here"
fi
exits "no token, no TLS" 2 "$INFEROGRAM" agent --tls
contains "what to do" "$(cat "$T/stderr")" "give a --token-file"
agent
exits "an agent that does not encrypt" 10 listing --fingerprint "$fingerprint"
contains "it is told" "$(cat "$T/stderr")" "does not encrypt"
kill "$agent"
ended "$agent"

# ---- programs --------------------------------------------------------------------------------------
for library in "$BUILD_DIR/src/client/libinferogram.so" "$BUILD_DIR"/hooks/*.so; do
    lacks "${library##*/} brings no TLS into a program" "$(ldd "$library")" gnutls
done

# ---- another machine -------------------------------------------------------------------------------
here=ifg-here-$$
there=ifg-there-$$
address=192.0.2.1
trap 'ip netns del "$here" 2>/dev/null; ip netns del "$there" 2>/dev/null; tap_cleanup' EXIT
if ! {
    [ "$(id -u)" -eq 0 ] && ip netns add "$here" && ip netns add "$there" &&
        ip -n "$here" link add near type veth peer name far netns "$there" &&
        ip -n "$here" addr add "$address/30" dev near && ip -n "$here" link set near up && ip -n "$here" link set lo up &&
        ip -n "$there" addr add 192.0.2.2/30 dev far && ip -n "$there" link set far up
} 2>"$T/netns"; then
    skip "from another machine" "root: network namespaces: $(head -n 1 "$T/netns")"
    done_testing
fi
far() { nsenter --net="/run/netns/$there" "$@"; }
here() { nsenter --net="/run/netns/$here" "$@"; }
exits "no listening for others without a token" 2 here "$INFEROGRAM" agent --listen "$address"
: >"$T/agent.out"
spawn nsenter --net="/run/netns/$here" "$INFEROGRAM" agent --listen 0.0.0.0 --token-file "$T/token" >"$T/agent.out" 2>"$T/agent.err"
until_true 60 test -s "$T/agent.out"
fingerprint=$(fingerprint_of "$T/agent.out")
matches "TLS is a matter of course" "$(cat "$T/agent.out")" '^fingerprint [0-9a-f]{64}$'
ok "a capture from another machine" far "$INFEROGRAM" capture -q -a "$address" --fingerprint "$fingerprint" --token-file "$T/token" \
    --pid "$ticker" -s 1 -o "$T/far.ifg"
is "the trace is whole" "$(json "$T/far.ifg" "(d['file']['finished'], d['events']['zones'] > 0, d['dropped'])")" "(True, True, 0)"
ok "a list from there" far "$INFEROGRAM" ls -a "$address" --fingerprint "$fingerprint" --token-file "$T/token"
exits "not without a token" 4 far "$INFEROGRAM" ls -a "$address" --fingerprint "$fingerprint"
exits "not with another one" 4 env IFG_AGENT_TOKEN=00000000000000000000000000000000 nsenter --net="/run/netns/$there" \
    "$INFEROGRAM" ls -a "$address" --fingerprint "$fingerprint"
exits "not in the clear" 10 far "$INFEROGRAM" ls -a "$address" --token-file "$T/token"
exits "not in the clear from the machine itself" 10 here "$INFEROGRAM" ls -a 127.0.0.1
exits "nor without a token" 4 here "$INFEROGRAM" ls -a 127.0.0.1 --fingerprint "$fingerprint"

done_testing
