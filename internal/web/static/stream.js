// SPDX-License-Identifier: Apache-2.0
// The stream that keeps the page current.

// connect calls heard for each message, and lost where the connection breaks. An EventSource then
// tries again by itself, but gives up for good after an answer other than 200: that of a proxy
// while the server is restarted, or of a server that has as many pages as it serves. A new one
// takes its place after again milliseconds.
export function connect(url, heard, lost, again = 5000) {
  const stream = new EventSource(url);
  stream.onmessage = heard;
  stream.onerror = () => {
    lost();
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => connect(url, heard, lost, again), again);
  };
}
