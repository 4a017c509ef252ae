#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The preloaded library puts a dlsym in front of everybody's: who asks must still matter (RTLD_NEXT), and
# without an ONNX Runtime nothing may appear that was not there.
. "$TAP_SH"
cd "$T" || exit 1

cat >first.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int who(void) { int (*next)(void); *(void **)&next = dlsym(RTLD_NEXT, "who"); return next ? 10 + next() : -1; }
C
cat >second.c <<'C'
int who(void) { return 2; }
C
cat >program.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
int who(void);
int main(void)
{
    errno = 77;
    printf("who %d\n", who());
    printf("errno %d\n", errno);
    printf("default %d\n", dlsym(RTLD_DEFAULT, "OrtGetApiBase") != 0);
    printf("next %d\n", dlsym(RTLD_NEXT, "OrtGetApiBase") != 0);
    printf("missing %d\n", dlsym(RTLD_DEFAULT, "OrtNoSuchThing") != 0);
    printf("error %s\n", dlerror() ? "told" : "none");
    printf("short %d %d\n", dlsym(RTLD_DEFAULT, "O") != 0, dlsym(RTLD_DEFAULT, "Or") != 0);
    printf("printf %d\n", dlsym(RTLD_DEFAULT, "printf") == (void *)printf);
    printf("self %d\n", dlsym(dlopen(0, RTLD_NOW), "puts") != 0);
    return 0;
}
C
# shellcheck disable=SC2086 # a command and its options
if ! { $CC -shared -fPIC -o libfirst.so first.c -ldl && $CC -shared -fPIC -o libsecond.so second.c &&
    $CC -rdynamic -Wl,--no-as-needed -o program program.c ./libfirst.so ./libsecond.so -ldl; } 2>build.log; then
    fail "the program is built" "$(cat build.log)"
    done_testing
    exit
fi
./program >plain
is "without us" "$(head -n 1 plain)" "who 12"
"$INFEROGRAM" record -q -f -o t.ifg -- ./program >recorded
is "the same under the preloaded library" "$(cat recorded)" "$(cat plain)"
LD_PRELOAD="$T/libsecond.so" ./program >plain
LD_PRELOAD="$T/libsecond.so" "$INFEROGRAM" record -q -f -o t.ifg -- ./program >recorded
is "the user's own preload comes first, as ever" "$(cat recorded)" "$(cat plain)"
done_testing
