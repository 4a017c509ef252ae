// SPDX-License-Identifier: Apache-2.0
// Prints a Chrome trace of a server: each request goes from thread to thread, as a flow, and every third has an async span that ends elsewhere.
const REQUESTS = 60;
const THREADS = ['reader', 'decode', 'inference', 'writer'];
const events = THREADS.map((name, i) => ({ ph: 'M', name: 'thread_name', pid: 1, tid: i + 1, args: { name } }));
events.push({ ph: 'M', name: 'process_name', pid: 1, args: { name: 'server' } });
for (let r = 0; r < REQUESTS; r++) {
  const at = r * 1000;
  THREADS.forEach((name, i) => {
    const begin = at + i * 240;
    events.push({ ph: 'X', name, pid: 1, tid: i + 1, ts: begin, dur: 200 });
    if (name === 'decode') events.push({ ph: 'X', name: 'resize', pid: 1, tid: i + 1, ts: begin + 40, dur: 60 }, { ph: 'X', name: 'crop', pid: 1, tid: i + 1, ts: begin + 110, dur: 60 });
    events.push({ ph: i === 0 ? 's' : i === THREADS.length - 1 ? 'f' : 't', bp: 'e', name: 'request', cat: 'flow', id: r, pid: 1, tid: i + 1, ts: begin + 20 });
  });
  if (r % 3) continue;
  events.push({ ph: 'b', name: 'upload', cat: 'net', id: r, pid: 1, tid: 1, ts: at + 50 }, { ph: 'e', name: 'upload', cat: 'net', id: r, pid: 1, tid: 4, ts: at + 2600 });
}
console.log(JSON.stringify({ traceEvents: events }));
