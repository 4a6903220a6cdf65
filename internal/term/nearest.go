// SPDX-License-Identifier: Apache-2.0

package term

import "strings"

// Nearest returns the candidate that word most likely misspells, or "" if none is near. At most a
// third of the letters of word may differ, and one in a short word.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, least := "", max(len(word)/3, 1)+1
	for _, c := range candidates {
		if n := distance(word, c); n < least && n < len(c)-1 {
			best, least = c, n
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to turn
// a into b (the optimal string alignment distance).
func distance(a, b string) int {
	var before, row, next []int // rows of the table of distances between beginnings of a and b
	for j := range len(b) + 1 {
		row = append(row, j)
	}
	for i := range len(a) {
		next = append([]int(nil), i+1)
		for j := range len(b) {
			n := min(row[j+1], next[j]) + 1
			if a[i] == b[j] {
				n = min(n, row[j])
			} else {
				n = min(n, row[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, before[j-1]+1)
			}
			next = append(next, n)
		}
		before, row = row, next
	}
	return row[len(b)]
}
