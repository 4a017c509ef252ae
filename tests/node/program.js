// SPDX-License-Identifier: Apache-2.0
// What tests/e2e/node.sh counts: zones, turns of async functions, models, flows and marks.
'use strict';
const inferogram = require(process.argv[2]);
const { Worker, isMainThread } = require('worker_threads');

const turn = () => new Promise(resolve => setImmediate(resolve));

async function request(number) {
    await turn();
    inferogram.zone('inside', { number }, () => number);
    await turn();
    if (number === 2)
        throw new Error('wanted');
    return number;
}

async function main() {
    inferogram.threadName('main');
    let sum = 0;
    for (let i = 0; i < 10; i++)
        sum += inferogram.zone('work', { text: 'a text', round: i, fill: 0.5 }, () => inferogram.zone('nested', () => i));
    for (let i = 0; i < 3; i++) {
        try {
            inferogram.zone('throws', () => { throw new Error('wanted'); });
        } catch (error) {
            sum += error.message === 'wanted' ? 1 : 1000;
        }
    }

    // Three at a time, whose turns are mixed; the last one fails.
    const results = await Promise.allSettled([0, 1, 2].map(number => inferogram.zone('request', () => request(number))));
    sum += results.filter(result => result.status === 'fulfilled').length;
    await inferogram.wrap('plain', () => turn())();

    // Turns of nobody's get no zone.
    await turn();
    const model = new inferogram.Model('ocr', { runtime: 'test 1' });
    model.event('load', () => 0);
    for (let i = 0; i < 4; i++)
        model.event('inference', { function: 'decode', batch: 2 }, () => i);
    await model.event('inference', async () => { await turn(); });

    const flow = inferogram.flow('frame', 7);
    inferogram.zone('produce', () => flow.begin());
    inferogram.zone('consume', () => flow.end());
    for (let i = 0; i < 6; i++) {
        inferogram.counter('depth', i);
        inferogram.frame('loop');
    }
    inferogram.message('late', 'warning');
    try {
        model.event('nonsense', () => 0);
    } catch (error) {
        sum += error instanceof TypeError ? 1 : 1000;
    }
    await new Promise(resolve => new Worker(__filename, { argv: [process.argv[2]] }).on('exit', resolve));
    if (sum !== 45 + 3 + 2 + 1)
        process.exit(1);
    console.log(sum, inferogram.isRecording());
}

if (isMainThread)
    main();
else
    inferogram.zone('worker', () => 0);
