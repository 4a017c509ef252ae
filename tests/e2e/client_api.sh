#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every macro and function of the public header arrives in the trace as it was said.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"

record "$PROGRAMS/client_api"
is "the program ran, recorded" "$status $output" "0 recording 1, evaluated 3"
sound "api"
counts "counts" zones 21 ml 6 messages 5 counters 3 frames 2 dropped 0 open 0 processes 1 threads 2
dump

has() { # NAME TIMES PATTERN
    is "$1" "$(lines "$3")" "$2"
}
has "zones nest: the outermost" 1 '^zone .*name=scoped in=-$'
has "zones nest: inner calls" 2 '^zone .*name=scoped in=part$'
has "zones nest: part" 3 '^zone .*name=part in=as$'
has "zones nest: coloured" 3 '^zone .*name=coloured in=scoped$'
has "return, goto and the end of the function end a zone" 3 '^zone .*name=early in=-$'
has "continue and break end a zone" 3 '^zone .*name=loop in=early$'
has "a location knows where it is" 1 \
    '^location .*kind=zone .*color=0 .*name=scoped function=zones file=client_api.c line=yes$'
has "a location has its colour" 1 '^location .*color=13366ff .*name=coloured '
has "name" 3 '^detail .*zone=as name="a name at run time"$'
has "text" 3 '^detail .*zone=as text="a text"$'
has "value" 3 '^detail .*zone=as value=18446744073709551615u$'
has "colour" 3 "^detail .*zone=as color=$((0x1123456))u\$"
has "detail: string" 3 '^detail .*zone=as string="value"$'
has "detail: int" 3 '^detail .*zone=as int=-42$'
has "detail: float" 3 '^detail .*zone=as float=0.5$'
has "message, info by default" 1 '^message .*level=2 "plain"$'
for level in 0:trace 1:debug 3:warning 4:error; do
    has "message: ${level#*:}" 1 "^message .*level=${level%:*} \"${level#*:}\"\$"
done
has "counter" 1 '^counter .*name=queue value=2$'
has "allocation" 1 '^alloc .*name=arena address=yes bytes=4096$'
has "free" 1 '^free .*name=arena$'
has "frame" 2 '^frame .*name=frame$'
has "async begins on one thread" 1 '^begin thread=0 name=request id=7$'
has "async ends on another" 1 '^end thread=1 name=request id=7$'
has "a flow begins on one thread" 1 '^flow-begin thread=0 name=handed on id=18446744073709551615$'
has "goes on on another" 1 '^flow-step thread=1 name=handed on id=18446744073709551615$'
has "and ends there" 1 '^flow-end thread=1 name=handed on id=18446744073709551615$'
has "thread name: main" 1 '^thread 0 .*name=main thread$'
has "thread name: other" 1 '^thread 1 .*name=finisher$'
has "the same texts make one model" 1 '^model '
has "model" 1 '^model .*name=ocr path=/models/ocr.onnx content=abc runtime=ORT 1.20 requested=CUDA,CPU'
has "property" 1 '^property model=ocr nodes.CPU=17$'
has "devices learned later" 1 '^property model=ocr actual_devices=CPU$'
has "event: prepare" 1 '^zone .*name=ocr/main/prepare in=-$'
has "event: load" 2 '^zone .*name=ocr/main/load in=-$'
has "event: specialization within the load" 1 '^zone .*name=ocr/main/specialization in=ocr/main/load$'
has "event: setup" 1 '^zone .*name=ocr/encode/setup in=-$'
has "event: inference" 1 '^zone .*name=ocr/encode/inference in=-$'
has "load state: cold" 1 '^detail .*zone=ocr/main/load specialization="cold"$'
has "load state: cached" 1 '^detail .*zone=ocr/main/load specialization="cached"$'
has "details of an event" 1 '^detail .*zone=ocr/encode/inference batch=8$'
has "async event begins" 1 '^begin .*name=ocr/encode/inference id=99$'
has "async event ends" 1 '^end .*name=ocr/encode/inference id=99$'
has "stage" 1 '^zone .*name=pre in=-$'
has "stages nest" 1 '^zone .*name=post in=inference$'
has "stages carry their request" 3 '^detail .* request=1u$'

ok "info reads it" "$INFEROGRAM" info "$trace"
ok "info --json" "$INFEROGRAM" info --json "$trace"
json=$(cat "$T/stdout")
contains "json: counts" "$json" '"messages":5'
contains "json: the model" "$json" '"name":"ocr"'
contains "json: its function" "$json" '"category":"inference"'

# Without a recorder, and with IFG_OFF, the program does the same.
is "not recorded" "$("$PROGRAMS/client_api")" "recording 0, evaluated 0"
is "IFG_OFF" "$(IFG_OFF=1 "$PROGRAMS/client_api")" "recording 0, evaluated 0"
done_testing
