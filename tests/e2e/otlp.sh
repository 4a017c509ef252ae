#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# live --otlp and agent --otlp, to a collector that decodes with OpenTelemetry's own classes: counts, quantiles, spans, names
# that are no UTF-8, a collector that comes late, has no time, or does not want any of it, and the last export.
# shellcheck disable=SC2034,SC2154 # used and set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
trace=$T/run.ifg
OTEL_METRIC_EXPORT_INTERVAL=200
export TMPDIR OTEL_METRIC_EXPORT_INTERVAL
if ! python=$("$SOURCE_DIR/tools/fetch-runtimes" opentelemetry 2>fetched); then
    skip "OTLP" "$(cat fetched)"
    done_testing
fi
python=$python/bin/python

# of QUESTION WORDS...: asks otlp.py about what $got has.
of() {
    of_question=$1
    shift
    python3 -S "$SOURCE_DIR/tests/e2e/otlp.py" "$of_question" "$got/state.json" "$@"
}
# collector NAME [PORT]: its folder is $got, where it is, $url.
collector() {
    got=$T/$1
    mkdir -p "$got"
    rm -f "$got/port" "$got/state.json"
    spawn "$python" -B "$SOURCE_DIR/tests/e2e/otlp_collector.py" "$got" ${2:+"$2"}
    collector=$spawned
    until_true 60 test -s "$got/port"
    url=http://127.0.0.1:$(cat "$got/port")
}
# live URL ARGUMENTS OF metrics_events...: $live is its id. Returns when the program has done its work.
live() {
    rm -f enough
    : >live.err
    : >live.out
    live_url=$1
    shift
    spawn "$INFEROGRAM" live -q -f -o run.ifg --otlp "$live_url" --no-sample --no-resources -- "$METRICS_EVENTS" "$@" \
        >live.out 2>live.err
    live=$spawned
    until_true 60 test -s live.out
}
finish() {
    : >enough
    ended "$live"
}
# mode WHAT: what the collector answers from now on.
mode() {
    echo "$1" >"$got/mode.new"
    mv "$got/mode.new" "$got/mode"
}
value() { [ "$(of value "$1")" = "$2" ]; }
test_spans() { [ "$(of spans)" = "$1" ]; }
answered() { [ "$(of answers "$1")" -ge "$2" ]; }

# Few enough that every one is a span.
collector first
OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20a-secret,x-other=2'
export OTEL_EXPORTER_OTLP_HEADERS
live "$url" 2 20 enough
unset OTEL_EXPORTER_OTLP_HEADERS
ok "while it runs: every inference is counted" until_true 60 value inferogram.event.duration 40
is "headers" "$(of header authorization) $(of header x-other)" "Bearer a-secret 2"
is "which are nobody else's business" "$(tr '\0' ' ' <"/proc/$live/cmdline" | grep -c secret)" 0
finish
is "live ends with the program" "$status" 0
is "every inference is a span" "$(of spans)" 40
is "what was sent is well-formed" "$(of check)" well-formed
is "no span was left out" "$(of value inferogram.spans_not_sent)" 0
is "attributes" "$(of labels inferogram.event.duration model | tr '\n' ' ')$(of labels inferogram.event.duration device)" \
    "'model-0' 'model-1' 'CPU'"
"$INFEROGRAM" query run.ifg --json 'select * from ml_event' >rows.json
"$INFEROGRAM" info run.ifg --json >info.json
is "spans are the events of the recording" "$(of times rows.json info.json)" "the same"
"$INFEROGRAM" stats run.ifg --by model --json >stats.json
is "quantiles are those of stats, within their buckets" "$(of quantiles stats.json)" within

# More than are sent, hostile names, and Ctrl-C: the last export has everything.
collector second
live "$url" 11 200 enough hostile
kill -INT "$live"
finish
is "Ctrl-C: the last export has every inference" "$(of value inferogram.event.duration)" 2200
is "and the failures" "$(of value inferogram.event.failures)" 200
is "hostile names: well-formed" "$(of check)" well-formed
contains "what is no UTF-8 is replaced" "$(of labels inferogram.event.duration model)" "'garbage �"
ok "failed ones are spans of status error" test "$(of failed)" -gt 0
ok "most spans are not sent" test "$(of spans)" -lt 1100
is "but all are counted: sent or not" "$(($(of spans) + $(of value inferogram.spans_not_sent)))" 2200

# Nobody is there yet.
kill "$collector"
ended "$collector"
live "$url" 1 30 enough
ok "no collector: it is said" until_true 60 grep -q 'OTLP: cannot send to http.*/v1/metrics: ' live.err
port=${url##*:}
collector third "$port"
ok "it comes later, and gets everything" until_true 60 value inferogram.event.duration 30
ok "the spans too" until_true 60 test_spans 30
is "what failed is counted" "$([ "$(of value inferogram.exports_failed)" -gt 0 ] && echo yes)" yes
mode 503
ok "503" until_true 60 answered 503 1
mode partial
ok "is tried again, and what was not taken is reported" until_true 60 grep -q 'took not all (one is too many)' live.err
ok "not before the time that it asked for" test "$(of pauses 503)" -ge 1
mode 400
ok "400 is reported" until_true 60 grep -q 'answers with status 400' live.err
ok "and the next one is sent" until_true 60 answered 400 2
is "once for each address" "$(grep -c 'status 400' live.err)" 1
mode 307
ok "redirects are not followed" until_true 60 grep -q 'status 307: redirects' live.err
is "nowhere" "$(grep -c /elsewhere "$got/state.json")" 0
mode slow
ok "a collector that does not answer" until_true 60 answered slow 1
finish
is "keeps nobody waiting" "$status" 0

# The agent, without --metrics.
collector fourth
name=ifg-o$$
cp "$METRICS_EVENTS" "$T/$name"
: >events.out
spawn "$T/$name" 3 20 enough-agent >events.out
events=$spawned
carries "$events"
agent -q --otlp "$url" --name "$name"
ok "agent: every inference is counted" until_true 60 value inferogram.event.duration 60
ok "agent: every one is a span" until_true 60 test_spans 60
is "agent: well-formed" "$(of check)" well-formed
is "agent: programs" "$(of labels inferogram.event.duration program)" "'$name'"
: >enough-agent
ended "$events"
mode slow
ok "agent: a collector that does not answer" until_true 60 answered slow 1
rm "$got/mode"
kill "$agent"
ended "$agent"
is "agent: it ends cleanly" "$status" 0
is "agent: with a last export" "$(of value inferogram.event.duration)" 60

for bad in 127.0.0.1:4318 ftp://host http://user:word@host 'http://host/?x'; do
    exits "not an address: $bad" 2 "$INFEROGRAM" live --otlp "$bad" -- true
done
contains "says what is wanted" "$(cat stderr)" "/v1/metrics and /v1/traces are appended"
exits "a header that is none" 2 env OTEL_EXPORTER_OTLP_HEADERS=a-secret "$INFEROGRAM" agent --otlp "$url"
is "is not printed" "$(grep -c a-secret stderr)" 0
exits "an interval that is none" 2 env OTEL_METRIC_EXPORT_INTERVAL=soon "$INFEROGRAM" agent --otlp "$url"
done_testing
