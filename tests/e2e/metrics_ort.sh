#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# agent --metrics with programs that run ONNX Runtime and know nothing of us. Under a name of their own: other tests run
# beside this one.
# shellcheck disable=SC2034,SC2154 # used and set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
. "$SOURCE_DIR/tests/e2e/attach_lib.sh"
. "$SOURCE_DIR/tests/e2e/capture_lib.sh"
. "$SOURCE_DIR/tests/e2e/metrics_lib.sh"
need_probes
need ort-node-1.20.1
cd "$T" || exit 1
name=ifg-o$$
cp "$PROGRAMS/ort_steady" "$name" || exit 1

agent -q --metrics 0 --name "$name"
url=$(grep http agent.out)
steady runs.log "$T/$name" runs.log 500 "$(ort 1.20.1)" "$models/relu.onnx"
has_counted() { scrape && [ "$(of sum scrape inferogram_event_duration_seconds_count)" -ge 20 ]; }
ok "a program that starts later is found, and its inferences are counted" until_true 60 has_counted
is "the model" "$(of labels scrape model)" "'relu'"
is "what it does" "$(of labels scrape category)" "'inference'"
is "where it runs is not known of a session that was there before" "$(of labels scrape device)" "''"
is "the program" "$(of labels scrape program)" "'$name'"
check_format "ONNX Runtime"
trace=$T/run.ifg
ok "it can be captured" capture -q --no-sample --pid "$steady" -s 0.5
counted=$(of sum scrape inferogram_event_duration_seconds_count)
goes_on() { scrape && [ "$(of sum scrape inferogram_event_duration_seconds_count)" -gt "$counted" ]; }
ok "and is counted again afterwards" until_true 60 goes_on
settle "$steady"
is_over() { scrape && grep -qx 'inferogram_programs{state="watched"} 0' scrape; }
ok "it ends" until_true 60 is_over
counted=$(of sum scrape inferogram_event_duration_seconds_count)
ok "no inference is counted twice" test "$counted" -le "$(wc -l <runs.log)"
note "counted $counted of $(wc -l <runs.log) runs"
is "nothing was dropped" "$(of sum scrape inferogram_dropped_events_total)" 0
done_testing
