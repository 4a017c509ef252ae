// SPDX-License-Identifier: Apache-2.0
// Two functions that V8 compiles, the first with most of the time: jit_hot.js SECONDS. Says its process number.
// Starting node takes more CPU time on a busy machine, and is sampled too: it goes on until it is a fifth of all.
function hotInScript(n) {
    let x = 1;
    for (let i = 0; i < n; i++) {
        x = (x * 31 + i) % 1000003;
    }
    return x;
}

function coolInScript(n) {
    let x = 1;
    for (let i = 0; i < n; i++)
        x = (x * 17 + i) % 1000033;
    return x;
}

const used = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const end = used() + Math.max(Number(process.argv[2]), 4 * used());
let sum = 0;
while (used() < end) {
    sum += hotInScript(300000);
    sum += coolInScript(20000);
}
console.log(sum > 0 ? process.pid : 0);
