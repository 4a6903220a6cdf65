#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# database.sh SECONDS: SQLite with a table of 135 MiB in memory, a row a page. In each second it
# looks 20 rows up and changes four, most of them of few that are in use, and now and then it reports
# over neighbours. BUSY=FROM-TO-WHERE,... has it work only in these spans of seconds, with the rows
# in use beginning at this part of the table. It writes the file $READY, and waits for $GO, before
# the first second.
seconds=$1
rows=${ROWS:-35000}
{
	echo 'pragma journal_mode=off;'
	echo "create table t (id integer primary key, v integer, body text);"
	echo "with recursive n(i) as (select 1 union all select i+1 from n where i < $rows) insert into t select i, i, hex(randomblob(120)) || replace(hex(zeroblob(120)), '00', printf('%024d', i % 1000)) from n;"
	echo ".shell touch $READY"
	while [ ! -e "$GO" ]; do sleep 1; done
	awk -v rows="$rows" -v seconds="$seconds" -v busy="${BUSY:-0-$seconds-0}" 'BEGIN {
		n = split(busy, spans, ",")
		for (s = 0; s < seconds; s++) {
			active = 0
			for (i = 1; i <= n; i++) { split(spans[i], ends, "-"); if (s >= ends[1] + 0 && s < ends[2] + 0) { active = 1; from = ends[3] } }
			for (q = 0; active && q < 24; q++) {
				u = rand() * rand() + from
				id = 1 + int(rows * (u - int(u)))
				if (q % 6 == 0) printf "update t set v = v + 1 where id = %d;\n", id
				else printf "select length(body) from t where id = %d;\n", id
			}
			if (active && s % 97 == 60) { id = 1 + int(rand() * rows); printf "select sum(length(body)) from t where id between %d and %d;\n", id, id + rows / 100 }
			fflush(); system("sleep 1")
		}
	}'
} | sqlite3 :memory: | awk 'NR % 1000 == 0 { print NR " answers" }'
