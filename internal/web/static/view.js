// SPDX-License-Identifier: Apache-2.0
// One device in the page, without the charts.
import { size, count, percent, ratio, time, duration, clock, known } from "./format.js";
import { charts } from "./charts.js";

const fields = {};
document.querySelectorAll("[data-field]").forEach(e => { fields[e.dataset.field] = e; });
const $ = id => document.getElementById(id);

// put changes a text only where it differs: a page that stays as it is costs nothing.
function put(element, text) { if (element.textContent !== text) element.textContent = text; }
function set(name, text) { put(fields[name], text); }

// rows keeps the children of a parent equal to a list, and calls fill for each.
function rows(parent, list, make, fill) {
  while (parent.children.length > list.length) parent.lastElementChild.remove();
  while (parent.children.length < list.length) parent.append(make());
  list.forEach((item, i) => fill(parent.children[i], item, i));
}

const element = (tag, ...children) => () => {
  const e = document.createElement(tag);
  children.forEach(c => e.append(document.createElement(c)));
  return e;
};

// meter shows parts of a whole, each with a colour; the rest is empty.
function meter(e, parts, whole, now, words) {
  rows(e, parts, element("i"), (bar, p) => {
    const width = (whole > 0 ? Math.min(100, 100 * p.value / whole) : 0).toFixed(2) + "%";
    if (bar.style.width !== width) bar.style.width = width;
    if (bar.className !== p.color) bar.className = p.color;
  });
  if (e.getAttribute("role") === "meter") e.setAttribute("aria-valuenow", String(now));
  else e.setAttribute("aria-label", words);
  if (e.getAttribute("aria-valuetext") !== words) e.setAttribute("aria-valuetext", words);
}

function key(name, parts) {
  rows(document.querySelector(`[data-key="${name}"]`), parts, element("li", "i", "span", "b"), (li, p) => {
    const mark = "mark " + p.color;
    if (li.children[0].className !== mark) li.children[0].className = mark;
    put(li.children[1], p.name);
    put(li.children[2], p.text);
  });
}

function showSaved(d) {
  set("saved", d.answered ? size(Math.max(0, d.saved)) : "–");
  const takes = d.taken.taken;
  let note = "";
  if (!d.answered) note = "The device does not answer.";
  else if (d.saved <= 0) note = `Nothing yet: it takes ${size(-d.saved)} more than it holds.`;
  else note = `${size(d.swap && d.swap.usage ? d.swap.usage.in_swap : d.stored)} of programs' memory is kept in ${size(takes)}.`;
  set("saved-note", note);
  const stored = d.stored + (d.swap?.usage?.in_zswap ?? 0);
  set("stored", size(stored));
  set("takes", stored >= 1 << 20 ? `${size(takes)}, 1 : ${ratio(stored / takes)}` : size(takes));
  const most = Math.max(stored, takes, 1);
  document.querySelector("#stored-used .stored").style.width = (100 * stored / most).toFixed(2) + "%";
  document.querySelector("#stored-used .used").style.width = (100 * takes / most).toFixed(2) + "%";
}

function showSwap(d) {
  const s = d.swap;
  set("zswap", d.zswap && "zswap: " + d.zswap);
  if (!s) {
    set("swap-share", "no swap");
    set("swap-of", `a file of ${size(d.disksize)}`);
    meter($("swap-meter"), [], 1, 0, "not used as swap");
    key("swap", []);
    set("trend", "");
    return;
  }
  const u = s.usage ?? { in_swap: s.used, in_zswap: 0, copies: 0 }, inStore = u.in_swap - u.in_zswap;
  const share = s.size > 0 ? s.used / s.size : 0;
  const parts = [
    { name: "programs", color: share > 0.9 ? "red" : "blue", value: inStore, text: size(inStore) },
    { name: "in zswap", color: "green", value: u.in_zswap, text: size(u.in_zswap) },
    { name: "copies", color: "violet", value: u.copies, text: size(u.copies) }];
  set("swap-share", percent(share));
  set("swap-of", `${size(s.used)} of ${size(s.size)}`);
  meter($("swap-meter"), parts, s.size, Math.round(100 * share), `${percent(share)} of ${size(s.size)} used`);
  key("swap", parts);
  const growth = Math.abs(d.growth) < 1024 ? "steady" : `${d.growth > 0 ? "+" : "−"}${size(Math.abs(d.growth) * 60)} a minute`;
  set("trend", known(d.full_in) ? `${growth}: full in ${duration(d.full_in)}` : growth);
}

function showMemory(d) {
  const p = d.parts, own = p.Process + p.Slots + p.Zswap, whole = d.limit > 0 ? d.limit + own : Math.max(d.peak + own, 1);
  const parts = [
    { name: "objects", color: "amber", value: p.Objects, text: size(p.Objects) },
    { name: "waste", color: "red", value: p.Waste, text: size(p.Waste) },
    { name: "index", color: "violet", value: p.Index, text: size(p.Index) },
    { name: "reserve", color: "blue", value: p.Reserve, text: size(p.Reserve) },
    { name: "processes", color: "grey", value: p.Process, text: size(p.Process) },
    { name: "slots", color: "teal", value: p.Slots, text: size(p.Slots) },
    { name: "zswap", color: "green", value: p.Zswap, text: size(p.Zswap) }];
  const total = d.taken.taken;
  set("memory", size(total));
  set("memory-of", d.limit > 0 ? `store ${percent(d.memory / d.limit)} of the limit ${size(d.limit)}` : `peak ${size(d.peak + own)}, no limit`);
  $("memory-meter").setAttribute("aria-valuemax", String(whole));
  meter($("memory-meter"), parts, whole, total, `${size(total)} of ${size(whole)}`);
  key("memory", parts);
}

