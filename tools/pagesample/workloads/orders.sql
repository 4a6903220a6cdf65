-- SPDX-License-Identifier: Apache-2.0
-- Fills a database in memory with orders and two indexes on them.
CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, item TEXT, price REAL, note TEXT);
CREATE INDEX by_city ON orders (city, price);
CREATE INDEX by_item ON orders (item);
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 20000000)
INSERT INTO orders
SELECT n, 'city' || (n * 7919 % 97), 'item' || (n * 104729 % 5003), (n * 31 % 10007) / 100.0,
       'order ' || n || ' of ' || (n % 31) || ' January, paid in full'
FROM number;
