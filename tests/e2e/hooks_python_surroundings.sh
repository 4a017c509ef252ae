#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The import hook without ONNX Runtime: a Python program sees the same Python as without us, whatever it brings
# along, and the hook finds an onnxruntime wherever it comes from. Every Python of this machine is tried.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
here=$SOURCE_DIR/tests/runtimes/python
mkdir "$T/place" "$T/own" "$T/raises" && cd "$T/place" || exit 99

cat >"$T/own/sitecustomize.py" <<'END'
import sys
print('own sitecustomize %r %s' % (sys.path, __name__))
END
echo 'import nowhere_to_be_found' >"$T/raises/sitecustomize.py"
python3 "$here/fake_onnxruntime.py" "$T/fake"
cat >"$T/use_fake.py" <<'END'
import importlib.util
import sys
print(importlib.util.find_spec('onnxruntime').loader.__class__.__name__)
import onnxruntime
session = onnxruntime.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])
print(session.run(None, {'b': [1, 2], 'a': [[3]]}), type(onnxruntime.__loader__).__name__)
print([vars(onnxruntime.__loader__)], onnxruntime.__spec__.loader is onnxruntime.__loader__)
END

surroundings() { # NAME PYTHON [PYTHONPATH]
    surroundings_name=$1
    if [ $# -gt 2 ]; then
        PYTHONPATH=$3
        export PYTHONPATH
    fi
    same "$surroundings_name" "$2" "$here/surroundings.py"
    unset PYTHONPATH
}

one_python() { # NAME COMMAND
    surroundings "$1" "$2"
    surroundings "$1, own PYTHONPATH" "$2" "$T/fake:$T/place"
    surroundings "$1, own sitecustomize" "$2" "$T/own"
    is "$1: it ran once" "$(grep -c '^own sitecustomize' "$T/recorded.out")" 1
    surroundings "$1, sitecustomize that fails" "$2" "$T/raises"
    same "$1 -I" "$2" -I "$here/surroundings.py"
    same "$1 -S" "$2" -S -c 'import sys; print("sitecustomize" in sys.modules)'
}

modern() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; }

with_fake() { # NAME COMMAND: the wrappers, on a package that only looks like onnxruntime
    PYTHONPATH=$T/fake
    export PYTHONPATH
    same "$1: onnxruntime" "$2" "$T/use_fake.py"
    unset PYTHONPATH
    is "$1: events" "$(rows "SELECT category, count(*) FROM ml_event GROUP BY category ORDER BY category" | tr '\n' ' ')" \
        "inference,1 load,1 "
    is "$1: shapes" "$(inference_attributes shapes)" "b:2 a:1x1 1"
}

tried=
for command in python3 python2.7 python3.6 python3.7 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 \
    python3.14; do
    for found in $(command -v $command) "${HOME:-$T}"/.pyenv/versions/*/bin/"$command"; do
        real=$("$found" -c 'import sys; print(sys.executable)' 2>/dev/null) || continue
        version=$("$real" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        case $tried in *" $version "*) continue ;; esac
        tried="$tried $version "
        one_python "Python $version" "$real"
        if modern "$real"; then with_fake "Python $version" "$real"; fi
    done
done

ok "a virtual environment" python3 -m venv --without-pip "$T/venv"
one_python "venv" "$T/venv/bin/python"
echo 'print("sitecustomize of the venv")' >"$(echo "$T"/venv/lib/python3*/site-packages)/sitecustomize.py"
surroundings "venv with a sitecustomize" "$T/venv/bin/python"
is "venv with a sitecustomize: it ran once" "$(grep -c 'of the venv' "$T/recorded.out")" 1

mkdir "$T/app" && cp "$here/surroundings.py" "$T/app/__main__.py"
python3 -m zipapp "$T/app" -o "$T/app.pyz"
same "zipapp" python3 "$T/app.pyz"
same "child with sys.executable" python3 -c 'import subprocess, sys
print(subprocess.check_output([sys.executable, "-c", "import sys; print(sys.path)"]))'

# A hook that breaks: the program goes on, and the recording says why.
mkdir "$T/hooks" && ln -s "$BUILD_DIR"/hooks/lib* "$T/hooks/" && cp -R "$SOURCE_DIR/src/hooks/python" "$T/hooks/"
echo 'raise RuntimeError("broken on purpose")' >"$T/hooks/python/inferogram_hook/install.py"
IFG_HOOKS_DIR=$T/hooks
PYTHONPATH=$T/fake
export IFG_HOOKS_DIR PYTHONPATH
same "a broken hook" python3 "$T/use_fake.py"
contains "a broken hook: said" "$(instrument 'onnxruntime (Python)%')" "broken on purpose"
rm "$T/hooks/python/inferogram_hook/client.py"
same "a hook that cannot be loaded" python3 "$T/use_fake.py"
unset IFG_HOOKS_DIR PYTHONPATH
done_testing
