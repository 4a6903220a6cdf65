// SPDX-License-Identifier: Apache-2.0
// Figures as words. Unknown values are a dash.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// digits writes a number with about three digits.
function digits(v) {
  const a = Math.abs(v);
  return v.toFixed(a >= 99.95 || a === 0 ? 0 : a >= 9.995 ? 1 : 2);
}

export function known(v) { return v !== null && v !== undefined && !Number.isNaN(v); }

export function size(bytes) {
  if (!known(bytes)) return "–";
  let v = bytes, i = 0;
  while (Math.abs(v) >= 1024 && i < units.length - 1) { v /= 1024; i++; }
  return (i === 0 ? Math.round(v) : digits(v)) + " " + units[i];
}

export function count(n) { return known(n) ? String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",") : "–"; }

export function percent(part) {
  if (!known(part)) return "–";
  const p = part * 100;
  return (p > 0 && p < 0.1 ? "< 0.1" : p.toFixed(p < 9.95 && p > 0 ? 1 : 0)) + " %";
}

export function ratio(v) { return known(v) ? v.toFixed(2) : "–"; }

// time writes seconds as a duration of a request.
export function time(s) {
  if (!known(s)) return "–";
  if (s === 0) return "0";
  if (s < 1e-3) return digits(s * 1e6) + " µs";
  return s < 1 ? digits(s * 1e3) + " ms" : digits(s) + " s";
}

export function duration(s) {
  if (!known(s)) return "–";
  const m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (d > 0) return `${d} d ${h % 24} h`;
  if (h > 0) return `${h} h ${m % 60} min`;
  return m > 0 ? `${m} min` : `${Math.floor(s)} s`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = n => String(n).padStart(2, "0");

// hours writes a time of day. Intl would take longer than all the rest of an update.
export function hours(t, seconds) {
  return two(t.getHours()) + ":" + two(t.getMinutes()) + (seconds ? ":" + two(t.getSeconds()) : "");
}

export function clock(ms) {
  const t = new Date(ms), now = new Date();
  const today = t.getDate() === now.getDate() && now - t < 86400e3;
  return (today ? "" : `${t.getDate()} ${months[t.getMonth()]} `) + hours(t, true);
}
