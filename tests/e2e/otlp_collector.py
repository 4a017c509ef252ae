# SPDX-License-Identifier: Apache-2.0
"""A collector of OpenTelemetry for the tests, which decodes with OpenTelemetry's own classes: otlp_collector.py DIRECTORY [PORT]

Writes DIRECTORY/port when it listens and DIRECTORY/state.json after each request. What it answers is in DIRECTORY/mode, when
there is one: 503 (with Retry-After: 1), 400, 307, slow (never), partial. Questions about what it got: otlp.py.
"""

import contextlib
import gzip
import http.server
import json
import os
import sys
import threading
import time

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse


def plain(attributes):
    return {item.key: getattr(item.value, item.value.WhichOneof('value')) for item in attributes}


def number(point):
    return getattr(point, point.WhichOneof('value'))


class State:
    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.all = {'metrics': {}, 'resource': {}, 'spans': [], 'requests': [], 'headers': {}, 'wrong': []}

    def mode(self):
        try:
            with open(os.path.join(self.folder, 'mode'), encoding='ascii') as file:
                return file.read().strip()
        except OSError:
            return ''

    def save(self):
        path = os.path.join(self.folder, 'state.json')
        with open(path + '.new', 'w', encoding='utf-8') as file:
            json.dump(self.all, file)
        os.rename(path + '.new', path)

    def take_metrics(self, body):
        request = ExportMetricsServiceRequest.FromString(body)
        found = {}
        for resource in request.resource_metrics:
            self.all['resource'] = plain(resource.resource.attributes)
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = self.take_metric(metric)
        for name, old in self.all['metrics'].items():
            if old['monotonic'] and sum(point['value'] for point in found[name]['points']) < sum(point['value'] for point in old['points']):
                self.all['wrong'].append(f'{name} went back')
        self.all['metrics'] = found

    def take_metric(self, metric):
        kind = metric.WhichOneof('data')
        data = getattr(metric, kind)
        if kind != 'gauge' and data.aggregation_temporality != 2:
            self.all['wrong'].append(f'{metric.name}: not cumulative')
        points = []
        for point in data.data_points:
            one = {'labels': plain(point.attributes), 'start': point.start_time_unix_nano, 'time': point.time_unix_nano}
            if kind == 'histogram':
                one.update(value=point.count, sum=point.sum, buckets=list(point.bucket_counts), bounds=list(point.explicit_bounds))
            else:
                one['value'] = number(point)
            points.append(one)
        return {'kind': kind, 'unit': metric.unit, 'points': points, 'monotonic': kind == 'histogram' or (kind == 'sum' and data.is_monotonic)}

    def take_spans(self, body):
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.take_span({
                        'trace': span.trace_id.hex(), 'span': span.span_id.hex(), 'name': span.name, 'kind': span.kind,
                        'start': span.start_time_unix_nano, 'end': span.end_time_unix_nano, 'failed': span.status.code == 2,
                        'labels': plain(span.attributes), 'resource': plain(resource.resource.attributes)})

    def take_span(self, span):
        """One that was sent again is the same one."""
        same = [old for old in self.all['spans'] if old['span'] == span['span'] or old['trace'] == span['trace']]
        if not same:
            self.all['spans'].append(span)
        elif same != [span]:
            self.all['wrong'].append('ids are not unique')


def partial(path):
    if path == '/v1/metrics':
        reply = ExportMetricsServiceResponse()
        reply.partial_success.rejected_data_points = 1
    else:
        reply = ExportTraceServiceResponse()
        reply.partial_success.rejected_spans = 1
    reply.partial_success.error_message = 'one is too many'
    return reply.SerializeToString()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        state = self.server.state
        body = self.rfile.read(int(self.headers['Content-Length']))
        mode = state.mode()
        code = int(mode) if mode.isdigit() else 200
        with state.lock:
            state.all['requests'].append({'path': self.path, 'code': 'slow' if mode == 'slow' else code, 'time': time.monotonic()})
            state.all['headers'] = dict(self.headers)
            try:
                if self.headers['Content-Type'] != 'application/x-protobuf' or self.headers['Content-Encoding'] != 'gzip':
                    raise ValueError('content type or encoding')
                if code == 200 and mode != 'slow':
                    {'/v1/metrics': state.take_metrics, '/v1/traces': state.take_spans}[self.path](gzip.decompress(body))
            except Exception as why:  # whatever a decoder has to say
                state.all['wrong'].append(f'{self.path}: {why!r}')
            state.save()
        if mode == 'slow':
            self.rfile.read(1)  # until the other side gives up
            return
        reply = partial(self.path) if mode == 'partial' else b''
        self.send_response(code)
        self.send_header('Content-Length', str(len(reply)))
        if code == 503:
            self.send_header('Retry-After', '1')
        if code == 307:
            self.send_header('Location', f'http://127.0.0.1:{self.server.server_port}/elsewhere')
        self.end_headers()
        self.wfile.write(reply)

    def handle(self):
        with contextlib.suppress(ConnectionError):  # the other side gave up
            super().handle()

    def log_message(self, *_):
        pass


def serve(folder, port='0'):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', int(port)), Handler)
    server.daemon_threads = True
    server.state = State(folder)
    server.state.save()
    with open(os.path.join(folder, 'port.new'), 'w', encoding='ascii') as file:
        file.write(f'{server.server_port}\n')
    os.rename(os.path.join(folder, 'port.new'), os.path.join(folder, 'port'))
    server.serve_forever()

if __name__ == '__main__':
    serve(*sys.argv[1:])
