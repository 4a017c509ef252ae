# SPDX-License-Identifier: Apache-2.0
"""Ends of a connection that do not do what they should.

usage: capture_hostile.py WHAT PORT [ARGUMENT...]

  half-open PORT N        N connections that say nothing; prints how many the agent has closed once a
                          proper one was answered
  garbage PORT N          N connections with random bytes; prints how many were closed
  version PORT MAJOR      greets in another version; prints the version of the agent and whether it closed
  slow PORT PID SECONDS [TOKEN]  asks for a recording and reads nothing for so long, and goes on to say so when it is
                          over; then reads on to the end and prints the trace's bytes to stdout; with TLS if a file with a
                          token is given
  strangers PORT N        N connections to an agent with TLS: silent ones, half a greeting, garbage; prints `held`, and how
                          many were closed in the end
  old-tls PORT HOST       speaks TLS 1.2; prints whether it was refused
  agent PORT MAJOR        is an agent of another version, for one connection
  old PORT                is an agent of version 1.0, for one connection; prints which kinds of messages it got
  named PORT NAME         is an agent that records a program of this name, and sends nothing of it that makes sense
  deaf PORT               is an agent that accepts one connection and says nothing
  squat PORT UID          is an agent of this user that wants a token, for one connection; prints what it got
  forward PORT TO BYTES   passes one connection on, and cuts it after so many bytes of answers
  breaking PORT TO BYTES N  passes connections on, and cuts the first N that get as far after so many bytes of answers
  resume PORT             asks for a recording that was never kept; prints what it is told
  pass-on PORT TO HOST UID  passes connections on, from this address, as this user
"""

import os
import random
import socket
import ssl
import struct
import sys
import threading
import time

MAGIC = b'IFG-TCP\n'
MAJOR = 1
TOKEN, LIST, RECORD, STOP, PING, RESUME = 1, 2, 3, 4, 5, 8
WELCOME, REFUSED, LISTED, STARTED, PART, ENDED, PONG = 0x81, 0x82, 0x84, 0x86, 0x87, 0x89, 0x8A


def number(value):
    out = b''
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(value):
    return number(len(value)) + value


def message(kind, content=b''):
    return struct.pack('<BBHI', kind, 0, 0, len(content)) + content


def preface(major=MAJOR):
    return MAGIC + struct.pack('<HHI', major, 0, 0)


def connect(port):
    return socket.create_connection(('127.0.0.1', port), timeout=30)


def receive(connection, size):
    out = b''
    while len(out) < size:
        part = connection.recv(size - len(out))
        if not part:
            raise EOFError
        out += part
    return out


def next_message(connection):
    kind, _, _, size = struct.unpack('<BBHI', receive(connection, 8))
    return kind, receive(connection, size)


def greet(connection, major=MAJOR):
    connection.sendall(preface(major))
    return struct.unpack('<HHI', receive(connection, 16)[8:])[0]


def is_closed(connection):
    try:
        while connection.recv(4096):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def listing(port):
    with connect(port) as connection:
        greet(connection)
        connection.sendall(message(LIST))
        kind = 0
        while kind not in (LISTED, REFUSED):
            kind, _ = next_message(connection)
        return kind == LISTED


def half_open(port, count):
    held = [connect(port) for _ in range(int(count))]
    print('answered' if listing(port) else 'refused')
    print('closed', sum(is_closed(connection) for connection in held))


def garbage(port, count):
    closed = 0
    generator = random.Random(1)
    for i in range(int(count)):
        with connect(port) as connection:
            data = generator.randbytes(generator.randrange(1, 5000))
            connection.sendall(preface() + data if i % 2 else data + bytes(16))
            closed += is_closed(connection)
    print('closed', closed)
    print('answered' if listing(port) else 'refused')


def version(port, major):
    with connect(port) as connection:
        print('agent', greet(connection, int(major)))
        print('closed' if is_closed(connection) else 'open')


def tls():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def strangers(port, count):
    greeting = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
    generator = random.Random(1)
    held = []
    for i in range(int(count)):
        connection = connect(port)
        try:
            connection.sendall([b'', greeting, generator.randbytes(700), b'I'][i % 4])
        except OSError:
            pass
        held.append(connection)
    print('held', flush=True)
    print('closed', sum(is_closed(connection) for connection in held))


