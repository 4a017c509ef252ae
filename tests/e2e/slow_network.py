# SPDX-License-Identifier: Apache-2.0
"""A cable between two network namespaces that is long and loses packets, for machines whose kernel has no netem.

usage: slow_network.py HERE THERE DELAY_MS LOSS_PERCENT

Makes the devices `near` in HERE and `far` in THERE, prints `ready`, and passes packets on until it is killed.
"""

import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000


def open_device(namespace, name):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f'/run/netns/{namespace}', 'rb') as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')
    device = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def pass_on(ends, delay_s, loss):
    generator = random.Random(1)
    under_way = deque()  # all are equally long under way: in the order in which they come
    while True:
        wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        for end in select.select(list(ends), [], [], wait)[0]:
            packet = os.read(end, 65536)
            if generator.random() >= loss:
                under_way.append((time.monotonic() + delay_s, ends[end], packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, packet = under_way.popleft()
            try:
                os.write(end, packet)
            except OSError:
                pass  # that is lost, too


def main():
    here, there, delay_ms, loss = sys.argv[1:]
    near = open_device(here, 'near')
    far = open_device(there, 'far')
    print('ready', flush=True)
    pass_on({near: far, far: near}, float(delay_ms) / 1e3, float(loss) / 100)


main()
