// SPDX-License-Identifier: Apache-2.0

// browser.js SECONDS [FROM-TO,...]: three processes of five tabs, each a tree of objects of some MiB.
// A user turns to a tab for some seconds, mostly to one of those used lately, and reads there: that
// walks over parts of the tree, adds to it and drops some. Timers of tabs in the background touch
// a few objects. With spans of seconds, the user is only there within them. It writes the file
// $READY, and waits for $GO, before the first second.
'use strict';
const { fork } = require('child_process');
const fs = require('fs');
const tabs = 5, processes = 3;

function tree(count) {
  const nodes = [];
  for (let i = 0; i < count; i++) nodes.push({ id: i, text: 'node ' + i + ' ' + Math.random(), style: { x: i, y: i * 2 }, kids: [] });
  for (let i = 1; i < count; i++) nodes[i >> 3].kids.push(nodes[i]);
  return nodes;
}

function serve() {
  const all = [];
  for (let t = 0; t < tabs; t++) all.push(tree(18000));
  const view = (nodes, share) => {
    const from = Math.floor(Math.random() * nodes.length), n = Math.floor(nodes.length * share);
    for (let i = 0; i < n; i++) {
      const node = nodes[(from + i) % nodes.length];
      node.style.x++;
      if (i % 16 === 0) node.text = 'seen ' + node.id + ' ' + Math.random();
    }
  };
  process.on('message', ({ tab, share }) => view(all[tab], share));
  process.on('disconnect', () => process.exit());
  process.send('ready');
}

function browse(seconds, spans) {
  const there = (s) => spans.length === 0 || spans.some(([from, to]) => s >= from && s < to);
  const workers = [], lately = [];
  for (let p = 0; p < processes; p++) workers.push(fork(__filename, { env: { ...process.env, TAB: '1' } }));
  for (let i = 0; i < processes * tabs; i++) lately.push(i);
  let ready = 0, left = 0, s = 0;
  const second = () => {
    if (s++ >= seconds) { workers.forEach((w) => w.disconnect()); clearInterval(timer); return; }
    const timed = lately[Math.floor(Math.random() * lately.length)];
    workers[timed % processes].send({ tab: Math.floor(timed / processes), share: 0.002 });
    if (!there(s)) return;
    if (left-- <= 0) { // another tab
      const [next] = lately.splice(Math.floor(lately.length * Math.random() ** 3), 1);
      lately.unshift(next);
      left = 2 + Math.floor(Math.random() * 10);
    }
    workers[lately[0] % processes].send({ tab: Math.floor(lately[0] / processes), share: 0.15 });
  };
  let timer;
  const wait = () => (fs.existsSync(process.env.GO) ? (timer = setInterval(second, 1000)) : setTimeout(wait, 1000));
  const start = () => { fs.writeFileSync(process.env.READY, ''); wait(); };
  workers.forEach((w) => w.on('message', () => { if (++ready === processes) start(); }));
}

if (process.env.TAB) serve();
else browse(Number(process.argv[2]), (process.argv[3] || '').split(',').filter(Boolean).map((span) => span.split('-').map(Number)));