def old_tls(port, host):
    context = tls()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        with socket.create_connection((host, port), timeout=30) as connection:
            context.wrap_socket(connection)
        print('accepted')
    except (OSError, ssl.SSLError):
        print('refused')


def slow(port, pid, seconds, token=None):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(('127.0.0.1', port))
        if token:
            connection = tls().wrap_socket(connection)
        greet(connection)
        if token:
            with open(token, 'rb') as file:
                connection.sendall(message(TOKEN, text(file.read().strip())))
        connection.sendall(message(RECORD, number(1) + number(int(pid)) + text(b'') + number(0) + number(0) + number(1) + bytes(3)))
        for _ in range(3):
            time.sleep(float(seconds) / 2)
            connection.sendall(message(STOP))
        kind = 0
        while kind != ENDED:
            kind, content = next_message(connection)
            if kind == PART:
                sys.stdout.buffer.write(content)
            if kind == REFUSED:
                sys.exit(content[2:].decode())


def serve(port):
    listener = socket.create_server(('127.0.0.1', port))
    print('ready', flush=True)
    connection, _ = listener.accept()
    connection.settimeout(30)
    return connection


def agent(port, major):
    with serve(port) as connection:
        connection.sendall(preface(int(major)))
        is_closed(connection)


def old(port):
    with serve(port) as connection:
        greet(connection)
        connection.sendall(message(WELCOME, text(b'1') + text(b'here') + number(0)))
        try:
            while True:
                print('got', next_message(connection)[0], flush=True)
        except EOFError:
            print('closed')


def named(port, name):
    with serve(port) as connection:
        greet(connection)
        connection.sendall(message(WELCOME, text(b'1') + text(b'here') + number(0)))
        try:
            while True:
                kind, content = next_message(connection)
                if kind == PING:
                    connection.sendall(message(PONG, content + number(time.time_ns())))
                elif kind == RECORD:
                    connection.sendall(message(PART, b'?') + message(STARTED, number(4711) + text(name.encode())))
        except EOFError:
            pass


def deaf(port):
    with serve(port) as connection:
        is_closed(connection)


def squat(port, uid):
    os.setuid(int(uid))
    with serve(port) as connection:
        greet(connection)
        connection.sendall(message(WELCOME, text(b'1') + text(b'here') + number(1)))
        try:
            print('got', next_message(connection))
        except EOFError:
            print('got nothing')


def forward(port, to, limit):
    left = int(limit)
    with serve(port) as near, connect(int(to)) as far:
        while left > 0:
            for source, sink in ((near, far), (far, near)):
                source.settimeout(0.02)
                try:
                    data = source.recv(min(left, 65536) if source is far else 65536)
                except TimeoutError:
                    continue
                if not data:
                    return
                sink.sendall(data)
                if source is far:
                    left -= len(data)


def breaking(port, to, limit, cuts):
    left = [int(cuts)]
    listener = socket.create_server(('127.0.0.1', port))
    print('ready', flush=True)

    def answers(near, far):
        passed = 0
        try:
            while data := far.recv(4096):
                passed += len(data)
                near.sendall(data)
                if passed > int(limit) and left[0] > 0:
                    left[0] -= 1
                    print('cut', flush=True)
                    break
        except OSError:
            pass
        for end in (near, far):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    while True:
        near, _ = listener.accept()
        far = socket.create_connection(('127.0.0.1', int(to)))
        threading.Thread(target=answers, args=(near, far), daemon=True).start()
        threading.Thread(target=copy, args=(near, far), daemon=True).start()


def resume(port):
    with connect(port) as connection:
        greet(connection)
        next_message(connection)
        connection.sendall(message(RESUME, text(b'0' * 32) + number(0)))
        print('refused' if next_message(connection)[0] == REFUSED else 'resumed')


def pass_on(port, to, host, uid):
    'here'.encode('idna')  # loaded while this user can still read it
    os.setuid(int(uid))
    listener = socket.create_server((host, port))
    print('ready', flush=True)
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(('127.0.0.1', int(to)))
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=copy, args=(source, sink), daemon=True).start()


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == '__main__':
    os.environ.pop('IFG_AGENT_TOKEN', None)
    globals()[sys.argv[1].replace('-', '_')](int(sys.argv[2]), *sys.argv[3:])
