// SPDX-License-Identifier: Apache-2.0
// The charts over time, and the columns that they show.
import { size, ratio, time, known, hours } from "./format.js";

const MiB = 1 << 20, page = 4096;
const rate = v => known(v) ? size(v) + "/s" : "–";
const share = v => known(v) ? v.toFixed(v < 10 ? 1 : 0) + " %" : "–";

// charts lists them: a series' value is computed from the fields of a row.
export const charts = [
  { id: "memory-chart", title: "Stored, taken, saved", unit: "bytes", format: size, series: [
    { name: "stored", color: "blue", fill: true, of: r => r.stored },
    { name: "taken", color: "amber", fill: true, of: r => sum(r.memory, r.processes) },
    { name: "saved", color: "teal", of: r => r.saved }] },
  { id: "compression-chart", title: "Compression ratio", unit: "ratio", format: ratio, series: [
    { name: "with all overhead", color: "teal", fill: true, of: r => r.stored >= MiB ? r.stored / r.memory : null },
    { name: "objects alone", color: "violet", dash: [5, 4], of: r => r.stored >= MiB && r.compressed > 0 ? r.stored / r.compressed : null }] },
  { id: "swap-chart", title: "Swap used", unit: "bytes", format: size, series: [
    { name: "used", color: "blue", fill: true, of: r => r.swap_used },
    { name: "size", color: "grey", dash: [3, 4], of: r => r.swap_size }] },
  { id: "throughput-graph", title: "Throughput", unit: "bytes", format: rate, series: [
    { name: "in (page faults)", color: "blue", fill: true, of: r => times(r.pages_in, page) },
    { name: "out (eviction)", color: "amber", fill: true, of: r => times(r.pages_out, page) }] },
  { id: "latency-chart", title: "Latency in the device", unit: "time", format: time, series: [
    { name: "read p50", color: "blue", of: r => r.read_p50 },
    { name: "read p99", color: "blue", dash: [5, 4], of: r => r.read_p99 },
    { name: "write p50", color: "amber", of: r => r.write_p50 },
    { name: "write p99", color: "amber", dash: [5, 4], of: r => r.write_p99 }] },
  { id: "load-chart", title: "Processor and memory pressure", unit: "share", format: share, series: [
    { name: "processor (one core)", color: "violet", fill: true, of: r => times(r.cpu, 100) },
    { name: "pressure", color: "red", of: r => r.pressure }] },
];

function sum(a, b) { return known(a) && known(b) ? a + b : null; }
function times(a, b) { return known(a) ? a * b : null; }

// History is the columns of one device: times in seconds, and a column for each series.
export class History {
  constructor(span) {
    this.span = span;
    this.times = [];
    this.columns = charts.map(c => c.series.map(() => []));
  }

  // load takes the server's columns.
  load(answer) {
    answer.times.forEach((t, i) => {
      const row = {};
      answer.names.forEach((name, f) => { row[name] = answer.values[f][i]; });
      this.push(t, row, 30);
    });
  }

  // push adds a row; a gap longer than gap seconds stays empty.
  push(t, row, gap) {
    // Where the clock was set back, what is after t has yet to come.
    if (t < this.times[this.times.length - 1] - gap) while (this.times[this.times.length - 1] >= t) this.drop();
    const last = this.times[this.times.length - 1];
    if (last !== undefined && t <= last) return;
    if (last !== undefined && t - last > gap) this.append(last + 1, null);
    this.append(t, row);
    while (this.times.length > 0 && this.times[0] < t - this.span) {
      this.times.shift();
      this.columns.forEach(c => c.forEach(s => s.shift()));
    }
  }

  // drop removes the last row.
  drop() {
    this.times.pop();
    this.columns.forEach(c => c.forEach(s => s.pop()));
  }

  append(t, row) {
    this.times.push(t);
    charts.forEach((c, i) => c.series.forEach((s, j) => {
      const v = row === null ? null : s.of(row);
      this.columns[i][j].push(known(v) && Number.isFinite(v) ? v : null);
    }));
  }

  // summary is least, mean, most and last of a series.
  summary(i, j) {
    let least = null, most = null, total = 0, n = 0, now = null;
    for (const v of this.columns[i][j]) {
      if (v === null) continue;
      if (least === null || v < least) least = v;
      if (most === null || v > most) most = v;
      total += v; n++; now = v;
    }
    return [least, n > 0 ? total / n : null, most, now];
  }
}