const codecColors = ["teal", "blue", "violet", "amber", "green", "red", "grey"];

// codecColor gives each format the same colour always.
function codecColor(name) {
  const fixed = { "page:dense": 0, page: 1, same: 4, raw: 5, lz4: 2, "lz4:fast": 2, zstd: 3 }[name];
  return codecColors[fixed ?? 6];
}

function showCodecs(d) {
  const all = d.codecs.filter(c => c.pages > 0), total = all.reduce((n, c) => n + c.pages, 0);
  const parts = all.map(c => ({ name: c.name, color: codecColor(c.name), value: c.pages, text: percent(c.pages / total) }));
  set("pages", count(total));
  meter($("codec-meter"), parts, total, 0, parts.map(p => `${p.name} ${p.text}`).join(", ") || "nothing is stored");
  key("codecs", parts);
}

function showLoad(d, value) {
  const cpu = value("cpu"), pressure = value("pressure");
  set("cpu", known(cpu) ? percent(cpu) : "–");
  set("pressure", known(pressure) ? percent(pressure / 100) : "–");
  meter($("cpu-meter"), [{ color: "violet", value: cpu ?? 0 }], 1, Math.min(100, Math.round(100 * (cpu ?? 0))), percent(cpu) + " of one core");
  meter($("pressure-meter"), [{ color: "red", value: pressure ?? 0 }], 100, Math.round(pressure ?? 0), percent((pressure ?? 0) / 100));
  const errors = d.errors.failed_reads + d.errors.failed_writes + d.errors.checksum_errors;
  set("errors", errors === 0 ? "none" : count(errors));
  fields.errors.className = errors === 0 ? "" : "bad";
  set("restarts", count(d.restarts));
  set("uptime", d.answered ? duration(d.uptime) : "–");
}

function showOperations(d) {
  rows(document.querySelector("#operations tbody"), d.operations, element("tr", "th", "td", "td", "td", "td", "td", "td"), (tr, o) => {
    tr.children[0].setAttribute("scope", "row");
    const ns = v => o.requests > 0 ? time(v / 1e9) : "–";
    [o.op, count(o.requests), count(o.pages), ns(o.p50), ns(o.p99), ns(o.p999), count(o.errors)].forEach((text, i) => put(tr.children[i], text));
  });
}

// showDevice shows a device; value gives the fields of its last row.
export function showDevice(d, value) {
  put($("about"), [d.loop === d.name ? "" : d.loop, d.algorithm, d.version && "version " + d.version].filter(Boolean).join(" · "));
  showSaved(d);
  showSwap(d);
  showMemory(d);
  showCodecs(d);
  showLoad(d, value);
  showOperations(d);
}

// showHealth names the problems of all devices, or of the connection.
export function showHealth(devices, error) {
  const all = devices.flatMap(d => d.problems.map(p => ({ name: d.name, ...p })));
  if (error) all.unshift({ name: "monitor", what: error, fix: "" });
  const chip = $("health"), bad = all.length > 0;
  const state = bad ? "bad" : devices.length > 0 ? "good" : "";
  if (chip.dataset.state !== state) chip.dataset.state = state;
  put(chip.querySelector(".text"), bad ? `degraded: ${all.length} ${all.length === 1 ? "problem" : "problems"}` : devices.length > 0 ? "healthy" : "no device");
  $("problems").hidden = !bad;
  rows(document.querySelector("#problems ul"), all, element("li", "b", "span", "code"), (li, p) => {
    put(li.children[0], p.name);
    put(li.children[1], p.what);
    put(li.children[2], p.fix);
    li.children[2].hidden = !p.fix;
  });
}

export function showEvents(list) {
  rows($("events"), list, element("li", "time", "span", "b"), (li, e) => {
    if (li.className !== e.level) li.className = e.level;
    put(li.children[0], clock(e.time));
    put(li.children[1], e.text);
    put(li.children[2], "\u200e" + e.device); // the mark keeps its slashes in place
  });
}

// showFigures fills the table that says what the charts show.
export function showFigures(history) {
  const all = charts.flatMap((c, i) => c.series.map((s, j) => ({ name: `${c.title}: ${s.name}`, format: c.format, of: history.summary(i, j) })));
  rows(document.querySelector("#figures tbody"), all, element("tr", "th", "td", "td", "td", "td"), (tr, f) => {
    tr.children[0].setAttribute("scope", "row");
    put(tr.children[0], f.name);
    f.of.forEach((v, i) => put(tr.children[i + 1], f.format(v)));
  });
}
