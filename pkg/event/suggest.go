package event

import (
	"slices"
	"strings"
)

// didYouMean names the candidate that is near enough to be meant, or else all
// of them after the introduction.
func didYouMean(got string, candidates []string, introduction string) string {
	if nearest, ok := nearest(got, candidates); ok {
		return "did you mean " + quote(nearest) + "?"
	}

	return introduction + " " + strings.Join(candidates, ", ")
}

// nearest finds a candidate that differs by case and punctuation only, or by
// a few letters.
func nearest(got string, candidates []string) (string, bool) {
	const (
		// Names are short; an absurd one is not compared.
		maxLength = 64
		// One slip in so many letters is a slip, more is another word.
		lettersPerSlip = 3
	)

	if got == "" || len(got) > maxLength {
		return "", false
	}

	word := normalize(got)
	best, bestDistance := "", len(word)/lettersPerSlip+1

	for _, c := range candidates {
		if d := distance(word, normalize(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}

	return best, best != ""
}

func normalize(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// distance is how many letters must be added, removed, replaced or swapped
// with their neighbour (optimal string alignment).
func distance(a, b string) int {
	var before []int

	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}

	for i := range len(a) {
		current := make([]int, len(b)+1)
		current[0] = i + 1

		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}

			current[j+1] = slices.Min([]int{previous[j+1] + 1, current[j] + 1, previous[j] + cost})

			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}

		before, previous = previous, current
	}

	return previous[len(b)]
}
