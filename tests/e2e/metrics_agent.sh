#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# agent --metrics: programs are found and watched, a real Prometheus scrapes, a capture takes a program over, ends and
# kills. Programs have names of their own: other tests run beside this one, and theirs are not to be watched.
# shellcheck disable=SC2034,SC2154 # used and set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
. "$SOURCE_DIR/tests/e2e/metrics_lib.sh"
cd "$T" || exit 1
trace=$T/run.ifg
name=ifg-m$$
cp "$METRICS_EVENTS" "$T/$name-a" && cp "$METRICS_EVENTS" "$T/$name-b" || exit 1

# events NAME MODELS ROUNDS FILE: its id is in $events, what it prints in NAME.out.
events() {
    : >"$1.out"
    spawn "$T/$name-$1" "$2" "$3" "$4" >"$1.out"
    events=$spawned
    carries "$events"
}
both_done() { test -s a.out && test -s b.out; }
watched() { scrape && grep -qx "inferogram_programs{state=\"watched\"} $1" scrape; }
metrics_agent() {
    agent -q --metrics 0 --name "$name-*"
    url=$(grep http agent.out)
}

events a 3 1000 enough-a
a=$events
events b 2 1000 enough-b
metrics_agent
ok "both programs are watched" until_true 60 both_done
all=$(($(cat a.out) + $(cat b.out)))
ok "every inference is counted" until_true 60 scraped inferogram_event_duration_seconds_count "$all"
is "by program" "$(of labels scrape program | tr '\n' ' ')" "'$name-a' '$name-b' "
is "two are watched" "$(grep '^inferogram_programs' scrape | tr '\n' ' ')" \
    'inferogram_programs{state="watched"} 2 inferogram_programs{state="elsewhere"} 0 inferogram_programs{state="refused"} 0 '
check_format "agent"

if command -v prometheus >/dev/null; then
    where=127.0.0.1:$(free_port)
    cat >prometheus.yml <<EOT
global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: inferogram, static_configs: [{targets: ['$(echo "$url" | cut -d/ -f3)']}]}
EOT
    spawn prometheus --config.file prometheus.yml --storage.tsdb.path "$T/data" --web.listen-address "$where" \
        >prometheus.out 2>&1
    prometheus=$spawned
    query() { [ "$(of value "http://$where" "$1")" = "$2" ]; }
    ok "a real Prometheus scrapes" until_true 60 query 'up{job="inferogram"}' 1
    ok "and has the right count" until_true 60 query 'sum(inferogram_event_duration_seconds_count{category="inference"})' "$all"
    is "by model" "$(of value "http://$where" "inferogram_event_duration_seconds_count{program=\"$name-a\",model=\"model-2\"}")" 1000
    ok "a quantile can be asked for" query \
        'histogram_quantile(0.5, sum by (le) (inferogram_event_duration_seconds_bucket)) < bool 1' 1
    kill "$prometheus"
    ended "$prometheus"
else
    skip "a real Prometheus scrapes" "prometheus: not installed"
fi

contains "ls shows what is watched as free" "$("$INFEROGRAM" ls -a 127.0.0.1 -p "$port" | grep "$name-a")" "record --pid"
capture -q -s 0.2 --pid "$a"
is "a program that is watched can be captured" "$?" 0
ok "and is watched again afterwards" until_true 60 watched 2
is "what was counted before stays" "$(of sum scrape inferogram_event_duration_seconds_count)" "$all"

# Findings have no sample when there are none.
not_there() {
    of names "$T/scrape" >shown
    grep -oE 'inferogram_[a-z_]+' "$SOURCE_DIR/packaging/grafana/inferogram.json" | sort -u | while read -r metric; do
        grep -qx "$metric" shown || grep -q "^# TYPE $metric " scrape || echo "$metric"
    done
}
has_findings() { scrape && grep -q "^inferogram_findings_window_seconds{program=\"$name-b\"} " scrape; }
ok "findings, after some seconds" until_true 60 has_findings
is "Grafana's dashboard asks for nothing else" "$(not_there)" ""
: >enough-b
ok "a program ends" until_true 60 watched 1
is "and its counts stay" "$(of sum scrape inferogram_event_duration_seconds_count)" "$all"

keeper=$(cat "/proc/$agent/task/$agent/children")
below=$(cat "/proc/${keeper% }/task/${keeper% }/children")
kill "$agent"
ended "$agent"
is "the agent ends cleanly" "$status" 0
# gone ID...: none of them is there.
gone() {
    for id in "$@"; do
        ! tap_alive "$id" || return 1
    done
}
# shellcheck disable=SC2086 # ids
ok "with all that it had started" until_true 60 gone $keeper $below
ok "the program goes on" tap_alive "$a"

metrics_agent
ok "another agent finds the program" until_true 60 watched 1
keeper=$(cat "/proc/$agent/task/$agent/children")
below=$(cat "/proc/${keeper% }/task/${keeper% }/children")
kill -KILL "$agent"
# shellcheck disable=SC2086 # ids
ok "a killed agent leaves nothing behind" until_true 60 gone $keeper $below
ok "and the program goes on" tap_alive "$a"
: >enough-a
ended "$a"
is "to its end" "$status" 0

exits "--name without --metrics" 2 "$INFEROGRAM" agent --name x
exits "no port" 2 "$INFEROGRAM" agent --metrics here
done_testing
