package bed

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// Metric reads a metric of the worker that has no labels, 0 if there is none.
func (w *Worker) Metric(ctx context.Context, name string) (float64, error) {
	page, err := w.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}

	for line := range bytes.Lines(page) {
		text, found := bytes.CutPrefix(line, []byte(name+" "))
		if !found {
			continue
		}

		value, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", name, err)
		}

		return value, nil
	}

	return 0, nil
}
