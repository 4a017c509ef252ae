# SPDX-License-Identifier: Apache-2.0
"""The operators of one run in a profile of ONNX Runtime: ops_of_profile.py FILE RUN prints "name|type" in the order
in which they ended. Names are unescaped if ORT did not escape them."""
import json
import re
import sys


def events(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:  # a quote or backslash in a name; the name is followed by "args"
        def escape(match):
            return '"name" :' + json.dumps(match.group(1)) + ',"args"'
        return json.loads(re.sub(r'"name" :"(.*?)","args"', escape, text))


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        everything = events(file.read())
    wanted, run, ops = int(sys.argv[2]), 0, []
    for event in everything:
        if event['cat'] == 'Node' and event['name'].endswith('_kernel_time'):
            ops.append(event['name'][:-len('_kernel_time')] + '|' + event['args']['op_name'])
        elif event['name'] == 'model_run':
            if run == wanted:
                print('\n'.join(ops))
                return
            run, ops = run + 1, []


main()
