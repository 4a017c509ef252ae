# SPDX-License-Identifier: Apache-2.0
"""Many connections without a token, kept up until told to stop: crowd.py HOST PORT HOW COUNT [UID]

HOW: idle (nothing is sent), headers (a byte now and then), body (headers, then a byte now and then),
readers (asks for the page and does not read it). Prints "ready" when all have been opened once; those that are closed are opened
again. Ends when its input does."""

import os
import select
import socket
import sys
import time

REQUESTS = {
    'idle': b'',
    'headers': b'GET /api/traces HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-Slow: ',
    'body': b'GET /api/traces HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 100000\r\n\r\n',
    'readers': b'GET /app.js HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n' * 8,
}


def connect(host, port, how):
    connection = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.settimeout(20)
    connection.connect((host, port))
    connection.sendall(REQUESTS[how].replace(b'PORT', b'%d' % port))
    connection.setblocking(False)
    return connection


def is_closed(connection, how):
    """Sends the next byte; whether the other side has hung up."""
    try:
        if how in ('headers', 'body'):
            connection.send(b'x')
        return how != 'readers' and connection.recv(1, socket.MSG_PEEK) == b''
    except BlockingIOError:
        return False
    except OSError:
        return True


def main():
    host, port, how, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    if len(sys.argv) > 5:
        os.setgid(int(sys.argv[5]))
        os.setuid(int(sys.argv[5]))
    crowd = []
    while len(crowd) < count:
        try:
            crowd.append(connect(host, port, how))
        except ConnectionError:  # sent away before it had spoken
            pass
    print('ready', flush=True)
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        for i, connection in enumerate(crowd):
            if is_closed(connection, how):
                connection.close()
                try:
                    crowd[i] = connect(host, port, how)
                except OSError:
                    time.sleep(0.01)


if __name__ == '__main__':
    main()
