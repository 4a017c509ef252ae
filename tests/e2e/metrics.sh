#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# live --metrics: formats, counts, quantiles, names that are hard to write down, more models than are kept, scrapers that
# say nothing.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/metrics_lib.sh"
cd "$T" || exit 1
TMPDIR=$T
export TMPDIR

# live ARGUMENTS OF metrics_events...: $live is its id, $url where its metrics are. Returns when all has been counted.
live() {
    rm -f enough
    : >live.err
    : >live.out
    spawn "$INFEROGRAM" live -q -f -o run.ifg --metrics 0 --no-sample --no-resources -- "$METRICS_EVENTS" "$@" \
        >live.out 2>live.err
    live=$spawned
    until_true 60 grep -q 'metrics: http' live.err
    url=$(grep -o 'http.*' live.err | head -n 1)
    until_true 60 test -s live.out
    until_true 60 scraped inferogram_event_duration_seconds_count "$(cat live.out)"
}
finish() {
    : >enough
    ended "$live"
}

live 4 2000 enough
is "every inference is counted" "$(of sum scrape inferogram_event_duration_seconds_count)" 8000
is "labels: models" "$(of labels scrape model | tr '\n' ' ')" "'model-0' 'model-1' 'model-2' 'model-3' "
is "labels: functions, categories, devices" \
    "$(of labels scrape function) $(of labels scrape category) $(of labels scrape device)" "'main' 'inference' 'CPU'"
is "labels: the program" "$(of labels scrape program)" "'metrics_events'"
is "what was recorded in all" "$(of sum scrape inferogram_recorded_events_total)" 8000
is "nothing was dropped" "$(of sum scrape inferogram_dropped_events_total)" 0
ok "our own cost" sh -c "grep -q '^inferogram_cpu_seconds_total 0*[1-9.]' scrape && grep -q '^inferogram_resident_memory_bytes [1-9]' scrape"
check_format "four models"
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
is "another page" "$(status "${url}/x")" 404
is "another method" "$(status -X POST -d x "$url")" 405
is "a name of the internet" "$(status -H 'Host: example.com' "$url")" 421
is "a forwarded port" "$(status -H 'Host: localhost:1234' "$url")" 200
is "HEAD" "$(status -I "$url")" 200
is "a hundred that say nothing, and one that scrapes" "$(of crowd "$url")" "answered 3"
has_findings() { scrape && grep -q '^inferogram_findings_window_seconds{program="metrics_events"} ' scrape; }
ok "findings, after some seconds" until_true 60 has_findings
scrape
finish
is "live ends with the program" "$status" 0
ok "nobody listens any more" test "$(status "$url")" = 000
"$INFEROGRAM" stats run.ifg --by model --json >stats.json
is "quantiles are those of stats, within their buckets" "$(of quantiles scrape stats.json)" within

live 11 5 enough hostile
is "hostile names: all are counted" "$(of sum scrape inferogram_event_duration_seconds_count)" 55
is "failures" "$(of sum scrape inferogram_event_failures_total)" 5
check_format "hostile names"
of labels scrape model >models
for name in "'quo\"te'" "'back\\\\\\\\slash\\\\\\\\'" "'new\\\\nline'" "'{le=\"1\"} 5 # EOF'" "'some.onnx'" "'模型'" "'model.onnx'"; do
    name=$(printf '%b' "$name")
    ok "it has $name" grep -qxF -- "$name" models
done
is "no path" "$(grep -c / models)" 0
is "what is too long is cut" "$(awk '/xxx/ { print length($0) - 2 }' models)" 127
kill -INT "$live"
finish
is "Ctrl-C: nobody listens any more" "$(status "$url")" 000

live 1200 1 enough
is "more models than are kept: none is lost" "$(of sum scrape inferogram_event_duration_seconds_count)" 1200
is "and that is said" "$(of sum scrape inferogram_series_limit_reached)" 1
ok "the number of series has a limit" test "$(of sum scrape inferogram_series)" -le 1024
ok "the rest is other" grep -q 'count{program="other",model="other",function="other",category="inference",device="other"} [1-9]' scrape
check_format "many models"
finish

exits "no port" 2 "$INFEROGRAM" live --metrics 127.0.0.1 -- true
contains "says what is wanted" "$(cat stderr)" "is not PORT or ADDRESS:PORT"
exits "a name instead of an address" 2 "$INFEROGRAM" live --metrics example.com:1 -- true
exits "IPv6 without brackets" 2 "$INFEROGRAM" live --metrics ::1:1 -- true
exits "a port that is taken" 1 sh -c "python3 -c 'import socket, subprocess, sys
s = socket.create_server((\"127.0.0.1\", 0))
sys.exit(subprocess.call([\"$INFEROGRAM\", \"live\", \"--metrics\", str(s.getsockname()[1]), \"--\", \"true\"]))'"
contains "says so" "$(cat stderr)" "Address already in use"
done_testing
