#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Loading the library late, and unloading what uses it.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"

record "$PROGRAMS/client_host" plugin "$PROGRAMS/libclient_plugin.so"
is "a plugin is loaded, used by threads, unloaded; then the threads end" "$status" 0
sound "plugin"
counts "plugin: zones of three rounds" zones 120 threads 12 dropped 0
dump
is "plugin: names outlive it" "$(lines '^zone .*name=plugin in=-$')" 120

record "$PROGRAMS/client_host" library "$LIBINFEROGRAM"
is "the library itself is loaded, RTLD_LOCAL" "$status" 0
counts "library: zones" zones 10 unnamed 0 dropped 0

is "not recorded" "$("$PROGRAMS/client_host" library "$LIBINFEROGRAM"; echo $?)" 0
done_testing
