// SPDX-License-Identifier: Apache-2.0
// Keeps a shop's orders in memory in the collections of the standard library, and
// replaces old ones for ever.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

public class Orders {
    static final String[] CITIES = {"Leeds", "Bergen", "Ghent", "Porto", "Turku", "Graz", "Brno", "Cork"};

    static class Order {
        long number;
        String city;
        double price;
        List<String> lines = new ArrayList<>();
        Map<String, Integer> counts = new HashMap<>();
    }

    public static void main(String[] args) {
        Random random = new Random(1);
        Map<Integer, Order> orders = new HashMap<>();
        TreeMap<Double, String> index = new TreeMap<>();
        for (int number = 1; ; number++) {
            Order order = new Order();
            order.number = number;
            order.city = CITIES[random.nextInt(CITIES.length)];
            order.price = random.nextDouble() * 100;
            StringBuilder text = new StringBuilder();
            for (int line = 0; line < 5; line++) {
                String item = "item" + random.nextInt(500);
                order.lines.add(item);
                order.counts.merge(item, 1, Integer::sum);
                text.append(item).append(';');
            }
            orders.put(number % 40000, order);
            index.put(order.price, text.toString());
            if (index.size() > 20000) {
                index.pollFirstEntry();
            }
        }
    }
}