const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// scales by unit: ticks at round numbers of that unit.
const powers = Array.from({ length: 51 }, (_, i) => 2 ** i);
const tens = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];

// tick is a short form of a value: 32 MiB for 32.0 MiB.
function tick(c, v) { return c.format(v).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, ""); }

function axes(c) {
  const grid = { stroke: css("grid"), width: 1 }, text = css("dim"), font = "11px system-ui, sans-serif";
  const y = { stroke: text, font, grid, ticks: { show: false }, size: 68, gap: 6, space: 34, values: (_, v) => v.map(x => x === null ? "" : tick(c, x)) };
  if (c.unit === "bytes") y.incrs = powers;
  if (c.unit === "time") {
    y.splits = (u) => tens.filter(t => t >= u.scales.y.min && t <= u.scales.y.max);
    y.filter = (_, v) => v;
  }
  const x = { stroke: text, font, grid, ticks: { show: false }, size: 30, gap: 9, space: 70 };
  x.values = (_, v, __, ___, step) => v.map(t => hours(new Date(t * 1000), step < 60));
  return [x, y];
}

function scale(c) {
  if (c.unit === "time") return { distr: 3, log: 10, range: (_, lo, hi) => logRange(lo, hi) };
  const floor = { bytes: 4096, ratio: 1, share: 5 }[c.unit];
  return { range: (_, lo, hi) => [Math.min(0, lo ?? 0), Math.max(floor, (hi ?? 0) * 1.12)] };
}

function logRange(lo, hi) {
  if (!known(lo) || !known(hi) || lo <= 0) return [1e-6, 1e-3];
  const from = tens.findLast(t => t <= lo) ?? 1e-7, to = tens.find(t => t >= hi) ?? 10;
  return [from, to > from ? to : from * 10];
}

// Plot is one chart in the page.
export class Plot {
  constructor(parent, index) {
    this.index = index;
    this.chart = charts[index];
    const c = this.chart;
    this.figure = document.createElement("figure");
    this.figure.className = "card chart";
    this.figure.id = c.id;
    const caption = document.createElement("figcaption"), title = document.createElement("h2"), key = document.createElement("ul");
    title.textContent = c.title;
    key.className = "key";
    this.values = c.series.map(s => {
      const item = document.createElement("li"), mark = document.createElement("i"), value = document.createElement("b");
      mark.className = "mark " + s.color + (s.dash ? " dashed" : "");
      item.append(mark, s.name + " ", value);
      key.append(item);
      return value;
    });
    caption.append(title, key);
    this.place = document.createElement("div");
    this.place.className = "plot";
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", c.title + " over time; the table of figures has the same");
    this.figure.append(caption, this.place);
    parent.append(this.figure);
    this.plot = null;
    this.data = [[], ...c.series.map(() => [])];
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  // draw makes the chart anew, as for another theme.
  draw() {
    const c = this.chart, { clientWidth: width, clientHeight: height } = this.place;
    if (this.plot !== null) this.plot.destroy();
    this.plot = null;
    if (width < 50 || height < 50) return;
    this.plot = new uPlot({
      width, height, legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { sync: { key: "time" }, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: scale(c) }, axes: axes(c),
      series: [{}, ...c.series.map(s => ({
        stroke: css(s.color), width: 1.75, dash: s.dash, points: { show: false },
        fill: s.fill ? css(s.color) + "24" : undefined, spanGaps: false,
      }))],
      hooks: { setCursor: [u => this.key(u.cursor.idx)] },
    }, this.data, this.place);
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (this.plot === null) this.draw();
    else if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
  }

  // show draws new data; from and to bound the time axis.
  show(history, from, to) {
    this.data = [history.times, ...history.columns[this.index]];
    if (this.plot !== null) {
      this.plot.batch(() => {
        this.plot.setData(this.data, false);
        this.plot.setScale("x", { min: from, max: to });
      });
      this.key(this.plot.cursor.idx);
    } else this.key(null);
  }

  // key writes the values under the cursor, else the last ones.
  key(at) {
    const last = this.data[0].length - 1;
    const i = known(at) && this.plot && this.plot.cursor.left >= 0 ? at : last;
    this.values.forEach((b, j) => {
      const text = this.chart.format(i >= 0 ? this.data[j + 1][i] : null);
      if (b.textContent !== text) b.textContent = text;
    });
  }
}
