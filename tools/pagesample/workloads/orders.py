# SPDX-License-Identifier: Apache-2.0
# Keeps a shop's orders in memory as objects, dictionaries and JSON text, and
# replaces old ones for ever.
import collections
import json
import random

random.seed(1)
CITIES = ["Leeds", "Bergen", "Ghent", "Porto", "Turku", "Graz", "Brno", "Cork"]
WORDS = [chr(97 + i % 26) * (1 + i % 3) + "item%d" % i for i in range(500)]


class Order:
    def __init__(self, number):
        self.number = number
        self.city = random.choice(CITIES)
        self.price = random.random() * 100
        self.lines = [(random.choice(WORDS), random.randrange(20)) for _ in range(6)]
        self.notes = {w: number for w in random.sample(WORDS, 3)}


orders, documents, counts = {}, {}, collections.Counter()
number = 0
while True:
    number += 1
    order = Order(number)
    orders[number % 30000] = order
    counts[order.city, number % 977] += 1
    text = json.dumps({"id": number, "city": order.city, "lines": order.lines, "price": order.price})
    documents[number % 8000] = text if number % 2 else json.loads(text)
