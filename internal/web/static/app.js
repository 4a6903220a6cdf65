// SPDX-License-Identifier: Apache-2.0
// The page: what is shown, and the stream that keeps it current.
import { charts, History, Plot } from "./charts.js";
import { clock } from "./format.js";
import { connect } from "./stream.js";
import { showDevice, showHealth, showEvents, showFigures } from "./view.js";

const $ = id => document.getElementById(id);
const span = 900; // seconds, as package chronicle keeps
const state = { device: null, history: new History(span), names: [], message: null, loaded: 0, heard: 0 };

// What a test reads: the time of each update in milliseconds, and when it began.
const updates = window.zramfsUpdates = { took: [], at: [], count: 0 };

const plots = charts.map((_, i) => new Plot($("charts"), i));

// ---- theme
const themes = ["auto", "light", "dark"];
function theme() { return document.documentElement.dataset.theme ?? "auto"; }
function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try { localStorage.setItem("zramfs-theme", name); } catch { /* storage may be forbidden */ }
  $("theme").textContent = "Theme: " + name;
  redraw();
}
function redraw() { plots.forEach(p => p.draw()); show(); }
$("theme").textContent = "Theme: " + theme();
$("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(theme()) + 1) % themes.length]));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// ---- history
async function load() {
  const { device } = state;
  if (device === null) return;
  state.loaded = Date.now();
  const answer = await fetch(`api/history?device=${encodeURIComponent(device)}`).then(r => r.ok ? r.json() : null).catch(() => null);
  if (answer === null || device !== state.device) return;
  const history = new History(span);
  history.load(answer);
  state.history = history;
  state.names = answer.names;
  show();
}

function show() {
  const now = state.message ? state.message.time / 1000 : Date.now() / 1000;
  // A history that has just begun takes the whole width.
  const first = state.history.times[0] ?? now, from = Math.max(now - span, Math.min(first, now - 60));
  plots.forEach(p => p.show(state.history, from, now));
}

// ---- devices
function choose(name) {
  state.device = name;
  state.history = new History(span);
  try { sessionStorage.setItem("zramfs-device", name); } catch { /* storage may be forbidden */ }
  load();
  if (state.message) update(state.message);
}

function showDevices(devices) {
  const nav = $("devices");
  if ([...nav.children].map(b => b.textContent).join("\n") !== devices.map(d => d.name).join("\n")) {
    nav.replaceChildren(...devices.map(d => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = d.name;
      b.addEventListener("click", () => choose(d.name));
      return b;
    }));
  }
  [...nav.children].forEach((b, i) => {
    b.setAttribute("aria-pressed", String(devices[i].name === state.device));
    b.classList.toggle("bad", devices[i].problems.length > 0);
  });
}

// ---- updates
function update(m) {
  state.message = m;
  const d = m.devices.find(d => d.name === state.device) ?? null;
  showDevices(m.devices);
  showHealth(m.devices, m.error);
  showEvents(m.events);
  $("empty").hidden = m.devices.length > 0 || Boolean(m.error);
  for (const id of ["summary", "charts", "details"]) $(id).hidden = m.devices.length === 0;
  document.title = (m.devices.some(d => d.problems.length > 0) ? "degraded – " : "") + "zramfs";
  if (d === null) return;
  const row = Object.fromEntries(state.names.map((name, i) => [name, d.values[i]]));
  showDevice(d, name => row[name] ?? null);
  if (state.names.length > 0) state.history.push(m.time / 1000, row, 30);
  else if (Date.now() - state.loaded > 10000) load();
  show();
  if (state.told !== state.history || Date.now() - state.toldAt > 5000) {
    state.told = state.history;
    state.toldAt = Date.now();
    showFigures(state.history);
  }
}

function pick(m) {
  if (m.devices.some(d => d.name === state.device)) return;
  let last = null;
  try { last = sessionStorage.getItem("zramfs-device"); } catch { /* storage may be forbidden */ }
  const d = m.devices.find(d => d.name === last) ?? m.devices[0];
  if (d) {
    state.message = m;
    choose(d.name);
  } else state.device = null;
}

// ---- the stream
function heard(e) {
  const start = performance.now();
  const m = JSON.parse(e.data);
  state.heard = Date.now();
  pick(m);
  update(m);
  const text = "live, " + clock(m.time);
  if ($("connection").textContent !== text) $("connection").textContent = text;
  // Charts draw in a microtask that was queued by now.
  queueMicrotask(() => {
    updates.took.push(performance.now() - start);
    updates.at.push(start);
    updates.count++;
    if (updates.took.length > 3600) { updates.took.shift(); updates.at.shift(); }
  });
}

function lost() {
  $("connection").textContent = "connection lost, trying again …";
  const chip = $("health");
  chip.dataset.state = "";
  chip.querySelector(".text").textContent = "no connection";
}

setInterval(() => { if (state.heard > 0 && Date.now() - state.heard > 5000) lost(); }, 1000);
connect("api/events", heard, lost);
