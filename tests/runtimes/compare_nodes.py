#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares nodes with ONNX Runtime's own profile. Exit status 1 and the first difference if they differ.

  compare_nodes.py order PROFILE SEEN    SEEN has "INDEX NAME TYPE" for each node that ran, in the order of their ends
  compare_nodes.py nodes PROFILE ANSWER  ANSWER is that of inferogram-ort-helper nodes
"""

import json
import sys
import urllib.parse

SUFFIX = '_kernel_time'


def of_profile(path):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)
    return [(int(event['args']['node_index']), event['name'][:-len(SUFFIX)], event['args']['op_name'],
             event['args']['provider'])
            for event in events if event.get('cat') == 'Node' and event['name'].endswith(SUFFIX)]


def main(what, profile, path):
    expected = of_profile(profile)
    with open(path, encoding='utf-8') as file:
        lines = [line.split(' ') for line in file.read().splitlines()]
    if what == 'order':
        expected = [node[:3] for node in expected]
        found = [(int(index), name, kind) for index, name, kind in lines]
    else:
        expected = sorted(set(expected))
        found = sorted((int(words[1]), *(urllib.parse.unquote(word) for word in words[3:])) for words in lines
                       if words[0] == 'node')
    if found == expected and expected:
        print(len(found), 'nodes')
        return 0
    print(len(found), 'nodes, expected', len(expected))
    for one, other in zip(found, expected):
        if one != other:
            print('found   ', one, '\nexpected', other)
            break
    return 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
