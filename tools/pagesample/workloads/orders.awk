# SPDX-License-Identifier: Apache-2.0
# Counts words of lines that it makes up, as awk programs do, in arrays that it
# fills for ever and whose old entries it replaces.
BEGIN {
	srand(1)
	split("Leeds Bergen Ghent Porto Turku Graz Brno Cork", cities, " ")
	for (number = 1; ; number++) {
		line = cities[1 + int(rand() * 8)] " item" int(rand() * 500) " " rand() * 100 " order" number
		fields = split(line, field, " ")
		for (i = 1; i <= fields; i++) {
			counts[field[i] "," number % 3001]++
		}
		lines[number % 100000] = line
		if (number % 200000 == 0) {
			delete counts
		}
	}
}
