// SPDX-License-Identifier: Apache-2.0
// Keeps a shop's orders in memory as objects, maps and JSON text, and replaces old
// ones for ever.
let state = 1;
function random(limit) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 1;
  return state % limit;
}
const cities = ["Leeds", "Bergen", "Ghent", "Porto", "Turku", "Graz", "Brno", "Cork"];
const words = Array.from({ length: 500 }, (_, i) => "item" + i + String.fromCharCode(97 + (i % 26)));

class Order {
  constructor(number) {
    this.number = number;
    this.city = cities[random(cities.length)];
    this.price = random(10000) / 100;
    this.lines = Array.from({ length: 6 }, () => ({ what: words[random(500)], count: random(20) }));
  }
}

const orders = new Map();
const documents = new Array(8000);
for (let number = 1; ; number++) {
  const order = new Order(number);
  orders.set(number % 40000, order);
  const text = JSON.stringify(order);
  documents[number % documents.length] = number % 2 ? text : JSON.parse(text);
}
