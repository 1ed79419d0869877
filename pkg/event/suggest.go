package event

import (
	"strings"

	words "github.com/lessor-dev/lessor/internal/nearest"
)

// didYouMean names the candidate that is near enough to be meant, or else all
// of them after the introduction.
func didYouMean(got string, candidates []string, introduction string) string {
	if meant, ok := nearest(got, candidates); ok {
		return "did you mean " + quote(meant) + "?"
	}

	return introduction + " " + strings.Join(candidates, ", ")
}

// nearest finds the candidate that was most likely meant.
func nearest(got string, candidates []string) (string, bool) {
	// Names are short; an absurd one from outside is not compared.
	const maxLength = 64

	if got == "" || len(got) > maxLength {
		return "", false
	}

	best := words.To(got, candidates)

	return best, best != ""
}
