// Package nearest finds the word that somebody meant who mistyped it.
package nearest

import "strings"

// maxShare is how much of a word may be wrong: one letter in this many, and
// always one.
const maxShare = 3

// To returns the known word that word was most likely meant to be, or "" if
// none is near. Upper and lower case count as the same.
func To(word string, known []string) string {
	best, bestDistance := "", max(1, len(word)/maxShare)+1

	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}

	return best
}

// distance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours that lead from a to b, in bytes.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}

	for j := range rows[0] {
		rows[0][j] = j
	}

	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			substitution := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}

			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, substitution)

			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}

	return rows[len(a)][len(b)]
}
