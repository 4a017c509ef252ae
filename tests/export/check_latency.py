#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_latency.py FILE: AIC100's latency file by the rules of its own scripts: four lines, then CSV, stripped."""

import csv
import re
import sys

from truth import equal, require

COLUMNS = ['Sample', 'devInfPerSec', 'devExecUs', 'devInWaitTimeUs', 'devOutWaitTimeUs',
           'hostRoundTripUs', 'enqTimeUs', 'preProcTimeUs', 'submitTimeUs', 'execTotalUs',
           'exectoVcUs', 'execToCompleteUs', 'postProcUs', 'totalRoundtripTimeUs', 'queueDepth',
           'numInfInQueue']


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        head = [file.readline().rstrip('\n') for _ in range(4)]
        rows = [[cell.strip() for cell in row] for row in csv.reader(file)]
    equal('first line', head[0], 'Profiling Data')
    require(re.fullmatch(r'ProgramId:\d+', head[1]), head[1])
    require(head[2].startswith('ProgramName: '), head[2])
    found = re.fullmatch(r'NumSamples collected: (\d+) Num Requested: (\d+)', head[3])
    require(found, head[3])
    equal('columns', rows[0], COLUMNS)
    samples = [dict(zip(COLUMNS, row)) for row in rows[1:]]
    equal('samples', len(samples), int(found.group(1)))
    require(int(found.group(2)) >= len(samples), 'requested')
    for number, sample in enumerate(samples):
        equal('number', int(sample['Sample']), number)
        times = {k: float(v) for k, v in sample.items() if k.endswith('Us') and v != 'N/A'}
        parts = sum(times.get(k, 0) for k in ('enqTimeUs', 'preProcTimeUs', 'submitTimeUs',
                                              'postProcUs'))
        require(parts <= times['totalRoundtripTimeUs'] + 1e-9, f'parts exceed the whole: {sample}')
        require(times['hostRoundTripUs'] <= times['totalRoundtripTimeUs'], f'{sample}')
        require(int(sample['queueDepth']) >= 1, f'{sample}')
        for column in ('devInfPerSec', 'devExecUs', 'devInWaitTimeUs', 'devOutWaitTimeUs',
                       'numInfInQueue'):
            equal(column, sample[column], 'N/A')
    for sample in samples:
        print(sample['hostRoundTripUs'], sample['enqTimeUs'], sample['preProcTimeUs'],
              sample['postProcUs'], sample['totalRoundtripTimeUs'], sample['queueDepth'])


main()
