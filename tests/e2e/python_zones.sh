#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Zones, events and marks of the Python package, in every CPython from 3.9 on that is here: one extension file for all.
. "$TAP_SH"
# shellcheck disable=SC2154 # from python_lib.sh
. "$SOURCE_DIR/tests/e2e/python_lib.sh"
zones=$SOURCE_DIR/tests/python/zones.py

for python in $(pythons); do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    is "$version: runs alone" "$("$python" "$zones" alone 2>&1)" "done"
    is "$version: runs recorded" "$("$INFEROGRAM" record -q --no-sample -f -o "$T/run.ifg" -- "$python" "$zones" recorded 2>&1)" "done"
    is "$version: zones" "$(rows "$T/run.ifg" "SELECT name || ':' || count(*) FROM slice WHERE kind = 'zone'
        AND name NOT LIKE 'import %' GROUP BY name ORDER BY name")" \
        "decorated:5 failing:1 inner:10 outer:10 receiver:1 sender:1 shared:800"
    is "$version: they nest" "$(rows "$T/run.ifg" "SELECT count(*) FROM slice s JOIN slice p ON p.id = s.parent_id
        WHERE (s.name, p.name) IN (VALUES ('inner', 'outer'), ('decorated', 'decorated'), ('shared', 'shared'))")" "614"
    is "$version: shared zones, as deep as they were" "$(rows "$T/run.ifg" "SELECT depth || ':' || count(*) FROM slice
        WHERE name = 'shared' GROUP BY depth")" "0:200 1:200 2:200 3:200"
    is "$version: details" "$(rows "$T/run.ifg" "SELECT a.key || '=' || a.value FROM attribute a JOIN slice s ON s.id = a.slice
        WHERE s.name IN ('outer', 'inner') AND s.start_ns <= (SELECT min(start_ns) FROM slice WHERE name = 'inner')
        ORDER BY 1")" "attempt=0 color=20145817 fill=0.5 flag=1 huge=1208925819614629174706176 mode=direct text=text 0 value=0"
    is "$version: spans" "$(rows "$T/run.ifg" "SELECT name || ':' || count(*) FROM async_span WHERE NOT unfinished
        GROUP BY name ORDER BY name")" "awaited:3 inference:1 span:1"
    is "$version: events" "$(rows "$T/run.ifg" "SELECT model || ' ' || function || ' ' || category || ':' || count(*) FROM slice
        WHERE kind = 'ml' GROUP BY model, function, category ORDER BY 1")" "by name main setup:1 ocr decode inference:5 ocr main load:1"
    is "$version: the model" "$(rows "$T/run.ifg" "SELECT path, runtime, requested_devices, value FROM model
        JOIN model_property p ON p.model = name WHERE name = 'ocr'")" "/models/ocr.onnx,my runtime,GPU,CPU,CPU"
    is "$version: the load" "$(rows "$T/run.ifg" "SELECT a.value FROM attribute a WHERE a.key = 'specialization'")" cached
    is "$version: counter" "$(rows "$T/run.ifg" "SELECT value FROM counter WHERE name = 'queue' ORDER BY time_ns")" "3 4.5"
    is "$version: messages" "$(rows "$T/run.ifg" "SELECT text, level FROM message ORDER BY time_ns")" \
        "information,info wärnung,warning"
    is "$version: a flow across threads" "$(rows "$T/run.ifg" "SELECT DISTINCT f.name || ' ' || s.name FROM flow f
        JOIN slice s ON s.id IN (f.from_slice, f.to_slice) ORDER BY 1")" "frame receiver frame sender"
    is "$version: a thread's name, a frame" "$(rows "$T/run.ifg" "SELECT t.name, f.name FROM frame f JOIN thread t
        ON t.tid = f.thread")" "the first one,video"
done
done_testing
